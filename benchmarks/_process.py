"""Run whole processes, for example builds of wheels, and measure their time."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["HATCHLING", "Cost", "build_wheel", "run"]

HATCHLING = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
"""Code of Python that builds a wheel of the project in the current folder, into the folder that its argument names."""


class Cost(NamedTuple):
    """Wall-clock and CPU seconds of a process and its children."""

    seconds: float
    cpu: float


def run(command: Sequence[str | Path], folder: Path, timeout: float | None = None, **environ: str) -> Cost:
    """Run a process and return its cost; raises CalledProcessError if it fails, and TimeoutExpired after `timeout`
    seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
        timeout=timeout,
    )
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def build_wheel(project: Path, output: Path, python: str | Path = sys.executable, **environ: str) -> Cost:
    """Build the wheel of a hatchling project, with an empty cache unless `environ` names another.

    Raises CalledProcessError if the build fails.
    """
    with tempfile.TemporaryDirectory() as empty_cache:
        return run([python, "-c", HATCHLING, output], project, **{"CUDA_WHEEL_CACHE_DIR": empty_cache} | environ)
