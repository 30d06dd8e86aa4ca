"""Run calls in workers, handle each result in the build's own thread, and estimate the time that the rest takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, NamedTuple

from cuda_wheel.builder.compile.precompiled_headers import HeaderGroup
from cuda_wheel.builder.schedule import time_needed
from cuda_wheel.builder.timing import Timed
from cuda_wheel.builder.workers.executor import Call, Executor

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

    def __init__(self, workers: Executor) -> None:
        self._workers = workers
        self._pending: dict[Future[Timed[Any]], _Pending] = {}
        self._errors = _EstimateErrors()
        # Futures put themselves here when done. `concurrent.futures.wait` would examine all of them at each call.
        self._done: SimpleQueue[Future[Timed[Any]]] = SimpleQueue()

    def __len__(self) -> int:
        return len(self._pending)

    def submit(
        self,
        function: Callable[[Any], Any],
        argument: object,
        handler: Handler,
        seconds: float,
        following: float = 0.0,
        options: tuple[str, ...] | None = None,
        group: HeaderGroup | None = None,
        guessed: str = "",
    ) -> Future[Timed[Any]]:
        """Run `function(argument)` in a worker, and then `handler` in this thread.

        The call is expected to take `seconds`, and what waits for it takes `following` seconds more: the longest goes
        first. One worker runs calls of the same `options` only, and prefers those of one `group`. `guessed` names the
        sources if `seconds` is a guess from their size.
        """
        call = Call(function, argument, options, seconds + following, group, timed=True)
        future: Future[Timed[Any]] = self._workers.enqueue(call)
        self._pending[future] = _Pending(handler, seconds, guessed)
        future.add_done_callback(self._done.put)
        return future

    def stop(self, call: Future[Timed[Any]]) -> None:
        """Cancel or end a call whose result nobody needs. Its handler may still get an error."""
        self._workers.stop(call)

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
            times = future.result()  # with the time for precompiling headers: other calls take some too
            self._errors.call_done(call.guessed, call.seconds, times.ended - times.began)
        call.handler(future)

    def seconds_left(self, further: Iterable[float]) -> float | None:
        """Return the seconds that all pending calls, and further ones of these durations, need with all workers.

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
        return time_needed(seconds, self._workers.count)


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
