"""Find the headers that a source includes and that are in no folder, without a compiler."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cuda_wheel.builder.config.macro_options import defined_macros
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.sources.include_graph import (
    opaque_options,
    option_folders,
    scanned_file,
    search_folders,
    visit,
)
from cuda_wheel.builder.sources.includes import Include, IncludeScan, scan_includes
from cuda_wheel.builder.sources.job_searches import tested_names
from cuda_wheel.builder.sources.paths import below

__all__ = [
    "MISSING_HEADER",
    "MissingHeader",
    "including_line",
    "is_listed",
    "missing_headers",
    "optional_headers",
    "unsafe_names",
]


MISSING_HEADER = re.compile(r'(?:cannot|could not) open source file "([^"\n]+)"')
"""NVRTC's error about a header that it does not find."""


class MissingHeader(NamedTuple):
    """A header that is not found, and the include that names it: the path of the file, relative to the project if it is
    below that, and the line."""

    file: str
    line: int
    name: str
    quoted: bool


def is_listed(name: str, patterns: Iterable[str]) -> str | None:
    """Return the first of the patterns of `missing-headers` that a header's name matches; None if there is none."""
    return next((pattern for pattern in patterns if fnmatchcase(name, pattern)), None)


def missing_headers(job: Job) -> list[MissingHeader]:
    """Return the headers that a job's compiler looks for, for certain, that are in no folder, and that may not be
    missing.

    An include counts if no condition is around it, nor around those that lead to it, and if it is in a file of the
    project.
    """
    if job.kind != "cuda" or b"include" not in job.text or opaque_options(job.options):
        return []
    return [each for each in _Search(job).missing() if not is_listed(each.name, job.missing_headers)]


def optional_headers(job: Job) -> set[str]:
    """Return the names of headers that the project's files include, perhaps in a condition, that are in no folder, and
    that may be missing."""
    if not job.missing_headers:
        return set()
    search = _Search(job)
    names = {name for name in search.included_names() if is_listed(name, job.missing_headers)}
    return {name for name in names if not search.is_anywhere(name)}


def unsafe_names(job: Job, headers: Sequence[str], names: Collection[str]) -> set[str]:
    """Return those of some names of headers that cannot be empty files in memory, given the headers that a job read.

    A test with `__has_include` would find such a file, and so would an include that finds another file of the name.
    """
    if not names:
        return set()
    places = (*_Search(job).folders, *dict.fromkeys(map(os.path.dirname, headers)))
    found = {name for name in names if any(os.path.isfile(os.path.join(place, name)) for place in places)}
    tested = tested_names(job, headers)
    return found | ({*names} if tested is None else tested & {*names})


def including_line(job: Job, headers: Iterable[str], name: str) -> tuple[str, int]:
    """Return the first file that includes a header by its name, and the line.

    The source is the first file; `headers` are the absolute paths of the others. Those of libraries are shown as they
    are included. If a macro names the header, the first include of a macro in a file of the project.
    """
    libraries = [folder for folder in job.include_dirs if os.path.isabs(folder)]
    texts = [(job.source, scan_includes(job.text)), *((path, scanned_file(path)) for path in headers)]
    of_macros = []
    for path, scan in texts:
        folder = next((each for each in libraries if path.startswith(each + os.sep)), job.root)
        shown = Path(below(path, folder) or path if os.path.isabs(path) else path).as_posix()
        for include in scan.includes:
            if include.name == name and not include.is_test:
                return shown, include.line
            if include.name is None and not include.is_test and folder == job.root and not os.path.isabs(shown):
                of_macros.append((shown, include.line))
    return of_macros[0] if of_macros else (job.source, 1)


class _Search:
    """The search for what one job includes."""

    def __init__(self, job: Job) -> None:
        self._root = job.root
        self._source = os.path.normpath(os.path.join(job.root, job.source))
        self._text = scan_includes(job.text)
        self._macros = defined_macros(job.options)
        self.folders = search_folders(job.root, job.source, (*option_folders(job.options), *job.include_dirs))
        """The absolute folders that are searched."""
        self._libraries = [folder for folder in job.include_dirs if os.path.isabs(folder)]
        self._is_library = cache(self._is_in_library)
        self._found = cache(self._first_file)
        self._skipped: set[str] = set()
        """The macros of guards by which the compiler may skip a file."""
        self._further: list[str] = []
        """Folders in which names in quotes may be found too."""

    def included_names(self) -> set[str]:
        """Return the names that the project's files include, whether or not a condition is around the include."""
        visited = visit([self._source], self._possibly_included)
        self._further = list(dict.fromkeys(map(os.path.dirname, visited)))
        scans = map(self._scan, visited)
        return {each.name for scan in scans for each in scan.includes if each.name and not each.is_test}

    def is_anywhere(self, name: str) -> bool:
        """Return whether a header is in a folder that is searched, or beside a file of the project that was read."""
        places = (*self.folders, *self._further)
        return any(os.path.isfile(os.path.join(place, name)) for place in places)

    def missing(self) -> list[MissingHeader]:
        """Return the missing headers. What makes one uncertain is examined only if there is one."""
        if not self._missing():
            return []
        visited = visit([self._source], self._possibly_included)
        defined = Counter(self._macros)
        for path in visited:
            defined.update({name for name, _ in self._scan(path).definitions})
        self._skipped = {name for name, files in defined.items() if files > 1}
        # Some compilers look beside all files that lead to the including one.
        self._further = list(dict.fromkeys(map(os.path.dirname, visited)))
        self._found.cache_clear()
        return self._missing()

    def _missing(self) -> list[MissingHeader]:
        return [
            MissingHeader((below(path, self._root) or path).replace(os.sep, "/"), include.line, name, include.quoted)
            for path in visit([self._source], self._certainly_included)
            for name, include in self._certain(path)
            if self._find(name, include, path) is None
        ]

    def _scan(self, path: str) -> IncludeScan:
        return self._text if path == self._source else scanned_file(path)

    def _possibly_included(self, path: str) -> Iterator[str]:
        """Yield the project's files that a file includes, whether or not a condition is around the include."""
        return self._own(path, ((each.name, each) for each in self._scan(path).includes if each.name))

    def _certainly_included(self, path: str) -> Iterator[str]:
        return self._own(path, self._certain(path))

    def _certain(self, path: str) -> list[tuple[str, Include]]:
        """Return the includes of a file that have no condition, by name; none if the compiler may skip the file."""
        scan = self._scan(path)
        if scan.guard in self._skipped:
            return []
        return [(each.name, each) for each in scan.includes if each.name and not each.conditional and not each.is_test]

    def _own(self, path: str, includes: Iterable[tuple[str, Include]]) -> Iterator[str]:
        for name, include in includes:
            # NVRTC defines the guards of some of the toolkit's headers, also for a copy in the project.
            if not self._is_library(name) and (found := self._find(name, include, path)) is not None:
                yield found

    def _is_in_library(self, name: str) -> bool:
        return any(os.path.isfile(os.path.join(folder, name)) for folder in self._libraries)

    def _find(self, name: str, include: Include, path: str) -> str | None:
        return self._found(name, os.path.dirname(path) if include.quoted else None)

    def _first_file(self, name: str, beside: str | None) -> str | None:
        """Return the path of a header; `beside` is the folder of the file that includes it in quotes."""
        places = self.folders if beside is None else [beside, *self.folders, *self._further]
        paths = (os.path.normpath(os.path.join(place, name)) for place in places)
        return next(filter(os.path.isfile, paths), None)
