"""An application frozen by PyInstaller, with the hooks, loads its kernels by both loaders. The driver is a stand-in."""

from __future__ import annotations

import os
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.pyinstaller import hook_folders
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
    assert run(python, "-m", "pip", "install", "-q", "pyinstaller", "cuda-bindings").returncode == 0
    files = with_loader(fixture_wheel("saxpy"))
    (record,) = (name for name in files if name.endswith(".dist-info/RECORD"))
    files[record] = "".join(f"{name},,\n" for name in files).encode()  # the hooks read it
    site = unpack(files, tmp_path / "site")
    program = STAND_IN + "import cuda_wheel; from saxpy_demo import kernels, _cuda_wheel\n" + LOAD
    (tmp_path / "app.py").write_text(program)
    result = run(
        *(python, "-m", "PyInstaller", shape, "--additional-hooks-dir", hook_folders()[0]),
        "app.py",
        cwd=tmp_path,
        PYTHONPATH=f"{ROOT}{os.pathsep}{site}",
    )
    assert result.returncode == 0, result.stdout
    (application,) = (path for path in tmp_path.glob("dist/**/app*") if path.is_file())
    frozen = run(application, cwd=tmp_path, PYTHONPATH="")
    assert frozen.stdout == LOADED
    count("frozen applications", 1)
