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
"""How the result of a job, link or bundle was obtained; "failed" if there is no result."""

PRECOMPILING = "precompiling"
"""Name of a phase of a job: the time in which the job precompiles headers that later jobs use too."""

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
    """When and where a call ran. `began` and `ended` are in seconds since 1970."""

    worker: str
    """Machine name and process id of the process that ran the call. Calls with the same value ran one after the other.
    "" for the build's own process, which reads the cache."""
    began: float
    ended: float
    phases: tuple[Span, ...]
    start: Span | None
    """Interval in which the worker process started. None, except for the first timed call of that process."""

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
    """GPU target such as "sm_80"; "" for a bundle, which contains all targets."""
    how: How
    times: Times


class CallClock:
    """Measures a call in a worker process, from its creation to `stop`, and the call's phases.

    A nested phase interrupts the phase around it, so spans never overlap. `started` is the begin and the end of the
    start-up of this process, in seconds since 1970, for `Times.start`; None to leave that out.
    """

    def __init__(self, started: tuple[float, float] | None = None) -> None:
        self._start = None if started is None else Span("starting", *started)
        self._spans: list[Span] = []
        self.open: list[str] = []
        """Names of the phases in progress, the innermost last."""
        self._since = 0.0
        self._token = _clock.set(self)
        self._began = now()

    def switch(self) -> None:
        """Record the span that ends now, for the innermost phase in progress, if any. The next span begins now."""
        at = now()
        if self.open:
            self._spans.append(Span(self.open[-1], self._since, at))
        self._since = at

    def stop(self) -> Times:
        """End the measurement of the call, and return its times."""
        _clock.reset(self._token)
        return Times(worker_name(os.getpid()), self._began, now(), tuple(self._spans), self._start)


_clock: ContextVar[CallClock | None] = ContextVar("call_clock", default=None)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Measure the body of a `with` statement as one phase of the current call.

    The time of a nested phase counts for the nested phase only. In a process without a `CallClock`, do nothing.
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
    """Return the value of `Times.worker` for a process of this machine: machine name and process id."""
    import platform  # only workers measure

    return f"{platform.node()} {process}"
