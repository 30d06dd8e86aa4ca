"""Keep whole files in the cache, each under the SHA-256 of its content, so that they can be used where they are."""

from __future__ import annotations

import os
import sys
import time
from hashlib import sha256

from cuda_wheel.builder.cache.file_hashes import State, is_settled, state_of
from cuda_wheel.runtime.user_cache.cache import Cache

__all__ = ["KeptFiles"]

_MARKED_EVERY = 24 * 3600
"""Seconds after which a use marks a file as used again: that changes its inode, which is then to be checked again."""


class KeptFiles:
    """The files in a cache. Modules and whole builds with the same content share them."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._places = [cache] if cache.second is None else [cache, cache.second]

    def put(self, content: bytes) -> str:
        """Keep a file; return its digest (hexadecimal)."""
        digest = sha256(content).hexdigest()
        if _intact(self._cache, digest) is None:
            self._cache.write(digest, content, lambda: _intact(self._cache, digest) is not None)
        return digest

    def read(self, digest: str) -> bytes | None:
        """Return the content of a file; None if it is missing or damaged."""
        for cache in self._places:
            content = _intact(cache, digest)
            if content is not None:
                cache.mark_used(cache.path(digest))
                return content
        return None

    def find(self, digest: str, known: State | None) -> tuple[str, State | None] | None:
        """Return the path of a file, and the state of its inode, or None if that does not show yet that it is intact.

        It is not read if the inode has the `known` state, which an earlier call returned. None if the file is missing
        or damaged.
        """
        for cache in self._places:
            path, now = cache.path(digest), time.time_ns()
            try:
                status = os.stat(path)
            except OSError:
                continue
            state: State | None = state_of(status)
            if state != known or sys.platform == "win32":  # which does not tell when an inode was changed
                if _intact(cache, digest) is None:
                    continue
                state = state if is_settled(status, now) else None
            if status.st_mtime_ns < now - _MARKED_EVERY * 10**9:
                cache.mark_used(path)
                state = None
            return path, state
        return None


def _intact(cache: Cache, digest: str) -> bytes | None:
    try:
        with open(cache.path(digest), "rb", buffering=0) as file:
            if not cache.is_trusted(os.fstat(file.fileno())):
                return None
            content = file.read()
    except OSError:
        return None
    if sha256(content).hexdigest() == digest:
        return content
    cache.warn_of_damage()
    return None
