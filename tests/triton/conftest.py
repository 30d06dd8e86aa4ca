"""A built module with Triton kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.demo_projects import built
from tests.support.triton_project import write_triton_project


@pytest.fixture(scope="session")
def cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """Build the module demo.cases for 8.0, 9.0 and later GPUs. Return the project, the output folder, and what the
    build printed."""
    pytest.importorskip("triton", reason="Triton is not installed")
    folder = tmp_path_factory.mktemp("triton")
    project = write_triton_project(
        folder / "project", '\n[tool.cuda-wheel]\narchitectures = ["80-virtual", "90-real"]\n'
    )
    output = folder / "output"
    return project, output, built(project, output=output)
