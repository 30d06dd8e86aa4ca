"""How a build's calls are run: the interface of `Workers` and `DaskCluster`, the record of a call, and the queue.

The queue decides which of the waiting calls a worker runs next.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cuda_wheel.builder.workers.worker_process import imported

if TYPE_CHECKING:
    from concurrent.futures import Future

    from cuda_wheel.builder.compile.precompiled_headers import HeaderGroup

__all__ = [
    "EXECUTOR",
    "FALLBACK",
    "KEEP_GROUP_SECONDS",
    "REPLACE_WORKER_SECONDS",
    "Call",
    "Executor",
    "Queue",
    "WorkerFunction",
    "shared_options",
]

T = TypeVar("T")

EXECUTOR = "CUDA_WHEEL_EXECUTOR"
"""Environment variable that says where the compiler calls of a build run: "dask://HOST:PORT" for a Dask cluster. If it
is not set, they run on this machine."""

FALLBACK = "CUDA_WHEEL_EXECUTOR_FALLBACK"
"""Environment variable that says where calls run if the executor of CUDA_WHEEL_EXECUTOR is unavailable: "local" for
this machine. If it is not set, the build fails."""


def shared_options(options: Iterable[str], lineinfo: bool) -> tuple[str, ...]:
    """Return the compiler options that must be equal for all calls that one worker runs: all except macros.

    Macros change the text of a program and no state of the compiler. If they counted, each variant of a module would
    need a worker of its own. The last element is `lineinfo` as text.
    """
    return (*(option for option in options if not option.startswith("--define-macro=")), str(lineinfo))


@dataclass(frozen=True)
class WorkerFunction(Generic[T]):
    """A function that workers import and call. The build's own process does not import it, to save time.

    Pickled, it becomes the function itself.
    """

    path: str
    """Module and name of the function: "cuda_wheel.builder.link:link_job"."""

    @property
    def __name__(self) -> str:
        """Name of the function."""
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
    """Function to call in the worker; it must be picklable."""
    argument: Any
    """The function's only argument; it must be picklable."""
    options: tuple[str, ...] | None = None
    """Compiler options of the call. After a call with options, a worker cannot serve a call with other options. None if
    any worker may serve the call."""
    seconds: float = 0.0
    """Expected duration, in seconds, of the call together with the calls that depend on it. Normally, the waiting call
    with the highest value runs first; see `Queue`."""
    headers: HeaderGroup | None = None
    """Group of jobs (compilations) that can share precompiled headers. Calls of one group run on few workers, so that
    each precompiles once for many calls. None if the call belongs to no group."""
    timed: bool = False
    """If True, the call is timed: its future gives a `Timed` instead of the function's result, or raises a TimedError
    instead of the function's exception. An error before the call starts is never a TimedError."""


class Executor(ABC):
    """Runs calls, several at once."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Maximum number of calls that run at once."""

    @abstractmethod
    def enqueue(self, call: Call[Any]) -> Future[Any]:
        """Return the future of a call, which runs as soon as a worker is free.

        The future raises what the function raises, and CompileError if the call takes too long or kills its worker.
        """

    def stop(self, future: Future[Any]) -> None:
        """Cancel a call by its future. A running call may be ended; its future then raises CompileError."""
        future.cancel()

    def prepare(self, calls: int, library: str | None = None) -> None:  # noqa: B027 (most executors need nothing)
        """Prepare for about `calls` calls that will be enqueued soon, for example by starting workers.

        `library` is the path of NVRTC; None if it is unknown. This implementation does nothing.
        """

    def submit(self, function: Callable[[Any], T], argument: Any) -> Future[T]:
        """Return the future of `function(argument)`, for any worker."""
        return self.enqueue(Call(function, argument))


# --- which waiting call a worker does next ----------------------------------------------------------

Options = tuple[str, ...] | None
"""Compiler options of a job. After a job with options, a worker cannot do a job with other options. None if any worker
can do the job."""

LaneKey = tuple[Options, str | None]
"""(compiler options of a job, key of the job's group). A group's jobs can share precompiled headers. The key is None
for a job without a group."""

# About twice the time until a new worker is as ready as the old one, so little time is lost either way. With 0, jobs of
# equal length and different options would keep replacing workers. If busy workers were never replaced, the longest job
# with other options would start only after all others.
REPLACE_WORKER_SECONDS = 0.5
"""Advantage, in expected seconds, above which the build replaces a worker by a new one.

It is how much longer a waiting job with other compiler options is than the longest one that the worker can do.
"""

# About the time that precompiled headers of CCCL save a job.
KEEP_GROUP_SECONDS = 1.0
"""Advantage, in expected seconds, above which a worker leaves its group (jobs that share precompiled headers).

It is how much longer a waiting job outside the group is than the group's longest waiting job.
"""


class _Lane(Generic[T]):
    """The waiting jobs with the same options and group, the longest first."""

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, T]] = []
        """Heap of (negated expected seconds, arrival number, job): the longest job comes first, of equally long jobs
        the one that arrived first."""
        self.seconds = 0.0
        """Sum of the expected seconds of the jobs that wait in the lane."""

    @property
    def longest(self) -> float:
        """Expected seconds of the lane's longest job."""
        return -self.heap[0][0]


class Queue(Generic[T]):
    """A queue of jobs for workers.

    The longest job goes first, unless it is only slightly longer than one for which the worker need not be replaced or
    leave its group.
    """

    def __init__(self) -> None:
        self._number = count()
        self._lanes: dict[LaneKey, _Lane[T]] = {}
        """Lane key -> lane of the waiting jobs with that key. A lane without jobs is removed."""
        # These lanes are few, but there may be as many lanes without a group as jobs. So a search here is faster than
        # one in `_lanes`.
        self._group_lanes: dict[LaneKey, None] = {}
        """Keys of the lanes that belong to a group, as an ordered set: all values are None."""
        self._all: list[tuple[float, int, LaneKey]] = []
        """Heap of (negated expected seconds, arrival number, lane key), with an item for each waiting job. The item of
        a job that was taken stays until it comes to the top of the heap."""
        self._taken: set[int] = set()
        """Arrival numbers of the jobs that were taken, but whose items are still in `_all`."""

    def __len__(self) -> int:
        return len(self._all) - len(self._taken)

    def put(self, job: T, seconds: float, options: Options, group: str | None = None) -> None:
        """Add a job. `seconds` is the expected duration of the job and of the jobs that depend on it.

        Of jobs with equal seconds, the first added goes first. A worker does jobs of one `group` faster together.
        """
        key, number = (options, group), next(self._number)
        lane = self._lanes.setdefault(key, _Lane())
        heapq.heappush(lane.heap, (-seconds, number, job))
        heapq.heappush(self._all, (-seconds, number, key))
        lane.seconds += seconds
        if group is not None:
            self._group_lanes[key] = None

    def take(self, options: Options, group: str | None = None, others: Mapping[str, int] = MappingProxyType({})) -> T:
        """Remove and return the next job for a worker. Raises IndexError if the queue is empty.

        `options` and `group` are those of the worker's earlier jobs, or None. `others` maps each group to the number of
        other workers that serve it. Of jobs about as long as the longest, those of the worker's own group go first,
        then those of the group with the most waiting seconds per worker.
        """
        while self._all and self._all[0][1] in self._taken:
            self._taken.remove(heapq.heappop(self._all)[1])
        if not self._all:
            raise IndexError("the queue is empty")
        return self._remove_first(self._choose(options, group, others))

    def _choose(self, options: Options, group: str | None, others: Mapping[str, int]) -> LaneKey:
        """Return the key of the lane whose first job a worker should do next. The queue must not be empty.

        `options`: compiler options of the worker's earlier jobs, or None. `group`: key of the group of these jobs, or
        None. `others`: key of a group -> number of other workers that serve the group.
        """
        first, own = self._all[0][2], (options, group)
        longest = self._lanes[first].longest
        if group is not None and own in self._lanes and self._lanes[own].longest >= longest - KEEP_GROUP_SECONDS:
            return own
        if len(self._lanes) == 1:
            return first
        # Of the lanes with other options and without a group, the one with the first job of all is the best.
        candidates = {first, (options, None), (None, None), *self._group_lanes} & self._lanes.keys()
        worths = {key: self._worth(key, options) for key in candidates}
        best = max(worths, key=lambda key: worths[key])
        least = worths[best][0] - KEEP_GROUP_SECONDS
        near = [key for key, (seconds, _) in worths.items() if key[0] == best[0] and seconds >= least]
        return max(near, key=lambda key: (self._seconds_per_worker(key, others), worths[key]))

    def _worth(self, key: LaneKey, options: Options) -> tuple[float, int]:
        """Return a sort key for the first job of a lane: (expected seconds, negated arrival number). The greatest sort
        key is the best.

        `key`: key of the lane. `options`: compiler options of the worker. If the job has other options, the seconds are
        reduced by `REPLACE_WORKER_SECONDS`.
        """
        seconds, number, _ = self._lanes[key].heap[0]
        suits = None in (options, key[0]) or options == key[0]
        return -seconds - (0 if suits else REPLACE_WORKER_SECONDS), -number

    def _seconds_per_worker(self, key: LaneKey, others: Mapping[str, int]) -> float:
        """Return the expected seconds of a lane's waiting jobs, divided by the number of workers that serve the lane's
        group. Return 0 for a lane without a group.

        `others`: key of a group -> number of other workers that serve it. The asking worker is added.
        """
        group = key[1]
        return 0.0 if group is None else self._lanes[key].seconds / (1 + others.get(group, 0))

    def _remove_first(self, key: LaneKey) -> T:
        """Remove the first job of a lane from the queue, and return the job."""
        lane = self._lanes[key]
        negative_seconds, number, job = heapq.heappop(lane.heap)
        self._taken.add(number)
        lane.seconds += negative_seconds
        if not lane.heap:
            del self._lanes[key]
            self._group_lanes.pop(key, None)
        return job
