"""Projects with the package demo whose kernels another compiler than NVRTC compiles: their start, and their builds."""

from __future__ import annotations

from pathlib import Path

from tests.support.processes import run_cuda_wheel

__all__ = ["built", "failed", "pyproject_head"]


def pyproject_head(*requires: str) -> str:
    """Return the pyproject.toml of a project with the package demo, up to the settings of cuda-wheel. `requires` are
    the requirements of its build besides hatchling."""
    listed = ", ".join(f'"{each}"' for each in ("hatchling", *requires))
    return f"""
[build-system]
requires = [{listed}]
build-backend = "hatchling.build"
[project]
name = "demo"
version = "1"
requires-python = ">=3.10"
[tool.hatch.build.targets.wheel.hooks.cuda]
[tool.hatch.build.targets.wheel]
packages = ["demo"]
"""


def built(root: Path, *options: object, output: Path | None = None, **environ: str) -> str:
    """Build a project's modules into `output`, or into a folder of the project, and return what the build printed."""
    result = run_cuda_wheel("build", "-o", output or root / "output", *options, root, **environ)
    assert result.returncode == 0, result.stdout
    return result.stdout


def failed(root: Path, **environ: str) -> str:
    """Build a project that must not build, and return what the build printed, in one line."""
    result = run_cuda_wheel("build", "-o", root / "output", root, **environ)
    assert result.returncode == 1 and "Traceback" not in result.stdout, result.stdout
    assert not (root / "output").exists()
    return " ".join(result.stdout.split())
