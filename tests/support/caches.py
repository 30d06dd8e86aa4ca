"""A cache and a read-only second one in temporary folders, and entries of known sizes and times."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cuda_wheel.runtime.parts.user_cache import Cache

__all__ = ["cache", "fill", "key", "path_of", "second", "there"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "cache"))
    return Cache()


@pytest.fixture
def second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """Return a cache whose folder is the second, read-only folder of every `Cache()`."""
    monkeypatch.setenv("CUDA_WHEEL_CACHE_READONLY", str(tmp_path / "second"))
    return Cache(str(tmp_path / "second"))


def key(number: int) -> str:
    return Cache.key(str(number))


def path_of(cache: Cache, number: int) -> Path:
    return Path(cache.folder, key(number)[:2], key(number)[2:])


def fill(cache: Cache, *sizes: int) -> None:
    """Put entries of these sizes; each was last used one second after the one before."""
    for number, size in enumerate(sizes):
        cache.put(key(number), b"x" * size)
        os.utime(path_of(cache, number), (number, number))


def there(cache: Cache, count: int) -> list[int]:
    """Return which of the entries that `fill` put still exist, without marking them as used."""
    return [number for number in range(count) if path_of(cache, number).exists()]
