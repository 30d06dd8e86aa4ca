"""Know files by the SHA-256 of their content; headers of CUDA's packages without reading them.

A build of what is kept asks for hundreds of headers, and for many more that are not there. Installers write down in a
package's RECORD what it holds (https://packaging.python.org/en/latest/specifications/recording-installed-packages/),
and write that last. So a header of the size that RECORD says, which was not changed since, has the content that RECORD
says. Any other file is read.
"""

from __future__ import annotations

import os
import re
import time
from base64 import urlsafe_b64decode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256

from cuda_wheel.builder.toolchain.packages import cuda_folders, is_cuda_package

__all__ = [
    "FileHashes",
    "unchanged_since",
]


_FILE = re.compile(rb'^([^",\r\n]+),sha256=([\w-]{43}),(\d{1,15})\r?$', re.MULTILINE)
"""A line of RECORD; a path with a comma or a quote in it is left to be read."""


class FileHashes:
    """The content of files by their absolute paths, as it is when it is first asked for."""

    def __init__(self) -> None:
        self.of = cache(self._of)
        """Return the SHA-256 of a file (hexadecimal); None where there is no file."""
        self._is_folder = cache(os.path.isdir)
        self._recorded = cache(_recorded)
        self._folders = tuple(f"{folder}{os.sep}" for folder in cuda_folders())

    def _of(self, path: str) -> str | None:
        if not self._is_folder(os.path.dirname(path)):  # most of what is not there is in one that is not
            return None
        return self._known(path) or _read(path)

    def _known(self, path: str) -> str | None:
        """Return the hash that an installer wrote down; None where the file may be another by now."""
        folder = next((folder for folder in self._folders if path.startswith(folder)), None)
        known = self._recorded(folder).get(os.fsencode(path[len(folder) :].replace(os.sep, "/"))) if folder else None
        if known is None:
            return None
        digest, size, before = known
        try:
            status = os.stat(path)
        except OSError:
            return None
        # What was changed within the same tick of the clock may be another.
        is_same = status.st_size == size and max(_changes(status)) < before
        return urlsafe_b64decode(digest + b"=").hex() if is_same else None


def unchanged_since(began: int, paths: Iterable[str]) -> bool:
    """Return whether files are there, and are what they were at a time, in nanoseconds since 1970. Else nobody can tell
    what was read since: that, or what is there now."""

    def is_changed(path: str) -> bool:
        status = os.stat(path)
        return any(began <= changed <= now for changed in _changes(status))

    now = time.time_ns()
    try:
        return not any(map(is_changed, paths))
    except FileNotFoundError:
        return False


def _changes(status: os.stat_result) -> tuple[int, ...]:
    """Return when a file's content was changed and, where that tells, when anything about it was: ns since 1970."""
    # Every link to a file that is made or removed, as installers do, is a change of the second kind.
    return (status.st_mtime_ns, status.st_ctime_ns) if status.st_nlink == 1 else (status.st_mtime_ns,)


def _recorded(folder: str) -> dict[bytes, tuple[bytes, int, int] | None]:
    """Return, by path in the folder with "/", what the CUDA packages in it say of their files: hash and size, and when
    that was written. None for a file of which two say different things."""
    files: dict[bytes, tuple[bytes, int, int] | None] = {}
    for name in sorted(filter(is_cuda_package, os.listdir(folder))):
        try:
            with open(os.path.join(folder, name, "RECORD"), "rb") as record:
                written = os.fstat(record.fileno()).st_mtime_ns
                lines = _FILE.findall(record.read())
        except OSError:
            continue
        for path, digest, size in lines:
            own = (digest, int(size), written)
            other = files.setdefault(path, own)
            if other is not None and other[:2] != own[:2]:
                files[path] = None
    return files


def _read(path: str) -> str | None:
    try:
        with open(path, "rb", buffering=0) as file:
            return sha256(file.read()).hexdigest()
    except OSError:
        return None
