"""Run every benchmark that needs no GPU: `python benchmarks/cpu.py --peers PYTHON --output FILE.json`.

Run this in an environment that has only hatchling and `cuda-wheel[cu13]`. PYTHON is the interpreter of another
environment, which has the dependency group `bench`: the tools to compare with. `report.py` formats FILE.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import checking
import failing
import first_build
import front_ends
import host_code
import imports
import precompiled
import scale
import sizes
import triton_build
import wheel_build
from _peers import Peers
from _results import Report, Result, collect, machine, output_of, versions

TOOLCHAIN = ("cuda-wheel", "hatchling", "nvidia-cuda-nvrtc", "nvidia-nvjitlink", "nvidia-nvfatbin", "nvidia-cuda-cccl")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Run every benchmark that needs no GPU.")
    parser.add_argument(
        "--peers", type=Path, required=True, help="the interpreter of the environment with the group `bench`"
    )
    parser.add_argument("--nvcc", type=Path, help="an nvcc of the toolchain's release (default: that of the peers)")
    parser.add_argument("--rounds", type=int, help="rounds of each comparison (default: set by each benchmark)")
    parser.add_argument("--output", type=Path, required=True, help="the JSON file to write")
    parser.add_argument("--only", nargs="+", default=[], metavar="SECTION", help="the sections to run (default: all)")
    options = parser.parse_args(argv)

    peers = Peers.of(options.peers, options.nvcc)
    sections: dict[str, Callable[[], Iterable[Result]]] = {
        "first-build": partial(first_build.measure, peers, options.rounds),
        "host-code": partial(host_code.measure, peers, options.rounds),
        "failing": partial(failing.measure, options.rounds),
        "precompiled": partial(precompiled.measure, options.rounds),
        "next-build": partial(wheel_build.measure, options.rounds),
        "front-ends": partial(front_ends.measure, options.rounds),
        "sizes": partial(sizes.measure, peers, options.rounds),
        "import": partial(imports.measure, options.rounds),
        "checking": partial(checking.measure, options.rounds),
        "scale": partial(scale.measure, options.rounds),
        "triton": partial(triton_build.measure, options.rounds),
    }
    compiler = output_of("gcc", "--version").splitlines()[0].split()[-1]
    report = Report(
        "Benchmarks without a GPU",
        "nox -s bench",
        machine(),
        versions(*TOOLCHAIN) | peers.versions() | {"host compiler of nvcc": f"GCC {compiler}"},
    )
    collect(report, sections, options.only, options.output)


if __name__ == "__main__":
    main()
