"""Builds of many modules, and of many kernels in one: `python benchmarks/scale.py [--modules 60,250,1000] ...`.

Projects are generated: small kernels, no two alike. A build is a whole process that calls hatchling's `build_wheel` in
this environment, which needs cuda-wheel with a toolchain and no GPU: once with nothing kept from before, and once with
all of it. Of the wheel, one module's manifest is found and read and an image chosen by it, as `cuda_wheel.load` does
before it gives that to a driver. CPU time stands beside the time by the clock, which other users of a machine stretch.
Linux alone tells the most memory that a process had.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["MODULES", "main", "measure"]

MODULES = (60, 250, 1000)
KERNELS = (400, 4000)
TARGETS = ("75-real", "80-real", "86-real", "89-real", "90-real", "100-real", "120-real", "87-virtual")
PYPROJECT = """\
[build-system]
requires = ["hatchling", "cuda-wheel"]
build-backend = "hatchling.build"
[project]
name = "scale"
version = "1"
requires-python = ">=3.10"
[tool.hatch.build.targets.wheel]
packages = ["scale"]
[tool.hatch.build.targets.wheel.hooks.cuda]
[tool.cuda-wheel]
architectures = {architectures}
"""
KERNEL = """\
extern "C" __global__ void k{number}(float* x, const float* y, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = {number}.5f * y[i] + x[i];
}}
"""
BUILD = """
import json, resource, sys, time
before = time.perf_counter()
from hatchling.build import build_wheel
wheel = build_wheel(sys.argv[1])
seconds = time.perf_counter() - before
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
cpu = [
    usage.ru_utime + usage.ru_stime
    for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
]
print(json.dumps({"wheel": wheel, "seconds": seconds, "peak": peak, "own": cpu[0], "workers": cpu[1]}))
"""
LOAD = """
import sys, time
sys.path.insert(0, sys.argv[1])
import json, scale
from cuda_wheel import loader
before = time.process_time()
files, manifest = loader.files_and_manifest(sys.argv[2], None)
image = loader.resolve(manifest, (9, 0), (13, 0)).image
print((time.process_time() - before) * 1000)
assert image
"""


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="Measure builds of many modules, and of many kernels in one.")
    parser.add_argument("--modules", type=_numbers, default=MODULES, help="how many, such as 60,250,1000")
    parser.add_argument("--targets", type=int, default=len(TARGETS), help="of these modules, 1 to 8")
    parser.add_argument(
        "--kernels", type=_numbers, default=KERNELS, help="of one module for 2 targets, such as 400,4000"
    )
    options = parser.parse_args(argv)
    print(f"{len(os.sched_getaffinity(0))} cores")
    rows = measure(options.modules, options.targets, options.kernels)
    for what in dict.fromkeys(row["what"] for row in rows):
        Console(width=140).print(_table(what, [row for row in rows if row["what"] == what]))


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


def _table(what: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title=what, title_justify="left")
    shown = [key for key in rows[0] if key != "what"]
    for key in shown:
        table.add_column(key, justify="right")
    for row in rows:
        table.add_row(*(str(row[key]) if isinstance(row[key], int) else f"{row[key]:.2f}" for key in shown))
    return table


def measure(
    modules: Sequence[int] = MODULES, targets: int = len(TARGETS), kernels: Sequence[int] = KERNELS
) -> list[dict[str, Any]]:
    """Return a row for each size: what grows ("what"), how large it is ("size"), and figures by heading, whose units
    are in them. "again" is the build that has all of it kept; "peak" is the build's own process, without workers."""
    rows = [(f"modules of one kernel for {targets} targets; each is a job", many, 1, targets) for many in modules]
    rows += [("kernels in one module for 2 targets; each is one of them for one", 1, many, 2) for many in kernels]
    return [
        {"what": what, "size": many * number, **_measured(many, number, TARGETS[-count:])}
        for what, many, number, count in rows
    ]


def _measured(modules: int, kernels: int, targets: Sequence[str]) -> dict[str, Any]:
    each = 1000 / (modules * kernels * len(targets))
    with tempfile.TemporaryDirectory() as folder:
        project, site = Path(folder, "project"), Path(folder, "site")
        make(project, modules, kernels, targets)
        first, again = (_built(project, Path(folder, "cache")) for _ in range(2))
        wheel = project / "dist" / first["wheel"]
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
        size = wheel.stat().st_size / 2**20
        loads = [float(_printed(LOAD, str(site), f"scale.m{modules // 2}")) for _ in range(9)]
    return {
        "s": first["seconds"],
        "ms each": first["seconds"] * each,
        "CPU ms each": first["own"] * each,
        "and in workers": first["workers"] * each,
        "peak MiB": first["peak"],
        "again s": again["seconds"],
        "again CPU s": again["own"],
        "again peak MiB": again["peak"],
        "to read a manifest, CPU ms": statistics.median(loads),
        "wheel MiB": size,
    }


def make(root: Path, modules: int, kernels: int, architectures: Sequence[str]) -> None:
    """Write a project of so many modules, of so many kernels each."""
    (root / "scale").mkdir(parents=True)
    (root / "scale/__init__.py").touch()
    (root / "pyproject.toml").write_text(PYPROJECT.format(architectures=json.dumps(architectures)))
    for module in range(modules):
        texts = (KERNEL.format(number=module * kernels + number) for number in range(kernels))
        (root / f"scale/m{module}.cu").write_text("".join(texts))


def _built(project: Path, cache: Path) -> dict[str, Any]:
    output = _printed(BUILD, str(project / "dist"), folder=project, CUDA_WHEEL_CACHE_DIR=str(cache))
    figures: dict[str, Any] = json.loads(output.splitlines()[-1])
    return figures


def _printed(program: str, *arguments: str, folder: Path | None = None, **environ: str) -> str:
    """Return what a program prints on standard output, in a process of its own."""
    result = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env=os.environ | environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    return result.stdout


if __name__ == "__main__":
    main(sys.argv[1:])
