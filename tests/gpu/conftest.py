"""Fixtures for the tests on a real GPU: a driver, and the fixtures' wheels, built here or prebuilt elsewhere.

A machine that cannot build (no toolchain or no network) uses wheels that `python tests/gpu/prebuild.py FOLDER` built on
another machine: CUDA_WHEEL_TEST_WHEELS=FOLDER.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from cuda_wheel.runtime.driver import device_and_driver
from cuda_wheel.runtime.errors import DriverError
from cuda_wheel.runtime.parts.cuda_libraries import nvjitlink_version
from cuda_wheel.runtime.parts.linking.cuda_compiler import nvrtc_version
from tests.gpu.support import value
from tests.support.processes import pip_wheel, run
from tests.support.projects import ROOT
from tests.support.toolchains import installed_extra


def why_no_gpu() -> str | None:
    try:
        device_and_driver()
    except DriverError as error:
        return str(error)
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    gpu_items = [item for item in items if Path(__file__).parent in item.path.parents]
    reason = why_no_gpu() if gpu_items else None
    for item in gpu_items:
        item.add_marker("gpu")
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=reason))


def prebuilt_sets() -> list[str]:
    """Return the names of the sets of prebuilt wheels; each set is a folder."""
    folder = os.environ.get("CUDA_WHEEL_TEST_WHEELS")
    return sorted(path.name for path in Path(folder).iterdir() if path.is_dir()) if folder else []


@pytest.fixture(scope="session")
def prebuilt() -> Callable[[str, str], Path]:
    """Return a function that finds the prebuilt wheel of a fixture in a set."""

    def find(set_name: str, fixture: str) -> Path:
        folder = os.environ.get("CUDA_WHEEL_TEST_WHEELS")
        if folder is None or not (Path(folder) / set_name).is_dir():
            pytest.skip(f"no prebuilt wheels (CUDA_WHEEL_TEST_WHEELS must name a folder that contains {set_name})")
        return next((Path(folder) / set_name / fixture).glob("*.whl"))

    return find


@pytest.fixture(scope="session")
def example_wheel(
    prebuilt: Callable[[str, str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """Return a function that returns the wheel of an example, prebuilt or built here."""

    def find(example: str) -> Path:
        folder = os.environ.get("CUDA_WHEEL_TEST_WHEELS")
        if folder is not None and (Path(folder) / "cu12" / example).is_dir():
            return prebuilt("cu12", example)
        if installed_extra() is None:
            pytest.skip("no toolchain is installed here to build with, and there is no prebuilt wheel")
        output = tmp_path_factory.mktemp("dist")
        result = pip_wheel(ROOT / "examples" / example, output)
        assert result.returncode == 0, result.stdout
        return next(output.glob("*.whl"))

    return find


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], Path]]:
    """Return a function that installs a wheel into a temporary folder, for this process and its children."""

    def install(wheel: Path) -> Path:
        site = tmp_path / "site"
        result = run(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", site, wheel)
        assert result.returncode == 0, result.stdout
        monkeypatch.syspath_prepend(site)
        monkeypatch.setenv(
            "PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        )
        return site

    yield install
    site = str(tmp_path / "site")
    for name, module in list(sys.modules.items()):
        try:
            places = list(module.__path__)
        except Exception:  # not a package, or an unusual module of PyTorch or Numba
            continue
        if any(str(place).startswith(site) for place in places):
            del sys.modules[name]


@pytest.fixture
def saxpy(request: pytest.FixtureRequest, install: Callable[[Path], Path], nothing_loaded: None) -> Path:
    """Install the saxpy wheel, with no module loaded yet, and return its folder of kernels."""
    if installed_extra():
        wheel = request.getfixturevalue("fixture_wheel")("saxpy")
    else:
        wheel = request.getfixturevalue("prebuilt")((prebuilt_sets() or ["cu13"])[0], "saxpy")
    return install(wheel) / "saxpy_demo" / "kernels"


@pytest.fixture
def driver() -> ModuleType:
    """Return the driver's bindings, initialised."""
    from cuda.bindings import driver

    device_and_driver()  # initialises the driver
    return driver


@pytest.fixture
def context(driver: ModuleType) -> Iterator[None]:
    """Make GPU 0's primary context current; after the test, check that it is still usable."""
    driver.cuCtxSetCurrent(value(driver.cuDevicePrimaryCtxRetain(0)))
    yield
    value(driver.cuCtxSynchronize())


@pytest.fixture
def nvjitlink() -> None:
    """Skip if nvJitLink is not installed, or if the driver cannot load its output."""
    version, driver_version = nvjitlink_version(), device_and_driver()[1]
    if version is None or version[0] > driver_version[0]:
        pytest.skip(f"nvJitLink is {version}, the driver is for {driver_version}")


@pytest.fixture
def nvrtc(nvjitlink: None) -> None:
    """Skip if NVRTC or nvJitLink is not installed, or if the driver cannot load nvJitLink's output."""
    if nvrtc_version() is None:
        pytest.skip("NVRTC is not installed")
