"""A built module with CUDA Tile kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.demo_projects import built
from tests.support.tile_project import need_tileiras, write_cutile_project, write_tile_project


@pytest.fixture(scope="session")
def tiles(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """Build the module demo.kernels for three GPUs. Return the project, the output folder, and what the build
    printed."""
    need_tileiras()
    folder = tmp_path_factory.mktemp("tile")
    project = write_tile_project(folder / "project", 'architectures = ["75", "80", "90", "120-real"]\n')
    output = folder / "output"
    return project, output, built(project, output=output)


@pytest.fixture(scope="session")
def cutile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """Build the module demo.cases for 9.0. Return the project, the output folder, and what the build printed."""
    pytest.importorskip("cuda.tile", reason="cuTile is not installed")
    need_tileiras()
    folder = tmp_path_factory.mktemp("cutile")
    project = write_cutile_project(folder / "project", 'architectures = ["90-real"]\n')
    output = folder / "output"
    return project, output, built(project, output=output)
