"""Learn during a build how long calls of unknown duration take, from those that are done.

Remember how long jobs and links took, to begin with the longest and to estimate the duration of a build.

Decide which waiting job a worker does next, and estimate how long the remaining jobs take. Pure; runs nothing.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from itertools import count
from types import MappingProxyType
from typing import Generic, TypeVar

from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.plan import Link
from cuda_wheel.builder.sources.header_dependencies import header_bytes
from cuda_wheel.runtime.parts.user_cache import Cache

__all__ = [
    "BUNDLING_SECONDS",
    "FORMAT",
    "KEEP_GROUP_SECONDS",
    "REPLACE_WORKER_SECONDS",
    "Durations",
    "Pace",
    "Queue",
    "time_needed",
]


FORMAT = "seconds 1"
"""Part of every cache key, so that entries of another layout are never read."""

BUNDLING_SECONDS = {"none": 0.002, "speed": 0.005, "balance": 0.02, "size": 0.2}
"""The duration of bundling a module, by its compression. It is not recorded: every build would write records."""


class Durations:
    """The durations of jobs and links, in one record for each module, which `cache` stores if there is one.

    A record identifies jobs and links by the paths of their sources, their target and their settings, not by content:
    after an edit, the earlier duration is the best estimate.
    """

    def __init__(self, cache: Cache | None) -> None:
        self._cache = cache
        self._records: dict[str, dict[str, float]] = {}
        self._changed: set[str] = set()

    def expected(self, module: str, work: Job | Link) -> tuple[float, bool]:
        """Return the expected seconds of a job or link of a module, and whether that is its own last duration.

        Otherwise it is the last duration of the same sources for another target or, if there is none, a poor estimate
        from the sizes of the sources and of their headers.
        """
        record = self._record(module)
        exact, loose = _keys(work)
        if exact in record:
            return record[exact], True
        return record[loose] if loose in record else _estimate(work), False

    def guessed(self, module: str, work: Job | Link) -> str:
        """Return the sources of a job or link if nothing is recorded of them, so that `expected` guesses; else ""."""
        _, loose = _keys(work)
        return "" if loose in self._record(module) else loose

    def record(self, module: str, work: Job | Link, seconds: float) -> None:
        """Record the duration of a job or link of a module."""
        self._record(module).update(dict.fromkeys(_keys(work), round(seconds, 4)))
        self._changed.add(module)

    def save(self) -> None:
        """Write the changed records to the cache."""
        if self._cache:
            for module in sorted(self._changed):
                self._cache.put(_entry(module), json.dumps(self._records[module], sort_keys=True).encode())
        self._changed.clear()

    def _record(self, module: str) -> dict[str, float]:
        if module not in self._records:  # each is read when first needed: a build may have a thousand modules
            cached = self._cache.read(_entry(module), _parse) if self._cache else None
            self._records[module] = cached or {}
        return self._records[module]


def _entry(module: str) -> str:
    """Return the cache key of a module's record."""
    return Cache.key(FORMAT, module)


def _parse(entry: bytes) -> dict[str, float]:
    return {name: float(seconds) for name, seconds in json.loads(entry).items()}


def _keys(work: Job | Link) -> tuple[str, str]:
    """Return the key of a job or link in its module's record, and the key of all jobs or links of the same sources."""
    if isinstance(work, Job):
        sources, target, form = [work.source], work.arch, str(work.form)
        settings = repr(
            (work.cubin, work.ptx, work.options, work.instantiate, work.instances, work.lineinfo, work.ptx_version)
        )
    else:
        sources = [part.source if isinstance(part, Job) else part.path for part in work.inputs]
        target, form = str(work.target), "linked of " + ("lto" if work.lto else "ptx")
        settings = repr(work.options)
    loose = " ".join([form, *sources])
    return f"{target} {loose} {sha256(settings.encode(errors='surrogateescape')).hexdigest()[:16]}", loose


_MOST_HEADERS = 1 << 20
"""The size of headers, in bytes, above which the rest is not counted: CUB's are some megabytes, and take about a
second."""


@lru_cache(maxsize=4096)  # most sources have their includes in common with others
def _header_bytes(text: bytes, root: str, folders: tuple[str, ...]) -> int:
    try:
        return header_bytes(text, root, folders, _MOST_HEADERS)
    except OSError:
        return 0


def _estimate(work: Job | Link) -> float:
    """Return the approximate seconds for sources of this size, and for the headers that they include."""
    if isinstance(work, Job):
        return (
            0.1 + 5e-5 * len(work.text) + 1.2 * _header_bytes(work.text, work.root, work.include_dirs) / _MOST_HEADERS
        )
    size = sum(len(part.text) if isinstance(part, Job) else len(part.content) for part in work.inputs)
    return 0.05 + 1e-5 * size


T = TypeVar("T")

Options = tuple[str, ...] | None
"""The compiler options of a job: a worker does jobs with equal options only. None: any worker can do the job."""

LaneKey = tuple[Options, str | None]
"""The options of a job, and the key of the group of jobs that share precompiled headers with it, if any."""

REPLACE_WORKER_SECONDS = 0.5
"""A worker is replaced, to do a job with other options, only if that job is so many seconds longer than any job that
the worker can do as it is.

This is about twice the time until a new worker is as ready as the old one, so little time is lost either way. With 0,
jobs of equal length and different options would replace workers all the time. If workers were never replaced while
they have jobs, the longest job with other options would begin when all others are done.
"""

KEEP_GROUP_SECONDS = 1.0
"""A worker does a job outside its group first only if that job is so many seconds longer than those of the group.

This is about what precompiled headers of CCCL save a job.
"""


class _Lane(Generic[T]):
    """The waiting jobs with the same options and group, the longest first."""

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, T]] = []
        """Minus the seconds of a job, its number in the order of arrival, and the job."""
        self.seconds = 0.0
        """The sum for all jobs in the lane."""

    @property
    def longest(self) -> float:
        """The seconds of the longest job."""
        return -self.heap[0][0]


class Queue(Generic[T]):
    """A queue of jobs. The longest job goes first, unless it is only slightly longer than the next one and would make
    the worker be replaced or leave its group."""

    def __init__(self) -> None:
        self._number = count()
        self._lanes: dict[LaneKey, _Lane[T]] = {}
        """None of them is empty."""
        self._group_lanes: dict[LaneKey, None] = {}
        """The keys of lanes that belong to groups. They are few; other lanes may be as many as jobs."""
        self._all: list[tuple[float, int, LaneKey]] = []
        """The jobs of all lanes in one heap of the same order. A job that was taken stays until it is first."""
        self._taken: set[int] = set()
        """The numbers of these."""

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

        `options` and `group` are those of the worker's earlier jobs, or None. `others` is the number of other workers
        by group. Of jobs about as long as the longest, those of the worker's own group go first, then those of the
        group with the most seconds waiting for each of its workers.
        """
        while self._all and self._all[0][1] in self._taken:
            self._taken.remove(heapq.heappop(self._all)[1])
        if not self._all:
            raise IndexError("the queue is empty")
        return self._remove_first(self._choose(options, group, others))

    def _choose(self, options: Options, group: str | None, others: Mapping[str, int]) -> LaneKey:
        """Return the key of the lane whose first job is next for a worker, as `take` describes."""
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
        """Return a key to compare the first jobs of lanes by, for a worker with these options. No two are equal."""
        seconds, number, _ = self._lanes[key].heap[0]
        suits = None in (options, key[0]) or options == key[0]
        return -seconds - (0 if suits else REPLACE_WORKER_SECONDS), -number

    def _seconds_per_worker(self, key: LaneKey, others: Mapping[str, int]) -> float:
        """Return how many seconds of a group wait for each of its workers, one more included; 0 without a group."""
        group = key[1]
        return 0.0 if group is None else self._lanes[key].seconds / (1 + others.get(group, 0))

    def _remove_first(self, key: LaneKey) -> T:
        """Remove and return the first job of a lane."""
        lane = self._lanes[key]
        negative_seconds, number, job = heapq.heappop(lane.heap)
        self._taken.add(number)
        lane.seconds += negative_seconds
        if not lane.heap:
            del self._lanes[key]
            self._group_lanes.pop(key, None)
        return job


def time_needed(seconds: Iterable[float], cores: int) -> float:
    """Return a lower bound on the time that jobs of these durations take on `cores` cores, in seconds.

    If the longest job goes first, they seldom take much longer.
    """
    durations = list(seconds)
    return max(sum(durations) / cores, max(durations, default=0.0))


class Pace:
    """How the durations of calls compare with estimates from the size of their sources.

    Two sources of the same size may differ a hundredfold, by what they include. The jobs of one source for several
    targets take about as long as each other.
    """

    def __init__(self) -> None:
        self._sources: dict[str, tuple[float, float]] = {}
        """The sums of the seconds estimated and taken, for each source that has a call which is done."""
        self._all = (0.0, 0.0)
        """The same for all sources: there may be thousands."""

    def call_done(self, source: str, estimated: float, taken: float) -> None:
        """Take the seconds of a call into account that compiled a source, or a list of them."""
        sums = self._sources.get(source, (0.0, 0.0))
        self._sources[source] = sums[0] + estimated, sums[1] + taken
        self._all = self._all[0] + estimated, self._all[1] + taken

    def factor(self, source: str) -> float | None:
        """Return by how much to multiply the estimate of a call; None before any call is done."""
        estimated, taken = self._sources.get(source, self._all)
        return taken / estimated if estimated else None
