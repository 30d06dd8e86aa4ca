"""Measure one launch from Python: cuda-wheel with and without checks, cuda.core, CuPy and PyTorch.

`python benchmarks/launch.py WHEEL [ROUNDS]`: WHEEL is a wheel of `fixtures/saxpy`. A round is 400 launches of a kernel
on 1,024 elements, which the driver's queue holds without waiting. All contenders of a table have the same arguments,
and create objects in advance if they can.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from _interleave import compare
from _results import Result
from cuda.bindings import driver
from startup import installed

import cuda_wheel

__all__ = ["TABLES", "measure"]

LAUNCHES = 400
ELEMENTS = 1024
GRID, BLOCK = (4, 1, 1), (256, 1, 1)
SOURCE = """
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"""
NOTE = (
    "`cuda.core` is compiled code. It accepts no arrays, and passes a Python float as 8 bytes whatever the kernel "
    "declares. Its `LaunchConfig` is created in advance, and the caller converts every argument."
)

Call = Callable[[], object]


@cache
def kernel_of(wheel: Path) -> cuda_wheel.Kernel:
    """Make a context current and load the wheel's kernel, once for each process."""
    (error,) = driver.cuInit(0)
    assert error == 0, error
    _, device = driver.cuDeviceGet(0)
    _, context = driver.cuDevicePrimaryCtxRetain(device)
    driver.cuCtxSetCurrent(context)
    with installed(wheel) as site:
        sys.path.insert(0, str(site))
        try:
            return cuda_wheel.load("saxpy_demo.kernels.saxpy")["saxpy"]
        finally:
            sys.path.remove(str(site))


@cache
def cupy_arrays() -> tuple[Any, Any]:
    import cupy

    return cupy.ones(ELEMENTS, cupy.float32), cupy.ones(ELEMENTS, cupy.float32)


@cache
def tensors() -> tuple[Any, Any]:
    import torch

    return torch.ones(ELEMENTS, device="cuda"), torch.ones(ELEMENTS, device="cuda")


def addresses() -> tuple[Any, int, int, Any]:
    """Return the kernel's arguments as NumPy numbers and addresses."""
    import numpy as np

    x, y = cupy_arrays()
    return np.float32(2), x.data.ptr, y.data.ptr, np.int32(ELEMENTS)


@cache
def cupy_kernel() -> Any:
    import cupy

    return cupy.RawModule(code=SOURCE, backend="nvrtc").get_function("saxpy")


def with_cupy(kernel: cuda_wheel.Kernel) -> dict[str, Callable[[], Call]]:
    def ours() -> Call:
        x, y = cupy_arrays()
        return lambda: kernel.launch(GRID, BLOCK, 2.0, x, y, ELEMENTS)

    def unchecked() -> Call:
        x, y = cupy_arrays()
        return lambda: kernel.launch(GRID, BLOCK, 2.0, x, y, ELEMENTS, check=False)

    def raw() -> Call:
        (x, y), (a, _, _, n), raw = cupy_arrays(), addresses(), cupy_kernel()
        return lambda: raw(GRID, BLOCK, (a, x, y, n))

    def core() -> Call:
        import numpy as np
        from cuda.core import launch

        x, y = cupy_arrays()
        stream, config, core = prepared_cuda_core(kernel)
        return lambda: launch(stream, config, core, np.float32(2.0), x.data.ptr, y.data.ptr, np.int32(ELEMENTS))

    return {
        "kernel.launch": ours,
        "kernel.launch(check=False)": unchecked,
        "CuPy RawKernel, with NumPy's numbers": raw,
        "cuda.core.launch, converted by the caller": core,
    }


def with_addresses(kernel: cuda_wheel.Kernel) -> dict[str, Callable[[], Call]]:
    def ours() -> Call:
        a, p, q, n = addresses()
        return lambda: kernel.launch(GRID, BLOCK, a, p, q, n)

    def unchecked() -> Call:
        a, p, q, n = addresses()
        return lambda: kernel.launch(GRID, BLOCK, a, p, q, n, check=False)

    def raw() -> Call:
        (a, p, q, n), raw = addresses(), cupy_kernel()
        return lambda: raw(GRID, BLOCK, (a, p, q, n))

    def core() -> Call:
        from cuda.core import launch

        a, p, q, n = addresses()
        stream, config, core = prepared_cuda_core(kernel)
        return lambda: launch(stream, config, core, a, p, q, n)

    return {
        "kernel.launch": ours,
        "kernel.launch(check=False)": unchecked,
        "cuda.core.launch": core,
        "CuPy RawKernel": raw,
    }


def with_pytorch(kernel: cuda_wheel.Kernel) -> dict[str, Callable[[], Call]]:
    def ours() -> Call:
        x, y = tensors()
        return lambda: kernel.launch(GRID, BLOCK, 2.0, x, y, ELEMENTS)

    def nvrtc() -> Call:
        import torch

        x, y = tensors()
        compiled = torch.cuda._compile_kernel(SOURCE, "saxpy")
        return lambda: compiled(GRID, BLOCK, (2.0, x, y, ELEMENTS))

    def core() -> Call:
        import numpy as np
        from cuda.core import launch

        x, y = tensors()
        stream, config, core = prepared_cuda_core(kernel)
        return lambda: launch(stream, config, core, np.float32(2.0), x.data_ptr(), y.data_ptr(), np.int32(ELEMENTS))

    return {
        "kernel.launch": ours,
        "PyTorch, its NVRTC kernel": nvrtc,
        "cuda.core.launch, converted by the caller": core,
    }


def prepared_cuda_core(kernel: cuda_wheel.Kernel) -> tuple[Any, Any, Any]:
    """Return the stream, configuration and kernel for `cuda.core.launch`."""
    from cuda.core import Device, LaunchConfig

    device = Device()
    device.set_current()
    return device.default_stream, LaunchConfig(grid=GRID, block=BLOCK), kernel.cuda_core


TABLES = {
    "CuPy's arrays and Python's numbers": with_cupy,
    "PyTorch's tensors and Python's numbers": with_pytorch,
    "addresses and NumPy's numbers": with_addresses,
}


def microseconds(prepare: Callable[[], Call]) -> Callable[[], float]:
    """Return a contender that times many calls in a row and returns the time of one; the first use prepares the
    call."""
    prepared = cache(prepare)

    def contender() -> float:
        call = prepared()
        driver.cuCtxSynchronize()
        before = time.perf_counter_ns()
        for _ in range(LAUNCHES):
            call()
        elapsed = time.perf_counter_ns() - before
        (error,) = driver.cuCtxSynchronize()
        assert error == 0, error
        return elapsed / LAUNCHES / 1e3

    return contender


def measure(wheel: Path, arguments: str, rounds: int | None = None) -> list[Result]:
    """Compare launches with one kind of arguments from `TABLES`."""
    return [
        compare(
            f"A launch: {arguments}",
            f"One launch of `fixtures/saxpy` on 1,024 elements, of {LAUNCHES} in a row; grid and block are constants, "
            "and objects that can be created in advance are.",
            {name: microseconds(prepare) for name, prepare in TABLES[arguments](kernel_of(wheel)).items()},
            rounds or 40,
            "µs",
            warm_up=3,
            digits=2,
            notes=[NOTE],
        )
    ]


if __name__ == "__main__":
    for each in TABLES:
        measure(Path(sys.argv[1]), each, int(sys.argv[2]) if len(sys.argv) > 2 else None)
