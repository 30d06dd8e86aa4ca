"""Keep what was compiled, for this user and across environments: entries by key, each carrying its own hash."""

from __future__ import annotations

import contextlib
import os
import warnings
from hashlib import sha256
from pathlib import Path

import platformdirs

__all__ = ["Cache"]

LIMIT = 2 << 30
"""Bytes that the cache may take; the entries that were used longest ago go first."""


class Cache:
    """Entries in one folder, safe under concurrent use and kills: each is written under another name, then renamed.

    An entry that is damaged counts as absent. A folder that cannot be written to makes every `put` a warning: what was
    compiled is there all the same.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Use `folder`, else CUDA_WHEEL_CACHE_DIR, else the user's cache folder by the platform's convention."""
        self.folder = folder or Path(
            os.environ.get("CUDA_WHEEL_CACHE_DIR") or platformdirs.user_cache_dir("cuda-wheel", appauthor=False)
        )

    def get(self, key: str) -> bytes | None:
        """Return the content of the entry `key` (hexadecimal); None where there is none that is whole."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        digest, body = content[:32], content[32:]
        if sha256(body).digest() != digest:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # it was used now
        return body

    def put(self, key: str, body: bytes) -> None:
        """Keep `body` as the entry `key`."""
        path = self._path(key)
        temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                temporary.write_bytes(sha256(body).digest() + body)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
            self._shrink()
        except OSError as error:
            warnings.warn(
                f"cuda-wheel cannot keep what it compiled in {self.folder} ({error.strerror or error}), and will "
                "compile it again next time. CUDA_WHEEL_CACHE_DIR names another folder.",
                RuntimeWarning,
                stacklevel=2,
            )

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / key[2:]

    def _shrink(self) -> None:
        entries = []
        for path in self.folder.glob("??/*"):
            with contextlib.suppress(OSError):  # another process may have removed it
                status = path.stat()
                entries.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= LIMIT:
                break
            path.unlink(missing_ok=True)
            total -= size
