"""A project with CUDA Tile kernels: those of tests/tile/kernels.cu."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.tileiras import find_tileiras
from cuda_wheel.runtime.manifest import parse_version
from tests.support.demo_projects import pyproject_head
from tests.support.projects import ROOT

__all__ = ["HEAD", "need_tileiras", "write_cutile_project", "write_tile_project"]

SOURCE = ROOT / "tests/tile/kernels.cu"

HEAD = pyproject_head("cuda-wheel[cu13]", "nvidia-cuda-tileiras>=13.3") + '[tool.cuda-wheel]\nstd = "c++20"\n'
"""The pyproject.toml of a project with the package demo, up to the settings of cuda-wheel."""

MODULE = """
[[tool.cuda-wheel.module]]
name = "demo.kernels"
instantiate = ["demo::scale<float>", "demo::scale<int>"]
"""


def need_tileiras() -> None:
    """Skip a test unless NVRTC 13.3 or later and tileiras are installed."""
    try:
        toolchain = find_toolchain(None)
        find_tileiras(toolchain)
    except ToolchainError as error:
        pytest.skip(str(error))
    if parse_version(toolchain.nvrtc) < (13, 3):
        pytest.skip(f"{toolchain.name} compiles no CUDA Tile kernels")


def write_tile_project(root: Path, settings: str = "", table: str = MODULE) -> Path:
    """Write the project, with further settings of `[tool.cuda-wheel]` and this table of a module."""
    (root / "demo").mkdir(parents=True)
    (root / "demo/__init__.py").touch()
    shutil.copy(SOURCE, root / "demo/kernels.cu")
    (root / "pyproject.toml").write_text(HEAD + settings + table)
    return root


CASES = ROOT / "tests/tile/cases.py"

TABLES = """
[[tool.cuda-wheel.tile]]
kernel = "demo.cases:add"
arguments = [
    { x = ["float32[1]:16", "float32[1]"], y = ["float32[1]:16", "float32[1]"], out = "float32[1]:1", BLOCK = 1024 },
    { x = "int32[1]:16n", y = "int32[1]:16n", out = "int32[1]:16n", BLOCK = [256, 1024] },
]
[[tool.cuda-wheel.tile]]
kernel = "demo.cases:scale"
arguments = [
    { x = "float32[1]", factor = ["float32", "int32"], out = "float32[1]" },
    { x = "float32[1]", factor = "float32", out = "float32[1]", HALVE = true },
]
[[tool.cuda-wheel.tile]]
kernel = "demo.cases:product"
arguments = { a = "float16[2]:16", b = "float16[2]:16", c = "float32[2]:16", M = 64, N = 64, K = 32 }
occupancy = [1, 2]
[[tool.cuda-wheel.tile]]
kernel = "demo.cases:product"
arguments = { a = "float16[2]", b = "float16[2]", c = "float32[2]", M = 64, N = 64, K = 32 }
num-ctas = 2
options = { opt_level = 2 }
[[tool.cuda-wheel.tile]]
kernel = "demo.cases:wide"
arguments = { x = "float32[1]:1", out = "float32[1]:1" }
"""


def write_cutile_project(root: Path, settings: str = "", tables: str = TABLES) -> Path:
    """Write a project with the kernels of tests/tile/cases.py, with further settings and these tables."""
    (root / "demo").mkdir(parents=True)
    (root / "demo/__init__.py").touch()
    shutil.copy(CASES, root / "demo/cases.py")
    (root / "pyproject.toml").write_text(HEAD + settings + tables)
    return root
