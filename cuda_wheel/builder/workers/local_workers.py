"""The workers of a build on this machine, which are imported when a call needs them: a cached build needs none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cuda_wheel.builder.workers.cores import available_cores
from cuda_wheel.builder.workers.executor import Call, Executor

if TYPE_CHECKING:
    from concurrent.futures import Future
    from types import TracebackType

    from cuda_wheel.builder.toolchain.records import Toolchain
    from cuda_wheel.builder.workers.pool import Workers

__all__ = ["LocalWorkers"]


def _load_compilers(library: str | None) -> None:
    """Import what each job needs, and load NVRTC, whose path may not be known yet."""
    import cuda_wheel.builder.compile.job  # noqa: F401
    from cuda_wheel.builder.toolchain import nvrtc
    from cuda_wheel.runtime.jit.cuda_libraries import library_path

    try:
        library = library or library_path("nvrtc")
        if library is not None:
            nvrtc.load(library)
    except Exception:  # the search for the toolchain says what is wrong, or else the first job
        return


def _find_toolchain(_: None) -> Toolchain:
    from cuda_wheel.builder.toolchain.find import find_toolchain  # takes long to import, which only the worker does

    return find_toolchain()


class LocalWorkers(Executor):
    """`Workers` that are made by the first call; a context manager. The parameters are those of `Workers`."""

    def __init__(self, timeout: float, memory: int | None) -> None:
        self._limits = timeout, memory
        self._count = available_cores()
        self._workers: Workers | None = None
        self._is_prepared = False
        self._search: Future[Toolchain] | None = None

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

    def prepare(self, calls: int, library: str | None = None) -> None:
        """Start workers, which load what compiles; the first time only."""
        if not self._is_prepared:
            self._is_prepared = True
            for _ in range(min(calls, self._count)):
                self.submit(_load_compilers, library)

    def search_toolchain(self) -> None:
        """Begin to search for the toolchain."""
        if self._search is None:
            self._search = self.submit(_find_toolchain, None)

    def toolchain(self) -> Toolchain:
        """Return the toolchain that a search finds; raises ToolchainError."""
        self.search_toolchain()
        assert self._search is not None
        return self._search.result()

    def load_compilers(self, library: str) -> None:
        """Let the workers that are idle load what compiles, while this process plans."""
        for _ in range(self._count if self._is_prepared else 0):
            self.submit(_load_compilers, library)

    def enqueue(self, call: Call[Any]) -> Future[Any]:
        """Return the future of a call; see `Workers`."""
        if self._workers is None:
            from cuda_wheel.builder.workers.pool import Workers

            self._workers = Workers(*self._limits, self._count)
        return self._workers.enqueue(call)

    def stop(self, future: Future[Any]) -> None:
        """Cancel a call, or end the worker that runs it; see `Workers`."""
        if self._workers is not None:
            self._workers.stop(future)
