"""Let one process compute what several need at the same time; the others wait, and find the result in the cache.

The operating system locks a file in the cache's folder, and unlocks it when the process ends, even by a crash. If no
file can be locked, as in a folder that is not writable or on a file system without locks, each process computes it.
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
"""Maximum number of seconds to wait until another process has computed a result. The other process may be suspended.
After that time, this process computes the result itself."""

_PAUSES = (0.005, 0.1)
"""Pauses in seconds between two attempts to get the lock: (first pause, longest pause). The pause doubles after each
attempt."""


def found_or_made(cache: Cache, key: str, find: Callable[[], T | None], make: Callable[[], T]) -> T:
    """Return `find()` or, if that is None, `make()`, which one process and thread at a time calls for a `key`.

    The others wait, and then call `find` again. If `find` still returns None after `make`, or if `make` raises, the
    waiting ones call `make` too, all at the same time and not one after the other.
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
    """A lock for the processes and threads that use a `key`: an operating system's lock on a file in `folder`.

    Keys that begin with the same three characters share a file. So there are few files, and none need be removed.
    """

    def __init__(self, folder: str, key: str) -> None:
        self._folder = folder
        self._path = os.path.join(folder, key[:3])
        self._file: BinaryIO | None = None

    def acquire(self, longest: float) -> bool:
        """Wait for the lock, at most `longest` seconds. Return whether another process or thread had it.

        After that time, or if files cannot be locked here, this returns without the lock. Then all other methods do
        nothing.
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
        """Return the key that `leave_note` wrote to the lock's file; "" if there is none.

        It means that the latest process with the lock called `make` for this key, but the cache keeps no result of it.
        """
        if self._file is None:
            return ""
        with suppress(OSError):  # another user put something else than a file there
            self._file.seek(1)  # the lock is on the first byte
            return self._file.read(100).decode(errors="replace")
        return ""

    def leave_note(self, key: str) -> None:
        """Write a key, or "", to the lock's file, where the processes and threads that wait for the lock read it."""
        if self._file is not None and self.note() != key:
            with suppress(OSError):  # the disk is full
                self._file.truncate(1)
                self._file.seek(1)
                self._file.write(key.encode())

    def release(self) -> None:
        """Release the lock, if this object has it."""
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
        """Lock an open file, given by its descriptor, without waiting; return whether it worked.

        False means that another process or thread has the lock, None that files cannot be locked here.
        """
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
