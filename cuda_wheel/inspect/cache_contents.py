"""Summarize the contents of the cache, for `cuda-wheel cache` and `cuda-wheel doctor`."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from typing import Any

from cuda_wheel.runtime.user_cache.cache import Cache, cache_limit

__all__ = ["cache_contents"]


def cache_contents(cache: Cache) -> dict[str, Any]:
    """Return a summary of the cache as a JSON object: sizes in bytes, times in ISO 8601, UTC.

    Raises CudaWheelError if CUDA_WHEEL_CACHE_SIZE is not a size.
    """
    set_by = "CUDA_WHEEL_CACHE_DIR" if os.environ.get("CUDA_WHEEL_CACHE_DIR") else "the platform's convention"
    return {
        **_folder_contents(cache),
        "set_by": set_by,
        "limit": cache_limit(),
        "read_only": None if cache.second is None else _read_only_contents(cache.second),
    }


def _read_only_contents(cache: Cache) -> dict[str, Any]:
    try:
        os.scandir(cache.folder).close()
    except OSError as error:
        return {"folder": cache.folder, "error": error.strerror or str(error)}
    return _folder_contents(cache)


def _folder_contents(cache: Cache) -> dict[str, Any]:
    entries = cache.entries()
    return {
        "folder": cache.folder,
        "entries": len(entries),
        "bytes": sum(size for _, size, _ in entries),
        "oldest_use": _iso_time(entries[0][0]) if entries else None,
        "newest_use": _iso_time(entries[-1][0]) if entries else None,
    }


def _iso_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")
