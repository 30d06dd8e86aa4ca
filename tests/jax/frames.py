"""Call frames as XLA lays them out, functions of its API in Python, and a launch."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, Structure, addressof, c_char_p, c_int32, c_int64, c_uint32, c_uint64, c_void_p, cast
from typing import Any, ClassVar

import numpy as np

from cuda_wheel.jax.call_frames import DATA_TYPES
from cuda_wheel.jax.tracing import ArrayType, Launch
from cuda_wheel.operators.declarations import KernelIdentity

HEAD = [("struct_size", c_uint64), ("extension_start", c_void_p)]


class Buffer(Structure):
    _fields_ = (*HEAD, ("dtype", c_int32), ("data", c_void_p), ("rank", c_int64), ("dims", POINTER(c_int64)))


class ErrorArguments(Structure):
    _fields_ = (*HEAD, ("message", c_char_p), ("code", c_int32))


class StreamArguments(Structure):
    _fields_ = (*HEAD, ("context", c_void_p), ("stream", c_void_p))


class Version(Structure):
    _fields_ = (*HEAD, ("major", c_int32), ("minor", c_int32))


class ApiStruct(Structure):
    _fields_ = (*HEAD, ("version", Version), ("internal", c_void_p), *((f"f{index}", c_void_p) for index in range(5)))


class Arguments(Structure):
    _fields_ = (*HEAD, ("count", c_int64), ("types", c_void_p), ("values", c_void_p))


class Attributes(Structure):
    _fields_ = (*HEAD, ("count", c_int64), ("types", c_void_p), ("names", c_void_p), ("values", c_void_p))


class Frame(Structure):
    _fields_ = (
        *HEAD, ("api", c_void_p), ("context", c_void_p), ("stage", c_int32), ("args", Arguments), ("rets", Arguments),
        ("attrs", Attributes), ("future", c_void_p),
    )  # fmt: skip


class Metadata(Structure):
    _fields_ = (("struct_size", c_uint64), ("version", Version), ("traits", c_uint32))


class Extension(Structure):
    _fields_ = (("struct_size", c_uint64), ("type", c_int32), ("next", c_void_p), ("metadata", c_void_p))


class Xla:
    """XLA's API and one call frame. An error object is a number; `errors` has their codes and messages."""

    all: ClassVar[list[Xla]] = []
    """XLA's functions stay where they are as long as the process lives, and handlers rely on that."""

    def __init__(self, text: bytes = b"{}", inputs: Sequence[Any] = (), outputs: Sequence[Any] = ()) -> None:
        self.all.append(self)
        self.errors: list[tuple[int, str]] = []
        self.stream = 0x5EA
        self.kept: list[Any] = []
        pointer = ctypes.CFUNCTYPE(c_void_p, c_void_p)
        self.kept += [pointer(self._create_error), pointer(self._get_stream)]
        self.api = ApiStruct(struct_size=ctypes.sizeof(ApiStruct), version=Version(24, None, 0, 3))
        self.api.f0, self.api.f4 = (cast(each, c_void_p).value for each in self.kept[:2])
        self.buffers = [[self._buffer(each) for each in arrays] for arrays in (inputs, outputs)]
        span = (c_uint64 * 2)(addressof(self._keep(ctypes.create_string_buffer(text, len(text)))), len(text))
        self.attribute_types = (c_int32 * 1)(4)
        attributes = (c_void_p * 1)(addressof(self._keep(span)))
        self.frame = Frame(
            struct_size=168, api=addressof(self.api), context=77, stage=3,
            args=self._arguments(self.buffers[0]), rets=self._arguments(self.buffers[1]),
            attrs=Attributes(48, None, 1, addressof(self.attribute_types), None, addressof(self._keep(attributes))),
        )  # fmt: skip

    @property
    def address(self) -> int:
        return addressof(self.frame)

    def add_metadata(self) -> Metadata:
        """Let the frame ask for the handler's version and traits."""
        metadata = self._keep(Metadata(36, Version(24, None, -1, -1), 0))
        asking = self._keep(Extension(32, 1, None, addressof(metadata)))
        self.frame.extension_start = addressof(self._keep(Extension(24, 99, addressof(asking), None)))
        self.frame.api = None  # as in JAX 0.5
        return metadata

    def _keep(self, value: Any) -> Any:
        self.kept.append(value)
        return value

    def _create_error(self, address: int) -> int:
        arguments = ErrorArguments.from_address(address)
        assert arguments.struct_size == 28 and not arguments.extension_start
        self.errors.append((arguments.code, arguments.message.decode()))
        return len(self.errors)

    def _get_stream(self, address: int) -> int | None:
        arguments = StreamArguments.from_address(address)
        assert arguments.struct_size == 32 and arguments.context == 77
        if not self.stream:
            return 0xBAD
        arguments.stream = self.stream
        return None

    def _buffer(self, array: Any) -> Buffer:
        self.kept.append(array)
        dims = (c_int64 * array.ndim)(*array.shape)
        return Buffer(48, None, DATA_TYPES[array.dtype.name], array.ctypes.data, array.ndim, dims)

    def _arguments(self, buffers: Sequence[Buffer]) -> Arguments:
        count = len(buffers)
        types = self._keep((c_int32 * count)(*[1] * count))
        values = self._keep((c_void_p * count)(*map(addressof, buffers)))
        return Arguments(40, None, count, addressof(types), addressof(values))


def aligned(*shape: int, dtype: Any = np.float32, offset: int = 0) -> Any:
    """Return an array whose address is a multiple of 64, plus `offset` bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 128, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    return memory[start : start + size].view(dtype).reshape(shape)


LAUNCH = Launch(
    operator="demo::axpy",
    dtypes=(),
    kernel=KernelIdentity("a.b", "_Zaxpy", ""),
    parameters="float, const float*, float*, int",
    inputs=[ArrayType("float32", (2, 3)), ArrayType("float32", (2, 3))],
    outputs=[ArrayType("float32", (2, 3))],
    aliases=[(1, 0)],
    arguments=[("value", 0.1), ("input", 0), ("output", 0), ("value", 6)],
    grid=(2, 1, 1),
    block=(32, 1, 1),
    settings={"shared_memory": 64},
)
"""A launch of axpy(a, x, y, n), which changes y in place."""
