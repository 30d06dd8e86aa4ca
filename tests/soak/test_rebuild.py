"""`verify --rebuild` on another machine gives the same bytes, for every fixture and back end."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from cuda_wheel.inspect.rebuild import read_sbom
from tests.soak import SOAK
from tests.support.processes import pip_wheel, run
from tests.support.projects import BACKENDS, GOOD, LINKED, copy_fixture

pytestmark = [pytest.mark.lowest, pytest.mark.one_toolchain]

CASES = (
    list(product([*GOOD, *LINKED], BACKENDS)) if SOAK else [("plugin", "setuptools"), ("linked", "scikit-build-core")]
)
OLDER = {"cu12": "nvidia-cuda-nvrtc-cu12==12.9.41\n", "cu13": "nvidia-cuda-nvrtc==13.0.88\n"}


@pytest.mark.thorough
@pytest.mark.parametrize(("fixture", "backend"), CASES)
def test_another_machine_rebuilds_the_same_bytes(
    fixture: str,
    backend: str,
    extra: str,
    cuda_wheel,
    tmp_path: Path,
    count: Callable[[str, int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not SOAK:
        monkeypatch.setenv("CUDAARCHS", "80-real;90-virtual")  # the full run builds for all
    here, there = (copy_fixture(fixture, tmp_path / name / "project", extra, backend) for name in ("here", "there"))
    result = pip_wheel(here, tmp_path / "dist", CUDA_WHEEL_JOBS="2")
    assert result.returncode == 0, result.stdout
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    environ = {"CUDA_WHEEL_JOBS": "1", "CUDA_WHEEL_PRECOMPILED_HEADERS": "off", "SOURCE_DATE_EPOCH": "1000000000"}
    result = cuda_wheel("verify", wheel, "--rebuild", there, "--no-build-isolation", **environ)
    assert result.returncode == 0, result.stdout
    assert "the rebuild is identical" in result.stdout
    assert "note: " not in result.stdout  # the files of the back end are the same too
    count("rebuilds", 1)


@pytest.mark.skipif(not SOAK, reason="installs two toolchains of some hundred MB")
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_isolated_rebuild_uses_the_version_of_the_compiler_that_built_the_wheel(
    backend: str, extra: str, find_links: dict[str, str], tmp_path: Path, bare_python: Path, count
) -> None:
    project = copy_fixture("saxpy", tmp_path / "project", extra, backend)
    older = tmp_path / "older.txt"
    older.write_text(OLDER[extra])
    constraints = {"PIP_CONSTRAINT": str(older), "PIP_BUILD_CONSTRAINT": str(older)}
    result = run(
        bare_python, "-m", "pip", "wheel", "--no-deps", "-w", tmp_path / "dist", project, **find_links, **constraints
    )
    assert result.returncode == 0, result.stdout
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    sbom = read_sbom(wheel)
    assert sbom is not None
    name, _, version = OLDER[extra].strip().partition("==")
    assert sbom.packages[name] == version
    result = run(bare_python, "-m", "cuda_wheel", "verify", wheel, "--rebuild", project, cwd=tmp_path, **find_links)
    assert result.returncode == 0, result.stdout
    assert "the rebuild is identical" in result.stdout
    count("isolated rebuilds", 1)
