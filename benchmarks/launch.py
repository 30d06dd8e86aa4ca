"""Measure one launch from Python: cuda-wheel with and without checks and bound, the driver's call, cuda.core, CuPy,
PyTorch, Triton and C++.

`python benchmarks/launch.py WHEEL [ROUNDS]`: WHEEL is a wheel of `fixtures/saxpy`. A round is 400 launches of a kernel
on 1,024 elements, which the driver's queue holds without waiting. All contenders of a table have the same arguments,
and create objects in advance if they can.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from _extensions import pytorch_extension, tvm_ffi_module
from _interleave import compare
from _results import Goal, Result
from cuda.bindings import driver
from startup import installed

import cuda_wheel

__all__ = ["TABLES", "measure", "measure_stream"]

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

BY_HAND = "cuLaunchKernelEx by hand, through ctypes"
GOALS = {
    "kernel.launch": ("cuda.core.launch", 1.0),
    "kernel.bind": (BY_HAND, 1.05),
}
"""For each contender, the one that it is compared with where both are in a table, and the times that it may take."""

GIVEN = "kernel.launch, on a given stream"

LIMIT = (
    "Through ctypes, the driver's call alone takes about as long as `cuda.core.launch`, which is compiled. What "
    "remains is Python's: the signature, the configuration, the checks and the stream. The table with the time of each "
    "line shows it."
)

Call = Callable[[], object]


def current_context() -> None:
    """Make the primary context of GPU 0 current."""
    (error,) = driver.cuInit(0)
    assert error == 0, error
    _, device = driver.cuDeviceGet(0)
    _, context = driver.cuDevicePrimaryCtxRetain(device)
    driver.cuCtxSetCurrent(context)


@cache
def kernel_of(wheel: Path) -> cuda_wheel.Kernel:
    """Make a context current and load the wheel's kernel, once for each process."""
    current_context()
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


def by_hand(kernel: cuda_wheel.Kernel, arguments: struct.Struct, offsets: Sequence[int]) -> Callable[..., None]:
    """Return a function that writes the arguments and calls the driver, with nothing else.

    `arguments` is their layout in memory, and `offsets` the place of each there. Source of the layouts: CUDA Driver
    API, CUlaunchConfig and `kernelParams` of cuLaunchKernel.
    """
    error, address, _ = driver.cuGetProcAddress(b"cuLaunchKernelEx", 12000, 0)
    assert error == 0, error
    launch = ctypes.CFUNCTYPE(ctypes.c_int)(int(address))
    buffer = ctypes.create_string_buffer(arguments.size)
    parameters = (ctypes.c_size_t * len(offsets))(*(ctypes.addressof(buffer) + offset for offset in offsets))
    config = ctypes.create_string_buffer(struct.pack("<7I4xQQI4x", *GRID, *BLOCK, 0, 0, 0, 0))
    # ctypes passes such objects as they are; numbers and c_void_p would be converted at each call.
    pointers = [ctypes.c_void_p.from_param(ctypes.addressof(each)) for each in (config, parameters)]
    handle = ctypes.c_void_p.from_param(kernel.handle)
    write, at_config, at_parameters = arguments.pack_into, *pointers

    names = "".join(f"a{index}, " for index in range(len(offsets)))
    source = f"""
def call({names}keep=keep):
    write(buffer, 0, {names})
    if launch(at_config, handle, at_parameters, None):
        raise RuntimeError("the launch failed")
"""
    namespace = {
        "keep": (config, parameters),
        "write": write,
        "buffer": buffer,
        "launch": launch,
        "at_config": at_config,
        "handle": handle,
        "at_parameters": at_parameters,
    }
    exec(source, namespace)
    call: Callable[..., None] = namespace["call"]  # type: ignore[assignment]
    return call


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

    def bound() -> Call:
        x, y = cupy_arrays()
        call = kernel.bind(GRID, BLOCK, 2.0, x, y, ELEMENTS)
        return lambda: call(2.0, x, y, ELEMENTS)

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
        "kernel.bind": bound,
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

    def bound() -> Call:
        a, p, q, n = addresses()
        call = kernel.bind(GRID, BLOCK, a, p, q, n)
        return lambda: call(a, p, q, n)

    def on_a_stream() -> Call:
        a, p, q, n = addresses()
        call = kernel.bind(GRID, BLOCK, a, p, q, n, stream="default")
        return lambda: call(a, p, q, n)

    def drivers_call() -> Call:
        (a, p, q, n), call = addresses(), by_hand(kernel, struct.Struct("<f4xQQi"), (0, 8, 16, 24))
        return lambda: call(a, p, q, n)

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
        "kernel.bind": bound,
        "kernel.bind, on a given stream": on_a_stream,
        BY_HAND: drivers_call,
        "cuda.core.launch": core,
        "CuPy RawKernel": raw,
    }


def with_pytorch(kernel: cuda_wheel.Kernel) -> dict[str, Callable[[], Call]]:
    def ours() -> Call:
        x, y = tensors()
        return lambda: kernel.launch(GRID, BLOCK, 2.0, x, y, ELEMENTS)

    def bound() -> Call:
        x, y = tensors()
        call = kernel.bind(GRID, BLOCK, 2.0, x, y, ELEMENTS)
        return lambda: call(2.0, x, y, ELEMENTS)

    def nvrtc() -> Call:
        import torch

        x, y = tensors()
        compiled = torch.cuda._compile_kernel(SOURCE, "saxpy")
        return lambda: compiled(GRID, BLOCK, (2.0, x, y, ELEMENTS))

    def triton() -> Call:
        from _triton_kernels import saxpy

        x, y = tensors()
        return lambda: saxpy[GRID](2.0, x, y, ELEMENTS, BLOCK=256)

    def tvm_ffi() -> Call:
        x, y = tensors()
        launch = tvm_ffi_module().saxpy_tensors
        return lambda: launch(2.0, x, y)

    def cpp() -> Call:
        x, y = tensors()
        launch = pytorch_extension().saxpy.default
        return lambda: launch(2.0, x, y)

    def core() -> Call:
        import numpy as np
        from cuda.core import launch

        x, y = tensors()
        stream, config, core = prepared_cuda_core(kernel)
        return lambda: launch(stream, config, core, np.float32(2.0), x.data_ptr(), y.data_ptr(), np.int32(ELEMENTS))

    return {
        "kernel.launch": ours,
        "kernel.bind": bound,
        "C++ extension of PyTorch": cpp,
        "tvm-ffi": tvm_ffi,
        "Triton's own launch": triton,
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
    contenders = {name: microseconds(prepare) for name, prepare in TABLES[arguments](kernel_of(wheel)).items()}
    goals = [Goal(name, base, times, limit=LIMIT) for name, (base, times) in GOALS.items() if base in contenders]
    return [
        compare(
            f"A launch: {arguments}",
            f"One launch of `fixtures/saxpy` on 1,024 elements, of {LAUNCHES} in a row; grid and block are constants, "
            "and objects that can be created in advance are.",
            contenders,
            rounds or 40,
            "µs",
            warm_up=3,
            digits=2,
            goals=goals,
            notes=[NOTE],
        )
    ]


def measure_stream(wheel: Path, rounds: int | None = None) -> list[Result]:
    """Compare launches that find the current stream with launches that are given it, with the same arguments."""
    import torch

    def pytorch() -> int:
        return int(torch._C._cuda_getCurrentRawStream(0))

    def cupy() -> int:
        import cupy

        return int(cupy.cuda.get_current_stream().ptr)

    return [
        _stream_result(wheel, *each, rounds) for each in (("PyTorch", tensors, pytorch), ("CuPy", cupy_arrays, cupy))
    ]


def _stream_result(
    wheel: Path, library: str, arrays: Callable[[], Any], current: Callable[[], int], rounds: int | None
) -> Result:
    kernel = kernel_of(wheel)

    def found() -> Call:
        x, y = arrays()
        return lambda: kernel.launch(GRID, BLOCK, 2.0, x, y, ELEMENTS)

    def given() -> Call:
        (x, y), stream = arrays(), current()
        return lambda: kernel.launch(GRID, BLOCK, 2.0, x, y, ELEMENTS, stream=stream)

    def asked() -> Call:
        return current

    contenders = {
        GIVEN: microseconds(given),
        "kernel.launch, which finds it": microseconds(found),
        f"asking {library} for it, from Python": microseconds(asked),
    }
    return compare(
        f"The current stream: {library}",
        f"A launch that is given the address of {library}'s current stream, beside one that finds it, with the same "
        "arguments.",
        contenders,
        rounds or 60,
        "µs",
        warm_up=3,
        digits=3,
        goals=[Goal("kernel.launch, which finds it", GIVEN, 1.0, more=0.3)],
    )


if __name__ == "__main__":
    measure_stream(Path(sys.argv[1]))
    for each in TABLES:
        measure(Path(sys.argv[1]), each, int(sys.argv[2]) if len(sys.argv) > 2 else None)
