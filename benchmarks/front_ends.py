"""Measure a build for which nothing is compiled, by each front end: `python benchmarks/front_ends.py [ROUNDS]`.

The environment needs hatchling, `cuda-wheel` with a toolchain, pip and uv. What pip and uv download, they download
before: both have their caches.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from _interleave import compare
from _kernels import FIXTURES
from _process import run
from _results import Goal, Result

__all__ = ["measure"]

PIP, HERE = "pip wheel", "pip wheel --no-build-isolation"
UV, UV_HERE = "uv build --wheel", "uv build --wheel --no-build-isolation"


def measure(rounds: int | None = None) -> list[Result]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        project = shutil.copytree(FIXTURES / "saxpy", folder / "saxpy")
        pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps"]
        run([*pip, "-w", folder / "own", FIXTURES.parent, FIXTURES.parent / "distributions" / "builder"], folder)
        environ = {
            "CUDA_WHEEL_CACHE_DIR": str(folder / "cache"),
            "PIP_FIND_LINKS": f"{os.environ.get('PIP_FIND_LINKS', '')} {folder / 'own'}".strip(),
            "UV_FIND_LINKS": str(folder / "own"),
        }
        uv = ["uv", "build", "-q", "--wheel", "--python", sys.executable, "-o", folder / "out"]
        commands: dict[str, list[str | Path]] = {
            PIP: [*pip, "-w", folder / "out", project],
            HERE: [*pip, "--no-build-isolation", "-w", folder / "out", project],
            UV: [*uv, project],
            UV_HERE: [*uv, "--no-build-isolation", project],
        }

        def seconds(command: list[str | Path]) -> Callable[[], float]:
            return lambda: run(command, folder, **environ).seconds

        return [
            compare(
                "A build for which nothing is compiled, by each front end",
                "The wheel of `fixtures/saxpy`, whose images are in cuda-wheel's cache. pip and `uv build` make a new "
                "environment for each build, and pip unpacks the toolchain into it, 470 MB; uv links its files from "
                "its cache. With `--no-build-isolation`, the back end and the toolchain are installed already.",
                {name: seconds(command) for name, command in commands.items()},
                rounds or 5,
                "s",
                digits=2,
                warm_up=1,
                goals=[Goal(UV, PIP, times=0.3), Goal(UV_HERE, PIP, times=0.1)],
            )
        ]


if __name__ == "__main__":
    measure(int(sys.argv[1]) if len(sys.argv) > 1 else None)
