"""Time from a process's start to a launchable kernel after an edit: `python benchmarks/edit_run.py WHEEL [ROUNDS]`.

WHEEL is the wheel of `fixtures/saxpy`, for comparison: nothing is compiled there. The others compile the same source,
edited before each run, for the GPU at hand, and nobody has a cache that knows it. Needs a GPU and a toolchain, and
cuda.core and CuPy to compare.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from _interleave import compare
from startup import CONTEXT, READY, installed, printed, started

LOAD = (
    CONTEXT
    + """
import cuda_wheel
kernel = cuda_wheel.load("saxpy_demo.kernels.saxpy")["saxpy"]
ready = int(driver.cuKernelGetFunction(kernel.handle)[1])
"""
)
BY_HAND = """
from cuda.bindings import nvrtc
with open({source!r}, "rb") as file:
    text = file.read()
attribute = driver.CUdevice_attribute
major = driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)[1]
minor = driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)[1]
_, program = nvrtc.nvrtcCreateProgram(text, b"saxpy.cu", 0, [], [])
import time
before = time.perf_counter_ns()
(error,) = nvrtc.nvrtcCompileProgram(program, 1, [b"-arch=sm_%d%d" % (major, minor)])
alone = time.perf_counter_ns() - before
assert error == 0
cubin = bytearray(nvrtc.nvrtcGetCUBINSize(program)[1])
nvrtc.nvrtcGetCUBIN(program, cubin)
_, library = driver.cuLibraryLoadData(bytes(cubin), [], [], 0, [], [], 0)
_, kernel = driver.cuLibraryGetKernel(library, {symbol!r}.encode())
ready = int(driver.cuKernelGetFunction(kernel)[1])
"""
CUDA_CORE = """
from cuda.core import Device, Program, ProgramOptions
device = Device()
device.set_current()
with open({source!r}) as file:
    program = Program(file.read(), "c++", ProgramOptions(arch="sm_" + device.arch))
ready = program.compile("cubin").get_kernel({symbol!r}).attributes.num_regs
"""
CUPY = """
import cupy
with open({source!r}) as file:
    ready = cupy.RawModule(code=file.read(), options=("-std=c++17",)).get_function({symbol!r}).num_regs
"""
ALONE = "\nassert ready\nprint(alone)\n"


def main(wheel: Path, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        site, tree = Path(folder, "site"), Path(folder, "tree")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
        (manifest,) = site.rglob("saxpy.fatbin.json")
        symbol = json.loads(manifest.read_text())["kernels"][0]["symbol"]
        shutil.copytree(Path(__file__).parent.parent / "fixtures" / "saxpy", tree)
        os.environ["CUDA_WHEEL_CACHE_DIR"] = str(Path(folder, "cache"))
        os.environ["CUDA_CACHE_DISABLE"] = "1"  # NVRTC keeps there what an edit of a comment does not change
        (source,) = tree.rglob("saxpy.cu")
        text = source.read_text()

        edits = itertools.count()

        def edit() -> None:
            source.write_text(f"{text}// edit {next(edits)}\n")

        def edited(program: str) -> float:
            edit()
            return started(program.format(source=str(source), symbol=symbol) + READY, str(tree / "src"))

        def compile_time() -> float:
            edit()
            return printed((CONTEXT + BY_HAND).format(source=str(source), symbol=symbol) + ALONE, str(site)) / 1e6

        contenders: dict[str, Callable[[], float]] = {
            "wheel": partial(started, LOAD + READY, str(site)),
            "source tree, edited": partial(edited, LOAD),
            "source tree, as before": partial(started, LOAD + READY, str(tree / "src")),
            "its compile time alone": compile_time,
            "NVRTC by hand, edited": partial(edited, CONTEXT + BY_HAND),
            "cuda.core Program, edited": partial(edited, CUDA_CORE),
            "CuPy RawModule(code=), edited": partial(edited, CUPY),
        }
        compare("process start to launchable kernel", {n: c for n, c in contenders.items() if installed(n)}, rounds)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20)
