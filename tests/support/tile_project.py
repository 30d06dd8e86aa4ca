"""A project with CUDA Tile kernels: those of tests/tile/kernels.cu."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.tileiras import find_tileiras
from tests.support.projects import ROOT

__all__ = ["HEAD", "need_tileiras", "write_tile_project"]

SOURCE = ROOT / "tests/tile/kernels.cu"

HEAD = """
[build-system]
requires = ["hatchling", "cuda-wheel[cu13]", "nvidia-cuda-tileiras>=13.3"]
build-backend = "hatchling.build"
[project]
name = "demo"
version = "1"
requires-python = ">=3.10"
[tool.hatch.build.targets.wheel.hooks.cuda]
[tool.hatch.build.targets.wheel]
packages = ["demo"]
[tool.cuda-wheel]
std = "c++20"
"""
"""The pyproject.toml of a project with the package demo, up to the settings of cuda-wheel."""

MODULE = """
[[tool.cuda-wheel.module]]
name = "demo.kernels"
instantiate = ["demo::scale<float>", "demo::scale<int>"]
"""


def need_tileiras() -> None:
    """Skip a test unless NVRTC 13.3 or later and tileiras are installed."""
    try:
        find_tileiras(find_toolchain(None))
    except ToolchainError as error:
        pytest.skip(str(error))


def write_tile_project(root: Path, settings: str = "", table: str = MODULE) -> Path:
    """Write the project, with further settings of `[tool.cuda-wheel]` and this table of a module."""
    (root / "demo").mkdir(parents=True)
    (root / "demo/__init__.py").touch()
    shutil.copy(SOURCE, root / "demo/kernels.cu")
    (root / "pyproject.toml").write_text(HEAD + settings + table)
    return root
