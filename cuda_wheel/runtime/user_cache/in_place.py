"""Keep the entries of a cache while a build uses their files where they are."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

__all__ = ["open_private", "removing", "used_in_place"]

_NAME = "in-use"
"""The file in the cache's folder that is locked: by several that use entries, or by one that removes some. It is made
with the first entry that may be used in place."""


@contextmanager
def used_in_place(folder: str) -> Iterator[bool]:
    """Keep all processes from removing entries of the cache in `folder`; yield whether that is certain.

    It is not where files cannot be locked, and while another process removes entries.
    """
    file, _ = _locked(folder, exclusive=False, wait=False)
    try:
        yield file is not None
    finally:
        if file is not None:
            file.close()


@contextmanager
def removing(folder: str, wait: bool) -> Iterator[bool]:
    """Yield whether entries may be removed now; `wait` until they may be."""
    file, is_used = _locked(folder, exclusive=True, wait=wait)
    try:
        yield not is_used
    finally:
        if file is not None:
            file.close()


def _locked(folder: str, exclusive: bool, wait: bool) -> "tuple[IO[bytes] | None, bool]":
    """Return the locked file, None without a lock, and whether that is because another process has it."""
    if sys.platform == "win32":
        return None, False
    try:
        import fcntl
    except ImportError:  # some builds of Python lack it
        return None, False
    try:
        mode = "r+b" if exclusive else "ab"
        file = open(os.path.join(folder, _NAME), mode, opener=open_private)  # noqa: SIM115 - closed by the callers
    except OSError:
        return None, False
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        file.close()
        return None, isinstance(error, BlockingIOError)
    return file, False


def open_private(path: str, flags: int) -> int:
    """Open a file through no link; one that is made is for this user alone. For `open`."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
