"""cuda-wheel's own wheel, and virtual environments for isolated builds."""

from __future__ import annotations

import os
import secrets
import sys
import venv
from pathlib import Path

import pytest

from tests.support.processes import build_wheel, run
from tests.support.projects import ROOT
from tests.support.shared_folders import Share


@pytest.fixture(scope="session")
def own_wheel(share: Share) -> Path:
    """Return cuda-wheel's own wheel, built from this checkout."""

    def fill(folder: Path) -> None:
        # uv caches wheels by path, and the next run may use the same temporary folder.
        result = build_wheel(ROOT, folder / secrets.token_hex(8))
        assert result.returncode == 0, result.stdout

    return next(share("own-wheel", fill).glob("*/cuda_wheel-*.whl"))


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
def bare_python(share: Share, own_wheel: Path) -> Path:
    """Return the interpreter of a new environment with cuda-wheel, hatchling and front ends, without a CUDA compiler."""
    python = Path("Scripts" if sys.platform == "win32" else "bin") / "python"

    def fill(folder: Path) -> None:
        venv.create(folder)
        packages = [own_wheel, "hatchling", "editables", "build", "pip", "uv"]
        result = run(sys.executable, "-m", "uv", "pip", "install", "-q", "--python", folder / python, *packages)
        assert result.returncode == 0, result.stdout

    return share("bare-environment", fill) / python
