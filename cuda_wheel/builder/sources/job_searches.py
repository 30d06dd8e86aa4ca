"""Say where a job's compiler looks for headers: what it finds, and what it would find first, decides its result.

The compiler lists the files that it read, and not those that it looked for in vain. A file that appears there later
changes what a job reads, so these paths are computed here, from the texts that the compiler read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from cuda_wheel.builder.config.macro_options import macro_definitions
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.sources.header_macros import Definitions, definitions_in, named_headers, tested_headers
from cuda_wheel.builder.sources.include_graph import opaque_options, option_folders, pre_includes
from cuda_wheel.builder.sources.includes import Include, IncludeScan, scan_includes, until_closing

__all__ = ["finds_the_same", "own_texts", "searched_paths", "tested_names"]

Name = tuple[str, bool]
"""The name of a header as it is written, and whether it is quoted."""

Lookup = tuple[str | None, str, bool]
"""What a compiler looks for: the folder of the including file if the name is quoted, the name, and whether it is only
tested for."""


def own_texts(job: Job, headers: Iterable[str]) -> list[tuple[str, bytes]]:
    """Return the absolute path and the content of the project's files among those that a job read, its source first.

    These are all files that are not in the toolchain's folders: the toolchain may be installed inside the project's
    folder, and options may lead to headers outside of it.
    """
    libraries = tuple(folder + os.sep for folder in job.include_dirs if os.path.isabs(folder))
    own = [path for path in headers if not path.startswith(libraries)]
    return [(os.path.join(job.root, job.source), job.text), *((path, Path(path).read_bytes()) for path in own)]


def searched_paths(job: Job, headers: Sequence[str]) -> list[str] | None:
    """Return the absolute paths, besides the headers that a job read, that decide what it reads; None if unknown.

    These are the paths where the compiler looks before it finds a header, those of includes that it skipped, and those
    that a text tests with `__has_include`. They are unknown if an option reads files that cannot be followed, or if a
    macro names a header and its expansion is unknown.
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

    `headers` are those that `other` read. Each name is compared that a text includes or tests for, and that another
    header was found by, also where the compiler skipped it.
    """
    lookups = _lookups(job, headers)
    if lookups is None:
        return False
    own, others = (list(dict.fromkeys(each.include_dirs)) for each in (job, other))
    absolute = {folder: os.path.normpath(os.path.join(job.root, folder)) for folder in (*own, *others)}
    is_same_order = [each for each in own if each in others] == [each for each in others if each in own]
    changed = {*own} ^ {*others} if is_same_order else {*own, *others}
    names = {name for beside, name, _ in lookups if beside is None or not os.path.isfile(os.path.join(beside, name))}
    prefixes = [absolute[folder] + os.sep for folder in others]
    names |= {header[len(prefix) :] for header in headers for prefix in prefixes if header.startswith(prefix)}

    def found(name: str, folders: Iterable[str]) -> str | None:
        return next((folder for folder in folders if os.path.isfile(os.path.join(absolute[folder], name))), None)

    # What is in the first folders, which both jobs have, is not looked for in the others.
    first = _first_folders(job)
    touched = (name for name in names if found(name, changed) is not None)
    sought = (name for name in touched if not any(os.path.isfile(os.path.join(folder, name)) for folder in first))
    return all(found(name, own) == found(name, others) for name in sought)


def tested_names(job: Job, headers: Sequence[str]) -> set[str] | None:
    """Return the names of the headers that the texts which a job read test for with `__has_include`; None if they are
    unknown. `headers` are the absolute paths of these texts besides the source."""
    lookups = _lookups(job, headers)
    if lookups is not None:
        return {name for _, name, is_test in lookups if is_test}
    texts = [job.text, *(Path(path).read_bytes() for path in headers)]
    return None if any(re.search(rb"has_include", text, re.IGNORECASE) for text in texts) else set()


def _lookups(job: Job, headers: Sequence[str]) -> list[Lookup] | None:
    """Return what the texts that a job read include or test for, by name; None if it is unknown."""
    if opaque_options(job.options):
        return None
    texts = own_texts(job, headers)
    if any(b"??/" in text or b"??=" in text for _, text in texts):  # trigraphs, which only C++14 and earlier has
        return None
    scans = [(os.path.dirname(path), _scanned(text)) for path, text in texts]
    definitions = definitions_in((scan for _, scan in scans), macro_definitions(job.options))
    scans.append((job.root, IncludeScan(tuple(map(_pre_include, pre_includes(job.options))), ())))
    own = {path for path, _ in texts}
    libraries = [header for header in headers if header not in own]
    lookups: dict[Lookup, None] = {}
    for beside, scan in scans:
        names = _names(scan, definitions, libraries)
        if names is None:
            return None
        lookups |= dict.fromkeys((beside if quoted else None, name, is_test) for name, quoted, is_test in names)
    for header in libraries:
        tested = _library_tests(header, *_stamp(header))
        if tested is None:
            return None
        beside = os.path.dirname(header)
        lookups |= dict.fromkeys((beside if quoted else None, name, True) for name, quoted in tested)
    return list(lookups)


def _first_folders(job: Job) -> list[str]:
    """Return the absolute folders that are searched first: which of them comes first depends on how a header is
    included."""
    return _absolute(job, [os.path.dirname(job.source), *option_folders(job.options)])


def _folders(job: Job) -> list[str]:
    """Return the absolute folders that are searched, in their order."""
    return list(dict.fromkeys([*_first_folders(job), *_absolute(job, job.include_dirs)]))


def _absolute(job: Job, folders: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(os.path.normpath(os.path.join(job.root, folder)) for folder in folders))


def _earlier(headers: Iterable[str], first: Sequence[str], folders: Sequence[str]) -> Iterator[str]:
    """Yield the paths of headers in the folders that are searched before those that they were found in.

    A header below two folders may have been found in either.
    """
    prefixes = [(folder, folder + os.sep) for folder in folders]
    for header in headers:
        for index, (folder, prefix) in enumerate(prefixes):
            if header.startswith(prefix):
                others = folders[:index] if index >= len(first) else first
                yield from (other + header[len(folder) :] for other in others if other != folder)


def _pre_include(name: str) -> Include:
    """Return the include that an option such as `--pre-include=NAME` stands for."""
    return Include(name, True, 1, False)


def _names(
    scan: IncludeScan, definitions: Definitions, libraries: Sequence[str]
) -> list[tuple[str, bool, bool]] | None:
    """Return the headers that a text includes or tests for: name, whether it is quoted, and whether it is only tested.

    None if a name is unknown. `libraries` are the other headers that were read.
    """
    found: list[tuple[str, bool, bool]] = []
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
    """Return the headers that the macros in a condition test for; None if they are unknown."""
    words = re.findall(r"[A-Za-z_]\w*", condition)
    found = tested_headers(condition, definitions) if testers.intersection(words) else set()
    for call in re.finditer(r"\b([A-Za-z_]\w*HAS_INCLUDE\w*)[ \t]*\(", condition):  # as libraries name such macros
        if found is None:
            return None
        named = named_headers(until_closing(condition, call.end()).strip(), definitions)
        found = None if named is None else found | named
    return found


def _is_undefined(spelling: str, definitions: Definitions, libraries: Iterable[str]) -> bool:
    """Return whether a spelling begins with a name that neither a text nor the compiler has defined as a macro."""
    word = re.match(r"[A-Za-z]\w*", spelling)
    if word is None or word[0] in definitions:
        return False
    return not any(word[0].encode() in Path(path).read_bytes() for path in libraries)


def _testers(definitions: Definitions) -> set[str]:
    """Return the names of the macros that may test for a header, by themselves or by other macros."""
    bodies = {name: " ".join(each.body for each in alternatives) for name, alternatives in definitions.items()}
    testers = {name for name, body in bodies.items() if re.search("has_include", body, re.IGNORECASE)}
    while more := {
        name for name, body in bodies.items() if name not in testers and testers.intersection(re.findall(r"\w+", body))
    }:
        testers |= more
    return testers


@lru_cache(maxsize=4096)  # jobs have most of their texts in common
def _scanned(text: bytes) -> IncludeScan:
    return scan_includes(text)


def _stamp(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=16384)
def _library_tests(path: str, changed: int, size: int) -> tuple[Name, ...] | None:
    """Return the headers that a library's header tests for; None if a macro names one."""
    text = Path(path).read_bytes()
    if b"has_include" not in text and b"HAS_INCLUDE" not in text:
        return ()
    tests = [include for include in scan_includes(text).includes if include.is_test]
    if any(include.name is None for include in tests):
        return None
    return tuple({(include.name or "", include.quoted): None for include in tests})
