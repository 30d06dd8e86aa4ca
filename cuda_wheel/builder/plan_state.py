"""What a running plan keeps: the calls in workers, an estimate of the time that is left, and the results of jobs.

The results of calls are handled in the build's own thread. Those of jobs are kept until their modules are done, in
memory up to a limit and above it in files: jobs run in the order of their duration, so the jobs of many modules may be
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
"""Function that handles a finished call: its result or its exception."""


class _Pending(NamedTuple):
    """A call whose result is not handled."""

    handler: Handler
    seconds: float
    """Expected duration in seconds."""
    guessed: str
    """Sources whose size `seconds` was estimated from; "" if it was measured in an earlier build."""


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
        """Source -> the sums of the estimated and the actual seconds of its finished calls."""
        self._all = (0.0, 0.0)
        """Running totals of the estimated and actual seconds of all sources, so that nothing sums over thousands."""

    def call_done(self, source: str, estimated: float, taken: float) -> None:
        """Take the seconds of a call into account that compiled a source, or a list of them."""
        sums = self._sources.get(source, (0.0, 0.0))
        self._sources[source] = sums[0] + estimated, sums[1] + taken
        self._all = self._all[0] + estimated, self._all[1] + taken

    def factor(self, source: str) -> float | None:
        """Return by how much to multiply the estimate of a call; None before any call is done."""
        estimated, taken = self._sources.get(source, self._all)
        return taken / estimated if estimated else None


class JobResults(Mapping[Job, Compiled]):
    """The results of one build's jobs, by job. A context manager that removes its files at the end.

    `limit` is in bytes of images. A result that cannot be written to a file, as on a full disk, stays in memory.
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
        """Write a result to a file and return the path; None if it cannot be written."""
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
