"""Read the call frames that XLA passes to a handler, and make its error objects: XLA's FFI, without C++.

Source: `xla/ffi/api/c_api.h` in `jax.ffi.include_dir()`; versions 0.1 (JAX 0.5.0) to 0.5 (JAX 0.12.0) lay out what is
read here in the same way. Each structure begins with its size, and later versions only add fields at the end; so one
that is smaller than in version 0.1 is refused, and one of another major version too. All integers are of 64 bits but
where a format says otherwise; "4x" is padding.
"""

import ctypes
import re
import struct
from typing import NamedTuple

from ..runtime.errors import ArgumentError

__all__ = [
    "DATA_TYPES",
    "Api",
    "Buffer",
    "CallFrame",
    "HandlerError",
    "answered_metadata",
    "api_of",
    "header_version",
    "read_frame",
]

DATA_TYPES = {
    "bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint8": 6, "uint16": 7, "uint32": 8, "uint64": 9,
    "float16": 10, "float32": 11, "float64": 12, "complex64": 15, "bfloat16": 16, "complex128": 18, "float8_e5m2": 19,
    "float8_e4m3fn": 20, "float8_e4m3b11fnuz": 23, "float8_e5m2fnuz": 24, "float8_e4m3fnuz": 25, "float8_e4m3": 28,
    "float8_e3m4": 29, "float8_e8m0fnu": 33,
}  # fmt: skip
"""XLA_FFI_DataType by the name of NumPy's dtype: the types whose elements have whole bytes."""

EXECUTE = 3
"""XLA_FFI_ExecutionStage_EXECUTE"""
BUFFER = 1
"""XLA_FFI_ArgType_BUFFER and XLA_FFI_RetType_BUFFER"""
STRING = 4
"""XLA_FFI_AttrType_STRING"""
METADATA = 1
"""XLA_FFI_Extension_Metadata"""
COMMAND_BUFFER_COMPATIBLE = 1
"""XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE"""

_BASE = struct.Struct("=QQQ")  # struct_size, extension_start, api
# struct_size, extension_start, api, ctx, stage; args and rets: struct_size, extension_start, size, types, values;
# attrs: struct_size, extension_start, size, types, names, values.
_FRAME = struct.Struct("=4Qi4x 2QqQQ 2QqQQ 2QqQQQ")
_BUFFER = struct.Struct("=QQi4xQqQ")  # struct_size, extension_start, dtype, data, rank, dims
_SPAN = struct.Struct("=QQ")  # ptr, len
_EXTENSION = struct.Struct("=Qi4xQ")  # struct_size, type, next
_METADATA = struct.Struct("=Q QQii I")  # struct_size; api_version: struct_size, extension_start, major, minor; traits
_API = struct.Struct("=QQ QQii Q 5Q")  # ..., api_version, internal_api, Error_Create, GetMessage, ..., Stream_Get
_ERROR_CREATE = struct.Struct("=QQQi")  # struct_size, extension_start, message, errc
_STREAM_GET = struct.Struct("=QQQQ")  # struct_size, extension_start, ctx, stream

_ARGS_SIZE = 40
_ATTRS_SIZE = 48

_pointer_argument = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
"""A function of XLA's API. It does not wait, so that it may be called while Python's lock is held."""


class HandlerError(Exception):
    """An error object of XLA, which a function of its API returned. The handler returns it in turn."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.address = address


class Api:
    """XLA's functions that a handler calls."""

    def __init__(self, major: int, minor: int, error_create: int, stream_get: int) -> None:
        self.version = major, minor
        self._error_create = _pointer_argument(error_create)
        self._stream_get = _pointer_argument(stream_get)

    def error(self, message: str, code: int) -> int:
        """Return the address of a new error object, which the handler's caller will free."""
        # XLA copies the message, which ends at a NUL.
        text = ctypes.create_string_buffer(message.replace("\0", " ").encode(errors="replace"))
        size = _ERROR_CREATE.size
        arguments = ctypes.create_string_buffer(_ERROR_CREATE.pack(size, 0, ctypes.addressof(text), code), size)
        return int(self._error_create(ctypes.addressof(arguments)))

    def stream(self, context: int) -> int:
        """Return the address of the CUstream of an execution context; raise HandlerError where there is none."""
        arguments = ctypes.create_string_buffer(_STREAM_GET.pack(_STREAM_GET.size, 0, context, 0), _STREAM_GET.size)
        error = self._stream_get(ctypes.addressof(arguments))
        if error:
            raise HandlerError(error)
        stream: int = _STREAM_GET.unpack(arguments)[3]
        return stream


class Buffer(NamedTuple):
    """An argument or a result."""

    data_type: int
    rank: int
    dimensions: bytes
    """`rank` integers of 64 bits."""
    address: int


class CallFrame(NamedTuple):
    """What a handler is called with, when it runs."""

    context: int
    """The address of XLA's execution context, which has the stream."""
    arguments: list[Buffer]
    results: list[Buffer]
    attribute: bytes
    """The content of the only attribute, a string."""


def header_version(text: str) -> tuple[int, int]:
    """Return the version of XLA's FFI that a header `c_api.h` declares; (0, 0) if it does not."""
    found = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", text) for part in ("MAJOR", "MINOR")]
    return (int(found[0][1]), int(found[1][1])) if found[0] and found[1] else (0, 0)


def api_of(frame: int) -> Api | None:
    """Return the functions that a frame names; None where XLA is of a version whose structures are not known, or
    names none."""
    if _size_at(frame) < _BASE.size:
        return None
    address = _BASE.unpack(ctypes.string_at(frame, _BASE.size))[2]
    if not address or _size_at(address) < _API.size:
        return None
    fields = _API.unpack(ctypes.string_at(address, _API.size))
    major, minor = fields[4:6]
    return Api(major, minor, fields[7], fields[11]) if (major, minor) >= (0, 1) and major == 0 else None


def answered_metadata(frame: int, version: tuple[int, int]) -> bool:
    """Return whether a call only asks for the handler's traits and version, after answering that it is `version`.

    Where the structures are not as expected, there is no answer, and XLA refuses to register the handler.
    """
    extension = _BASE.unpack(ctypes.string_at(frame, _BASE.size))[1]
    while extension:
        size, kind, following = _EXTENSION.unpack(ctypes.string_at(extension, _EXTENSION.size))
        if kind == METADATA:
            metadata = ctypes.c_uint64.from_address(extension + _EXTENSION.size).value
            if size < _EXTENSION.size + 8 or _size_at(metadata) < _METADATA.size:
                return True
            ctypes.c_int32.from_address(metadata + 24).value = version[0]
            ctypes.c_int32.from_address(metadata + 28).value = version[1]
            ctypes.c_uint32.from_address(metadata + 32).value = COMMAND_BUFFER_COMPATIBLE
            return True
        extension = following
    return False


def read_frame(address: int) -> CallFrame:
    """Return the content of a frame; raise ArgumentError for one that is not laid out as XLA's versions 0.x do."""
    _check(_size_at(address), _FRAME.size, "call frame")
    fields = _FRAME.unpack(ctypes.string_at(address, _FRAME.size))
    context, stage = fields[3:5]
    args_size, _, args_count, args_types, args = fields[5:10]
    rets_size, _, rets_count, rets_types, rets = fields[10:15]
    attrs_size, _, attrs_count, attrs_types, _, attrs = fields[15:]
    if args_size < _ARGS_SIZE or rets_size < _ARGS_SIZE or attrs_size < _ATTRS_SIZE:
        _check(min(args_size, rets_size), _ARGS_SIZE, "list of arguments")
        _check(attrs_size, _ATTRS_SIZE, "list of attributes")
    if stage != EXECUTE:
        raise ArgumentError(f"XLA called the handler in stage {stage}, not to execute it")
    if attrs_count != 1 or ctypes.c_int32.from_address(attrs_types).value != STRING:
        raise ArgumentError(f"XLA passed {attrs_count} attributes, not the text of a launch alone")
    text, length = _SPAN.unpack(ctypes.string_at(ctypes.c_uint64.from_address(attrs).value, _SPAN.size))
    return CallFrame(
        context,
        _buffers(args_count, args_types, args),
        _buffers(rets_count, rets_types, rets),
        ctypes.string_at(text, length),
    )


def _buffers(count: int, types: int, values: int) -> list[Buffer]:
    buffers: list[Buffer] = []
    if not count:
        return buffers
    kinds = struct.unpack(f"={count}i", ctypes.string_at(types, 4 * count))
    for kind, value in zip(kinds, struct.unpack(f"={count}Q", ctypes.string_at(values, 8 * count)), strict=True):
        if kind != BUFFER:
            raise ArgumentError(f"XLA passed an argument of kind {kind}, which is not an array")
        size, _, data_type, data, rank, dims = _BUFFER.unpack(ctypes.string_at(value, _BUFFER.size))
        if size < _BUFFER.size:
            _check(size, _BUFFER.size, "buffer")
        buffers.append(Buffer(data_type, rank, ctypes.string_at(dims, 8 * rank) if rank else b"", data))
    return buffers


def _size_at(address: int) -> int:
    """Return the size that a structure says it has."""
    return ctypes.c_uint64.from_address(address).value


def _check(size: int, least: int, what: str) -> None:
    if size < least:
        raise ArgumentError(
            f"XLA's {what} has {size} bytes, and {least} were expected: this version of JAX is not supported; "
            "cuda_wheel.jax was tested with JAX 0.5.0 to 0.12.0"
        )
