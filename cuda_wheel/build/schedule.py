"""Decide which waiting job a worker does next, and how long what is left will take. Pure; runs nothing."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import count
from typing import Generic, TypeVar

__all__ = ["REPLACING", "Queue", "time_needed"]

T = TypeVar("T")

Flavour = tuple[str, ...] | None
"""What the jobs of one worker have in common; None suits every worker."""

REPLACING = 0.5
"""Seconds that a job must be longer than what a worker could do as it is, for the worker to be replaced for its sake.

About twice what a new worker takes to be as ready as the old one: little work is lost by keeping workers, and little by
replacing them. Without that, jobs of equal length and different flavours would replace workers all the time; and
were flavours kept at all costs, the longest job of another one would begin when all else is done.
"""


class Queue(Generic[T]):
    """Jobs that wait: the longest goes first, unless that means to replace a worker for little."""

    def __init__(self) -> None:
        self._heaps: dict[Flavour, list[tuple[float, int, T]]] = {}
        self._number = count()

    def __len__(self) -> int:
        return sum(map(len, self._heaps.values()))

    def put(self, job: T, seconds: float, flavour: Flavour) -> None:
        """Have a job wait. `seconds` is how long it takes with what waits for it; of equals, the first goes first."""
        heapq.heappush(self._heaps.setdefault(flavour, []), (-seconds, next(self._number), job))

    def take(self, flavour: Flavour) -> T:
        """Return the job for a worker of that flavour, or for one of none yet; IndexError where none waits."""

        def worth(other: Flavour) -> tuple[float, int]:
            seconds, number, _ = self._heaps[other][0]
            return -seconds - (0 if None in (flavour, other) or flavour == other else REPLACING), -number

        if not self._heaps:
            raise IndexError("no job waits")
        chosen = max(self._heaps, key=worth)
        heap = self._heaps[chosen]
        _, _, job = heapq.heappop(heap)
        if not heap:
            del self._heaps[chosen]
        return job


def time_needed(seconds: Iterable[float], cores: int) -> float:
    """Return the seconds that jobs take together, the longest first on so many cores: no less, and seldom much more."""
    each = list(seconds)
    return max(sum(each) / cores, max(each, default=0.0))
