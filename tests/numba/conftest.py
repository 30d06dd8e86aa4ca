"""A built module with Numba kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.demo_projects import built
from tests.support.numba_project import write_numba_project


@pytest.fixture(scope="session")
def cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """Build the module demo.cases for 7.5, 9.0 and later GPUs. Return the project, the output folder, and what the
    build printed."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    folder = tmp_path_factory.mktemp("numba")
    project = write_numba_project(
        folder / "project", '\n[tool.cuda-wheel]\narchitectures = ["75-virtual", "90-real"]\n'
    )
    output = folder / "output"
    return project, output, built(project, output=output)
