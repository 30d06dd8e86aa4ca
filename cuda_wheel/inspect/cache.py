"""Tell what the cache holds, for `cuda-wheel cache` and `cuda-wheel doctor`."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from typing import Any

from cuda_wheel.runtime.cache import Cache, cache_limit

__all__ = [
    "examine",
]


def examine(cache: Cache) -> dict[str, Any]:
    """Return what the cache holds as a JSON object: sizes in bytes, times in ISO 8601, UTC.

    Raises CudaWheelError where CUDA_WHEEL_CACHE_SIZE is no amount.
    """
    moved = "CUDA_WHEEL_CACHE_DIR" if os.environ.get("CUDA_WHEEL_CACHE_DIR") else "the platform's convention"
    return {
        **_holding(cache),
        "set_by": moved,
        "limit": cache_limit(),
        "read_only": None if cache.second is None else _read_only(cache.second),
    }


def _read_only(cache: Cache) -> dict[str, Any]:
    try:
        os.scandir(cache.folder).close()
    except OSError as error:
        return {"folder": cache.folder, "error": error.strerror or str(error)}
    return _holding(cache)


def _holding(cache: Cache) -> dict[str, Any]:
    entries = cache.entries()
    return {
        "folder": cache.folder,
        "entries": len(entries),
        "bytes": sum(size for _, size, _ in entries),
        "oldest_use": _time(entries[0][0]) if entries else None,
        "newest_use": _time(entries[-1][0]) if entries else None,
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")
