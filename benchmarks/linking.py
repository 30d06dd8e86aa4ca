"""A plug-in kernel's bandwidth against the same kernel in one file, and the time that linking takes.

`python benchmarks/linking.py WHEEL [ROUNDS]`: a wheel of `fixtures/plugin`, made with a toolchain whose LTO-IR the
nvJitLink here takes. The function that the kernel calls is CUDA C++. Every link is a process of its own, whose context
is there before time starts.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from _interleave import compare
from startup import CONTEXT, printed

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


def bandwidth(rounds: int) -> None:
    """Compare launches on 2^26 elements, of which each takes a read and a write of 4 bytes."""
    import cupy
    from cuda.core import Device, Program, ProgramOptions

    import cuda_wheel
    from cuda_wheel import JitOptions

    Device().set_current()
    x = cupy.random.default_rng(0).random(1 << 26, cupy.float32)
    y = cupy.empty_like(x)
    arch = "".join(map(str, Device().compute_capability))
    whole = Program(ONE_FILE, "c++", ProgramOptions(arch=f"sm_{arch}")).compile("cubin")
    modules = {
        "one file": cuda_wheel.load_code(bytes(whole.code)),
        "linked by LTO": cuda_wheel.load(MODULE, link=[TRANSFORM], jit=JitOptions(lto=True)),
        "linked as PTX": cuda_wheel.load(MODULE, link=[TRANSFORM], jit=JitOptions(lto=False)),
    }
    start, end = cupy.cuda.Event(), cupy.cuda.Event()

    def milliseconds(module: cuda_wheel.Module) -> float:
        start.record()
        for _ in range(20):
            module["apply"].launch(-(-x.size // 256), 256, x, y, 3.25, x.size)
        end.record()
        end.synchronize()
        return cupy.cuda.get_elapsed_time(start, end) / 20

    for name, module in modules.items():
        milliseconds(module)
        assert abs(y - (x * x + cupy.float32(3.25))).max() < 1e-5
        print(f"{name}: {module['apply'].attributes.registers} registers")
    contenders = {name: partial(milliseconds, module) for name, module in modules.items()}
    times = compare("the plug-in kernel on 2^26 elements", contenders, rounds, warm_up=2, digits=4)
    best = min(times["linked by LTO"])
    print(f"linked by LTO, at best: {x.size * 8 / best / 1e9:.2f} TB/s")


def main(wheel: Path, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        site = str(Path(folder, "site"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
        os.environ["CUDA_CACHE_DISABLE"] = "1"

        def milliseconds(options: str, cache: str) -> float:
            os.environ["CUDA_WHEEL_CACHE_DIR"] = cache
            return printed(LOAD.replace("OPTIONS", options), site) / 1e6

        def cold(options: str) -> float:
            with tempfile.TemporaryDirectory() as nothing:
                return milliseconds(options, nothing)

        contenders: dict[str, Callable[[], float]] = {}
        for name, options in {
            "LTO": "lto=True",
            "PTX, nvJitLink": "lto=False, linker='nvjitlink'",
            "PTX, the driver": "linker='driver'",
        }.items():
            contenders[f"{name}, cold"] = partial(cold, options)
            contenders[f"{name}, cached"] = partial(milliseconds, options, str(Path(folder, name)))
        compare("compile a function and link a module with it", contenders, rounds, warm_up=2)
        sys.path.insert(0, site)
        os.environ["CUDA_WHEEL_CACHE_DIR"] = str(Path(folder, "bandwidth"))
        bandwidth(rounds)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20)
