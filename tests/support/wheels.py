"""Wheels of the fixtures, each built once, and their contents."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.processes import build_wheel
from tests.support.projects import copy_fixture
from tests.support.shared_folders import Share


def contents(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel, by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def images(wheel: Path) -> dict[str, bytes]:
    """Return the fatbins and manifests of a wheel, by name."""
    return {name: content for name, content in contents(wheel).items() if name.endswith((".fatbin", ".fatbin.json"))}


@pytest.fixture(scope="session")
def fixture_wheel(share: Share, extra: str) -> Callable[[str], Path]:
    """Return a function that returns the wheel of a fixture, built at the first call."""

    def build(name: str) -> Path:
        def fill(folder: Path) -> None:
            project = copy_fixture(name, folder / "a folder with a name", extra)
            environ = {"CUDA_WHEEL_CACHE_DIR": str(folder / "cache"), "CUDA_WHEEL_JOBS": "2"}
            result = build_wheel(project, folder / "dist", **environ)
            assert result.returncode == 0, result.stdout

        (wheel,) = (share(name, fill) / "dist").glob("*.whl")
        return wheel

    return build


@pytest.fixture
def unpacked(fixture_wheel: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that unpacks a fixture's wheel into a new folder and returns the folder."""

    def unpack(name: str) -> Path:
        folder = tmp_path / f"unpacked-{name}"
        with zipfile.ZipFile(fixture_wheel(name)) as archive:
            archive.extractall(folder)
        return folder

    return unpack
