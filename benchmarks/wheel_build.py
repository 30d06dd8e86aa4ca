"""Time to build a fixture's wheel against the same with the hook off: `python benchmarks/wheel_build.py [ROUNDS]`.

Both are whole processes that call hatchling's `build_wheel` in this environment, which needs cuda-wheel with a
toolchain and no GPU.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from _interleave import compare

FIXTURES = Path(__file__).parent.parent / "fixtures"
BUILD = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"


def main(rounds: int) -> None:
    print(f"{len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as kept:
        for fixture in ("saxpy", "reduce_cub"):
            contenders = {
                "hook off": partial(built, fixture, HATCH_BUILD_NO_HOOKS="1"),
                "all of it compiled": partial(built, fixture),
                "all of it, one job at a time": partial(built, fixture, CUDA_WHEEL_JOBS="1"),
                "all of it kept from before": partial(built, fixture, CUDA_WHEEL_CACHE_DIR=kept),
            }
            compare(f"wheel of {fixture}", contenders, rounds)


def built(fixture: str, **environ: str) -> float:
    """Return the milliseconds of one build, with nothing kept from before unless `environ` says where."""
    with tempfile.TemporaryDirectory() as output, tempfile.TemporaryDirectory() as nothing:
        before = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", BUILD, output],
            cwd=FIXTURES / fixture,
            env=os.environ | {"CUDA_WHEEL_CACHE_DIR": nothing} | environ,
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        return (time.perf_counter() - before) * 1000


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
