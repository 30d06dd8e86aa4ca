"""A project whose module compiles when it is loaded, and a cache of its own, which has the toolchain."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.editable import HATCHLING, TABLE, make_tree


@pytest.fixture(autouse=True)
def cache(known_toolchain: Path | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    if known_toolchain is not None:
        shutil.copytree(known_toolchain, tmp_path / "cache")
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "cache"))
    return Cache()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "project", HATCHLING + TABLE)


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that forbids all further compilation."""

    def forbid(*arguments: object, **options: object) -> None:
        raise AssertionError("a compiler was started")

    return lambda: monkeypatch.setattr("cuda_wheel.builder.workers.worker.Worker", forbid)
