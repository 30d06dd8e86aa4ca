"""Measure the time from a process's start to a launchable kernel after an edit: `python benchmarks/edit_run.py WHEEL
[ROUNDS]`.

WHEEL is the wheel of `fixtures/saxpy`, for comparison; it needs no compilation. The other contenders compile the same
source for the installed GPU. The source is edited before each run, so that no cache contains the result. The benchmark
needs a GPU and a toolchain, and cuda.core, CuPy and PyTorch for the comparison.
"""

from __future__ import annotations

import itertools
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from _interleave import compare
from _kernels import FIXTURES
from _results import Result
from startup import CONTEXT, READY, installed, printed, started, symbol_of

__all__ = ["measure", "measure_load_inline"]

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
CUPY_MODULE = """
import cupy
with open({source!r}) as file:
    ready = cupy.RawModule(code=file.read(), options=("-std=c++17",)).get_function({symbol!r}).num_regs
"""
CUPY_KERNEL = """
import cupy
with open({source!r}) as file:
    ready = cupy.RawKernel('extern "C" ' + file.read(), "saxpy", options=("-std=c++17",)).num_regs
"""
PYTORCH = """
import torch
torch.empty(1, device="cuda")
with open({source!r}) as file:
    ready = torch.cuda._compile_kernel(file.read(), "saxpy") is not None
"""
LOAD_INLINE = """
import tempfile, torch
from torch.utils.cpp_extension import load_inline
torch.empty(1, device="cuda")
with open({source!r}) as file:
    text = file.read()
launch = '''
void run(double a, torch::Tensor x, torch::Tensor y)
{{
    saxpy<<<4, 256>>>(a, x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
}}
'''
head = "#include <torch/extension.h>\\n"
with tempfile.TemporaryDirectory() as folder:
    module = load_inline(
        "saxpy_inline",
        cpp_sources=["void run(double, torch::Tensor, torch::Tensor);"],
        cuda_sources=[head + text + launch],
        functions=["run"],
        build_directory=folder,
    )
    ready = callable(module.run)
"""
ALONE = "\nassert ready\nprint(alone)\n"
EDITED = "source tree, edited"


class Edited:
    """A copy of the fixture, and programs that run after an edit of its source."""

    def __init__(self, folder: Path, symbol: str) -> None:
        self.tree = folder / "tree"
        shutil.copytree(FIXTURES / "saxpy", self.tree)
        (self._source,) = self.tree.rglob("saxpy.cu")
        self._text = self._source.read_text()
        self._symbol = symbol
        self._edits = itertools.count()
        self.environ = {
            "CUDA_WHEEL_CACHE_DIR": str(folder / "cache"),
            "CUDA_CACHE_DISABLE": "1",  # NVRTC caches there; an edit of a comment would not change its key
        }

    def program(self, text: str) -> str:
        """Edit the source again and return a program that compiles it."""
        self._source.write_text(f"{self._text}// edit {next(self._edits)}\n")
        return text.format(source=str(self._source), symbol=self._symbol)

    def started(self, text: str) -> float:
        return started(self.program(text) + READY, self.tree / "src", **self.environ)


def measure(wheel: Path, rounds: int | None = None) -> list[Result]:
    with installed(wheel) as site, tempfile.TemporaryDirectory() as folder:
        edited = Edited(Path(folder), symbol_of(next(site.rglob("saxpy.fatbin"))))

        def compile_time() -> float:
            return printed(edited.program(CONTEXT + BY_HAND) + ALONE, site, **edited.environ) / 1e6

        contenders: dict[str, Callable[[], float]] = {
            "wheel, nothing to compile": partial(started, LOAD + READY, site),
            EDITED: partial(edited.started, LOAD),
            "source tree, as before": partial(started, LOAD + READY, edited.tree / "src", **edited.environ),
            "its compile time alone": compile_time,
            "NVRTC by hand, edited": partial(edited.started, CONTEXT + BY_HAND),
            "cuda.core Program, edited": partial(edited.started, CUDA_CORE),
            "CuPy RawModule(code=), edited": partial(edited.started, CUPY_MODULE),
            "CuPy RawKernel, edited": partial(edited.started, CUPY_KERNEL),
            "PyTorch, its NVRTC kernel, edited": partial(edited.started, PYTORCH),
        }
        return [
            compare(
                "From an edit to a launchable kernel",
                "The time from the start of a process. The source of `fixtures/saxpy` was edited before, so that "
                "no cache contains the result. PyTorch gets its context through its first tensor.",
                contenders,
                rounds or 8,
            )
        ]


def measure_load_inline(wheel: Path, rounds: int | None = None) -> list[Result]:
    """Compare with PyTorch's `load_inline`, which needs nvcc, Ninja and a host compiler; it takes a minute, so that one
    round must do."""
    with installed(wheel) as site, tempfile.TemporaryDirectory() as folder:
        edited = Edited(Path(folder), symbol_of(next(site.rglob("saxpy.fatbin"))))
        contenders: dict[str, Callable[[], float]] = {
            EDITED: partial(edited.started, LOAD),
            "PyTorch load_inline, edited": partial(edited.started, LOAD_INLINE),
        }
        title = "From an edit to a launchable kernel: PyTorch's load_inline"
        about = "The same with nvcc, which also compiles the Python binding of the kernel."
        return [compare(title, about, contenders, 1, warm_up=0)]


if __name__ == "__main__":
    measure(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
