"""The interface for running a build's calls, and the record of a call. `Workers` and `DaskCluster` implement it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cuda_wheel.builder.workers.worker_process import imported

if TYPE_CHECKING:
    from concurrent.futures import Future

    from cuda_wheel.builder.compile.precompiled_headers import HeaderGroup

__all__ = ["EXECUTOR", "FALLBACK", "Call", "Executor", "WorkerFunction", "shared_options"]

T = TypeVar("T")

EXECUTOR = "CUDA_WHEEL_EXECUTOR"
"""The environment variable that names the executor of a build."""

FALLBACK = "CUDA_WHEEL_EXECUTOR_FALLBACK"
"""The environment variable that names the executor to use if the first is not available."""


def shared_options(options: Iterable[str], lineinfo: bool) -> tuple[str, ...]:
    """Return the options in which the calls of one worker must agree, of those that a source is compiled with.

    Macros are not among them: they decide a program's text and no state of the compiler. Without that, each variant of
    a module would start a worker.
    """
    return (*(option for option in options if not option.startswith("--define-macro=")), str(lineinfo))


@dataclass(frozen=True)
class WorkerFunction(Generic[T]):
    """A function that workers import, and the build's own process does not: that would take as long as a small job.

    Pickled, it becomes the function itself. Its path is like "cuda_wheel.builder.link:link_job".
    """

    path: str

    @property
    def __name__(self) -> str:
        return self.path.partition(":")[2]

    def __call__(self, argument: Any) -> T:
        result: T = imported(self.path)(argument)
        return result

    def __reduce__(self) -> tuple[Callable[[str], Callable[[Any], Any]], tuple[str]]:
        return imported, (self.path,)


@dataclass(frozen=True)
class Call(Generic[T]):
    """A call `function(argument)` for a worker, and what decides where and when it runs."""

    function: Callable[[Any], T]
    argument: Any
    options: tuple[str, ...] | None = None
    """The compiler options that the call uses: a worker serves only calls with equal options. None: any worker may
    serve the call."""
    seconds: float = 0.0
    """The expected duration of the call and of the calls that depend on it. The longest waiting call runs first."""
    headers: HeaderGroup | None = None
    """The group of jobs that can share precompiled headers with this one. Few workers serve each group."""
    timed: bool = False
    """Whether the future holds a `Timed` result or raises a TimedError, in place of the plain result or error. An error
    that prevents the call from starting is never a TimedError."""


class Executor(ABC):
    """Runs calls, several at once."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many calls run at once."""

    @abstractmethod
    def enqueue(self, call: Call[Any]) -> Future[Any]:
        """Return the future of a call.

        The future raises what the function raises, and CompileError if the call takes too long or kills its worker.
        """

    def stop(self, future: Future[Any]) -> None:
        """Cancel a call whose result nobody needs. A running one may be ended, and then raises CompileError."""
        future.cancel()

    def prepare(self, calls: int, library: str | None = None) -> None:  # noqa: B027 (most executors need nothing)
        """Start early what about this many calls need, which will be enqueued soon. By default, nothing is.

        `library` is the path of NVRTC, if it is known.
        """

    def submit(self, function: Callable[[Any], T], argument: Any) -> Future[T]:
        """Return the future of `function(argument)`, for any worker."""
        return self.enqueue(Call(function, argument))
