"""What the tests on a real GPU need: a driver, and the fixtures' wheels, built here or carried here.

A machine that cannot build (no toolchain, no network) takes wheels that `python tests/gpu/prebuild.py FOLDER` made elsewhere:
CUDA_WHEEL_TEST_WHEELS=FOLDER.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.runtime.driver import device_and_driver
from cuda_wheel.runtime.errors import DriverError
from tests.support.processes import run
from tests.support.toolchains import installed_extra


def why_no_gpu() -> str | None:
    try:
        device_and_driver()
    except DriverError as error:
        return str(error)
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    reason = why_no_gpu() if here else None
    for item in here:
        item.add_marker("gpu")
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=reason))


def carried_sets() -> list[str]:
    """Return the names of the sets of carried wheels, each one a folder."""
    folder = os.environ.get("CUDA_WHEEL_TEST_WHEELS")
    return sorted(path.name for path in Path(folder).iterdir() if path.is_dir()) if folder else []


@pytest.fixture
def carried() -> Callable[[str, str], Path]:
    """Return a function that gives the carried wheel of a set and a fixture."""

    def find(name: str, fixture: str) -> Path:
        folder = os.environ.get("CUDA_WHEEL_TEST_WHEELS")
        if folder is None or not (Path(folder) / name).is_dir():
            pytest.skip(f"no wheels were carried here (CUDA_WHEEL_TEST_WHEELS names their folder, with {name} in it)")
        return next((Path(folder) / name / fixture).glob("*.whl"))

    return find


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Path]:
    """Return a function that installs a wheel into a folder of its own, for this process and its children."""

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
        except (AttributeError, TypeError):  # not a package; or one of PyTorch's odd ones
            continue
        if any(str(place).startswith(site) for place in places):
            del sys.modules[name]


@pytest.fixture
def saxpy(request: pytest.FixtureRequest, install: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the saxpy wheel, with no module of an earlier test in the way, and return its folder of kernels."""
    sets = carried_sets()
    if installed_extra():
        wheel = request.getfixturevalue("fixture_wheel")("saxpy")
    else:
        wheel = request.getfixturevalue("carried")(sets[0] if sets else "cu13", "saxpy")
    monkeypatch.setattr("cuda_wheel.runtime.registry.modules", {})
    return install(wheel) / "saxpy_demo" / "kernels"
