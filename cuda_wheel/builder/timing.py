"""Measure where the time of a build goes, in the workers themselves: their answers carry it.

Nothing that is kept or packed holds any of it: what is built is the same every time, and times are not.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from cuda_wheel.builder.workers import worker_process

__all__ = [
    "PRECOMPILING",
    "How",
    "Span",
    "Step",
    "Timed",
    "now",
    "phase",
    "timed",
    "times_of",
    "worker_name",
]


T = TypeVar("T")


How = Literal["from the cache", "compiled", "linked", "bundled", "failed"]
"""How a job, a link or a bundle came to be done, or not."""


PRECOMPILING = "precompiling"
"""The phase of a job that is for others as well."""


_EPOCH = time.time() - time.monotonic()


def now() -> float:
    """Return the seconds since 1970: comparable between processes and machines, and never going back in one."""
    return _EPOCH + time.monotonic()


class Span(NamedTuple):
    """What took from when to when, as `now` tells."""

    name: str
    began: float
    ended: float


@dataclass(frozen=True)
class Timed(Generic[T]):
    """What a call in a worker returned, and its times there."""

    value: T
    worker: str
    """The machine and process: its calls follow one another."""
    began: float
    ended: float
    phases: tuple[Span, ...]
    start: Span | None
    """The worker's own start, with the first call of its process."""

    @property
    def seconds(self) -> float:
        """What the call took for itself."""
        return self.ended - self.began - sum(its.ended - its.began for its in self.phases if its.name == PRECOMPILING)


@dataclass(frozen=True)
class Step:
    """One job, link or bundle that was done, for one module: what was done, how, where and when."""

    module: str
    sources: tuple[str, ...]
    target: str
    """Such as "sm_80"; empty for a bundle, which is of them all."""
    how: How
    worker: str
    """Empty for the build's own process, which looks into the cache."""
    began: float
    ended: float
    phases: tuple[Span, ...] = ()
    start: Span | None = None


class _Clock:
    """The phases of a call so far, and what there is of those that are under way since one was entered or left."""

    def __init__(self) -> None:
        self.phases: list[Span] = []
        self.under_way: list[str] = []
        self.since = 0.0

    def turn(self) -> None:
        at = now()
        if self.under_way:
            self.phases.append(Span(self.under_way[-1], self.since, at))
        self.since = at


_clock: ContextVar[_Clock | None] = ContextVar("clock", default=None)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Measure a part of a call. What is inside another one is no part of that. Without `timed`, nothing is measured."""
    clock = _clock.get()
    if clock is None:
        yield
        return
    clock.turn()
    clock.under_way.append(name)
    try:
        yield
    finally:
        clock.turn()
        clock.under_way.pop()


def timed(call: tuple[Callable[[Any], T], Any]) -> Timed[T]:
    """Return what a function returns for an argument, and how long it took: for workers. What it raises carries that
    too, for `times_of`."""
    function, argument = call
    clock = _Clock()
    token = _clock.set(clock)
    began = now()

    def done(value: Any) -> Timed[Any]:
        start, worker_process.started = worker_process.started, None
        span = start and Span("starting", *start)
        return Timed(value, worker_name(os.getpid()), began, now(), tuple(clock.phases), span)

    try:
        return done(function(argument))
    except Exception as error:
        error.__dict__["times"] = done(None)
        raise
    finally:
        _clock.reset(token)


def worker_name(process: int) -> str:
    """Return what a worker process of this machine is called."""
    return f"{platform.node()} {process}"


def times_of(error: BaseException) -> Timed[None] | None:
    """Return the times of the call that raised an error; None of one that never began."""
    times: Timed[None] | None = error.__dict__.get("times")
    return times
