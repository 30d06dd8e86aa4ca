"""Measure where the time of a build goes. Worker processes measure their calls and send the times with the results.

Nothing that is cached or packed into a wheel contains a time: the output of a build is reproducible, and times are not.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeVar

__all__ = [
    "PRECOMPILING",
    "How",
    "Span",
    "Step",
    "Timed",
    "TimedError",
    "Times",
    "cause_of",
    "measure",
    "now",
    "phase",
    "worker_name",
]

A = TypeVar("A")
T = TypeVar("T")

How = Literal["from the cache", "compiled", "linked", "bundled", "failed"]
"""How a job, link or bundle was done, or that it failed."""

PRECOMPILING = "precompiling"
"""The name of the phase of a job that serves later jobs too."""

_EPOCH = time.time() - time.monotonic()


def now() -> float:
    """Return the seconds since 1970. The clock is comparable between processes and machines and monotonic in each."""
    return _EPOCH + time.monotonic()


class Span(NamedTuple):
    """A named interval, in seconds since 1970 as `now` returns them."""

    name: str
    began: float
    ended: float


@dataclass(frozen=True)
class Times:
    """When and where a call ran, in seconds since 1970."""

    worker: str
    """The machine and process. Calls with the same worker ran one after the other."""
    began: float
    ended: float
    phases: tuple[Span, ...]
    start: Span | None
    """The start-up of the worker process, for its first timed call; else None."""

    @property
    def seconds(self) -> float:
        """The duration of the call, without the time that it spent on precompiling headers for later calls."""
        return (
            self.ended - self.began - sum(span.ended - span.began for span in self.phases if span.name == PRECOMPILING)
        )


@dataclass(frozen=True)
class Timed(Times, Generic[T]):
    """The result of a call, and its times."""

    value: T


class TimedError(Exception):
    """The error that ended a timed call, and the times of that call."""

    def __init__(self, error: Exception, times: Times) -> None:
        super().__init__(error, times)
        self.error = error
        self.times = times

    def __str__(self) -> str:
        return str(self.error)


def cause_of(error: BaseException) -> BaseException:
    """Return the error inside a TimedError; any other error itself."""
    return error.error if isinstance(error, TimedError) else error


@dataclass(frozen=True)
class Step:
    """One finished job, link or bundle of a module: what was done, how, where and when."""

    module: str
    sources: tuple[str, ...]
    target: str
    """Such as "sm_80"; empty for a bundle, which contains all targets."""
    how: How
    worker: str
    """The worker as in `Times`; empty for the process of the build itself, which reads the cache."""
    began: float
    ended: float
    phases: tuple[Span, ...] = ()
    start: Span | None = None


class _PhaseClock:
    """The phases of the current call. A nested phase interrupts the phase around it, so spans never overlap."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.open: list[str] = []
        """The names of the phases that have begun and not ended, the innermost last."""
        self.since = 0.0

    def switch(self) -> None:
        """End the span of the innermost open phase. The next span begins here."""
        at = now()
        if self.open:
            self.spans.append(Span(self.open[-1], self.since, at))
        self.since = at


_clock: ContextVar[_PhaseClock | None] = ContextVar("phase_clock", default=None)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Measure one phase of the current call. The time of a nested phase counts for the nested phase only.

    Outside of `measure` it does nothing.
    """
    clock = _clock.get()
    if clock is None:
        yield
        return
    clock.switch()
    clock.open.append(name)
    try:
        yield
    finally:
        clock.switch()
        clock.open.pop()


def measure(function: Callable[[A], T], argument: A, started: tuple[float, float] | None) -> tuple[T, Times]:
    """Return `function(argument)`, called in a worker process, and the times of the call. The function must not raise.

    `started` is when the start of this process began and ended, in seconds since 1970, or None to leave that out.
    """
    clock = _PhaseClock()
    token = _clock.set(clock)
    began = now()
    try:
        result = function(argument)
    finally:
        _clock.reset(token)
    start = None if started is None else Span("starting", *started)
    return result, Times(worker_name(os.getpid()), began, now(), tuple(clock.spans), start)


def worker_name(process: int) -> str:
    """Return the name of a worker process of this machine, for `Times.worker`."""
    import platform  # only workers measure

    return f"{platform.node()} {process}"
