"""Run whole processes and tell what they cost, and build wheels so."""

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

__all__ = ["Cost", "build_wheel", "run"]

HATCHLING = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"


class Cost(NamedTuple):
    """Seconds by the clock, and of all processors together: those of a process's children are part of its own."""

    seconds: float
    cpu: float


def run(command: Sequence[str | Path], folder: Path, **environ: str) -> Cost:
    """Return what a process cost; raises CalledProcessError where it fails."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
    )
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def build_wheel(project: Path, output: Path, python: str | Path = sys.executable, **environ: str) -> Cost:
    """Build the wheel of a project that hatchling builds, with nothing kept from before unless `environ` says where.

    Raises CalledProcessError where it fails.
    """
    with tempfile.TemporaryDirectory() as nothing:
        return run([python, "-c", HATCHLING, output], project, **{"CUDA_WHEEL_CACHE_DIR": nothing} | environ)
