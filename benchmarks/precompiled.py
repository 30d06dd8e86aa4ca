"""Time to build many modules that include the same headers, with these precompiled and without:
`python benchmarks/precompiled.py [ROUNDS] [MODULES]`.

Each build is a process of its own, `cuda-wheel build`, with nothing kept from before. Its processor time, workers
included, tells more than its time where a machine is shared. Both have to give the same bytes. No GPU is needed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _interleave import compare

HEADERS = {
    "CUB": ("<cub/block/block_load.cuh>", "<cub/block/block_reduce.cuh>"),
    "small floating-point types": ("<cuda_fp16.h>", "<cuda_bf16.h>", "<cuda_fp8.h>"),
    "cuda_fp16.h": ("<cuda_fp16.h>",),
}
BODIES = {
    "CUB": """\
    using Reduce = cub::BlockReduce<float, 128>;
    __shared__ typename Reduce::TempStorage storage;
    float sum = Reduce(storage).Sum(x[threadIdx.x] * {number}.0f);
    if (threadIdx.x == 0)
        x[0] = sum;
""",
    "small floating-point types": "    x[threadIdx.x] = __half2float(__float2half(x[threadIdx.x] * {number}.0f));\n",
    "cuda_fp16.h": "    x[threadIdx.x] = __half2float(__float2half(x[threadIdx.x] * {number}.0f));\n",
}
PYPROJECT = """\
[build-system]
requires = ["hatchling", "cuda-wheel"]
build-backend = "hatchling.build"
[project]
name = "many"
version = "1"
requires-python = ">=3.10"
[tool.hatch.build.targets.wheel]
packages = ["many"]
[tool.hatch.build.targets.wheel.hooks.cuda]
[tool.cuda-wheel]
architectures = ["80-real", "90-real", "120"]
"""


def main(rounds: int, modules: int) -> None:
    print(f"{len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()} cores")
    for name, headers in HEADERS.items():
        with tempfile.TemporaryDirectory() as folder:
            project = generated(Path(folder), modules, headers, BODIES[name])
            outputs: dict[str, dict[str, bytes]] = {}
            walls: dict[str, list[float]] = {"off": [], "auto": []}

            def cpu(setting: str, project=project, outputs=outputs, walls=walls) -> float:
                elapsed, used, outputs[setting] = built(project, setting)
                walls[setting].append(elapsed)
                return used

            contenders = {"without": lambda cpu=cpu: cpu("off"), "precompiled": lambda cpu=cpu: cpu("auto")}
            compare(f"{modules} modules with {name}, processor time", contenders, rounds, "s", 0, 2)
            turns = {name: iter(each) for name, each in walls.items()}
            contenders = {"without": lambda turns=turns: next(turns["off"])}
            contenders["precompiled"] = lambda turns=turns: next(turns["auto"])
            compare(f"{modules} modules with {name}, time", contenders, rounds, "s", 0, 2)
            print("the same bytes" if outputs["off"] == outputs["auto"] else "NOT THE SAME BYTES")


def generated(root: Path, modules: int, headers: tuple[str, ...], body: str) -> Path:
    """Write a project of so many modules, and return its folder."""
    (root / "pyproject.toml").write_text(PYPROJECT)
    package = root / "many"
    package.mkdir()
    (package / "__init__.py").touch()
    for number in range(modules):
        includes = "".join(f"#include {header}\n" for header in headers)
        kernel = f'extern "C" __global__ void kernel{number}(float* x)\n{{\n{body.format(number=number)}}}\n'
        (package / f"kernel{number}.cu").write_text(f"// Kernel {number} of {modules}.\n{includes}\n{kernel}")
    return root


def built(project: Path, setting: str) -> tuple[float, float, dict[str, bytes]]:
    """Return the seconds of one build, those of its processors, and its files."""
    with tempfile.TemporaryDirectory() as output, tempfile.TemporaryDirectory() as nothing:
        environ = {"CUDA_WHEEL_CACHE_DIR": nothing, "CUDA_WHEEL_PRECOMPILED_HEADERS": setting}
        before = time.perf_counter(), used()
        subprocess.run(
            [sys.executable, "-m", "cuda_wheel", "build", project, "-o", output],
            env=os.environ | environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        elapsed, cpu = time.perf_counter() - before[0], used() - before[1]
        return elapsed, cpu, {path.name: path.read_bytes() for path in Path(output).rglob("*.fatbin*")}


def used() -> float:
    """Return the processor time of all processes that this one has waited for, and of theirs."""
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, int(sys.argv[2]) if len(sys.argv) > 2 else 10)
