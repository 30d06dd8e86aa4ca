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
        self._number = count()
        self._own: dict[Flavour, list[tuple[float, int, T]]] = {}
        """The jobs that wait, by flavour, each a heap: of their seconds, negative, and their numbers."""
        self._all: list[tuple[float, int, Flavour]] = []
        """The same of all flavours, of which there may be as many as jobs. What was taken stays until it is first."""
        self._taken: set[int] = set()

    def __len__(self) -> int:
        return len(self._all) - len(self._taken)

    def put(self, job: T, seconds: float, flavour: Flavour) -> None:
        """Have a job wait. `seconds` is how long it takes with what waits for it; of equals, the first goes first."""
        number = next(self._number)
        heapq.heappush(self._own.setdefault(flavour, []), (-seconds, number, job))
        heapq.heappush(self._all, (-seconds, number, flavour))

    def take(self, flavour: Flavour) -> T:
        """Return the job for a worker of that flavour, or for one of none yet; IndexError where none waits."""
        while self._all and self._all[0][1] in self._taken:
            self._taken.remove(heapq.heappop(self._all)[1])
        if not self._all:
            raise IndexError("no job waits")

        def worth(other: Flavour) -> tuple[float, int]:
            seconds, number, _ = self._own[other][0]
            return -seconds - (0 if None in (flavour, other) or flavour == other else REPLACING), -number

        # Of the other flavours, none has a better one than that which is first of all.
        chosen = max((other for other in (self._all[0][2], flavour, None) if other in self._own), key=worth)
        _, number, job = heapq.heappop(self._own[chosen])
        if not self._own[chosen]:
            del self._own[chosen]
        self._taken.add(number)
        return job


def time_needed(seconds: Iterable[float], cores: int) -> float:
    """Return the seconds that jobs take together, the longest first on so many cores: no less, and seldom much more."""
    each = list(seconds)
    return max(sum(each) / cores, max(each, default=0.0))
