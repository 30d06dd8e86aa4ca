"""Let one process make what several need at the same time; the others wait for it and find it in the cache.

The operating system locks a file in the cache's folder, and unlocks it when the process ends, however that happens.
Where it cannot, as in a folder that is not writable or on a file system without locks, each process works for itself.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO, TypeVar

from cuda_wheel.runtime.parts.user_cache import Cache

__all__ = ["LONGEST_WAIT", "found_or_made"]


T = TypeVar("T")

LONGEST_WAIT = 300.0
"""Maximum number of seconds to wait for another process, which may be suspended; after that, this process does the work
itself."""

_PAUSES = (0.005, 0.1)
"""Shortest and longest pause in seconds between two attempts to get the lock."""


def found_or_made(cache: Cache, key: str, find: Callable[[], T | None], make: Callable[[], T]) -> T:
    """Return what `find` finds, else what `make` makes, in one process and thread at a time for a `key` of the cache.

    If `make` makes nothing that `find` finds afterwards, or raises, those that waited do not wait for each other.
    """
    found = find()
    if found is not None:
        return found
    lock = _Lock(os.path.join(cache.folder, "locks"), key)
    try:
        waited = lock.acquire(LONGEST_WAIT)
        found = find()  # another process may have made it since
        if found is not None:
            return found
        if waited and lock.note() == key:
            lock.release()
        kept = False
        try:
            made = make()
            kept = find() is not None
            return made
        finally:
            lock.leave_note("" if kept else key)
    finally:
        lock.release()


class _Lock:
    """A lock on a file, for processes and threads. Few files serve all keys, so that none need be removed."""

    def __init__(self, folder: str, key: str) -> None:
        self._folder = folder
        self._path = os.path.join(folder, key[:3])
        self._file: BinaryIO | None = None

    def acquire(self, longest: float) -> bool:
        """Wait for the lock, at most `longest` seconds; return whether another process or thread had it.

        Where there is no lock to get, it is not held afterwards, and all other methods do nothing.
        """
        try:
            for folder in (os.path.dirname(self._folder), self._folder):
                os.makedirs(folder, mode=0o700, exist_ok=True)
            file = open(self._path, "r+b", buffering=0, opener=_open_or_create)  # noqa: SIM115 - closed by release
        except OSError:
            return False
        until, pause, waited = time.monotonic() + longest, _PAUSES[0], False
        while not (locked := _try_to_lock(file.fileno())) and locked is not None and time.monotonic() < until:
            waited = True
            time.sleep(pause)
            pause = min(2 * pause, _PAUSES[1])
        if locked:
            self._file = file
        else:
            file.close()
        return waited

    def note(self) -> str:
        """Return the key that the latest holder has left, if it made nothing that the cache keeps; else ""."""
        if self._file is None:
            return ""
        with suppress(OSError):  # another user put something else than a file there
            self._file.seek(1)  # the lock is on the first byte
            return self._file.read(100).decode(errors="replace")
        return ""

    def leave_note(self, key: str) -> None:
        """Leave a key, or "", for those who wait."""
        if self._file is not None and self.note() != key:
            with suppress(OSError):  # the disk is full
                self._file.truncate(1)
                self._file.seek(1)
                self._file.write(key.encode())

    def release(self) -> None:
        """Release the lock, if it is held."""
        if self._file is not None:
            file, self._file = self._file, None
            _unlock(file.fileno())  # closing alone does not, while a forked process has the file open too
            file.close()


def _open_or_create(path: str, flags: int) -> int:
    # Neither through a link of another user, nor waiting for the other end of a pipe.
    flags |= os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(path, flags, 0o600)


if sys.platform == "win32":
    import msvcrt

    def _try_to_lock(file: int) -> bool | None:
        os.lseek(file, 0, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        except OSError:
            return None
        return True

    def _unlock(file: int) -> None:
        os.lseek(file, 0, os.SEEK_SET)
        with suppress(OSError):
            msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_to_lock(file: int) -> bool | None:
        """Return whether the file was locked by this call; None if files cannot be locked here."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # unlike lockf, this holds off other threads too
        except BlockingIOError:
            return False
        except OSError:
            return None
        return True

    def _unlock(file: int) -> None:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)
