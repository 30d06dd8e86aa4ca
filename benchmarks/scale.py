"""Measure builds of many modules, and of many kernels in one module. `cpu.py` runs it.

The projects are generated; all kernels are small and different. A build is a whole process that calls hatchling's
`build_wheel` in this environment, which needs cuda-wheel with a toolchain but no GPU. The first build has an empty
cache, the second finds everything in the cache. Then the benchmark reads one module's manifest from the wheel and
chooses an image, as `cuda_wheel.load` does before it calls the driver. Times are CPU times, which other users of the
machine affect less. Only Linux reports the peak memory of a process.
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
requires = ["hatchling", "cuda-wheel[tools]"]
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
from cuda_wheel.runtime.files import files_and_manifest
from cuda_wheel.runtime.rules import resolve
before = time.process_time()
files, manifest = files_and_manifest(sys.argv[2], None)
image = resolve(manifest, (9, 0), (13, 0)).image
print((time.process_time() - before) * 1000)
assert image
"""


def measure(rounds: int | None = None) -> list[Result]:
    rounds = rounds or 1
    modules = {f"{many:,} modules": _measured(rounds, many, 1, TARGETS) for many in MODULES}
    kernels = {f"{many:,} kernels": _measured(rounds, 1, many, TARGETS[-2:]) for many in KERNELS}
    least, *_, most = modules
    linear = Goal(most, least, 1.1, limit="work for each job that grows with the number of jobs.")
    work = "processors' time, of the build and its workers, for each"
    results = [
        _result(
            "Many modules: the first build",
            f"A small kernel each, no two alike, for {len(TARGETS)} targets: {work} of these jobs.",
            *("ms", modules, "job", 2, [linear]),
        ),
        _result("Many modules: memory", "The peak memory of the build's own process.", "MiB", modules, "peak"),
        _result("Many modules: the next build", f"All of it kept: {work} of the modules.", "ms", modules, "again", 2),
        _result(
            "Many modules: one of them",
            "CPU time to find and read one module's manifest and choose an image.",
            *("ms", modules, "load", 2),
        ),
        _result(
            "Many kernels in one module",
            f"For 2 targets: {work} kernel and target. What grows is the compiler's front end.",
            *("ms", kernels, "job", 2),
        ),
        _result(
            "Many kernels in one module: its load",
            "As for many modules.",
            *("ms", kernels, "load", 2, [Goal(*reversed(kernels), 2, limit="what a load reads of every kernel.")]),
        ),
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
    values = {name: [each[figure] for each in rounds] for name, rounds in measured.items()}
    return Result(title, about, unit, values, next(iter(values)), digits, goals)


def _measured(rounds: int, modules: int, kernels: int, targets: Sequence[str]) -> list[dict[str, float]]:
    """Return the figures of each round, in ms and MiB, by the names that `measure` uses."""
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
    """Write a project with `modules` modules of `kernels` kernels each."""
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
    """Run a program in a separate process and return its standard output."""
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
