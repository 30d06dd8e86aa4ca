"""Measure where the time of a build goes. Worker processes measure their calls and send the times with the results.

Nothing that is cached or packed into a wheel contains a time: the output of a build is reproducible, and times are not.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeVar

__all__ = [
    "PRECOMPILING",
    "CallClock",
    "How",
    "Span",
    "Step",
    "Timed",
    "TimedError",
    "Times",
    "cause_of",
    "now",
    "phase",
    "worker_name",
]

T = TypeVar("T")

How = Literal["from the cache", "compiled", "linked", "bundled", "failed"]
"""How a job, link or bundle was done; "failed" if it was not."""

PRECOMPILING = "precompiling"
"""Name of the phase of a job in which headers for later jobs are precompiled."""

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
    """Machine and process that ran the call; calls with the same value ran one after the other. "" for the build's own
    process, which reads the cache."""
    began: float
    ended: float
    phases: tuple[Span, ...]
    start: Span | None
    """Start-up time span of the worker process, for its first timed call; else None."""

    @property
    def seconds(self) -> float:
        """The duration of the call, without the time that it spent on precompiling headers for later calls."""
        return (
            self.ended - self.began - sum(span.ended - span.began for span in self.phases if span.name == PRECOMPILING)
        )


@dataclass(frozen=True)
class Timed(Generic[T]):
    """The result of a call, and its times."""

    value: T
    times: Times


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
    """Target such as "sm_80"; "" for a bundle, which contains all targets."""
    how: How
    times: Times


class CallClock:
    """Measures a call in a worker process, from its creation to `stop`, and the call's phases.

    A nested phase interrupts the phase around it, so spans never overlap. `started` is when the start of this process
    began and ended, in seconds since 1970, or None to leave that out.
    """

    def __init__(self, started: tuple[float, float] | None = None) -> None:
        self._start = None if started is None else Span("starting", *started)
        self._spans: list[Span] = []
        self.open: list[str] = []
        """Names of the phases in progress, innermost last."""
        self._since = 0.0
        self._token = _clock.set(self)
        self._began = now()

    def switch(self) -> None:
        """End the span of the innermost open phase. The next span begins here."""
        at = now()
        if self.open:
            self._spans.append(Span(self.open[-1], self._since, at))
        self._since = at

    def stop(self) -> Times:
        """Return the times of the call, which ends here."""
        _clock.reset(self._token)
        return Times(worker_name(os.getpid()), self._began, now(), tuple(self._spans), self._start)


_clock: ContextVar[CallClock | None] = ContextVar("call_clock", default=None)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Measure one phase of the current call. The time of a nested phase counts for the nested phase only.

    Without a `CallClock` it does nothing.
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


def worker_name(process: int) -> str:
    """Return the name of a worker process of this machine, for `Times.worker`."""
    import platform  # only workers measure

    return f"{platform.node()} {process}"
