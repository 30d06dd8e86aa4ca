"""Handle the results of calls in workers in the build's own thread, and estimate the time that the rest takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, NamedTuple

from cuda_wheel.builder.schedule import time_needed
from cuda_wheel.builder.timing import Timed

__all__ = ["Handler", "TaskQueue"]

Handler = Callable[["Future[Timed[Any]]"], None]
"""Handles the result, or the exception, of a call that is done."""


class _Pending(NamedTuple):
    """A call whose result is not handled."""

    handler: Handler
    seconds: float
    """How long it is expected to take."""
    guessed: str
    """The sources, if `seconds` is a guess from their size; else empty."""


class TaskQueue:
    """The calls that workers run or that wait for a worker."""

    def __init__(self) -> None:
        self._pending: dict[Future[Timed[Any]], _Pending] = {}
        self._errors = _EstimateErrors()
        # Futures put themselves here when done. `concurrent.futures.wait` would examine all of them at each call.
        self._done: SimpleQueue[Future[Timed[Any]]] = SimpleQueue()

    def __len__(self) -> int:
        return len(self._pending)

    def add(
        self, future: Future[Timed[Any]], handler: Handler, seconds: float, guessed: str = ""
    ) -> Future[Timed[Any]]:
        """Let `handler` handle the result of a call in this thread, and return the call's future.

        The call is expected to take `seconds`. `guessed` names the sources if that is a guess from their size.
        """
        self._pending[future] = _Pending(handler, seconds, guessed)
        future.add_done_callback(self._done.put)
        return future

    def handle_done(self) -> None:
        """Handle the results that are there, without waiting."""
        while not self._done.empty():
            self.handle_next()

    def handle_next(self) -> None:
        """Wait for a result and handle it. A call that was cancelled is ignored."""
        future = self._done.get()
        call = self._pending.pop(future)
        if future.cancelled():
            return
        if call.guessed and future.exception() is None:
            times = future.result().times  # with the time for precompiling headers: other calls take some too
            self._errors.call_done(call.guessed, call.seconds, times.ended - times.began)
        call.handler(future)

    def seconds_left(self, further: Iterable[float], workers: int) -> float | None:
        """Return the seconds that all pending calls, and further ones of these durations, need with so many workers.

        Guesses are corrected by how long other calls took; None while nothing is known that could correct them.
        """
        guessed = {call.guessed for call in self._pending.values() if call.guessed}
        factors = {"": 1.0, **{source: self._errors.factor(source) for source in guessed}}
        seconds = list(further)
        for call in self._pending.values():
            factor = factors[call.guessed]
            if factor is None:
                return None
            seconds.append(call.seconds * factor)
        return time_needed(seconds, workers)


class _EstimateErrors:
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
