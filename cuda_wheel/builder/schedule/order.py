"""Decide which waiting job a worker does next, and how long what is left will take. Pure; runs nothing."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from itertools import count
from types import MappingProxyType
from typing import Generic, TypeVar

__all__ = [
    "KEEPING",
    "LEAST",
    "REPLACING",
    "Queue",
    "time_needed",
]


T = TypeVar("T")


Flavour = tuple[str, ...] | None
"""What the jobs of one worker have in common; None suits every worker."""


Kind = tuple[Flavour, str | None]
"""A flavour, and a group of jobs that one worker does faster together, if they are of one."""


REPLACING = 0.5
"""Seconds that a job must be longer than what a worker could do as it is, for the worker to be replaced for its sake.

About twice what a new worker takes to be as ready as the old one: little work is lost by keeping workers, and little by
replacing them. Without that, jobs of equal length and different flavours would replace workers all the time; and
were flavours kept at all costs, the longest job of another one would begin when all else is done.
"""


KEEPING = 1.0
"""Seconds that a job must be longer than those of the worker's own group, for the worker to do it first.

About what precompiled headers save a job, where they are CCCL's.
"""


LEAST = 3
"""Jobs that it takes to pay back the heaviest headers: they cost up to 1.5 times a plain compilation to precompile, and
save two thirds of each and more."""


class _Lane(Generic[T]):
    """The jobs that wait of one flavour and group."""

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, T]] = []
        self.seconds = 0.0
        """All of theirs, of a group's."""


class Queue(Generic[T]):
    """Jobs that wait: the longest goes first, unless that means to replace a worker or to leave a group for little."""

    def __init__(self) -> None:
        self._number = count()
        self._lanes: dict[Kind, _Lane[T]] = {}
        self._groups: dict[Kind, None] = {}
        """The lanes of groups: few, where those of flavours may be as many as jobs."""
        self._all: list[tuple[float, int, Kind]] = []
        """What is in all lanes, a heap of the same order as theirs. What was taken stays until it is first."""
        self._taken: set[int] = set()

    def __len__(self) -> int:
        return len(self._all) - len(self._taken)

    def put(self, job: T, seconds: float, flavour: Flavour, group: str | None = None) -> None:
        """Have a job wait. `seconds` is how long it takes with what waits for it; of equals, the first goes first.

        What one worker does of a `group`, which is of one flavour, it does faster.
        """
        kind, number = (flavour, group), next(self._number)
        lane = self._lanes.setdefault(kind, _Lane())
        heapq.heappush(lane.heap, (-seconds, number, job))
        heapq.heappush(self._all, (-seconds, number, kind))
        if group is not None:
            self._groups[kind] = None
            lane.seconds += seconds

    def take(self, flavour: Flavour, group: str | None = None, others: Mapping[str, int] = MappingProxyType({})) -> T:
        """Return the job for a worker of that flavour and group, or for one of none yet; IndexError where none waits.

        `others` tells how many other workers there are of each group. Of jobs about as long as the longest, those of
        the worker's own group go first, then those of the group of which most seconds wait for each of its workers.
        """
        while self._all and self._all[0][1] in self._taken:
            self._taken.remove(heapq.heappop(self._all)[1])
        if not self._all:
            raise IndexError("no job waits")

        def worth(kind: Kind) -> tuple[float, int]:
            seconds, number, _ = self._lanes[kind].heap[0]
            suits = None in (flavour, kind[0]) or flavour == kind[0]
            return -seconds - (0 if suits else REPLACING), -number

        def share(kind: Kind) -> float:
            return self._lanes[kind].seconds / (1 + others.get(kind[1] or "", 0))

        chosen, own = self._all[0][2], (flavour, group)
        if group is not None and own in self._lanes and -self._lanes[own].heap[0][0] >= -self._all[0][0] - KEEPING:
            chosen = own
        elif len(self._lanes) > 1:
            # Of the other flavours, none has a better one than that which is first of all.
            suitable = (chosen, (flavour, None), (None, None), *self._groups)
            worths = {kind: worth(kind) for kind in suitable if kind in self._lanes}
            best = max(worths, key=lambda kind: worths[kind])
            least = worths[best][0] - KEEPING
            near = [kind for kind, (seconds, _) in worths.items() if kind[0] == best[0] and seconds >= least]
            chosen = max(near, key=lambda kind: (share(kind), worths[kind]))
        lane = self._lanes[chosen]
        seconds, number, job = heapq.heappop(lane.heap)
        self._taken.add(number)
        lane.seconds += 0.0 if chosen[1] is None else seconds
        if not lane.heap:
            del self._lanes[chosen]
            self._groups.pop(chosen, None)
        return job


def time_needed(seconds: Iterable[float], cores: int) -> float:
    """Return the seconds that jobs take together, the longest first on so many cores: no less, and seldom much more."""
    each = list(seconds)
    return max(sum(each) / cores, max(each, default=0.0))
