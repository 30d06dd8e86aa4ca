"""Hold what jobs gave until their modules are done: in memory as long as it is little, what comes beyond that in files.

The jobs of a build go by their length, so that those of many modules may be done before all of any is.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from cuda_wheel.build.compiler import Compiled, Job

__all__ = ["Results"]


class Results(Mapping[Job, Compiled]):
    """What jobs gave, by job. A context manager: what lies in files is gone at its end.

    `limit` is in bytes of images.
    """

    LIMIT = 256 << 20

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._size = 0
        self._held: dict[Job, Compiled | Path] = {}
        self._folder: TemporaryDirectory[str] | None = None
        self._filed = 0

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def put(self, job: Job, result: Compiled) -> None:
        """Hold what a job gave."""
        size = _size(result)
        if self._size + size <= self._limit:
            self._size += size
            self._held[job] = result
            return
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="cuda-wheel-")
        self._filed += 1
        path = Path(self._folder.name, str(self._filed))
        with path.open("wb") as file:
            pickle.dump(result, file, pickle.HIGHEST_PROTOCOL)
        self._held[job] = path

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
