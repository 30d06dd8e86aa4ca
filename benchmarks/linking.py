"""Measure the time to link, and the time of a linked kernel compared with the same kernel in one file.

`python benchmarks/linking.py WHEEL [ROUNDS]`: WHEEL is a wheel of `fixtures/plugin`, built with a toolchain whose
LTO-IR the installed nvJitLink can read. The function that the kernel calls is CUDA C++. Every link is a separate
process; the time starts after it has a context.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from _interleave import compare
from _results import Result
from startup import CONTEXT, installed, printed

import cuda_wheel

__all__ = ["measure", "measure_kernel"]

ONE_FILE = """
extern "C" __device__ float user_transform(float x, float parameter) { return x * x + parameter; }
__global__ void apply(const float* x, float* y, float parameter, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = user_transform(x[i], parameter);
}
"""
TRANSFORM = ONE_FILE.partition("__global__")[0]
MODULE = "plugin_demo.kernels.apply"
LOAD = (
    CONTEXT
    + f"""
import time
import cuda_wheel
from cuda_wheel import JitOptions
from cuda.bindings import nvjitlink, nvrtc
nvjitlink.version(), nvrtc.nvrtcVersion()
before = time.perf_counter_ns()
module = cuda_wheel.load({MODULE!r}, link=[{TRANSFORM!r}], jit=JitOptions(OPTIONS))
int(driver.cuKernelGetFunction(module["apply"].handle)[1])
print(time.perf_counter_ns() - before)
"""
)
LAUNCHES = 20


def measure(wheel: Path, rounds: int | None = None) -> list[Result]:
    with installed(wheel) as site, tempfile.TemporaryDirectory() as folder:

        def milliseconds(options: str, cache: str) -> float:
            environ = {"CUDA_CACHE_DISABLE": "1", "CUDA_WHEEL_CACHE_DIR": cache}
            return printed(LOAD.replace("OPTIONS", options), site, **environ) / 1e6

        def cold(options: str) -> float:
            with tempfile.TemporaryDirectory() as empty:
                return milliseconds(options, empty)

        contenders: dict[str, Callable[[], float]] = {}
        for name, options in {
            "LTO": "lto=True",
            "PTX, nvJitLink": "lto=False, linker='nvjitlink'",
            "PTX, the driver": "linker='driver'",
        }.items():
            contenders[f"{name}, cold"] = partial(cold, options)
            contenders[f"{name}, cached"] = partial(milliseconds, options, str(Path(folder, name)))
        return [
            compare(
                "Linking at run time",
                "`fixtures/plugin`, whose kernel calls a function that the user supplies as CUDA C++: from the "
                "call of `load(..., link=[...])` to a function in an existing context, with nvJitLink and NVRTC "
                "already loaded. The driver's cache is off.",
                contenders,
                rounds or 15,
                warm_up=2,
                notes=["With a cached result, most of the remaining time is the import of the linking modules."],
            )
        ]


def measure_kernel(wheel: Path, rounds: int | None = None) -> list[Result]:
    """Compare launches on 2^26 elements; each element is one read and one write of 4 bytes."""
    import cupy
    from cuda.core import Device, Program, ProgramOptions

    Device().set_current()
    x = cupy.random.default_rng(0).random(1 << 26, cupy.float32)
    y = cupy.empty_like(x)
    arch = "".join(map(str, Device().compute_capability))
    whole = Program(ONE_FILE, "c++", ProgramOptions(arch=f"sm_{arch}")).compile("cubin")
    with installed(wheel) as site, tempfile.TemporaryDirectory() as cache:
        sys.path.insert(0, str(site))
        os.environ["CUDA_WHEEL_CACHE_DIR"] = cache
        try:
            modules = {
                "one file": cuda_wheel.load_code(bytes(whole.code)),
                "linked by LTO": cuda_wheel.load(MODULE, link=[TRANSFORM], jit=cuda_wheel.JitOptions(lto=True)),
                "linked as PTX": cuda_wheel.load(MODULE, link=[TRANSFORM], jit=cuda_wheel.JitOptions(lto=False)),
            }
        finally:
            sys.path.remove(str(site))
            del os.environ["CUDA_WHEEL_CACHE_DIR"]
    start, end = cupy.cuda.Event(), cupy.cuda.Event()

    def milliseconds(module: cuda_wheel.Module) -> float:
        start.record()
        for _ in range(LAUNCHES):
            module["apply"].launch(-(-x.size // 256), 256, x, y, 3.25, x.size)
        end.record()
        end.synchronize()
        return float(cupy.cuda.get_elapsed_time(start, end)) / LAUNCHES

    for module in modules.values():
        milliseconds(module)
        assert abs(y - (x * x + cupy.float32(3.25))).max() < 1e-5
    result = compare(
        "Linking at run time: the kernel",
        "The linked kernel on 2^26 elements, compared with the same kernel and function in one file.",
        {name: partial(milliseconds, module) for name, module in modules.items()},
        rounds or 15,
        warm_up=2,
        digits=4,
        notes=[
            "Registers: " + ", ".join(f"{name} {each['apply'].attributes.registers}" for name, each in modules.items())
        ],
    )
    best = min(result.values["linked by LTO"])
    return [replace(result, notes=[*result.notes, f"Linked by LTO, at best: {x.size * 8 / best / 1e9:.2f} TB/s."])]


if __name__ == "__main__":
    for function in (measure, measure_kernel):
        function(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
