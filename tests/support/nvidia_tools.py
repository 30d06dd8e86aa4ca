"""NVIDIA's tools of several releases, which read images independently of cuda-wheel, and the headers of CUTLASS."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.processes import run

__all__ = [
    "nvidia_tool",
]


def nvidia_tool(name: str) -> Path:
    folder = os.environ.get("CUDA_WHEEL_TEST_TOOLS")
    if folder is None:
        pytest.skip("`nox -s slow` downloads NVIDIA's tools (CUDA_WHEEL_TEST_TOOLS names their folder)")
    return next(Path(folder).glob(name))


@pytest.fixture(scope="session")
def cutlass() -> Path:
    """Return the folder of packages that has CUTLASS's headers."""
    return nvidia_tool("cutlass")


@pytest.fixture(scope="session")
def cuobjdump() -> Callable[..., str]:
    """Return a function that runs cuobjdump and returns its output."""
    tool = nvidia_tool("cuobjdump/nvidia/*/bin/cuobjdump")

    def dump(*arguments: object) -> str:
        result = run(tool, *arguments)
        assert result.returncode == 0, result.stdout
        return result.stdout

    return dump


@pytest.fixture(scope="session")
def nvdisasm() -> Callable[[Path], str]:
    """Return a function that disassembles a cubin."""
    tool = nvidia_tool("nvdisasm/nvidia/*/bin/nvdisasm")

    def disassemble(path: Path) -> str:
        result = run(tool, "-c", path)
        assert result.returncode == 0, result.stdout
        return result.stdout

    return disassemble


@pytest.fixture(scope="session")
def ptxas() -> Callable[..., str]:
    """Return a function that assembles a PTX file with the ptxas of a CUDA release and returns its errors, or ""."""

    def assemble(release: str, path: Path, arch: str, *options: str) -> str:
        tool = nvidia_tool(f"ptxas-{release}/nvidia/*/bin/ptxas")
        result = run(tool, f"-arch=sm_{arch}", *options, path, "-o", os.devnull)
        return result.stdout if result.returncode else ""

    return assemble


def listed_cubins(text: str) -> list[str]:
    """Return the targets of the cubins that `cuobjdump -lelf` lists: "sm_80"."""
    return re.findall(r"\.(sm_\d+[af]?)\.cubin", text)
