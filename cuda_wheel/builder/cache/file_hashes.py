"""Compute the SHA-256 of files; for headers of the CUDA packages without reading them.

A build in which everything is cached needs the hashes of hundreds of headers, and checks many more paths where there is
none. An installer lists the files of a package in its RECORD, which it writes last
(https://packaging.python.org/en/latest/specifications/recording-installed-packages/). So a header that has the size in
RECORD and was not changed since RECORD was written has the hash in RECORD. All other files are read.
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

__all__ = ["FileHashes", "unchanged_since"]

_FILE = re.compile(rb'^([^",\r\n]+),sha256=([\w-]{43}),(\d{1,15})\r?$', re.MULTILINE)
"""A line of RECORD. Files with a comma or a quote in their path are not matched, so they are read."""


class FileHashes:
    """The hashes of files by absolute path. Each file is examined once, at the first request."""

    def __init__(self) -> None:
        self.of = cache(self._of)
        """Return the SHA-256 of a file (hexadecimal); None if there is no file."""
        self._is_folder = cache(os.path.isdir)
        self._recorded = cache(_recorded)
        self._folders = tuple(f"{folder}{os.sep}" for folder in cuda_folders())

    def _of(self, path: str) -> str | None:
        if not self._is_folder(os.path.dirname(path)):  # true of most missing files; the answer is cached
            return None
        return self._recorded_hash(path) or _read(path)

    def _recorded_hash(self, path: str) -> str | None:
        """Return the hash in RECORD; None if the file is not listed or may have changed since."""
        folder = next((folder for folder in self._folders if path.startswith(folder)), None)
        record = self._recorded(folder).get(os.fsencode(path[len(folder) :].replace(os.sep, "/"))) if folder else None
        if record is None:
            return None
        digest, size, written = record
        try:
            status = os.stat(path)
        except OSError:
            return None
        # "<", not "<=": a file changed within the clock tick in which RECORD was written may differ.
        is_same = status.st_size == size and max(_change_times(status)) < written
        return urlsafe_b64decode(digest + b"=").hex() if is_same else None


def unchanged_since(began: int, paths: Iterable[str]) -> bool:
    """Return whether all files exist and none was changed since `began` (nanoseconds since 1970).

    For a changed file, nobody knows whether a compiler read the old content or the new one.
    """

    def is_changed(path: str) -> bool:
        status = os.stat(path)
        return any(began <= changed <= now for changed in _change_times(status))

    now = time.time_ns()
    try:
        return not any(map(is_changed, paths))
    except FileNotFoundError:
        return False


def _change_times(status: os.stat_result) -> tuple[int, ...]:
    """Return when a file's content was last changed and, if it has one link, when its inode was: ns since 1970."""
    # Installers hard-link files. Adding or removing a link changes the inode's time, though not the content.
    return (status.st_mtime_ns, status.st_ctime_ns) if status.st_nlink == 1 else (status.st_mtime_ns,)


def _recorded(folder: str) -> dict[bytes, tuple[bytes, int, int] | None]:
    """Return the files that the CUDA packages in a folder list, by path in there with "/": hash, size, and the time at
    which RECORD was written (ns since 1970). None for a file that two packages list differently."""
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
