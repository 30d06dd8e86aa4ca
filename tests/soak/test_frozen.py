"""An application frozen by PyInstaller loads its kernels. The driver is a stand-in."""

from __future__ import annotations

import os
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.soak import SOAK
from tests.support.package_files import LOAD, LOADED, STAND_IN, unpack, with_loader
from tests.support.processes import run
from tests.support.projects import ROOT


@pytest.mark.skipif(not SOAK, reason="installs PyInstaller and takes minutes; runs in `nox -s soak`")
@pytest.mark.parametrize("shape", ["--onedir", "--onefile"])
def test_a_frozen_application_loads_its_kernels(
    shape: str, fixture_wheel: Callable[[str], Path], tmp_path: Path, count: Callable[[str, int], None]
) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    assert run(python, "-m", "pip", "install", "-q", "pyinstaller").returncode == 0
    site = unpack(with_loader(fixture_wheel("saxpy")), tmp_path / "site")
    program = STAND_IN + "import cuda_wheel; from saxpy_demo import kernels, _cuda_wheel\n" + LOAD
    (tmp_path / "app.py").write_text(program)
    result = run(
        *(python, "-m", "PyInstaller", shape, "--collect-data", "saxpy_demo"),
        "app.py",
        cwd=tmp_path,
        PYTHONPATH=f"{ROOT}{os.pathsep}{site}",
    )
    assert result.returncode == 0, result.stdout
    (application,) = (path for path in tmp_path.glob("dist/**/app*") if path.is_file())
    frozen = run(application, cwd=tmp_path, PYTHONPATH="")
    assert frozen.stdout == LOADED
    count("frozen applications", 1)
