"""cuda-wheel's own wheel, and virtual environments for isolated builds."""

from __future__ import annotations

import os
import secrets
import sys
import venv
from pathlib import Path

import pytest

from tests.support.processes import pip_wheel, run
from tests.support.projects import ROOT


@pytest.fixture(scope="session")
def own_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return cuda-wheel's own wheel, built from this checkout."""
    # uv caches wheels by path, and the next run may use the same temporary folder.
    folder = tmp_path_factory.mktemp("own") / secrets.token_hex(8)
    result = pip_wheel(ROOT, folder)
    assert result.returncode == 0, result.stdout
    return next(folder.glob("cuda_wheel-*.whl"))


@pytest.fixture(scope="session")
def find_links(own_wheel: Path) -> dict[str, str]:
    """Return environment variables with which isolated builds of pip and uv find cuda-wheel's own wheel."""
    folder = str(own_wheel.parent)
    return {
        "PIP_FIND_LINKS": f"{folder} {os.environ.get('PIP_FIND_LINKS', '')}".strip(),
        "UV_FIND_LINKS": folder,
        "PIP_NO_COMPILE": "1",  # each isolated build installs all again; Python compiles what the build imports
    }


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory, own_wheel: Path) -> Path:
    """Return the interpreter of a new environment with cuda-wheel, hatchling and front ends, without a CUDA compiler."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    result = run(
        python, "-m", "pip", "install", "-q", "--no-compile", own_wheel, "hatchling", "editables", "build", "uv"
    )
    assert result.returncode == 0, result.stdout
    return python
