"""Link with the linker of the CUDA driver."""

import ctypes
import enum
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..driver import check_result, cuda_driver, current_device
from ..errors import DriverError
from ..jit.compiling import JitOptions
from ..launching.driver_functions import driver_function
from ..manifest import Target
from .linker_io import LinkerInput, LinkerOutput, RefusedError

__all__ = ["link_by_driver"]


class _Option(enum.IntEnum):
    """Source: CUDA Driver API, CUjit_option."""

    MAX_REGISTERS = 0
    WALL_TIME = 2
    INFO_LOG_BUFFER = 3
    INFO_LOG_BUFFER_SIZE_BYTES = 4
    ERROR_LOG_BUFFER = 5
    ERROR_LOG_BUFFER_SIZE_BYTES = 6
    OPTIMIZATION_LEVEL = 7
    TARGET = 9
    LOG_VERBOSE = 12
    GENERATE_LINE_INFO = 13


_INPUT_TYPES = {"cubin": 0, "ptx": 1, "fatbin": 2, "object": 3, "library": 4}
"""Source: CUDA Driver API, CUjitInputType."""

_TARGET_SUFFIXES = {"": 0, "a": 0x10000, "f": 0x20000}
"""Source: CUDA Driver API, CUjit_target."""

_LOG_BYTES = 1 << 16

_POINTER, _INT, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t

_ARGUMENT_TYPES = {
    "cuLinkCreate": (ctypes.c_uint, _POINTER, _POINTER, _POINTER),
    "cuLinkAddData": (_POINTER, _INT, _POINTER, _SIZE, ctypes.c_char_p, ctypes.c_uint, _POINTER, _POINTER),
    "cuLinkComplete": (_POINTER, _POINTER, _POINTER),
    "cuLinkDestroy": (_POINTER,),
}


def link_by_driver(
    inputs: Sequence[LinkerInput], target: Target, options: JitOptions, device: int | None
) -> LinkerOutput:
    """Return the cubin that the driver links from PTX and machine code.

    The link needs a context. Without a current one on the GPU, its primary context is current during the link. This
    calls the driver through ctypes, since the driver returns the time in the array of options, which cuda.bindings does
    not expose. Raises RefusedError with the driver's log, and DriverError where the linker cannot be started.
    """
    log, errors = (ctypes.create_string_buffer(_LOG_BYTES) for _ in range(2))
    milliseconds = ctypes.c_float()
    values = {
        _Option.WALL_TIME: ctypes.addressof(milliseconds),
        _Option.INFO_LOG_BUFFER: ctypes.addressof(log),
        _Option.INFO_LOG_BUFFER_SIZE_BYTES: _LOG_BYTES,
        _Option.ERROR_LOG_BUFFER: ctypes.addressof(errors),
        _Option.ERROR_LOG_BUFFER_SIZE_BYTES: _LOG_BYTES,
        **_compiler_options(target, options),
    }
    keys = (ctypes.c_int * len(values))(*values)
    slots = (ctypes.c_void_p * len(values))(*values.values())
    with _context(device):
        cubin = _linked(inputs, keys, slots, errors)
    # The documentation says that the driver writes the float into the option's own slot; its sample reads it where the
    # slot points.
    slot = list(values).index(_Option.WALL_TIME)
    if slots[slot] != ctypes.addressof(milliseconds):
        milliseconds = ctypes.c_float.from_buffer(slots, slot * ctypes.sizeof(ctypes.c_void_p))
    return LinkerOutput(cubin, _text(log), _text(errors), milliseconds.value / 1000)


def _compiler_options(target: Target, options: JitOptions) -> dict[_Option, int]:
    values = {
        _Option.LOG_VERBOSE: int(options.verbose),
        _Option.GENERATE_LINE_INFO: int(options.lineinfo),
        _Option.TARGET: _TARGET_SUFFIXES[target.suffix] + 10 * target.major + target.minor,
    }
    if options.optimization_level is not None:
        values[_Option.OPTIMIZATION_LEVEL] = options.optimization_level
    if options.max_registers is not None:
        values[_Option.MAX_REGISTERS] = options.max_registers
    return values


def _linked(inputs: Sequence[LinkerInput], keys: Any, slots: Any, errors: Any) -> bytes:
    """Return the linked cubin; `keys` and `slots` are the options, `errors` the buffer of the error log."""
    create, add, complete, destroy = (driver_function(name, *types) for name, types in _ARGUMENT_TYPES.items())
    state, code, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()

    def check(result: int, doing: str) -> None:
        if result == 0:
            return
        try:
            check_result((cuda_driver().CUresult(result),), doing)
        except DriverError as error:
            raise RefusedError(f"{error}\n{_text(errors)}".rstrip()) from None

    try:
        check(create(len(keys), keys, slots, ctypes.byref(state)), "starting the driver's linker")
    except RefusedError as error:  # no input can be the reason
        raise DriverError(str(error)) from None
    try:
        for kind, name, content in inputs:
            data = content + b"\0" if kind == "ptx" else content
            result = add(state, _INPUT_TYPES[kind], data, len(data), name.encode(errors="replace"), 0, None, None)
            check(result, f"giving {name} to the driver's linker")
        check(complete(state, ctypes.byref(code), ctypes.byref(size)), "linking")
        return ctypes.string_at(code.value or 0, size.value)
    finally:
        destroy(state)


def _text(buffer: Any) -> str:
    content: bytes = buffer.value
    return content.decode(errors="replace").rstrip()


@contextmanager
def _context(device: int | None) -> Iterator[None]:
    """Make a context current: on GPU `device`, else the current context's, else on GPU 0."""
    driver = cuda_driver()
    current = current_device()
    if current is not None and device in (None, current):
        yield
        return
    handle = check_result(driver.cuDeviceGet(device or 0), f"asking for device {device or 0}")
    context = check_result(driver.cuDevicePrimaryCtxRetain(handle), "making a context to link in")
    try:
        check_result(driver.cuCtxPushCurrent(context), "making a context current to link in")
        try:
            yield
        finally:
            driver.cuCtxPopCurrent()
    finally:
        driver.cuDevicePrimaryCtxRelease(handle)
