"""Measure launches by the number of arguments, and of a kernel without a manifest: `python benchmarks/arguments.py
[ROUNDS]`.

The kernels have as many parameters as the title of a table says: pointers, 32-bit integers and floats in turn. All
contenders get addresses and NumPy's numbers, of which none needs a conversion. The benchmark needs a GPU and the
toolchain, which compiles the kernels; cuda.core and, for C++, nvcc and pybind11 for the comparison.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from _extensions import pybind11_module
from _interleave import compare
from _results import Goal, Result
from cuda.bindings import driver
from launch import BLOCK, GRID, LAUNCHES, Call, by_hand, current_context, microseconds, prepared_cuda_core

import cuda_wheel

__all__ = ["measure"]

COUNTS = (1, 4, 16, 32)
TYPES = ("float*", "const float*", "int", "float")
CORE, LAUNCH, BIND = "cuda.core.launch", "kernel.launch", "kernel.bind"
HAND, BINDINGS, CPP = (
    "cuLaunchKernelEx by hand, through ctypes",
    "cuda.bindings.driver.cuLaunchKernel",
    "C++, through pybind11",
)
LIMIT = (
    "ctypes calls the driver, `struct` writes the arguments, and Python checks the type of each: 25 to 30 ns an "
    "argument, of which checks are a third. cuda.core is compiled code, and checks none. Python passes more than "
    "30 arguments as a tuple, which takes 300 ns more: once for all contenders, and once more to write them."
)


def types_of(count: int) -> list[str]:
    return [TYPES[index % len(TYPES)] for index in range(count)]


def kernel_source(count: int) -> str:
    """Return a kernel whose result depends on all parameters, so that no compiler omits one."""
    types = types_of(count)
    parameters = ", ".join(f"{kind} a{index}" for index, kind in enumerate(types))
    terms = [f"(a{index} != nullptr)" if kind.endswith("*") else f"a{index}" for index, kind in enumerate(types)]
    return (
        f'extern "C" __global__ void with_{count}({parameters})\n{{\n'
        f"    if (blockIdx.x + threadIdx.x == 0)\n        a0[0] = {' + '.join(terms)};\n}}\n"
    )


def cpp_source() -> str:
    """Return a pybind11 module with a function for each kernel."""
    parts = ["#include <pybind11/pybind11.h>\n#include <stdexcept>\n"]
    definitions = []
    for count in COUNTS:
        kinds = types_of(count)
        parameters = ", ".join(
            f"{'std::uintptr_t' if kind.endswith('*') else kind} a{index}" for index, kind in enumerate(kinds)
        )
        arguments = ", ".join(
            f"reinterpret_cast<{kind}>(a{index})" if kind.endswith("*") else f"a{index}"
            for index, kind in enumerate(kinds)
        )
        parts.append(kernel_source(count))
        parts.append(
            f"static void launch_{count}({parameters})\n{{\n"
            f"    with_{count}<<<{GRID[0]}, {BLOCK[0]}>>>({arguments});\n"
            '    if (cudaGetLastError() != cudaSuccess)\n        throw std::runtime_error("the launch failed");\n}\n'
        )
        definitions.append(f'    m.def("launch_{count}", launch_{count});\n')
    return "".join(parts) + f"PYBIND11_MODULE(arguments_in_cpp, m)\n{{\n{''.join(definitions)}}}\n"


@cache
def kernels() -> Any:
    current_context()
    return cuda_wheel.compile("".join(map(kernel_source, COUNTS)))


@cache
def without_manifest() -> Any:
    """Return the same kernels, loaded from machine code alone."""
    from cuda.bindings import nvrtc

    _, program = nvrtc.nvrtcCreateProgram("".join(map(kernel_source, COUNTS)).encode(), b"a.cu", 0, [], [])
    major, minor = cuda_wheel.runtime.driver.device_and_driver()[0]
    (error,) = nvrtc.nvrtcCompileProgram(program, 1, [f"-arch=sm_{major}{minor}".encode()])
    assert error == 0, error
    cubin = bytearray(nvrtc.nvrtcGetCUBINSize(program)[1])
    nvrtc.nvrtcGetCUBIN(program, cubin)
    return cuda_wheel.load_code(bytes(cubin))


@cache
def in_cpp() -> Any:
    return pybind11_module("arguments_in_cpp", cpp_source())


@cache
def memory() -> int:
    """Return the address of memory on the GPU."""
    error, address = driver.cuMemAlloc(4096)
    assert error == 0, error
    return int(address)


def arguments(count: int, for_numpy: bool = True) -> list[Any]:
    """Return arguments of a kernel; numbers are NumPy's, or Python's."""
    integer, real = (np.int32(3), np.float32(2)) if for_numpy else (3, 2.0)
    values = {"float*": memory(), "const float*": memory(), "int": integer, "float": real}
    return [values[kind] for kind in types_of(count)]


def _contenders(count: int) -> dict[str, Callable[[], Call]]:
    def core() -> Call:
        from cuda.core import launch

        stream, config, kernel = prepared_cuda_core(kernels()[f"with_{count}"])
        return _called(launch, stream, config, kernel, *arguments(count))

    def ours() -> Call:
        return _called(kernels()[f"with_{count}"].launch, GRID, BLOCK, *arguments(count))

    def bound() -> Call:
        kernel, given = kernels()[f"with_{count}"], arguments(count)
        return _called(kernel.bind(GRID, BLOCK, *given), *given)

    def hand() -> Call:
        kinds = types_of(count)
        layout = "<" + "".join("Q" if kind.endswith("*") else {"int": "i", "float": "f"}[kind] for kind in kinds)
        offsets, size = [], 0
        for kind in kinds:
            width = 8 if kind.endswith("*") else 4
            offsets.append(size)
            size += width
        return _called(by_hand(kernels()[f"with_{count}"], struct.Struct(layout), offsets), *arguments(count))

    def bindings() -> Call:
        kinds = {
            "float*": ctypes.c_void_p,
            "const float*": ctypes.c_void_p,
            "int": ctypes.c_int,
            "float": ctypes.c_float,
        }
        types = tuple(kinds[kind] for kind in types_of(count))
        handle, values = driver.CUfunction(kernels()[f"with_{count}"].handle), tuple(arguments(count, False))
        launch = driver.cuLaunchKernel
        return lambda: launch(handle, *GRID, *BLOCK, 0, 0, (values, types), 0)

    def cpp() -> Call:
        return _called(getattr(in_cpp(), f"launch_{count}"), *arguments(count, False))

    return {CORE: core, LAUNCH: ours, BIND: bound, HAND: hand, BINDINGS: bindings, CPP: cpp}


def _called(function: Callable[..., object], *given: Any) -> Call:
    """Return a function that passes these arguments one by one, as a program does."""
    names = [f"a{index}" for index in range(len(given))]
    source = f"def maker(function, {', '.join(names)}):\n    return lambda: function({', '.join(names)})"
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    call: Call = namespace["maker"](function, *given)
    return call


def _without_manifest(rounds: int | None) -> Result:
    def typed() -> Call:
        return _called(kernels()["with_4"].launch, GRID, BLOCK, *arguments(4))

    def untyped() -> Call:
        return _called(without_manifest()["with_4"].launch, GRID, BLOCK, *arguments(4))

    def bound() -> Call:
        kernel, given = without_manifest()["with_4"], arguments(4)
        return _called(kernel.bind(GRID, BLOCK, *given), *given)

    loaded, bind = "load_code, launch", "load_code, bind"
    return compare(
        "A launch of a kernel without a manifest",
        "The kernel of 4 parameters, of whose parameters only the sizes are known after `load_code`.",
        {
            LAUNCH: microseconds(typed),
            loaded: microseconds(untyped),
            bind: microseconds(bound),
        },
        rounds or 40,
        "µs",
        warm_up=3,
        digits=2,
        goals=[Goal(loaded, bind, 1.4)],
    )


def measure(rounds: int | None = None) -> list[Result]:
    return [
        compare(
            f"A launch with {count} argument{'s' * (count > 1)}",
            f"One launch of {LAUNCHES} in a row of a kernel that writes one number. Addresses and NumPy's numbers; "
            "Python's numbers for `cuda.bindings` and C++.",
            {name: microseconds(prepare) for name, prepare in _contenders(count).items()},
            rounds or 30,
            "µs",
            warm_up=3,
            digits=2,
            goals=[Goal(LAUNCH, CORE, limit=LIMIT), Goal(BIND, CORE, limit=LIMIT)],
        )
        for count in COUNTS
    ] + [_without_manifest(rounds)]


if __name__ == "__main__":
    measure(*map(int, sys.argv[1:]))
