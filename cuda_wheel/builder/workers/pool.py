"""Run compiler calls in worker processes that may crash, hang or eat memory without harm to the build.

Each worker is a fresh interpreter that compiles in its main thread: there NVRTC manages its own stack, which it does
not elsewhere, and front ends of several processes run side by side, which those of several threads do not. A worker
serves one set of compiler options only: NVRTC 13.1 to 13.4 let one program's options spoil a later one of its process
(https://github.com/NVIDIA/warp/issues/1944).
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from cuda_wheel.builder.compile.precompiled import Wish, with_headers
from cuda_wheel.builder.schedule.order import LEAST, Queue
from cuda_wheel.builder.workers.cores import available_cores
from cuda_wheel.builder.workers.worker import Died, Late, Worker

if TYPE_CHECKING:
    from cuda_wheel.builder.schedule.groups import Group

__all__ = [
    "Workers",
]


T = TypeVar("T")


class _Call(NamedTuple):
    future: Future[Any]
    function: Callable[[Any], Any]
    argument: Any
    flavour: tuple[str, ...] | None
    group: Group | None


class Workers:
    """A pool of worker processes; a context manager. Workers start when first needed.

    `timeout` is in seconds for one call, `memory` in bytes of address space for one worker (not on Windows). `count` is
    how many there are at most.
    """

    def __init__(self, timeout: float, memory: int | None, count: int | None = None) -> None:
        self.count = count or available_cores()
        self._timeout = timeout
        self._memory = memory
        self._calls: Queue[_Call] = Queue()
        self._lock = threading.RLock()
        """Held by whoever looks at, or changes, what follows, or the calls that wait. Not by way of the condition: its
        own `__enter__` is written in Python, and Ctrl-C in the midst of it would leave the lock held for ever."""
        self._changed = threading.Condition(self._lock)
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._all: set[Worker] = set()
        self._closed = False
        self._groups: dict[int, str] = {}
        """What each thread's worker does, or did last, of which it may have headers precompiled."""
        self._begun: Counter[str] = Counter()
        """How many jobs of each group do not wait any more."""

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._closed = True
            while self._calls:
                self._calls.take(None).future.cancel()
            if kind is not None:  # nobody waits for the calls under way
                for worker in self._all:
                    worker.kill()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        for worker in self._all:
            worker.end()

    def submit(
        self,
        function: Callable[[Any], T],
        argument: Any,
        flavour: tuple[str, ...] | None = None,
        seconds: float = 0.0,
        group: Group | None = None,
    ) -> Future[T]:
        """Return the future of `function(argument)`, called in a worker that has seen no other `flavour`.

        None is for calls that any worker may serve. Of those that wait, the call goes first that will take the most
        `seconds`, with all that waits for it. Calls of one `group` go to few workers, which may precompile what
        they have in common. The future raises what the function raised, and CompileError where the call took too long
        or killed its worker.
        """
        future: Future[T] = Future()
        call = _Call(future, function, argument, flavour, group)
        with self._lock:
            self._calls.put(call, seconds, flavour, group and group.key)
            if len(self._calls) > self._idle and len(self._threads) < self.count:
                thread = threading.Thread(target=self._serve, name=f"cuda-wheel {len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._changed.notify()
        return future

    def _serve(self) -> None:
        """Do what waits, with one worker after the other, until there will be no more."""
        worker: Worker | None = None
        while True:
            with self._lock:
                self._idle += 1
                while not self._calls and not self._closed:
                    self._changed.wait()
                self._idle -= 1
                if self._closed:
                    return
                call, jobs = self._taken(worker)
            if call.future.set_running_or_notify_cancel():
                worker = self._done(call, worker, jobs)

    def _taken(self, worker: Worker | None) -> tuple[_Call, int]:
        """Return the next call for this thread, and how many of its group this thread is likely to do, it included."""
        thread = threading.get_ident()
        others = Counter(group for its, group in self._groups.items() if its != thread)
        call = self._calls.take(None if worker is None else worker.flavour, self._groups.get(thread), others)
        if not _suits(worker, call):  # and with it goes what it has precompiled
            self._groups.pop(thread, None)
        if call.group is None:
            return call, 0
        key = call.group.key
        self._begun[key] += 1
        jobs = 1 + (call.group.jobs - self._begun[key]) // (1 + others[key])
        if jobs >= LEAST:  # it leaves what it may have precompiled for that
            self._groups[thread] = key
        return call, jobs

    def _done(self, call: _Call, worker: Worker | None, jobs: int) -> Worker | None:
        """Do a call with that worker or, where it does not suit, another one; return the one to go on with."""
        if worker is not None and (worker.has_ended or not _suits(worker, call)):
            self._drop(worker)
            worker = None
        try:
            if worker is None:
                worker = self._started()
            worker.flavour = worker.flavour if call.flavour is None else call.flavour
            if call.group is None:
                result = worker.call(call.function, call.argument, self._timeout)
            else:
                wish = Wish(call.group, jobs, worker.folder if jobs >= LEAST else None)
                result = worker.call(with_headers, (wish, call.function, call.argument), self._timeout)
        except BaseException as error:
            if worker is not None and isinstance(error, Died):
                self._drop(worker)
                worker = None
                with self._lock:
                    self._groups.pop(threading.get_ident(), None)
                if call.group is not None and not isinstance(error, Late):  # what is precompiled may have killed it
                    return self._done(call._replace(group=None), None, 0)
            call.future.set_exception(error)
        else:
            call.future.set_result(result)
        return worker

    def _started(self) -> Worker:
        worker = Worker(self._memory)
        with self._lock:
            self._all.add(worker)
            if self._closed:
                worker.kill()
        return worker

    def _drop(self, worker: Worker) -> None:
        worker.kill()
        worker.end()
        with self._lock:
            self._all.discard(worker)


def _suits(worker: Worker | None, call: _Call) -> bool:
    """Return whether a worker has seen no other flavour than a call's."""
    return worker is None or None in (call.flavour, worker.flavour) or worker.flavour == call.flavour
