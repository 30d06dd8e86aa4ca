"""Fixtures for the tests of the runtime, whose arrays are of classes that imitate those of libraries."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import cuda_wheel as package
from cuda_wheel import VENDORED_PACKAGE
from tests.support.array_libraries import StandInCuPy, StandInPyTorch
from tests.support.driver import Driver
from tests.support.loaded_modules import forget_all, forget_package, reset_driver
from tests.support.package_files import FATBIN, SAXPY, with_loader


@pytest.fixture(scope="session")
def known_toolchain() -> None:
    """Let the cache of each test be empty: the tests count what is in it."""


@pytest.fixture(autouse=True)
def pytorch(monkeypatch: pytest.MonkeyPatch) -> StandInPyTorch:
    """Return the stand-in that is PyTorch in this test."""
    module = StandInPyTorch()
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


@pytest.fixture(autouse=True)
def cupy(monkeypatch: pytest.MonkeyPatch) -> StandInCuPy:
    """Return the stand-in that is CuPy in this test."""
    module = StandInCuPy()
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.fixture
def driver(use: Callable[..., Driver]) -> Driver:
    return use((8, 6))


@pytest.fixture
def hopper(use: Callable[..., Driver]) -> Driver:
    """Return a driver with one GPU of compute capability 9.0, whose context is current."""
    driver = use((9, 0))
    driver.context.device = 0
    return driver


@pytest.fixture
def two(use: Callable[..., Driver]) -> Driver:
    """Return a driver with two GPUs; the first is current."""
    driver = use((8, 6), (9, 0))
    driver.context.device = 0
    return driver


@pytest.fixture
def built(
    make_project, cuda_wheel, kept_cache: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], None]:
    """Return a function that builds a project with a `[tool.cuda-wheel]` table and puts its images on the path."""
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "cache"))

    def build(table: str) -> None:
        result = cuda_wheel(
            "build",
            make_project(f"[tool.cuda-wheel]\n{table}"),
            "-o",
            tmp_path / "out",
            CUDA_WHEEL_CACHE_DIR=kept_cache,
        )
        assert result.returncode == 0, result.stdout
        monkeypatch.syspath_prepend(tmp_path / "out")

    return build


@pytest.fixture
def site(unpacked: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the unpacked saxpy wheel on the path; nothing of it is imported or loaded."""
    folder = unpacked("saxpy")
    monkeypatch.syspath_prepend(folder)
    forget_all()
    reset_driver()
    return folder


@pytest.fixture
def files(fixture_wheel: Callable[[str], Path]) -> dict[str, bytes]:
    """Return the files of the saxpy wheel by name, with a copy of the loader."""
    return with_loader(fixture_wheel("saxpy"))


@pytest.fixture
def check(use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that loads saxpy and attaches its kernels, with cuda-wheel's loader and with the copy in the
    package, and checks that the driver gets the right image. Its first argument is put first on `sys.path` (a path) or
    `sys.meta_path` (a finder)."""

    def check(entry: object, files: Mapping[str, bytes]) -> None:
        forget_package("saxpy_demo")
        with monkeypatch.context() as patch:
            if isinstance(entry, str | Path):
                patch.setattr(sys, "path", [str(entry), *sys.path])
            else:
                patch.setattr(sys, "meta_path", [entry, *sys.meta_path])
            importlib.invalidate_caches()
            own = importlib.import_module(f"saxpy_demo.{VENDORED_PACKAGE}")
            assert Path(own.__file__).parts[-3:] == ("saxpy_demo", VENDORED_PACKAGE, "__init__.py")
            kernels = importlib.import_module("saxpy_demo.kernels")
            assert kernels.__all__ == ["saxpy"]
            assert own.attach("saxpy_demo.kernels")[2] == ["saxpy"]
            driver = use((8, 6))
            for load in (package.load, own.load):
                image = load(SAXPY).image
                assert driver.loaded == [files[FATBIN][image.offset : image.offset + image.size]]
                driver.loaded.clear()
            assert kernels.saxpy.handle == 0xBEEF

    return check
