"""The workers of a build on this machine, which are imported when a call needs them: a cached build needs none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cuda_wheel.builder.workers.cores import available_cores
from cuda_wheel.builder.workers.executor import Call, Executor

if TYPE_CHECKING:
    from concurrent.futures import Future
    from types import TracebackType

    from cuda_wheel.builder.workers.pool import Workers

__all__ = ["LocalWorkers"]


class LocalWorkers(Executor):
    """`Workers` that are made by the first call; a context manager. The parameters are those of `Workers`."""

    def __init__(self, timeout: float, memory: int | None) -> None:
        self._limits = timeout, memory
        self._count = available_cores()
        self._workers: Workers | None = None

    def __enter__(self) -> LocalWorkers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._workers is not None:
            self._workers.__exit__(kind, error, trace)

    @property
    def count(self) -> int:
        """How many calls run at once."""
        return self._count

    def enqueue(self, call: Call[Any]) -> Future[Any]:
        """Return the future of a call; see `Workers`."""
        if self._workers is None:
            from cuda_wheel.builder.workers.pool import Workers

            self._workers = Workers(*self._limits, self._count)
        return self._workers.enqueue(call)

    def stop(self, future: Future[Any]) -> None:
        """Cancel a call, or end the worker that runs it."""
        if self._workers is not None:
            self._workers.stop(future)
