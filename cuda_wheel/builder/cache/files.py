"""Cache results that depend on files: hashes of files, results of runs that read files, and whole files.

A build in which everything is cached needs the hashes of hundreds of headers. The hash in a package's RECORD does not
prove a header's content: after `cp -r` of an environment, RECORD may be newer than a header that was patched before. So
each header is read once in each environment. Its hash is stored with the state of its inode, which every change of the
content changes.

The files that a compilation reads are known only after it ran. So there are two entries, as in ccache's direct mode:
the request's entry lists the files of its latest run, and the result's key is made from the request and the present
state of these files. After an edit the key differs, and nothing is found.

A whole file is stored under the SHA-256 of its content, so that it can be used where it is.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any, Generic, TypeVar

from cuda_wheel.builder.toolchain.packages import cuda_folders
from cuda_wheel.runtime.parts.user_cache import Cache

__all__ = [
    "DependencyCache",
    "FileHashes",
    "KeptFiles",
    "Recorded",
    "State",
    "is_settled",
    "state_of",
    "unchanged_since",
]


FORMAT = "hashes 1"
"""Version of the layout of cache entries with hashes of files. It is part of the key of each such entry."""

State = tuple[int, ...]
"""State of a file, from `os.stat`: (size in bytes, time of the last change of the content, time of the last change of
the inode, inode number). Times are in nanoseconds since 1970. A change of the content changes the state, except shortly
after another change (see `_SETTLED_AFTER`)."""

# The clocks of some file systems advance only every 2 s: two changes within that time can have the same time.
_SETTLED_AFTER = 3 * 10**9
"""Minimum age, in nanoseconds, of a file's last change. A file with a later change has no reliable `State`: its content
may change once more while the state stays the same."""


class FileHashes:
    """The hashes of files by absolute path. Each file is examined once, at the first request.

    `memory` is the cache that stores the hashes of files in the folders of CUDA packages between builds; None to read
    every file.
    """

    def __init__(self, memory: Cache | None = None) -> None:
        self.of = cache(self._of)
        """`of(path)` returns the SHA-256 (hexadecimal) of the file at an absolute path; None if there is no such file.
        It computes each path's hash once."""
        self._is_folder = cache(os.path.isdir)
        # Windows has no time of an inode's change. A read-only cache may be from another installation.
        self._memory = Cache(memory.folder) if memory and sys.platform != "win32" else None
        self._known = {f"{folder}{os.sep}": self._recalled(folder) for folder in cuda_folders()} if self._memory else {}
        self._changed: set[str] = set()

    def has_folder(self, path: str) -> bool:
        """Return whether there is the folder of the file at an absolute path. Each folder is examined once."""
        return self._is_folder(os.path.dirname(path))

    def _of(self, path: str) -> str | None:
        if not self.has_folder(path):  # true of most missing files
            return None
        folder = next((folder for folder in self._known if path.startswith(folder)), None)
        return _read(path) if folder is None else self._remembered(path, folder)

    def _remembered(self, path: str, folder: str) -> str | None:
        """Return the SHA-256 (hexadecimal) of the file `path`. Return None if the file cannot be read.

        `folder` is the folder of CUDA packages that contains the file, with a separator at the end. The file is not
        read if the cache has the hash for its present `State`.
        """
        began = time.time_ns()
        try:
            status = os.stat(path)
        except OSError:
            return None
        state = state_of(status)
        known, name = self._known[folder], path[len(folder) :]
        if name in known and known[name][0] == state:
            return known[name][1]
        digest = _read(path)
        if digest is not None and is_settled(status, began):
            known[name] = state, digest
            self._changed.add(folder)
        return digest

    def save(self) -> None:
        """Write the hashes that were computed to the cache."""
        for folder in sorted(self._changed):
            if self._memory is not None:
                entry = json.dumps([[name, *state, digest] for name, (state, digest) in self._known[folder].items()])
                self._memory.put(_key(folder), entry.encode())
        self._changed.clear()

    def _recalled(self, folder: str) -> dict[str, tuple[State, str]]:
        recalled = self._memory.read(_key(f"{folder}{os.sep}"), _parse) if self._memory else None
        return recalled or {}


def unchanged_since(began: int, paths: Iterable[str]) -> bool:
    """Return whether all files exist and none was changed since `began` (nanoseconds since 1970).

    For a changed file, nobody knows whether a compiler read the old content or the new one.
    """

    def is_changed(path: str) -> bool:
        status = os.stat(path)
        # Installers hard-link files. Adding or removing a link changes the inode's time, though not the content.
        times = (status.st_mtime_ns, status.st_ctime_ns) if status.st_nlink == 1 else (status.st_mtime_ns,)
        return any(began <= changed <= now for changed in times)

    now = time.time_ns()
    try:
        return not any(map(is_changed, paths))
    except FileNotFoundError:
        return False


def state_of(status: os.stat_result) -> State:
    """Return the state of a file from `os.stat`. Every change of the file's content changes the state."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def is_settled(status: os.stat_result, began: int) -> bool:
    """Return whether a file's last change is so long before `began` (nanoseconds since 1970) that a change after
    `began` surely gives another `State`."""
    return max(status.st_mtime_ns, status.st_ctime_ns) < began - _SETTLED_AFTER


def _key(folder: str) -> str:
    return Cache.key(FORMAT, folder)


def _parse(entry: bytes) -> dict[str, tuple[State, str]]:
    records: list[list[Any]] = json.loads(entry)
    return {str(name): (tuple(map(int, state)), str(digest)) for name, *state, digest in records}


def _read(path: str) -> str | None:
    try:
        with open(path, "rb", buffering=0) as file:
            return sha256(file.read()).hexdigest()
    except OSError:
        return None


_MARKED_EVERY = 24 * 3600
"""Minimum number of seconds between two updates of a kept file's time of last use. Each update changes the file's
`State`, so `KeptFiles.find` has to read the file once more to check its content."""


class KeptFiles:
    """Whole files in a cache, such as fatbins and manifests, each identified by the SHA-256 of its content (`digest`).

    Modules and builds with equal files share one file.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._places = [cache] if cache.second is None else [cache, cache.second]

    def put(self, content: bytes) -> str:
        """Store a file with this content, and return its SHA-256 (hexadecimal)."""
        digest = sha256(content).hexdigest()
        if _intact(self._cache, digest) is None:
            self._cache.write(digest, content, lambda: _intact(self._cache, digest) is not None)
        return digest

    def read(self, digest: str) -> bytes | None:
        """Return the content of the file with the SHA-256 `digest`; None if it is missing or damaged."""
        for place in self._places:
            content = _intact(place, digest)
            if content is not None:
                place.mark_used(place.path(digest))
                return content
        return None

    def find(self, digest: str, known: State | None) -> tuple[str, State | None] | None:
        """Return (path, state) of the file with the SHA-256 `digest`; None if it is missing or damaged.

        The file is not read if it has the state `known`, which an earlier call returned for it. The returned state is
        None if a later call cannot rely on it, and has to read the file.
        """
        for place in self._places:
            path, now = place.path(digest), time.time_ns()
            try:
                status = os.stat(path)
            except OSError:
                continue
            state: State | None = state_of(status)
            if state != known or sys.platform == "win32":  # Windows has no time of an inode's change
                if _intact(place, digest) is None:
                    continue
                state = state if is_settled(status, now) else None
            if status.st_mtime_ns < now - _MARKED_EVERY * 10**9:
                place.mark_used(path)
                state = None
            return path, state
        return None


def _intact(place: Cache, digest: str) -> bytes | None:
    try:
        with open(place.path(digest), "rb", buffering=0) as file:
            if not place.is_trusted(os.fstat(file.fileno())):
                return None
            content = file.read()
    except OSError:
        return None
    if sha256(content).hexdigest() == digest:
        return content
    place.warn_of_damage()
    return None


Files = TypeVar("Files")
T = TypeVar("T")


@dataclass(frozen=True)
class Recorded(Generic[Files]):
    """A request, such as one to compile a job; the files that its latest run read; and their present state.

    `files` and `state` are JSON values, whose form each user of `DependencyCache` chooses.
    """

    request: str
    """Cache key of the request. It is computed from everything that the result depends on, except the content of
    files."""
    files: Files
    state: Any

    def result_key(self, *facts: str) -> str:
        """Return the cache key of the result for the present state. `facts` are other things that the result depends
        on."""
        return Cache.key(self.request, *facts, json.dumps(self.state))


class DependencyCache(Generic[Files]):
    """A cache of the results of work that reads files, such as compiling a job.

    A request is the cache key of all inputs of the work except the content of files. It finds a result only while the
    files that the latest run read are unchanged. `parse_files` converts the JSON value of these files to `Files`, or
    raises an exception if the value is invalid.
    """

    def __init__(self, cache: Cache, parse_files: Callable[[Any], Files]) -> None:
        self._cache = cache
        self._parse_files = parse_files

    def recorded(self, request: str, state_of: Callable[[Files], Any]) -> Iterator[Recorded[Files]]:
        """Yield, for each cache folder, the files that the request's latest run read, with their present state.

        `state_of` returns the state of files. The read-only cache folder may list other files than this user's: another
        run may have read other files for the same request.
        """
        for files in self._cache.found(request, lambda entry: self._parse_files(json.loads(entry))):
            yield Recorded(request, files, state_of(files))

    def has(self, recorded: Recorded[Files], *facts: str) -> bool:
        """Return whether there is a result for the present state of the files. It may be damaged: `read` shows that."""
        return self._cache.has(recorded.result_key(*facts))

    def read(self, recorded: Recorded[Files], parse: Callable[[bytes], T], *facts: str) -> T | None:
        """Return `parse(result)` for the present state of the files; None if there is no result or it is damaged."""
        return self._cache.read(recorded.result_key(*facts), parse)

    def put(self, recorded: Recorded[Files], entry: bytes, *facts: str) -> None:
        """Store `entry` as the result of a run that read the files of `recorded` in the state of `recorded`."""
        self._cache.put(recorded.request, json.dumps(recorded.files).encode())
        self._cache.put(recorded.result_key(*facts), entry)
