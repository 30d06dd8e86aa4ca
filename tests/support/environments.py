"""cuda-wheel's own wheels, and virtual environments for isolated builds."""

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

DISTRIBUTIONS = {"cuda_wheel": ROOT, "cuda_wheel_builder": ROOT / "distributions" / "builder"}
"""Name of a distribution of this checkout, as wheels have it -> the folder of its pyproject.toml."""


@pytest.fixture(scope="session")
def own_wheels(share: Share) -> dict[str, Path]:
    """Return name of a distribution, as in DISTRIBUTIONS -> its wheel, built from this checkout; all in one folder."""

    def fill(folder: Path) -> None:
        # uv caches wheels by path, and the next run may use the same temporary folder.
        output = folder / secrets.token_hex(8)
        for project in DISTRIBUTIONS.values():
            result = build_wheel(project, output)
            assert result.returncode == 0, result.stdout

    folder = share("own-wheels", fill)
    return {name: next(folder.glob(f"*/{name}-*.whl")) for name in DISTRIBUTIONS}


@pytest.fixture(scope="session")
def find_links(own_wheels: dict[str, Path]) -> dict[str, str]:
    """Return environment variables with which isolated builds of pip and uv find cuda-wheel's own wheels."""
    folder = str(own_wheels["cuda_wheel"].parent)
    return {
        "PIP_FIND_LINKS": f"{folder} {os.environ.get('PIP_FIND_LINKS', '')}".strip(),
        "UV_FIND_LINKS": folder,
        "PIP_NO_COMPILE": "1",  # each isolated build installs all again; Python compiles what the build imports
    }


@pytest.fixture(scope="session")
def bare_python(share: Share, own_wheels: dict[str, Path]) -> Path:
    """Return the interpreter of a new environment with cuda-wheel, hatchling and front ends, without a CUDA compiler."""
    python = Path("Scripts" if sys.platform == "win32" else "bin") / "python"

    def fill(folder: Path) -> None:
        venv.create(folder)
        packages = [*own_wheels.values(), "hatchling", "editables", "build", "pip", "uv"]
        result = run(sys.executable, "-m", "uv", "pip", "install", "-q", "--python", folder / python, *packages)
        assert result.returncode == 0, result.stdout

    return share("bare-environment", fill) / python
