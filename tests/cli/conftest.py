"""Projects of every shape as source trees, wheels and installations; `tests/cli/shapes.py` lists the shapes."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from tests.cli.shapes import SHAPES, write_project
from tests.support.loaded_modules import forget_package
from tests.support.processes import run
from tests.support.shared_folders import Share


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def project(shape: str, tmp_path: Path, extra: str) -> Path:
    """A source tree of the shape, which tests may change."""
    return write_project(SHAPES[shape], tmp_path / "project", extra)


@pytest.fixture
def wheel(shape: str, share: Share, extra: str) -> Path:
    """The wheel of the project. Do not write to it."""

    def fill(folder: Path) -> None:
        root = write_project(SHAPES[shape], folder / "project", extra)
        program = f"import hatchling.build as b; b.build_wheel({str(folder)!r})"
        result = run(sys.executable, "-c", program, cwd=root, CUDA_WHEEL_CACHE_DIR=str(folder / "cache"))
        assert result.returncode == 0, result.stdout

    (found,) = share(f"project-with-{shape}", fill).glob("*.whl")
    return found


@pytest.fixture
def installed(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The wheel's files in a folder on the path."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    forget_package("demo")
    return tmp_path / "site"
