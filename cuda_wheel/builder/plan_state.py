"""The state of a running plan: the calls in workers, an estimate of the time left, and the results of jobs.

The results of calls are handled in the build's own thread. Results of jobs are kept until their modules are built, in
memory up to a limit and beyond it in files: jobs run in the order of their duration, so the jobs of many modules may be
done before any module is complete.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.schedule import time_needed
from cuda_wheel.builder.scratch import scratch
from cuda_wheel.builder.timing import Timed

__all__ = ["Handler", "JobResults", "TaskQueue"]

Handler = Callable[["Future[Timed[Any]]"], None]
"""A function `handler(future)`. The build's own thread calls it after a worker has finished a call. `future` holds the
result of the worker's call, or the exception."""


class _Pending(NamedTuple):
    """A call that waits, runs, or has finished without its handler having been called yet."""

    handler: Handler
    seconds: float
    """Expected duration in seconds of the pending call of a function in a worker."""
    guessed: str
    """Identifier of the call's sources if `seconds` was estimated from their sizes; "" if `seconds` was measured in an
    earlier build."""


class TaskQueue:
    """The calls of a build that wait for a worker, run, or have finished without having been handled."""

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
        """Add a submitted call by its future, and return the future.

        When the call has finished, `handle_next` or `handle_done` passes the future to `handler`. The call is expected
        to take `seconds`. If that is estimated from the sizes of its sources, `guessed` identifies these; else "".
        """
        self._pending[future] = _Pending(handler, seconds, guessed)
        future.add_done_callback(self._done.put)
        return future

    def handle_done(self) -> None:
        """Handle all calls that have finished, without waiting for others."""
        while not self._done.empty():
            self.handle_next()

    def handle_next(self) -> None:
        """Wait until a call has finished, and pass it to its handler unless it was cancelled."""
        future = self._done.get()
        call = self._pending.pop(future)
        if future.cancelled():
            return
        if call.guessed and future.exception() is None:
            times = future.result().times  # with the time for precompiling headers: other calls take some too
            self._errors.call_done(call.guessed, call.seconds, times.ended - times.began)
        call.handler(future)

    def seconds_left(self, further: Iterable[float], workers: int) -> float | None:
        """Return the expected seconds until `workers` workers finish all pending calls and `further` ones.

        `further` has the expected seconds of each call that is not in this queue yet. Estimates from the sizes of
        sources are scaled by how wrong such estimates were so far; None while no such estimate can be checked.
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
    """Ratios of actual durations to durations that were estimated from the sizes of sources.

    Two sources of the same size may differ a hundredfold, by what they include. The jobs of one source for several
    targets take about as long as each other.
    """

    def __init__(self) -> None:
        self._sources: dict[str, tuple[float, float]] = {}
        """Identifier of a source -> (sum of estimated seconds, sum of actual seconds) of the finished calls for this
        source."""
        self._all = (0.0, 0.0)
        """(Sum of estimated seconds, sum of actual seconds) of all finished calls. Kept as a running total, because
        there may be thousands of calls."""

    def call_done(self, source: str, estimated: float, taken: float) -> None:
        """Record the estimated and the actual seconds of a call. `source` identifies the call's source or sources."""
        sums = self._sources.get(source, (0.0, 0.0))
        self._sources[source] = sums[0] + estimated, sums[1] + taken
        self._all = self._all[0] + estimated, self._all[1] + taken

    def factor(self, source: str) -> float | None:
        """Return the sum of actual divided by the sum of estimated seconds of the finished calls for a source.

        If none for this source has finished, use those of all sources; if there are none either, return None.
        """
        estimated, taken = self._sources.get(source, self._all)
        return taken / estimated if estimated else None


class JobResults(Mapping[Job, Compiled]):
    """Job -> result, for the jobs of one build. A context manager that removes its files at the end.

    Up to `limit` bytes of images are kept in memory, further results in files. A result that cannot be written to a
    file, as on a full disk, stays in memory.
    """

    LIMIT = 256 << 20

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._size = 0
        self._results: dict[Job, Compiled | Path] = {}
        self._stack = ExitStack()
        self._folder: Path | None = None
        self._files_written = 0

    def __enter__(self) -> JobResults:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def put(self, job: Job, result: Compiled) -> None:
        """Store a job's result."""
        size = _size(result)
        path = None if self._size + size <= self._limit else self._write(result)
        self._results[job] = path or result
        self._size += 0 if path else size

    def drop(self, job: Job) -> None:
        """Discard a job's result, if present."""
        stored = self._results.pop(job, None)
        if isinstance(stored, Path):
            stored.unlink()
        elif stored is not None:
            self._size -= _size(stored)

    def _write(self, result: Compiled) -> Path | None:
        """Write a result to a new file in a scratch folder, and return the path of this file. None if the file cannot
        be written."""
        try:
            self._folder = self._folder or self._stack.enter_context(scratch())
            self._files_written += 1
            path = self._folder / str(self._files_written)
            with path.open("wb") as file:
                pickle.dump(result, file, pickle.HIGHEST_PROTOCOL)
        except (ConfigError, OSError):
            if self._folder is not None:
                with suppress(OSError):
                    (self._folder / str(self._files_written)).unlink(missing_ok=True)
            return None
        return path

    def __getitem__(self, job: Job) -> Compiled:
        stored = self._results[job]
        if not isinstance(stored, Path):
            return stored
        with stored.open("rb") as file:
            result: Compiled = pickle.load(file)
        return result

    def __iter__(self) -> Iterator[Job]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)


def _size(result: Compiled) -> int:
    return sum(len(image) for image in (result.cubin, result.ptx, result.ltoir) if image)
