"""Builds of many modules, and of many kernels in one. `cpu.py` runs it.

Projects are generated: small kernels, no two alike. A build is a whole process that calls hatchling's `build_wheel` in
this environment, which needs cuda-wheel with a toolchain and no GPU: once with nothing kept from before, and once with
all of it. Of the wheel, one module's manifest is found and read and an image chosen by it, as `cuda_wheel.load` does
before it gives that to a driver. Times are processors', which other users of a machine do not stretch. Linux alone
tells the most memory that a process had.
"""

from __future__ import annotations

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

from _interleave import show
from _results import Goal, Result

__all__ = ["measure"]

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
import json, resource, sys
from hatchling.build import build_wheel
wheel = build_wheel(sys.argv[1])
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps({"wheel": wheel, "peak": peak, "cpu": sum(usage.ru_utime + usage.ru_stime for usage in usages)}))
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


def measure(rounds: int | None = None) -> list[Result]:
    rounds = rounds or 1
    modules = {f"{many:,} modules": _measured(rounds, many, 1, TARGETS) for many in MODULES}
    kernels = {f"{many:,} kernels": _measured(rounds, 1, many, TARGETS[-2:]) for many in KERNELS}
    least, *_, most = modules
    linear = Goal(most, least, 1.1, limit="what is done for each job once for all of them.")
    work = "processors' time, of the build and its workers, for each"
    results = [
        _result(
            "Many modules: the first build",
            f"A small kernel each, no two alike, for {len(TARGETS)} targets: {work} of these jobs.",
            *("ms", modules, "job", 2, [linear]),
        ),
        _result("Many modules: memory", "The most that the build's own process holds.", "MiB", modules, "peak"),
        _result("Many modules: the next build", f"All of it kept: {work} of the modules.", "ms", modules, "again", 2),
        _result(
            "Many modules: one of them",
            "To find and read one module's manifest and choose an image by it: processors' time.",
            *("ms", modules, "load", 2),
        ),
        _result(
            "Many kernels in one module",
            f"For 2 targets: {work} kernel and target. What grows is the compiler's front end.",
            *("ms", kernels, "job", 2),
        ),
        _result("Many kernels in one module: its load", "As for many modules.", "ms", kernels, "load", 2),
    ]
    for result in results:
        show(result)
    return results


def _result(
    title: str,
    about: str,
    unit: str,
    measured: Mapping[str, Sequence[Mapping[str, float]]],
    figure: str,
    digits: int = 1,
    goals: Sequence[Goal] = (),
) -> Result:
    values = {name: [each[figure] for each in its] for name, its in measured.items()}
    return Result(title, about, unit, values, next(iter(values)), digits, goals)


def _measured(rounds: int, modules: int, kernels: int, targets: Sequence[str]) -> list[dict[str, float]]:
    """Return what is measured of a project in each round: by the names that `measure` asks for, in ms and MiB."""
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        project, site = Path(folder, "project"), Path(folder, "site")
        make(project, modules, kernels, targets)
        for round_ in range(rounds):
            first, again = (_built(project, Path(folder, f"cache{round_}")) for _ in range(2))
            with zipfile.ZipFile(project / "dist" / first["wheel"]) as archive:
                archive.extractall(site)
            loads = [float(_printed(LOAD, str(site), f"scale.m{modules // 2}")) for _ in range(9)]
            figures.append(
                {
                    "job": first["cpu"] * 1000 / (modules * kernels * len(targets)),
                    "peak": first["peak"],
                    "again": again["cpu"] * 1000 / modules,
                    "load": statistics.median(loads),
                }
            )
    return figures


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
