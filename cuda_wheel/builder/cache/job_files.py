"""Say which files and paths decide the result of a job, and name them independently of where they are installed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.sources.include_graph import search_folders
from cuda_wheel.builder.sources.includes import includes
from cuda_wheel.builder.sources.paths import below

__all__ = [
    "Place",
    "contains_project_path",
    "is_reproducible",
    "path_of",
    "place_of",
    "search_candidates",
    "uses_build_time",
]

Place = tuple[int, str]
"""A file as the number of its include folder and its path in there: an isolated build installs the toolchain in a new
folder each time. The number counts `Job.include_dirs` from their end, as -1; 0 is the project."""

_BUILD_TIME = re.compile(rb"\b__(DATE|TIME|TIMESTAMP)__\b")


def uses_build_time(text: bytes) -> bool:
    """Return whether a text uses a macro that makes every compilation differ."""
    return _BUILD_TIME.search(text) is not None


def contains_project_path(job: Job, compiled: Compiled) -> bool:
    """Return whether an image contains the path of the project's folder, so that builds in other folders differ."""
    root = os.fsencode(job.root)
    return any(root in content for content in (compiled.cubin, compiled.ptx, compiled.ltoir) if content)


def is_reproducible(job: Job, compiled: Compiled) -> bool:
    """Return whether the same compilation gives the same result in another folder and at another time."""
    texts = _project_texts(compiled.headers or (), job)
    return not any(uses_build_time(text) for _, text in texts) and not contains_project_path(job, compiled)


def place_of(path: str, job: Job) -> Place | None:
    """Return the place of a file that a job read; None if it is in none of the job's folders."""
    for number, folder in enumerate(job.include_dirs):
        if os.path.isabs(folder) and path.startswith(folder + os.sep):
            return number - len(job.include_dirs), os.path.relpath(path, folder)
    own = below(path, job.root)
    return None if own is None else (0, own)


def path_of(place: Place, job: Job) -> str:
    """Return the absolute path of a place for a job, which may come from another machine."""
    number, below = place
    return f"{job.root if number == 0 else job.include_dirs[number]}{os.sep}{below}"  # not os.path.join: thousands


def search_candidates(headers: Sequence[str], job: Job) -> list[str]:
    """Return the absolute paths, besides the headers, that decide what a job reads.

    These are the paths where the compiler searches before it finds a header, and the ones that a text of the project
    tests with `__has_include`.
    """
    folders = search_folders(job.root, job.source, job.include_dirs)
    paths: dict[str, None] = {}
    for header in headers:
        place = next((index for index, folder in enumerate(folders) if header.startswith(folder + os.sep)), 0)
        paths |= dict.fromkeys(folder + header[len(folders[place]) :] for folder in folders[:place])
    for path, text in _project_texts(headers, job) if job.kind == "cuda" else ():
        beside = os.path.dirname(path)
        for include in includes(text):
            if include.name is not None:
                places = [beside, *folders] if include.quoted else folders
                candidates = [os.path.normpath(os.path.join(place, include.name)) for place in places]
                paths |= dict.fromkeys(each for each in candidates if include.is_test or not os.path.isfile(each))
    return list(paths)


def _project_texts(headers: Sequence[str], job: Job) -> Iterator[tuple[str, bytes]]:
    """Yield the absolute path and content of the project's files that a job reads."""
    yield os.path.join(job.root, job.source), job.text
    for path in headers:
        if path.startswith(job.root + os.sep):
            yield path, Path(path).read_bytes()
