"""Read the call frames that XLA passes to a handler, and make its error objects: XLA's FFI, without C++.

Source: `xla/ffi/api/c_api.h` in `jax.ffi.include_dir()`; versions 0.1 (JAX 0.5.0) to 0.5 (JAX 0.12.0) lay out what is
read here in the same way. Each structure begins with its size, and later versions only add fields at the end; so one
that is smaller than in version 0.1 is refused, and one of another major version too. All integers are of 64 bits but
where a format says otherwise; "4x" is padding.
"""

import ctypes
import re
import struct
import sys
from typing import Any, NamedTuple

from cuda_wheel.runtime.errors import ArgumentError

__all__ = [
    "DATA_TYPES",
    "BufferType",
    "CallFrame",
    "HandlerError",
    "XlaApi",
    "answered_metadata",
    "api_at",
    "frame_base",
    "header_version",
    "read_frame",
]

DATA_TYPES = {
    "bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint8": 6, "uint16": 7, "uint32": 8, "uint64": 9,
    "float16": 10, "float32": 11, "float64": 12, "complex64": 15, "bfloat16": 16, "complex128": 18, "float8_e5m2": 19,
    "float8_e4m3fn": 20, "float8_e4m3b11fnuz": 23, "float8_e5m2fnuz": 24, "float8_e4m3fnuz": 25, "float8_e4m3": 28,
    "float8_e3m4": 29, "float8_e8m0fnu": 33,
}  # fmt: skip
"""Name of a NumPy dtype -> value of XLA_FFI_DataType. Types whose elements do not fill whole bytes, such as int4, are
left out."""

EXECUTE = 3
"""Value of XLA_FFI_ExecutionStage_EXECUTE: the stage of a call in which the handler launches a kernel."""
BUFFER = 1
"""Value of both XLA_FFI_ArgType_BUFFER and XLA_FFI_RetType_BUFFER: the input or output is an array."""
STRING = 4
"""Value of XLA_FFI_AttrType_STRING: the attribute is a string."""
METADATA = 1
"""Value of XLA_FFI_Extension_Metadata: XLA asks the handler for its version and traits."""
COMMAND_BUFFER_COMPATIBLE = 1
"""Value of XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE: XLA may capture the handler's launches for CUDA graphs."""

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
_StreamGet = ctypes.c_uint64 * 4  # struct_size, extension_start, ctx, stream

_ARGS_SIZE = 40
"""Minimum size in bytes of XLA_FFI_Args and of XLA_FFI_Rets: their size in version 0.1 of XLA's FFI."""
_ATTRS_SIZE = 48
"""Minimum size in bytes of XLA_FFI_Attrs: its size in version 0.1 of XLA's FFI."""

# Reading from such an array is the fastest way to read from an address.
_memory: Any = (ctypes.c_char * sys.maxsize).from_address(0)
"""The whole memory of the process as bytes: `_memory[address]` is the byte at `address`."""
_words: Any = (ctypes.c_uint64 * (sys.maxsize // 8)).from_address(0)
"""The whole memory as unsigned 64-bit integers: `_words[address >> 3]` is the one at `address`."""
_integers: Any = (ctypes.c_int32 * (sys.maxsize // 4)).from_address(0)
"""The whole memory as 32-bit integers: `_integers[address >> 2]` is the one at `address`."""


class HandlerError(Exception):
    """Raised when a function of XLA returns an error object, which the handler then returns to XLA."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.address = address
        """Address of XLA's error object (XLA_FFI_Error), which the handler returns to XLA."""


class XlaApi:
    """XLA's functions that a handler calls. Each takes the address of a structure with its arguments, and returns an
    address. The GIL is held during a call. This is harmless, because these functions do not block."""

    def __init__(self, error_create: int, stream_get: int) -> None:
        self._error_create = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(error_create)
        self._stream_get = ctypes.PYFUNCTYPE(ctypes.c_void_p)(stream_get)
        self._stream_arguments: list[tuple[Any, Any]] = []
        """Memory for XLA_FFI_Stream_Get_Args that no call uses now, each with the ctypes argument that refers to it."""

    def error(self, message: str, code: int) -> int:
        """Return the address of a new error object, which XLA frees. `code` is a value of XLA_FFI_Error_Code."""
        # XLA copies the message, which ends at a NUL.
        text = ctypes.create_string_buffer(message.replace("\0", " ").encode(errors="replace"))
        size = _ERROR_CREATE.size
        arguments = ctypes.create_string_buffer(_ERROR_CREATE.pack(size, 0, ctypes.addressof(text), code), size)
        return int(self._error_create(ctypes.addressof(arguments)))

    def stream(self, context: int) -> int:
        """Return the address of the CUstream of the execution context at this address; raise HandlerError if XLA
        returns an error."""
        try:
            slot = self._stream_arguments.pop()
        except IndexError:
            memory = _StreamGet(32, 0, 0, 0)
            slot = memory, ctypes.byref(memory)
        arguments, reference = slot
        arguments[2] = context
        error = self._stream_get(reference)
        if error:
            raise HandlerError(error)
        stream: int = arguments[3]
        self._stream_arguments.append(slot)
        return stream


BufferType = tuple[int, int, bytes]
"""Type of an array as XLA passes it: (value of XLA_FFI_DataType, number of dimensions, lengths of the dimensions as
packed 64-bit integers)."""


class CallFrame(NamedTuple):
    """What XLA passes to a handler to launch a kernel: the content of an XLA_FFI_CallFrame."""

    context: int
    """Address of XLA's execution context. `XlaApi.stream(context)` returns the CUDA stream to launch on."""
    argument_types: list[BufferType]
    arguments: list[int]
    """Address of the data of each input array, in the order of `argument_types`."""
    result_types: list[BufferType]
    results: list[int]
    """Address of the data of each output array, in the order of `result_types`."""
    attribute: bytes
    """Content of the only attribute of the call: the JSON text of a `tracing.Launch`."""


def header_version(text: str) -> tuple[int, int]:
    """Return the version (major, minor) of XLA's FFI that the text of its header `c_api.h` declares; (0, 0) if it
    declares none."""
    found = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", text) for part in ("MAJOR", "MINOR")]
    return (int(found[0][1]), int(found[1][1])) if found[0] and found[1] else (0, 0)


def frame_base(address: int) -> tuple[int, int]:
    """Return two addresses from the call frame at `address`: of its first extension, and of XLA's table of functions,
    XLA_FFI_Api.

    Each is 0 if there is none; both are 0 if the frame is too small to have them.
    """
    size, extension, api = _BASE.unpack_from(_memory, address)
    return (extension, api) if size >= _BASE.size else (0, 0)


def api_at(address: int) -> XlaApi | None:
    """Return XLA's functions from the table XLA_FFI_Api at an address; None at address 0, and for a table that is too
    small or of another major version than 0."""
    if not address or _words[address >> 3] < _API.size:
        return None
    fields = _API.unpack_from(_memory, address)
    return XlaApi(fields[7], fields[11]) if fields[4] == 0 else None


def answered_metadata(extension: int, version: tuple[int, int]) -> bool:
    """Answer XLA's question for the handler's version and traits, if the call's extensions ask it; return whether they
    do.

    `extension` is the address of the first extension of the call frame. A call with this question launches nothing. If
    the structure for the answer is smaller than expected, nothing is written there, and XLA refuses to register the
    handler.
    """
    while extension:
        size, kind, following = _EXTENSION.unpack_from(_memory, extension)
        if kind == METADATA:
            metadata = _words[extension + _EXTENSION.size >> 3]
            if size < _EXTENSION.size + 8 or _words[metadata >> 3] < _METADATA.size:
                return True
            ctypes.c_int32.from_address(metadata + 24).value = version[0]
            ctypes.c_int32.from_address(metadata + 28).value = version[1]
            ctypes.c_uint32.from_address(metadata + 32).value = COMMAND_BUFFER_COMPATIBLE
            return True
        extension = following
    return False


def read_frame(address: int) -> CallFrame:
    """Return the content of the call frame at an address.

    Raises ArgumentError for a frame that is smaller than in version 0.1 of XLA's FFI, and for a call that is not the
    execution of one launch.
    """
    _check(_words[address >> 3], _FRAME.size, "call frame")
    (
        _, _, _, context, stage,
        args_size, _, args_count, args_types, args,
        rets_size, _, rets_count, rets_types, rets,
        attrs_size, _, attrs_count, attrs_types, _, attrs,
    ) = _FRAME.unpack_from(_memory, address)  # fmt: skip
    if args_size < _ARGS_SIZE or rets_size < _ARGS_SIZE or attrs_size < _ATTRS_SIZE:
        _check(min(args_size, rets_size), _ARGS_SIZE, "list of arguments")
        _check(attrs_size, _ATTRS_SIZE, "list of attributes")
    if stage != EXECUTE:
        raise ArgumentError(f"XLA called the handler in stage {stage}, not to execute it")
    if attrs_count != 1 or _integers[attrs_types >> 2] != STRING:
        raise ArgumentError(f"XLA passed {attrs_count} attributes, not the text of a launch alone")
    text, length = _SPAN.unpack_from(_memory, _words[attrs >> 3])
    argument_types, arguments = _arrays(args_count, args_types >> 2, args >> 3)
    result_types, results = _arrays(rets_count, rets_types >> 2, rets >> 3)
    content = _memory[text : text + length]
    # Four times as fast as calling the class.
    return tuple.__new__(CallFrame, (context, argument_types, arguments, result_types, results, content))


def _arrays(count: int, kinds: int, buffers: int) -> tuple[list[BufferType], list[int]]:
    """Return the types of `count` arrays, and the addresses of their data. Raises ArgumentError if one of the `kinds`
    is not BUFFER.

    `kinds`: index in `_integers` of `count` values of XLA_FFI_ArgType or XLA_FFI_RetType. `buffers`: index in `_words`
    of `count` pointers to XLA_FFI_Buffer.
    """
    types: list[BufferType] = []
    addresses: list[int] = []
    for place in range(count):
        if _integers[kinds + place] != BUFFER:
            found = _integers[kinds : kinds + count]
            raise ArgumentError(f"XLA passed arguments of kinds {found}, of which only {BUFFER} is an array")
        size, _, data_type, data, rank, dimensions = _BUFFER.unpack_from(_memory, _words[buffers + place])
        if size < _BUFFER.size:
            _check(size, _BUFFER.size, "buffer")
        types.append((data_type, rank, _memory[dimensions : dimensions + 8 * rank] if rank else b""))
        addresses.append(data)
    return types, addresses


def _check(size: int, least: int, what: str) -> None:
    """Raise ArgumentError if `size`, the size in bytes of one of XLA's structures, is below `least`. `what` names the
    structure in the error message: "XLA's call frame has 40 bytes, and 168 were expected"."""
    if size < least:
        raise ArgumentError(
            f"XLA's {what} has {size} bytes, and {least} were expected: this version of JAX is not supported; "
            "cuda_wheel.jax was tested with JAX 0.5.0 to 0.12.0"
        )
