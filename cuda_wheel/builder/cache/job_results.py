"""Hold the results of a build's jobs until their modules are done: in memory up to a limit, above it in files.

Jobs run in the order of their duration, so the jobs of many modules may be done before any module is complete.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.scratch import scratch

__all__ = ["JobResults"]


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
        """Write a result to a file and return its path; None if it cannot be written."""
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
