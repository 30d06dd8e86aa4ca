"""Find out where a job's compiler looks for headers, and which headers are in no folder, without a compiler.

The compiler lists the files that it read, and not the paths where it found none. A file that appears at such a path
later changes what a job reads, so `searched_paths` computes these paths from the texts that the compiler read.
`missing_headers` finds all headers that are in no folder; the compiler stops at the first.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from cuda_wheel.builder.config.compiler_options import defined_macros, macro_definitions
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.sources.header_dependencies import (
    Definitions,
    definitions_in,
    named_headers,
    opaque_options,
    option_folders,
    pre_includes,
    scanned_file,
    search_folders,
    tested_headers,
    visit,
)
from cuda_wheel.builder.sources.include_directives import Include, IncludeScan, scan_includes, until_closing
from cuda_wheel.builder.sources.paths import below

__all__ = [
    "MISSING_HEADER",
    "MissingHeader",
    "finds_the_same",
    "including_line",
    "is_listed",
    "missing_headers",
    "optional_headers",
    "own_texts",
    "searched_paths",
    "tested_names",
    "unsafe_names",
]


Name = tuple[str, bool]
"""(name of a header as written, whether the name is in quotes)."""

_Sought = tuple[str, bool, bool]
"""(name of a header as written, whether the name is in quotes, whether it is in a `__has_include` and not an
`#include`)."""

Lookup = tuple[str | None, str, bool]
"""(folder, name, is test): one search of the compiler for a header. Folder: that of the including file if the name is
in quotes, else None. Is test: True for a `__has_include`, False for an `#include`."""


def own_texts(job: Job, headers: Iterable[str]) -> list[tuple[str, bytes]]:
    """Return the (absolute path, content) of the project's files among those that a job read, its source first.

    `headers` are the absolute paths of all headers that the job read. Those outside the toolchain's folders are the
    project's: the toolchain may be installed inside the project's folder, and options may name folders outside it.
    """
    libraries = tuple(folder + os.sep for folder in job.include_dirs if os.path.isabs(folder))
    own = [path for path in headers if not path.startswith(libraries)]
    return [(os.path.join(job.root, job.source), job.text), *((path, Path(path).read_bytes()) for path in own)]


def searched_paths(job: Job, headers: Sequence[str]) -> list[str] | None:
    """Return the absolute paths at which a new or removed file would change what a job reads; None if unknown.

    These are the paths where the compiler looks before it finds a header, those of includes that it skipped, and those
    that a text tests with `__has_include`. `headers` are those that the job read; they are not in the result. It is
    unknown if an option reads files that cannot be followed, or if a macro names a header and its expansion is unknown.
    """
    if job.kind != "cuda":
        return []
    first, folders = _first_folders(job), _folders(job)
    lookups = _lookups(job, headers)
    if lookups is None:
        return None
    paths = dict.fromkeys(_earlier(headers, first, folders))
    for beside, name, is_test in lookups:
        places = folders if beside is None else [beside, *folders]
        candidates = [os.path.normpath(os.path.join(place, name)) for place in places]
        paths |= dict.fromkeys(each for each in candidates if is_test or not os.path.isfile(each))
    return list(paths)


def finds_the_same(job: Job, other: Job, headers: Sequence[str]) -> bool:
    """Return whether two jobs that differ only in the project's include folders read the same files.

    `headers` are the absolute paths of those that `other` read. The result is true if both jobs find the same file for
    each name that a text includes or tests for, skipped or not, and for each name by which a header was found. It is
    false if such a name is unknown.
    """
    lookups = _lookups(job, headers)
    if lookups is None:
        return False
    own, others = (list(dict.fromkeys(each.include_dirs)) for each in (job, other))
    absolute = {folder: os.path.normpath(os.path.join(job.root, folder)) for folder in (*own, *others)}
    names = {name for beside, name, _ in lookups if beside is None or not os.path.isfile(os.path.join(beside, name))}
    names |= _names_below(headers, [absolute[folder] for folder in others])

    def found(name: str, folders: Iterable[str]) -> str | None:
        return next((folder for folder in folders if os.path.isfile(os.path.join(absolute[folder], name))), None)

    # What is in the first folders, which both jobs have, is not looked for in the others.
    first = _first_folders(job)
    changed = _changed(own, others)
    touched = (name for name in names if found(name, changed) is not None)
    sought = (name for name in touched if not any(os.path.isfile(os.path.join(folder, name)) for folder in first))
    return all(found(name, own) == found(name, others) for name in sought)


def _names_below(headers: Iterable[str], folders: Iterable[str]) -> set[str]:
    """Return the path of each header relative to each of `folders` that contains it: "a/b.h" for "/include/a/b.h" in
    "/include". An `#include` may have used this name."""
    prefixes = [folder + os.sep for folder in folders]
    return {header[len(prefix) :] for header in headers for prefix in prefixes if header.startswith(prefix)}


def _changed(own: Sequence[str], others: Sequence[str]) -> set[str]:
    """Return the folders that are in only one of the lists `own` and `others`. If the folders that are in both lists
    are in different orders there, return all folders of both lists."""
    is_same_order = [each for each in own if each in others] == [each for each in others if each in own]
    return {*own} ^ {*others} if is_same_order else {*own, *others}


def tested_names(job: Job, headers: Sequence[str]) -> set[str] | None:
    """Return the names of headers for which a job's texts test with `__has_include`; None if they are unknown.

    The texts are the job's source and the files with the absolute paths `headers`.
    """
    lookups = _lookups(job, headers)
    if lookups is not None:
        return {name for _, name, is_test in lookups if is_test}
    texts = [job.text, *(Path(path).read_bytes() for path in headers)]
    return None if any(re.search(rb"has_include", text, re.IGNORECASE) for text in texts) else set()


_TRIGRAPH = re.compile(rb"\?\?[/=]")
"""Matches the trigraphs "??/" (a backslash) and "??=" (a "#"). They may hide an include from a scan of the text. Only
C++14 and earlier have trigraphs."""


def _lookups(job: Job, headers: Sequence[str]) -> list[Lookup] | None:
    """Return the compiler's searches for headers in a job; None if they cannot be determined. There is a `Lookup` for
    each header that the source or one of `headers` includes or tests for. `headers`: absolute paths of the headers that
    the job read."""
    if opaque_options(job.options):
        return None
    texts = own_texts(job, headers)
    if any(_TRIGRAPH.search(text) for _, text in texts):
        return None
    scans = [(os.path.dirname(path), _scanned(text)) for path, text in texts]
    definitions = definitions_in((scan for _, scan in scans), macro_definitions(job.options))
    scans.append((job.root, IncludeScan(tuple(map(_pre_include, pre_includes(job.options))), ())))
    own = {path for path, _ in texts}
    libraries = [header for header in headers if header not in own]
    lookups: dict[Lookup, None] = {}
    for beside, names in chain(
        ((beside, _names(scan, definitions, libraries)) for beside, scan in scans),
        ((os.path.dirname(header), _library_tests(header, *_stamp(header))) for header in libraries),
    ):
        if names is None:
            return None
        lookups |= dict.fromkeys((beside if quoted else None, name, is_test) for name, quoted, is_test in names)
    return list(lookups)


def _first_folders(job: Job) -> list[str]:
    """Return the absolute folders that the compiler searches before those in `include_dirs`: the folder of the source,
    and the folders that the job's options name. The compiler may search these folders in another order."""
    return _absolute(job, [os.path.dirname(job.source), *option_folders(job.options)])


def _folders(job: Job) -> list[str]:
    """Return the absolute path of every folder in which a job's compiler searches for headers, in search order. Those
    of `_first_folders` come first, then those in `include_dirs`."""
    return list(dict.fromkeys([*_first_folders(job), *_absolute(job, job.include_dirs)]))


def _absolute(job: Job, folders: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(os.path.normpath(os.path.join(job.root, folder)) for folder in folders))


def _earlier(headers: Iterable[str], first: Sequence[str], folders: Sequence[str]) -> Iterator[str]:
    """Yield each path at which a new file would hide one of `headers` (absolute paths): "/a/x.h" for "/b/x.h" if
    "/a" is searched before "/b". If a header is in several folders, each of them counts.

    `first`: folders searched first, in any order.
    `folders`: `first`, then all others in search order.
    """
    prefixes = [(folder, folder + os.sep) for folder in folders]
    for header in headers:
        for index, (folder, prefix) in enumerate(prefixes):
            if header.startswith(prefix):
                others = folders[:index] if index >= len(first) else first
                yield from (other + header[len(folder) :] for other in others if other != folder)


def _pre_include(name: str) -> Include:
    """Return the include of the header `name` that an option such as `--pre-include=NAME` adds before a source."""
    return Include(name, True, 1, False)


def _names(scan: IncludeScan, definitions: Definitions, libraries: Sequence[str]) -> Sequence[_Sought] | None:
    """Return the headers that a text includes or tests for with `__has_include`. None if a macro with an unknown
    expansion gives a header's name.

    `scan`: scan of the text.
    `definitions`: macros of the project's texts and of the options.
    `libraries`: absolute paths of the toolchain's headers that the job read.
    """
    found: list[_Sought] = []
    for include in scan.includes:
        if include.name is not None:
            found.append((include.name, include.quoted, include.is_test))
            continue
        named = named_headers(include.spelling, definitions)
        if named is None and _is_undefined(include.spelling, definitions, libraries):
            continue  # the compiler skipped it: `#ifdef NAME`
        if named is None:
            return None
        found += [(name, quoted, include.is_test) for name, quoted in named]
    testers = _testers(definitions)
    for condition in scan.conditions:
        tests = _tests(condition, definitions, testers)
        if tests is None:
            return None
        found += [(name, quoted, True) for name, quoted in tests]
    return found


def _tests(condition: str, definitions: Definitions, testers: set[str]) -> set[Name] | None:
    """Return the headers that the macros in an `#if`'s condition test for: <foo.h> for the condition `HAS_FOO`, if
    this macro is `__has_include(<foo.h>)`. None if the headers are unknown. `testers`: names of the macros in
    `definitions` that may expand to a `__has_include`."""
    words = re.findall(r"[A-Za-z_]\w*", condition)
    found = tested_headers(condition, definitions) if testers.intersection(words) else set()
    for call in re.finditer(r"\b([A-Za-z_]\w*HAS_INCLUDE\w*)[ \t]*\(", condition):  # as libraries name such macros
        if found is None:
            return None
        named = named_headers(until_closing(condition, call.end()).strip(), definitions)
        found = None if named is None else found | named
    return found


def _is_undefined(spelling: str, definitions: Definitions, libraries: Iterable[str]) -> bool:
    """Return whether `spelling`, the text after an `#include`, begins with a name that is certainly not a macro:
    neither `definitions` nor a header in `libraries` (absolute paths) contains the name. False for a name with a
    leading underscore."""
    word = re.match(r"[A-Za-z]\w*", spelling)
    if word is None or word[0] in definitions:
        return False
    return not any(word[0].encode() in Path(path).read_bytes() for path in libraries)


def _testers(definitions: Definitions) -> set[str]:
    """Return the names of the macros in `definitions` that may test for a header with `__has_include`, in their own
    text or through other macros."""
    bodies = {name: " ".join(each.body for each in alternatives) for name, alternatives in definitions.items()}
    testers = {name for name, body in bodies.items() if re.search("has_include", body, re.IGNORECASE)}
    while more := {
        name for name, body in bodies.items() if name not in testers and testers.intersection(re.findall(r"\w+", body))
    }:
        testers |= more
    return testers


_scanned = lru_cache(maxsize=4096)(scan_includes)
"""Function of a text that returns its `IncludeScan`. It keeps results, because most jobs read the same texts."""


def _stamp(path: str) -> tuple[int, int]:
    """Return (time of a file's last change in nanoseconds, size of the file in bytes)."""
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=16384)
def _library_tests(path: str, changed: int, size: int) -> tuple[_Sought, ...] | None:
    """Return the headers for which the library's header at `path` has a `__has_include`. None if a macro gives a
    name. The file's `changed` (time of change) and `size` are only keys for the cache."""
    text = Path(path).read_bytes()
    if b"has_include" not in text and b"HAS_INCLUDE" not in text:
        return ()
    tests = [include for include in scan_includes(text).includes if include.is_test]
    if any(include.name is None for include in tests):
        return None
    return tuple({(include.name or "", include.quoted, True): None for include in tests})


MISSING_HEADER = re.compile(r'(?:cannot|could not) open source file "([^"\n]+)"')
"""Matches NVRTC's error message about a header that it does not find. Group 1 is the header's name."""


class MissingHeader(NamedTuple):
    """A header that is in no folder, and the `#include` that names it."""

    file: str
    """Path of the including file: project-relative with "/", or absolute if it is outside the project."""
    line: int
    """1-based line of the `#include` in `file`."""
    name: str
    """Name of the missing header, as the `#include` writes it."""
    quoted: bool
    """Whether the `#include` has the name in quotes ("a.h") and not in angle brackets (<a.h>)."""


def is_listed(name: str, patterns: Iterable[str]) -> str | None:
    """Return the first pattern, of those in the setting `missing-headers`, that a header's name matches; None if there
    is none."""
    return next((pattern for pattern in patterns if fnmatchcase(name, pattern)), None)


def missing_headers(job: Job) -> list[MissingHeader]:
    """Return the headers that a job certainly includes and that are in no folder, except those that match a pattern of
    the setting `missing-headers`.

    An `#include` counts if it is in a file of the project and outside all `#if`s, and if that file is included in the
    same way.
    """
    if job.kind != "cuda" or b"include" not in job.text or opaque_options(job.options):
        return []
    return [each for each in _Search(job).missing() if not is_listed(each.name, job.missing_headers)]


def optional_headers(job: Job) -> set[str]:
    """Return the names of headers that the project's files include, conditionally or not, that are in no folder, and
    that match a pattern of the setting `missing-headers`."""
    if not job.missing_headers:
        return set()
    search = _Search(job)
    names = {name for name in search.included_names() if is_listed(name, job.missing_headers)}
    return {name for name in names if not search.is_anywhere(name)}


def unsafe_names(job: Job, headers: Sequence[str], names: Collection[str]) -> set[str]:
    """Return those `names` of headers for which an empty file in memory would change more than an include that fails.

    Such a file would also be found by a test with `__has_include`, and by an include that finds another file of that
    name. `headers` are the absolute paths of those that the job read.
    """
    if not names:
        return set()
    places = (*_Search(job).folders, *dict.fromkeys(map(os.path.dirname, headers)))
    found = {name for name in names if any(os.path.isfile(os.path.join(place, name)) for place in places)}
    tested = tested_names(job, headers)
    return found | ({*names} if tested is None else tested & {*names})


def including_line(job: Job, headers: Iterable[str], name: str) -> tuple[str, int]:
    """Return the file and the 1-based line of the first `#include` of the header `name`.

    The source is searched first, then the files with the absolute paths `headers`. If no `#include` contains the name,
    the first one by a macro in a file of the project is returned, or line 1 of the source. A library's file is returned
    as its path in the library's folder, the project's files as project-relative paths.
    """
    of_macro = None
    for shown, is_own, include in _includes(job, headers):
        if include.name == name:
            return shown, include.line
        if include.name is None and is_own and of_macro is None:
            of_macro = shown, include.line
    return of_macro or (job.source, 1)


def _includes(job: Job, headers: Iterable[str]) -> Iterator[tuple[str, bool, Include]]:
    """Yield (file, is own, include) for each `#include` in a job's source and in the files `headers` (absolute paths).
    File: path relative to its library's or the project's folder; absolute outside of both. Is own: whether the file
    is the project's."""
    libraries = [folder for folder in job.include_dirs if os.path.isabs(folder)]
    for path, scan in [(job.source, scan_includes(job.text)), *((path, scanned_file(path)) for path in headers)]:
        folder = next((each for each in libraries if path.startswith(each + os.sep)), job.root)
        shown = Path(below(path, folder) or path if os.path.isabs(path) else path).as_posix()
        is_own = folder == job.root and not os.path.isabs(shown)
        yield from ((shown, is_own, include) for include in scan.includes if not include.is_test)


class _Search:
    """The search for the headers that one job includes."""

    def __init__(self, job: Job) -> None:
        self._root = job.root
        self._source = os.path.normpath(os.path.join(job.root, job.source))
        self._text = scan_includes(job.text)
        self._macros = defined_macros(job.options)
        self.folders = search_folders(job.root, job.source, (*option_folders(job.options), *job.include_dirs))
        """Absolute folders in which the compiler searches for headers, in order."""
        self._libraries = [folder for folder in job.include_dirs if os.path.isabs(folder)]
        self._is_library = cache(self._is_in_library)
        self._found = cache(self._first_file)
        self._skipped: set[str] = set()
        """Names of macros that two or more of the job's files and options define. The compiler may skip a file whose
        include guard is such a macro. Empty until `missing` has read all files."""
        self._further: list[str] = []
        """Absolute folders of the source and of the project's files that it may include. Some compilers also search
        these folders for a header whose name is in quotes. Empty until the files have been read."""

    def included_names(self) -> set[str]:
        """Return the names of all headers that the project's files include, conditionally or not."""
        visited = visit([self._source], self._possibly_included)
        self._further = list(dict.fromkeys(map(os.path.dirname, visited)))
        scans = map(self._scan, visited)
        return {each.name for scan in scans for each in scan.includes if each.name and not each.is_test}

    def is_anywhere(self, name: str) -> bool:
        """Return whether a header exists in a searched folder, or beside a file that `included_names` found."""
        places = (*self.folders, *self._further)
        return any(os.path.isfile(os.path.join(place, name)) for place in places)

    def missing(self) -> list[MissingHeader]:
        """Return the certainly included headers that are in no folder.

        If one seems to be missing, all files are read, to find include guards and further folders by which it may not
        be.
        """
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
        """Return each header that the source certainly includes, directly or through other files of the project, and
        that is in no folder.

        The folders in `_further` are searched too. A file is ignored if the macro of its include guard is in
        `_skipped`.
        """
        return [
            MissingHeader((below(path, self._root) or path).replace(os.sep, "/"), include.line, name, include.quoted)
            for path in visit([self._source], self._certainly_included)
            for name, include in self._certain(path)
            if self._find(name, include, path) is None
        ]

    def _scan(self, path: str) -> IncludeScan:
        return self._text if path == self._source else scanned_file(path)

    def _possibly_included(self, path: str) -> Iterator[str]:
        """Yield the paths of the project's files that the file at `path` includes, conditionally or not."""
        return self._own(path, ((each.name, each) for each in self._scan(path).includes if each.name))

    def _certainly_included(self, path: str) -> Iterator[str]:
        """Yield the paths of the project's files that the file at `path` includes unconditionally."""
        return self._own(path, self._certain(path))

    def _certain(self, path: str) -> list[tuple[str, Include]]:
        """Return (header's name, include) for each unconditional `#include` of the file at `path`. Empty if the
        compiler may skip the whole file because of its include guard."""
        scan = self._scan(path)
        if scan.guard in self._skipped:
            return []
        return [(each.name, each) for each in scan.includes if each.name and not each.conditional and not each.is_test]

    def _own(self, path: str, includes: Iterable[tuple[str, Include]]) -> Iterator[str]:
        """Yield the path of each file of the project that one of `includes` finds. `includes` are (header's name,
        include) of the file at `path`."""
        for name, include in includes:
            # NVRTC defines the guards of some of the toolkit's headers, also for a copy in the project.
            if not self._is_library(name) and (found := self._find(name, include, path)) is not None:
                yield found

    def _is_in_library(self, name: str) -> bool:
        return any(os.path.isfile(os.path.join(folder, name)) for folder in self._libraries)

    def _find(self, name: str, include: Include, path: str) -> str | None:
        return self._found(name, os.path.dirname(path) if include.quoted else None)

    def _first_file(self, name: str, beside: str | None) -> str | None:
        """Return the path of the file that an include of the header `name` finds. None if no folder has such a file.
        `beside` is the folder of the including file if the name is in quotes, else None."""
        places = self.folders if beside is None else [beside, *self.folders, *self._further]
        paths = (os.path.normpath(os.path.join(place, name)) for place in places)
        return next(filter(os.path.isfile, paths), None)
