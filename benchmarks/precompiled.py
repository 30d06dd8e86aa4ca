"""Measure builds of many modules with the same headers, with and without precompiled headers. `cpu.py` runs it."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from _interleave import compare, show
from _kernels import PYPROJECT
from _process import Cost, build_wheel
from _results import Goal, Result

__all__ = ["measure"]

MODULES = 10
TARGETS = "80-real;90-real;120"
WITHOUT = "each source by itself"
WITH = "headers precompiled"
CUB = """\
// Kernel {number}.
#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>

extern "C" __global__ void sum{number}(float* x)
{{
    using Reduce = cub::BlockReduce<float, 128>;
    __shared__ typename Reduce::TempStorage storage;
    float sum = Reduce(storage).Sum(x[threadIdx.x] * {number}.0f);
    if (threadIdx.x == 0)
        x[0] = sum;
}}
"""
SMALL_TYPES = """\
// Kernel {number}.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>

extern "C" __global__ void scale{number}(__half* x)
{{
    x[threadIdx.x] = __float2half(__half2float(x[threadIdx.x]) * {number}.0f);
}}
"""


def measure(rounds: int | None = None) -> Iterator[Result]:
    yield from _measured("CUB", CUB, rounds or 3)
    yield from _measured("small floating-point types", SMALL_TYPES, rounds or 7)


def _measured(name: str, kernel: str, rounds: int) -> list[Result]:
    costs: dict[str, list[Cost]] = defaultdict(list)
    wheels: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as scratch:
        project = _make_project(Path(scratch, "project"), kernel)

        def contender(which: str, setting: str) -> Callable[[], float]:
            def build() -> float:
                output = Path(scratch, setting)
                cost = build_wheel(project, output, CUDAARCHS=TARGETS, CUDA_WHEEL_PRECOMPILED_HEADERS=setting)
                costs[which].append(cost)
                wheels[which] = next(output.glob("*.whl")).read_bytes()
                return cost.seconds

            return build

        title = f"Headers in common: {name}"
        about = f"A wheel of {MODULES} modules that include the same headers, for 3 GPUs and with PTX."
        clock = compare(
            title, about, {WITHOUT: contender(WITHOUT, "off"), WITH: contender(WITH, "auto")}, rounds, "s", 0, 2
        )
    if wheels[WITHOUT] != wheels[WITH]:
        raise AssertionError("precompiled headers change the wheel")
    processors = Result(
        f"{title}: processors' time",
        "User and system time of all processes in the same runs. The wheels are the same, byte for byte.",
        "s",
        {which: [cost.cpu for cost in costs[which]] for which in clock.values},
        WITHOUT,
        digits=2,
        goals=[Goal(WITH, WITHOUT)],
    )
    show(processors)
    return [clock, processors]


def _make_project(root: Path, kernel: str) -> Path:
    package = root / "demo"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for number in range(MODULES):
        (package / f"kernel{number}.cu").write_text(kernel.format(number=number))
    (root / "pyproject.toml").write_text(PYPROJECT.format(include_dirs="[]", defines="", compress="none"))
    return root
