"""Run every benchmark that needs no GPU: `python benchmarks/cpu.py --peers PYTHON --output FILE.json`.

The environment that this runs in should have hatchling and `cuda-wheel[cu13]` and nothing else; PYTHON is the
interpreter of one that has what they are compared with: the dependency group `bench`. `report.py` shows FILE.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import checking
import first_build
import imports
import precompiled
import scale
import sizes
import wheel_build
from _peers import Peers
from _results import Report, Result, collect, machine, output_of, versions

TOOLCHAIN = ("cuda-wheel", "hatchling", "nvidia-cuda-nvrtc", "nvidia-nvjitlink", "nvidia-nvfatbin", "nvidia-cuda-cccl")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Run every benchmark that needs no GPU.")
    parser.add_argument("--peers", type=Path, required=True, help="the interpreter that has the group `bench`")
    parser.add_argument("--nvcc", type=Path, help="of the same release as the toolchain here; else the peers' own")
    parser.add_argument("--rounds", type=int, help="of each comparison, in place of its own number")
    parser.add_argument("--output", type=Path, required=True, help="the JSON file to write")
    parser.add_argument("--only", nargs="+", default=[], metavar="SECTION", help="of all")
    options = parser.parse_args(argv)

    peers = Peers.of(options.peers, options.nvcc)
    sections: dict[str, Callable[[], Iterable[Result]]] = {
        "first-build": partial(first_build.measure, peers, options.rounds),
        "precompiled": partial(precompiled.measure, options.rounds),
        "next-build": partial(wheel_build.measure, options.rounds),
        "sizes": partial(sizes.measure, peers, options.rounds),
        "import": partial(imports.measure, options.rounds),
        "checking": partial(checking.measure, options.rounds),
        "scale": partial(scale.measure, options.rounds),
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
