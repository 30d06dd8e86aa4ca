"""Run compiler calls in worker processes, which may crash, hang or run out of memory without harm to the build.

Each worker is a new interpreter that compiles in its main thread. There, unlike in other threads, NVRTC manages its own
stack; and the front ends of several processes run in parallel, which those of several threads do not. A worker serves
one set of compiler options only: in NVRTC 13.1 to 13.4 the options of one program corrupt a later program of the same
process (https://github.com/NVIDIA/warp/issues/1944), and NVRTC 12.9 optimises differently after --Ofast-compile=mid.
"""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import Future
from dataclasses import replace
from types import TracebackType
from typing import Any, NamedTuple

from cuda_wheel.builder.compile.precompiled import MIN_JOBS, Precompilation, call_with_precompilation
from cuda_wheel.builder.schedule.order import Queue
from cuda_wheel.builder.timing import cause_of
from cuda_wheel.builder.workers.cores import available_cores
from cuda_wheel.builder.workers.executor import Call, Executor
from cuda_wheel.builder.workers.worker import Worker, WorkerDiedError, WorkerTimeoutError

__all__ = ["Workers"]


class _Waiting(NamedTuple):
    """A call that waits for a worker, and its future."""

    call: Call[Any]
    future: Future[Any]


class Workers(Executor):
    """A pool of worker processes; a context manager. Workers start when they are first needed.

    `timeout` is the limit in seconds for one call, `memory` the limit in bytes on the address space of one worker (not
    on Windows). `count` is the largest number of workers.
    """

    def __init__(self, timeout: float, memory: int | None, count: int | None = None) -> None:
        self._count = count or available_cores()
        self._timeout = timeout
        self._memory = memory
        self._queue: Queue[_Waiting] = Queue()
        self._lock = threading.RLock()
        """Guards the queue and all attributes below. Take this lock, not the condition: the `__enter__` of a condition
        is written in Python, and Ctrl-C inside it would leave the lock held for ever."""
        self._changed = threading.Condition(self._lock)
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._workers: set[Worker] = set()
        self._running: dict[Future[Any], Worker] = {}
        self._stopped: set[Future[Any]] = set()
        """The calls that nobody needs and that had left the queue."""
        self._closed = False
        self._thread_groups: dict[int, str] = {}
        """By thread: the key of the header group whose headers its worker may have precompiled."""
        self._begun: Counter[str] = Counter()
        """How many jobs of each header group have left the queue."""

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._closed = True
            while self._queue:
                self._queue.take(None).future.cancel()
            if kind is not None:  # after an error nobody waits for the running calls
                for worker in self._workers:
                    worker.kill()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        for worker in self._workers:  # they end at the same time
            worker.close_pipe()
        for worker in self._workers:
            worker.end()

    @property
    def count(self) -> int:
        """How many calls run at once."""
        return self._count

    def enqueue(self, call: Call[Any]) -> Future[Any]:
        """Return the future of a call, which runs in a worker that has served no other compiler options."""
        future: Future[Any] = Future()
        with self._lock:
            self._queue.put(_Waiting(call, future), call.seconds, call.options, call.headers and call.headers.key)
            if len(self._queue) > self._idle and len(self._threads) < self._count:
                thread = threading.Thread(target=self._serve, name=f"cuda-wheel {len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._changed.notify()
        return future

    def stop(self, future: Future[Any]) -> None:
        """Cancel a call, or end the worker that runs it."""
        if future.cancel():
            return
        with self._lock:
            if not future.done():
                self._stopped.add(future)
            if future in self._running:
                self._running[future].kill()

    def _serve(self) -> None:
        """Run waiting calls, with one worker at a time, until the pool is closed."""
        worker: Worker | None = None
        while True:
            with self._lock:
                self._idle += 1
                while not self._queue and not self._closed:
                    self._changed.wait()
                self._idle -= 1
                if self._closed:
                    return
                (call, future), jobs = self._take(worker)
            if future.set_running_or_notify_cancel():
                worker = self._run(call, future, worker, jobs)
            del call, future  # while this thread waits for the next call, it keeps no result

    def _take(self, worker: Worker | None) -> tuple[_Waiting, int]:
        """Return the next call for this thread, and how many jobs of its header group this thread will probably run,
        this one included."""
        thread = threading.get_ident()
        others = Counter(group for other, group in self._thread_groups.items() if other != thread)
        waiting = self._queue.take(None if worker is None else worker.options, self._thread_groups.get(thread), others)
        call = waiting.call
        if not _suits(worker, call):  # the worker will be replaced, and its precompiled headers go with it
            self._thread_groups.pop(thread, None)
        if call.headers is None:
            return waiting, 0
        key = call.headers.key
        self._begun[key] += 1
        jobs = 1 + (call.headers.jobs - self._begun[key]) // (1 + others[key])
        if jobs >= MIN_JOBS:  # the worker may replace its precompiled headers by those of this group
            self._thread_groups[thread] = key
        return waiting, jobs

    def _run(self, call: Call[Any], future: Future[Any], worker: Worker | None, jobs: int) -> Worker | None:
        """Run a call with the worker or, if it does not suit, a new one; return the worker for the next call."""
        if worker is not None and (worker.has_ended or not _suits(worker, call)):
            self._drop(worker)
            worker = None
        try:
            if worker is None:
                worker = self._start_worker()
            result = self._answer(call, future, worker, jobs)
        except BaseException as error:
            cause = cause_of(error)
            if worker is not None and isinstance(cause, WorkerDiedError):
                self._drop(worker)
                worker = None
                with self._lock:
                    self._thread_groups.pop(threading.get_ident(), None)
                is_crash = not isinstance(cause, WorkerTimeoutError) and future not in self._stopped
                if call.headers is not None and is_crash:
                    # Precompiled headers may have killed the worker: try once more without them.
                    return self._run(replace(call, headers=None), future, None, 0)
            future.set_exception(error)
        else:
            future.set_result(result)
        return worker

    def _answer(self, call: Call[Any], future: Future[Any], worker: Worker, jobs: int) -> Any:
        """Return the worker's result for a call; raises its error."""
        if call.options is not None:
            worker.options = call.options
        function, argument = call.function, call.argument
        if call.headers is not None:
            folder = worker.folder if jobs >= MIN_JOBS else None
            argument = (Precompilation(call.headers, jobs, folder), function, argument)
            function = call_with_precompilation
        send = worker.call_timed if call.timed else worker.call
        with self._lock:
            self._running[future] = worker
            if future in self._stopped:
                worker.kill()
        try:
            return send(function, argument, self._timeout)
        finally:
            with self._lock:
                del self._running[future]

    def _start_worker(self) -> Worker:
        worker = Worker(self._memory)
        with self._lock:
            self._workers.add(worker)
            if self._closed:
                worker.kill()
        return worker

    def _drop(self, worker: Worker) -> None:
        worker.kill()
        worker.end()
        with self._lock:
            self._workers.discard(worker)


def _suits(worker: Worker | None, call: Call[Any]) -> bool:
    """Return whether a worker has served no other compiler options than a call's."""
    return worker is None or None in (call.options, worker.options) or worker.options == call.options
