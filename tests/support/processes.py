"""Run commands in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


def run(*command: object, cwd: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command and return its status and both outputs together; never raises for a status."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=os.environ | environ,
        text=True,
        errors="backslashreplace",  # the names of some folders are no text
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=600,
    )


def pip_wheel(project: Path, output: Path, *options: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Build a project's wheel with pip, in this environment unless `options` say otherwise."""
    options = options or ("--no-build-isolation",)
    return run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-v",
        "--no-deps",
        "--no-index",
        "-w",
        output,
        *options,
        project,
        **environ,
    )


@pytest.fixture
def cuda_wheel(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs the `cuda-wheel` command in a neutral folder."""
    return lambda *arguments, **environ: run(sys.executable, "-m", "cuda_wheel", *arguments, cwd=tmp_path, **environ)
