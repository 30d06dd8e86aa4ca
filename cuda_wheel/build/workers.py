"""Run compiler calls in worker processes that may crash, hang or eat memory without harm to the build.

Each worker is a fresh interpreter that compiles in its main thread: there NVRTC manages its own stack, which it does
not elsewhere, and front ends of several processes run side by side, which those of several threads do not. A worker
serves one set of compiler options only: NVRTC 13.1 to 13.4 let one program's options spoil a later one of its process
(https://github.com/NVIDIA/warp/issues/1944).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeVar

from cuda_wheel.build.cores import available_cores
from cuda_wheel.build.worker import Died, Worker

__all__ = ["Workers"]

T = TypeVar("T")


class Workers:
    """A pool of worker processes; a context manager. Workers start when first needed.

    `timeout` is in seconds for one call, `memory` in bytes of address space for one worker (not on Windows).
    """

    def __init__(self, timeout: float, memory: int | None, count: int | None = None) -> None:
        self._timeout = timeout
        self._memory = memory
        self._threads = ThreadPoolExecutor(count or available_cores(), thread_name_prefix="cuda-wheel")
        self._mine = threading.local()
        self._all: set[Worker] = set()
        self._closed = False

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        if kind is not None:  # nobody waits for the calls under way
            for worker in list(self._all):
                worker.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self._all:
            worker.end()

    def submit(self, function: Callable[[Any], T], argument: Any, flavour: tuple[str, ...] | None = None) -> Future[T]:
        """Return the future of `function(argument)`, called in a worker that has seen no other `flavour`.

        None is for calls that any worker may serve. The future raises what the function raised, and CompileError where
        the call took too long or killed its worker.
        """
        return self._threads.submit(self._call, function, argument, flavour)

    def _call(self, function: Callable[[Any], T], argument: Any, flavour: tuple[str, ...] | None) -> T:
        worker: Worker | None = getattr(self._mine, "worker", None)
        if worker is not None and None not in (flavour, worker.flavour) and worker.flavour != flavour:
            self._drop(worker)
            worker = None
        if worker is None:
            worker = self._mine.worker = Worker(self._memory)
            self._all.add(worker)
            if self._closed:
                worker.kill()
        worker.flavour = worker.flavour if flavour is None else flavour
        try:
            result: T = worker.call(function, argument, self._timeout)
            return result
        except Died:
            self._drop(worker)
            raise

    def _drop(self, worker: Worker) -> None:
        worker.kill()
        worker.end()
        self._all.discard(worker)
        self._mine.worker = None
