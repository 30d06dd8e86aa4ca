"""Kernels to launch with a stand-in driver, and arrays of classes that imitate those of libraries."""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Callable
from typing import Any

import pytest

from cuda_wheel.runtime import manifest as manifest_module
from cuda_wheel.runtime import module
from cuda_wheel.runtime.arrays import PointerConverter
from cuda_wheel.runtime.manifest import KernelInfo, Parameter, Target
from cuda_wheel.runtime.module import Kernel
from tests.support.array_libraries import fake
from tests.support.driver import Driver, Launch, handle_of

__all__ = [
    "MEMORY_OF_GPU_1",
    "ON_GPU_1",
    "Box",
    "ByDLPack",
    "Colour",
    "DLTensor",
    "array_interface",
    "configured",
    "core_buffer",
    "kernel_of",
    "module_of",
    "read",
    "reads_and_writes",
    "refused",
    "saxpy",
    "sent",
    "takes",
]

MEMORY_OF_GPU_1 = {"DEVICE_ORDINAL": 1, "MEMORY_TYPE": 2, "IS_MANAGED": 0}
"""What the driver tells of an address in the memory of the second GPU."""

ON_GPU_1 = "is an array on GPU 1, but the launch is on GPU 0"
"""The reason with which an array in the memory of the second GPU is refused for a launch on the first."""


def module_of(*infos: KernelInfo, variables: tuple[manifest_module.GlobalInfo, ...] = ()) -> module.Module:
    manifest = manifest_module.Manifest("a.b", "b.fatbin", 0, "", {}, (), (), (), infos, variables)
    image = manifest_module.Image("cubin", Target.parse("sm_80"), None, None, (12, 0), 0, 0, "", {})
    return module.Module(manifest, image, "native", 0xF00D)


def kernel_of(*parameters: Parameter) -> Kernel:
    info = KernelInfo("k", "_Z1k", parameters)
    return Kernel(module_of(info), info, handle_of(parameters))


def takes(cpp: str, type_: str = "u64", size: int = 8) -> Kernel:
    """Return a kernel with one parameter."""
    return kernel_of(Parameter(type_, 0, size, cpp))


def sent(driver: Driver, kernel: Kernel, *args: Any, **more: Any) -> bytes | None:
    """Launch a kernel, and return the bytes of the arguments that the driver gets."""
    kernel.launch(1, 1, *args, **more)
    return driver.launches[-1].arguments


def configured(driver: Driver, grid: Any, block: Any, **more: Any) -> Launch:
    """Launch a kernel without parameters, and return the launch that the driver gets."""
    kernel_of().launch(grid, block, **more)
    return driver.launches[-1]


def reads_and_writes() -> Kernel:
    """Return a kernel that reads one array and writes another."""
    return kernel_of(Parameter("u64", 0, 8, "const float*"), Parameter("u64", 8, 8, "float*"))


def saxpy() -> Kernel:
    """Return a kernel with a number, an array that it reads, an array that it writes, and a count."""
    return kernel_of(
        Parameter("f32", 0, 4, "float"),
        Parameter("u64", 8, 8, "const float*"),
        Parameter("u64", 16, 8, "float*"),
        Parameter("u32", 24, 4, "int"),
    )


def read(converter: PointerConverter, value: Any, device: int | None = None, stream: int = -1) -> int:
    """Return the address that a converter reads from a value, without waiting for it."""
    return converter[type(value)](value, device, stream, [])


def refused(convert: Callable[..., Any], *args: Any) -> str:
    """Return the reason with which a converter refuses a value."""
    with pytest.raises(TypeError) as caught:
        convert(*args)
    return str(caught.value)


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 100


class Box:
    """A mutable number that is equal to itself only, like a PyTorch tensor."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


def core_buffer(address: int, device: int = 0, *, host: bool = False, on_gpu: bool = True) -> Any:
    buffer = fake("cuda.core._memory", "Buffer", __dlpack__=None)()
    buffer.handle, buffer.device_id = fake("cuda.bindings", "CUdeviceptr", __int__=lambda self: address)(), device
    buffer.is_host_accessible, buffer.is_device_accessible = host, on_gpu
    return buffer


def array_interface(address: int | None = 8, typestr: str = "<f4", *, read_only: bool = False, **more: Any) -> Any:
    interface = {"shape": (1,), "typestr": typestr, "data": (address, read_only), "version": 3, **more}
    return fake("numba", "DeviceArray", __cuda_array_interface__=interface)()


class DLTensor(ctypes.Structure):
    """Source: DLPack, "C API": DLTensor, with its DLDevice and DLDataType."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class ByDLPack:
    """An array that has DLPack only."""

    def __init__(self, address: int, code: int = 2, bits: int = 32, *, kind: int = 2, device: int = 0, offset: int = 0):
        lengths = (ctypes.c_int64 * 1)(1 if address else 0)
        self._tensor = DLTensor(address, kind, device, 1, code, bits, 1, lengths, None, offset)
        self.streams: list[int | None] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.device_type, self._tensor.device_id

    def __dlpack__(self, *, stream: int | None = None) -> Any:
        self.streams.append(stream)
        new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(("PyCapsule_New", ctypes.pythonapi))(ctypes.addressof(self._tensor), b"dltensor", None)
