"""Run compiler calls in worker processes, which may crash, hang or run out of memory without harm to the build.

Each worker is a new interpreter that compiles in its main thread. There, unlike in other threads, NVRTC manages its own
stack; and the front ends of several processes run in parallel, which those of several threads do not. A worker serves
one set of compiler options only: in NVRTC 13.1 to 13.4 the options of one program corrupt a later program of the same
process (https://github.com/NVIDIA/warp/issues/1944), and NVRTC 12.9 optimises differently after --Ofast-compile=mid.

As many jobs run at once as the CPU affinity and the container's limit allow cores.
"""

from __future__ import annotations

import math
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.timing import Timed, TimedError, Times, cause_of
from cuda_wheel.builder.workers.executor import Call, Executor, Queue, WorkerFunction
from cuda_wheel.builder.workers.worker import Worker, WorkerDiedError, WorkerTimeoutError
from cuda_wheel.builder.workers.worker_process import load_compilers

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.toolchain import Toolchain
__all__ = ["Workers", "available_cores", "container_limit"]


_FIND_TOOLCHAIN: WorkerFunction[Toolchain] = WorkerFunction("cuda_wheel.builder.toolchain.find:find_toolchain")


def available_cores() -> int:
    """Return how many jobs run at once: CUDA_WHEEL_JOBS, else the number of cores that this process may use.

    Raises ConfigError if CUDA_WHEEL_JOBS is not a positive number.
    """
    setting = os.environ.get("CUDA_WHEEL_JOBS")
    if setting:
        if not (setting.isascii() and setting.isdigit() and int(setting) > 0):
            raise ConfigError(f"the environment variable CUDA_WHEEL_JOBS must be a number above 0, not {setting!r}.")
        return int(setting)
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = container_limit()
    # Round up: one job fewer would leave a part of the allowed time unused.
    return allowed if limit is None else max(1, min(allowed, math.ceil(limit)))


def container_limit(process: Path = Path("/proc/self")) -> float | None:
    """Return the CPU limit of a process's control groups in cores, such as 1.5; None without a limit.

    `process` is its folder in /proc. The limits of the enclosing groups apply too, as far as they are visible.
    """
    try:
        memberships = (process / "cgroup").read_text(errors="replace").splitlines()
        mounts = (process / "mountinfo").read_text(errors="replace").splitlines()
    except OSError:  # not Linux
        return None
    groups = {}
    for line in memberships:  # "4:cpu,cpuacct:/docker/1f0" in version 1, "0::/docker/1f0" in version 2
        _, controllers, group = line.split(":", 2)
        if not controllers or "cpu" in controllers.split(","):
            groups["cgroup" if controllers else "cgroup2"] = group
    limits = []
    for line in mounts:
        # "34 31 0:29 ROOT POINT rw,relatime ... - cgroup cgroup rw,cpu". Source: proc(5).
        front, _, back = line.partition(" - ")
        kind, _, options = back.split(" ", 2)
        if kind in groups and (kind == "cgroup2" or "cpu" in options.split(",")):
            root, point = front.split(" ")[3:5]
            limits += [limit for folder in _folders(groups[kind], root, point) if (limit := _limit(folder)) is not None]
    return min(limits, default=None)


def _folders(group: str, root: str, point: str) -> Iterator[Path]:
    """Yield the folder of a control group, then those of the control groups that contain it, the nearest first.

    `group`: name of the control group, such as "/docker/1f0". `root` and `point`: fields of a line in
    /proc/self/mountinfo. The folder `root` of the control groups is mounted at the path `point`. If `group` is not in
    `root`, yield only `point`.
    """
    try:
        below = PurePosixPath(group).relative_to(root)
    except ValueError:  # the name is that outside of the container, and the container's own group is mounted
        below = PurePosixPath()
    for path in (below, *below.parents):
        yield Path(point, path)


def _limit(folder: Path) -> float | None:
    """Return the CPU limit, in cores, of the control group with this folder; None without a limit."""
    try:
        if (folder / "cpu.max").is_file():  # version 2: "150000 100000", or "max 100000"
            quota, period = (folder / "cpu.max").read_text().split()
        else:  # version 1: -1 for no limit
            quota, period = ((folder / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period"))
    except (OSError, ValueError):
        return None
    if not re.fullmatch(r"[1-9]\d*", quota) or not re.fullmatch(r"[1-9]\d*", period):
        return None
    return int(quota) / int(period)


class _Waiting(NamedTuple):
    """A call that waits for a worker, and its future."""

    call: Call[Any]
    future: Future[Any]
    jobs: int = 0
    """Estimated number of jobs that this call's thread will run for the call's header group, this call included. 0 for
    a call without a group, and for a call that is still in the queue."""

    def request(self, folder: str | None) -> tuple[Callable[[Any], Any], Any]:
        """Return the function and the argument to send to a worker.

        `folder` is the worker's folder for precompiled headers; None if it has none.
        """
        function, argument, headers = self.call.function, self.call.argument, self.call.headers
        if headers is None:
            return function, argument
        # Start-up time: most of it, and the first worker starts after this module is imported.
        from cuda_wheel.builder.compile.precompiled_headers import MIN_JOBS, Precompilation, call_with_precompilation

        precompilation = Precompilation(headers, self.jobs, folder if self.jobs >= MIN_JOBS else None)
        return call_with_precompilation, (precompilation, function, argument)

    def settle(self, succeeded: bool, value: Any, times: Times | None) -> None:
        """Set the future's result, or its exception if the call has not succeeded, to `value`; with times, to a `Timed`
        or TimedError."""
        if succeeded:
            self.future.set_result(value if times is None else Timed(value, times))
        else:
            self.future.set_exception(value if times is None else TimedError(value, times))


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
        """Guards the queue and all attributes below. Use `with self._lock`, not `with self._changed`: a condition's
        `__enter__` is written in Python, and Ctrl-C inside it would leave the lock held for ever."""
        self._changed = threading.Condition(self._lock)
        self._threads: list[threading.Thread] = []
        self._idle = 0
        """Number of the pool's threads that are waiting for a call."""
        self._workers: set[Worker] = set()
        self._running: dict[Future[Any], Worker] = {}
        """Future of a running call -> worker that runs the call."""
        self._stopped: set[Future[Any]] = set()
        """Futures of calls that had left the queue when `stop` was called for them."""
        self._closed = False
        self._thread_groups: dict[int, str] = {}
        """Identifier of a thread -> key of the header group whose headers the thread's worker may have precompiled."""
        self._begun: Counter[str] = Counter()
        """Key of a header group -> number of its jobs that have left the queue."""
        self._is_prepared = False
        self._search: Future[Toolchain] | None = None
        """Future of the search for the toolchain; None before the search begins."""

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
        """Maximum number of calls that run at once."""
        return self._count

    def prepare(self, calls: int, library: str | None = None) -> None:
        """Start up to `calls` workers, which import the compile job and load NVRTC; a second call does nothing.

        `library` is the path of NVRTC; None if it is unknown.
        """
        if not self._is_prepared:
            self._is_prepared = True
            for _ in range(min(calls, self._count)):
                self.submit(load_compilers, library)

    def search_toolchain(self) -> None:
        """Begin to search for the toolchain in a worker, unless a search has begun."""
        if self._search is None:
            self._search = self.submit(_FIND_TOOLCHAIN, None)

    def toolchain(self) -> Toolchain:
        """Wait for the search for the toolchain and return the result; raises ToolchainError."""
        self.search_toolchain()
        assert self._search is not None
        return self._search.result()

    def load_compilers(self, library: str) -> None:
        """Let idle workers import the compile job and load NVRTC from the path `library`, while this process plans.

        This does nothing before `prepare`.
        """
        for _ in range(self._count if self._is_prepared else 0):
            self.submit(load_compilers, library)

    def enqueue(self, call: Call[Any]) -> Future[Any]:
        """Return the future of a call; its worker serves only calls with equal compiler options."""
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
        """Cancel a waiting call, or kill the worker that runs the call."""
        if future.cancel():
            return
        with self._lock:
            if not future.done():
                self._stopped.add(future)
            if future in self._running:
                self._running[future].kill()

    def _serve(self) -> None:
        """Take waiting calls and run them, one at a time, until the pool is closed. Each thread of the pool runs this
        function."""
        # A thread has one worker at a time, and replaces it where a call needs a new one.
        worker: Worker | None = None
        answer: tuple[bool, Any, Times | None] | None
        taken = self._take(worker)
        while taken is not None:
            again = None
            try:
                worker = self._suitable(worker, taken.call)
                with self._running_in(worker, taken.future):
                    answer = worker.answer(*taken.request(worker.folder), self._timeout, taken.call.timed)
                taken.settle(*answer)
            except BaseException as error:
                cause = cause_of(error)
                if worker is not None and isinstance(cause, WorkerDiedError):
                    self._drop(worker)
                    worker = None
                    with self._lock:
                        self._thread_groups.pop(threading.get_ident(), None)
                    is_crash = not isinstance(cause, WorkerTimeoutError) and taken.future not in self._stopped
                    if taken.call.headers is not None and is_crash:
                        # Precompiled headers may have killed the worker: try once more without them.
                        again = taken._replace(call=replace(taken.call, headers=None))
                if again is None:
                    taken.future.set_exception(error)
            taken = answer = None  # while this thread waits for the next call, it keeps no result
            taken = again or self._take(worker)

    def _take(self, worker: Worker | None) -> _Waiting | None:
        """Wait for the next call for this thread, remove the call from the queue and return it. Return None when the
        pool closes. `worker` is this thread's worker; None if it has none yet."""
        while True:
            with self._lock:
                self._idle += 1
                while not self._queue and not self._closed:
                    self._changed.wait()
                self._idle -= 1
                if self._closed:
                    return None
                waiting = self._next(worker)
            if waiting.future.set_running_or_notify_cancel():
                return waiting
            del waiting  # while this thread waits for the next call, it keeps none

    def _next(self, worker: Worker | None) -> _Waiting:
        """Remove the next call for this thread from the queue and return it. The queue must not be empty.

        `worker` is this thread's worker, or None. For a call of a header group, the field `jobs` of the result is set.
        """
        thread = threading.get_ident()
        others = Counter(group for other, group in self._thread_groups.items() if other != thread)
        waiting = self._queue.take(None if worker is None else worker.options, self._thread_groups.get(thread), others)
        call = waiting.call
        if not _suits(worker, call):  # the worker will be replaced, and its precompiled headers go with it
            self._thread_groups.pop(thread, None)
        if call.headers is None:
            return waiting
        from cuda_wheel.builder.compile.precompiled_headers import MIN_JOBS  # start-up time: see above

        key = call.headers.key
        self._begun[key] += 1
        jobs = 1 + (call.headers.jobs - self._begun[key]) // (1 + others[key])
        if jobs >= MIN_JOBS:  # the worker may replace its precompiled headers by those of this group
            self._thread_groups[thread] = key
        return waiting._replace(jobs=jobs)

    def _suitable(self, worker: Worker | None, call: Call[Any]) -> Worker:
        """Return this thread's `worker` if it can run the call, else a new worker. A worker that cannot run the call is
        killed first. `worker` is None if the thread has none."""
        if worker is not None and (worker.has_ended or not _suits(worker, call)):
            self._drop(worker)
            worker = None
        if worker is None:
            worker = Worker(self._memory)
            with self._lock:
                self._workers.add(worker)
                if self._closed:
                    worker.kill()
        if call.options is not None:
            worker.options = call.options
        return worker

    @contextmanager
    def _running_in(self, worker: Worker, future: Future[Any]) -> Iterator[None]:
        """During the `with` block, record that `worker` runs the call with this future, so that `stop` can find and
        kill the worker. If `stop` was called for this future before, kill the worker at once."""
        with self._lock:
            self._running[future] = worker
            if future in self._stopped:
                worker.kill()
        try:
            yield
        finally:
            with self._lock:
                del self._running[future]

    def _drop(self, worker: Worker) -> None:
        """Kill this thread's worker and remove it from the pool."""
        worker.kill()
        worker.end()
        with self._lock:
            self._workers.discard(worker)


def _suits(worker: Worker | None, call: Call[Any]) -> bool:
    """Return whether a worker can run a call. False only if the worker has served a call with compiler options, and
    `call` has other options. `worker` is None for a new worker."""
    return worker is None or None in (call.options, worker.options) or worker.options == call.options
