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

from cuda_wheel.build import worker_process

__all__ = ["How", "Span", "Step", "Timed", "now", "phase", "timed", "times_of", "worker_name"]

T = TypeVar("T")

How = Literal["from the cache", "compiled", "linked", "bundled", "failed"]
"""How a job, a link or a bundle came to be done, or not."""

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
        return self.ended - self.began


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


_phases: ContextVar[list[Span] | None] = ContextVar("phases", default=None)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Measure a part of a call, which is in no other part. Nothing is measured where nobody asked for it."""
    phases = _phases.get()
    began = now()
    try:
        yield
    finally:
        if phases is not None:
            phases.append(Span(name, began, now()))


def timed(call: tuple[Callable[[Any], T], Any]) -> Timed[T]:
    """Return what a function returns for an argument, and how long it took: for workers. What it raises carries that
    too, for `times_of`."""
    function, argument = call
    phases: list[Span] = []
    token = _phases.set(phases)
    began = now()

    def done(value: Any) -> Timed[Any]:
        start, worker_process.started = worker_process.started, None
        span = start and Span("starting", *start)
        return Timed(value, worker_name(os.getpid()), began, now(), tuple(phases), span)

    try:
        return done(function(argument))
    except Exception as error:
        error.__dict__["times"] = done(None)
        raise
    finally:
        _phases.reset(token)


def worker_name(process: int) -> str:
    """Return what a worker process of this machine is called."""
    return f"{platform.node()} {process}"


def times_of(error: BaseException) -> Timed[None] | None:
    """Return the times of the call that raised an error; None of one that never began."""
    times: Timed[None] | None = error.__dict__.get("times")
    return times
