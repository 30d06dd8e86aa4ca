"""Hold what jobs gave until their modules are done: in memory as long as it is little, what comes beyond that in files,
where there is room for them.

The jobs of a build go by their length, so that those of many modules may be done before all of any is.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.scratch import scratch

__all__ = [
    "Results",
]


class Results(Mapping[Job, Compiled]):
    """What jobs gave, by job. A context manager: what lies in files is gone at its end.

    `limit` is in bytes of images.
    """

    LIMIT = 256 << 20

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._size = 0
        self._held: dict[Job, Compiled | Path] = {}
        self._stack = ExitStack()
        self._folder: Path | None = None
        self._filed = 0

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def put(self, job: Job, result: Compiled) -> None:
        """Hold what a job gave."""
        size = _size(result)
        path = None if self._size + size <= self._limit else self._written(result)
        self._held[job] = path or result
        self._size += 0 if path else size

    def _written(self, result: Compiled) -> Path | None:
        """Return the file that has a result now; None where it cannot be written, as on a full disk."""
        try:
            self._folder = self._folder or self._stack.enter_context(scratch())
            self._filed += 1
            path = self._folder / str(self._filed)
            with path.open("wb") as file:
                pickle.dump(result, file, pickle.HIGHEST_PROTOCOL)
        except (ConfigError, OSError):
            if self._folder is not None:
                with suppress(OSError):
                    (self._folder / str(self._filed)).unlink(missing_ok=True)
            return None
        return path

    def drop(self, job: Job) -> None:
        """Hold what a job gave no longer, if it was."""
        held = self._held.pop(job, None)
        if isinstance(held, Path):
            held.unlink()
        elif held is not None:
            self._size -= _size(held)

    def __getitem__(self, job: Job) -> Compiled:
        held = self._held[job]
        if not isinstance(held, Path):
            return held
        with held.open("rb") as file:
            result: Compiled = pickle.load(file)
        return result

    def __iter__(self) -> Iterator[Job]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


def _size(result: Compiled) -> int:
    return sum(len(image) for image in (result.cubin, result.ptx, result.ltoir) if image)
