"""Take the arrays of libraries other than PyTorch and CuPy, by DLPack or the CUDA array interface.

A launch with arrays of PyTorch and CuPy runs on the current stream of their library, and their allocators hand out
freed memory in the order of that stream. For other arrays, a launch waits for the work that computes them, and keeps
them until it has ended. The GPU waits, not the host; nothing here runs in a thread or in a callback of the driver.

Sources: Numba, "CUDA Array Interface (Version 3)"; DLPack, "Python Specification" and "C API"; Python array API
standard, `array.__dlpack__`.
"""

import atexit
import ctypes
import gc
import os
import struct
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from threading import Lock
from typing import Any, NamedTuple, Protocol

from ..arguments import BIG_ENDIAN, ON_GPU, Kept, exports, is_of, is_on_gpu, refuse_lazy, type_name
from ..driver import check_result, cuda_driver, device_with_context, driver_function, is_forked
from ..errors import ArgumentError
from ..streams import LEGACY, NO_WAIT, same_stream

__all__ = [
    "LIMIT",
    "PLACES",
    "Exported",
    "device_bytes",
    "export",
    "export_for",
    "is_capturing",
    "keep",
    "named_stream",
    "producer_stream",
    "reader_for",
    "refuse_interface",
    "release",
    "wait_for",
]

# --- arguments of launches -------------------------------------------------------------------------


class Converter(Protocol):
    """What reading an array needs of a `PointerConverter`."""

    is_checked: bool
    is_const: bool

    def check_dtype(self, dtype: str) -> None: ...
    def refuse_device(self, device: int, launch_device: int) -> None: ...
    def argument(self, address: int, shape: Sequence[int], strides: Sequence[int] | None, unit: int = 1) -> Any: ...


def reader_for(converter: Converter, kind: type) -> Callable[[Any, int | None, int, Kept], Any]:
    """Return the reader, as `arrays.Reader` describes it, of arrays of a type for the parameter of a converter."""
    if is_of(kind, "cuda", "Buffer"):
        return partial(_read_cuda_core_buffer, converter)
    # DLPack first: JAX's array interface has no stream, and lacks bfloat16 and 8-bit floats.
    return partial(_read_dlpack if exports(kind) else _read_array_interface, converter)


def _read_cuda_core_buffer(converter: Converter, buffer: Any, device: int | None, stream: int, kept: Kept) -> Any:
    """Return the value that a launch writes for a buffer of cuda.core, such as its address. The parameters are those of
    `arrays.Reader`. A buffer names no stream and no element type, so neither is checked."""
    if device is not None and not buffer.is_host_accessible and buffer.device_id != device:
        converter.refuse_device(buffer.device_id, device)
    if not buffer.is_device_accessible:
        raise TypeError("is a buffer that the GPU cannot access")
    # By DLPack, its element type is int8.
    kept.append((buffer, None))
    return converter.argument(int(buffer.handle), (), None)


def _read_array_interface(converter: Converter, array: Any, device: int | None, stream: int, kept: Kept) -> Any:
    """Return the value that a launch writes for an array with the CUDA array interface, such as its address. The
    parameters are those of `arrays.Reader`. Source: Numba, "CUDA Array Interface (Version 3)"."""
    interface = array.__cuda_array_interface__
    address, read_only = interface["data"]
    if converter.is_checked:
        refuse_interface(interface)
    converter.check_dtype(_dtype_name(interface["typestr"]))
    _check_access(converter, read_only)
    if converter.is_checked and address and device is not None:
        found = _device_of(address)
        if found not in (None, device):
            converter.refuse_device(found, device)
    producer = producer_stream(array, interface)
    if producer is not None and stream != NO_WAIT:
        wait_for(stream, producer)
    kept.append((array, None if converter.is_const else producer))
    unit = item_size(interface["typestr"])
    return converter.argument(int(address or 0), interface["shape"], interface.get("strides"), unit)


def _read_dlpack(converter: Converter, array: Any, device: int | None, stream: int, kept: Kept) -> Any:
    """Return the value that a launch writes for an array that exports itself by DLPack, such as its address. The
    parameters are those of `arrays.Reader`. If DLPack cannot describe the array, its CUDA array interface is read
    instead."""
    place, number = memory_of(array)
    if place not in PLACES and is_on_gpu(array):  # an array of NumPy's, derived for memory of the GPU
        return _read_array_interface(converter, array, device, stream, kept)
    if place == ON_GPU and device is not None and number != device:
        converter.refuse_device(number, device)
    try:
        exported = export_for(array, stream)
    except BufferError:  # for element types that DLPack does not have
        if not is_on_gpu(array):
            raise
        return _read_array_interface(converter, array, device, stream, kept)
    _check_access(converter, exported.read_only)
    converter.check_dtype(exported.dtype)
    kept.append((exported.capsule, None))
    return converter.argument(exported.address, exported.shape, exported.strides)


def _check_access(converter: Converter, read_only: bool) -> None:
    """Raise TypeError if the kernel may write to an array that is `read_only`."""
    if read_only and converter.is_checked and not converter.is_const:
        raise TypeError("is a read-only array, but the kernel may write to it")


def _device_of(address: int) -> int | None:
    """Return the number of the GPU whose memory contains an address. Return None if every GPU can access the memory at
    the address, or if the driver does not know this memory."""
    is_host = _memory_attribute("MEMORY_TYPE", address) == int(cuda_driver().CUmemorytype.CU_MEMORYTYPE_HOST)
    return None if is_host or _memory_attribute("IS_MANAGED", address) else _memory_attribute("DEVICE_ORDINAL", address)


def _memory_attribute(which: str, address: int) -> int | None:
    """Return an attribute of the memory at an address; None if the driver does not know the memory. `which` is the end
    of the attribute's name: "DEVICE_ORDINAL". Source: CUDA Driver API, cuPointerGetAttribute."""
    number = int(getattr(cuda_driver().CUpointer_attribute, f"CU_POINTER_ATTRIBUTE_{which}"))
    # The binding in cuda.bindings 13.3 returns 0 as the number of every GPU.
    value = ctypes.c_uint64()  # the attributes have 1 to 8 bytes
    if _pointer_attribute(cuda_driver())(ctypes.addressof(value), number, address):
        return None
    return ctypes.c_int32(value.value).value


@cache
def _pointer_attribute(driver: Any) -> Any:
    """Return the driver's function cuPointerGetAttribute, to be called through ctypes. It is found once for each
    `driver`."""
    return driver_function("cuPointerGetAttribute", ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64)


def _dtype_name(typestr: str) -> str:
    """Return NumPy's name of an array interface's type: "float32" for "<f4"."""
    kinds = {"f": "float", "i": "int", "u": "uint", "c": "complex", "V": "void", "M": "datetime", "m": "timedelta"}
    if typestr[1] == "b":
        return "bool"
    return f"{kinds.get(typestr[1], typestr[1])}{item_size(typestr) * 8}"


# --- the CUDA array interface ----------------------------------------------------------------------


def refuse_interface(interface: Mapping[str, Any]) -> None:
    """Raise TypeError for an array interface of data that is not what the array means.

    Source: Numba, "CUDA Array Interface (Version 3)".
    """
    if interface["typestr"].startswith(">"):
        raise TypeError(BIG_ENDIAN)
    if interface.get("mask") is not None:
        raise TypeError("has masked elements, which a kernel would read like the others")


def item_size(typestr: str) -> int:
    """Return the bytes of an element of an array interface's type, such as "<f4" or "<M8[ns]"."""
    return int(typestr[2:].partition("[")[0])


def device_bytes(array: Any) -> tuple[int, int]:
    """Return the address and the size in bytes of an array on the GPU.

    Raises ArgumentError for an array that is lazily conjugated or negated, masked, big-endian or not contiguous.
    """
    try:
        refuse_lazy(array)
        interface = array.__cuda_array_interface__
        refuse_interface(interface)
    except TypeError as error:
        raise ArgumentError(f"the {type_name(type(array))} {error}") from None
    shape = interface["shape"]
    strides = interface.get("strides") or [None] * len(shape)
    size = item_size(interface["typestr"])
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if stride not in (None, size) and length > 1 and 0 not in shape:
            raise ArgumentError(f"the {type_name(type(array))} is not contiguous")
        size *= length
    return int(interface["data"][0] or 0), size


# --- DLPack ----------------------------------------------------------------------------------------

PINNED, MANAGED = 3, 13
"""DLPack device types of pinned host memory (kDLCUDAHost) and of managed memory (kDLCUDAManaged)."""

PLACES = (ON_GPU, PINNED, MANAGED)
"""DLPack device types of memory that kernels can read."""

_NEWEST = (1, 1)
"""DLPack version (major, minor) to ask for: the first with 8-bit floats. Later versions with the same major version are
compatible."""

_READ_ONLY, _COPIED = 1, 2
"""Bits in the flags of an array that DLPack exported: the array is read-only, and it is a copy.
(DLPACK_FLAG_BITMASK_READ_ONLY, DLPACK_FLAG_BITMASK_IS_COPIED)"""

_NUMBERS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
"""DLDataTypeCode -> prefix of the element type's name, to which the number of bits is added: 2 -> "float" for
"float32"."""

_OTHERS = {
    (6, 8): "bool",
    (7, 8): "float8_e3m4",
    (8, 8): "float8_e4m3",
    (9, 8): "float8_e4m3b11fnuz",
    (10, 8): "float8_e4m3fn",
    (11, 8): "float8_e4m3fnuz",
    (12, 8): "float8_e5m2",
    (13, 8): "float8_e5m2fnuz",
    (14, 8): "float8_e8m0fnu",
}
"""(DLDataTypeCode, bits) -> element type's name, as in ml_dtypes, for the codes that are not in `_NUMBERS`."""


class Exported(NamedTuple):
    """An array that its library exported. Its memory is valid while the capsule lives."""

    capsule: Any
    address: int
    dtype: str
    """Element type, named as in NumPy and ml_dtypes."""
    bits: int
    """Bits of an element."""
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    """Strides in elements; None for an array in C order."""
    read_only: bool


def memory_of(array: Any) -> tuple[int, int]:
    """Return the kind of memory that an array is in, as DLPack numbers them, and the device. Raises TypeError for an
    array of JAX that was deleted."""
    is_deleted = getattr(array, "is_deleted", None)
    if is_deleted is not None and is_deleted():  # JAX itself may only say that something "has no len()"
        raise TypeError("is an array that was deleted or donated")
    kind, number = array.__dlpack_device__()
    return kind, number


def export(array: Any, stream: int | None) -> Exported:
    """Return an array as its library exports it for work on a stream: its library makes the stream wait for the array.

    `stream` is 1 for the legacy default stream, `NO_WAIT`, or None for the library's own choice. Raises TypeError if
    the array is not in memory of a GPU, or is exported as a copy or in a form that a kernel cannot read; and what the
    library raises.
    """
    place, _ = memory_of(array)
    if place not in PLACES:
        raise TypeError("is an array in host memory: copy it to the GPU")
    options: dict[str, Any] = {} if place == PINNED else {"stream": stream}
    try:
        capsule = array.__dlpack__(max_version=_NEWEST, copy=False, **options)
    except TypeError:  # a library that has fewer arguments: before DLPack 1.0, or with that only the version
        try:
            capsule = array.__dlpack__(max_version=_NEWEST, **options)
        except TypeError:
            capsule = array.__dlpack__(**options)
    name = _capsule_function("PyCapsule_GetName", ctypes.c_char_p)(capsule)
    pointer = _capsule_function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_char_p)(capsule, name)
    flags = 0
    if name == b"dltensor_versioned":  # version, context, deleter and flags come before the DLTensor
        major, minor, flags = struct.unpack("<II16xQ", ctypes.string_at(pointer, 32))
        if major != _NEWEST[0]:
            raise TypeError(f"is exported by DLPack {major}.{minor}, which is not known here")
        pointer += 32
    if flags & _COPIED:
        raise TypeError("is exported as a copy, not as the memory that it has")
    content = ctypes.string_at(pointer, 48)
    address, _, _, ndim, code, bits, lanes, shape_at, strides_at, offset = struct.unpack("<QiiiBBHQQQ", content)
    if lanes != 1:
        raise TypeError(f"has vectors of {lanes} numbers as elements")
    shape = _numbers(shape_at, ndim)
    if not address and 0 not in shape:
        raise TypeError("is an array without memory")
    dtype = f"{_NUMBERS[code]}{bits}" if code in _NUMBERS else _OTHERS.get((code, bits), f"DLPack's type {code}")
    strides = _numbers(strides_at, ndim) if strides_at else None
    return Exported(capsule, address + offset, dtype, bits, shape, strides, bool(flags & _READ_ONLY))


def _numbers(address: int, count: int) -> tuple[int, ...]:
    return struct.unpack(f"<{count}q", ctypes.string_at(address, 8 * count)) if count else ()


def _capsule_function(name: str, result: Any, *further: Any) -> Any:
    """Return the function `name` of Python's C API, whose first parameter is a capsule.

    `result` and `further` are the ctypes types of its result and of its other parameters.
    """
    # The function object in ctypes.pythonapi is shared, and other code may set its types: use a private one.
    return ctypes.PYFUNCTYPE(result, ctypes.py_object, *further)((name, ctypes.pythonapi))


def export_for(array: Any, stream: int) -> Exported:
    """Return an array as its library exports it by DLPack, after letting a stream wait for the work that computes it.

    The stream does not wait if it is `NO_WAIT`, or if a graph is captured on it: the graph would depend on work outside
    of it. In these cases, the host waits for an array of JAX. Raises what `export` raises.
    """
    if stream != NO_WAIT and not is_capturing(stream):
        return export(array, stream or LEGACY)
    if not hasattr(array, "block_until_ready"):
        return export(array, NO_WAIT)
    with relaxed_capture():
        array.block_until_ready()
        return export(array, None)  # JAX takes the number for a stream


# --- waiting and keeping ---------------------------------------------------------------------------

PER_THREAD = 2
"""Stream address CU_STREAM_PER_THREAD, the default stream of a thread. Source: CUDA Driver API, "Stream synchronization
behavior"."""


def named_stream(arrays: Iterable[Any]) -> int:
    """Return the first stream that one of these arguments names by its array interface; 0 if none does."""
    for array in arrays:
        if (interface := getattr(array, "__cuda_array_interface__", None)) and not exports(type(array)):
            stream = producer_stream(array, interface)
            if stream is not None:
                return stream if stream > LEGACY else 0
    return 0


def producer_stream(array: Any, interface: Mapping[str, Any]) -> int | None:
    """Return the stream of the work that computes an array, by its array interface; None if it needs no waiting.

    Raises TypeError if it is no stream. Source: Numba, "CUDA Array Interface (Version 3)", "Synchronization".
    """
    stream = interface.get("stream")
    if not stream and any(base.__module__.partition(".")[0] == "numba" for base in type(array).__mro__):
        return _numbas_stream()  # Numba names no stream for its default one, whose work may not be complete
    if stream is None:
        return None
    if type(stream) is not int or not 0 < stream < 1 << 64:
        raise TypeError(f"names {stream!r} as its stream, but the array interface allows 1, 2, an address or None")
    return stream


def _numbas_stream() -> int:
    """Return the address of the stream on which Numba launches: `LEGACY`, the default stream of the process, or
    `PER_THREAD`, the default stream of the thread."""
    config = getattr(sys.modules.get("numba"), "config", None)
    per_thread = getattr(config, "CUDA_PER_THREAD_DEFAULT_STREAM", 0)
    is_per_thread = per_thread or os.environ.get("CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM") == "1"
    return PER_THREAD if is_per_thread else LEGACY


def is_capturing(stream: int) -> bool:
    """Return whether a graph is captured on a stream, which then cannot be waited for."""
    # For the legacy default stream, cuStreamIsCapturing fails while any other stream captures.
    return stream > LEGACY and int(check_result(cuda_driver().cuStreamIsCapturing(stream), "looking at a stream")) != 0


@contextmanager
def relaxed_capture() -> Iterator[None]:
    """Allow this thread the calls that a capture in this or another thread would forbid and end with.

    They concern other streams and events than those of the graph. Source: CUDA Driver API,
    cuThreadExchangeStreamCaptureMode.
    """
    driver = cuda_driver()
    mode = driver.cuThreadExchangeStreamCaptureMode(driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED)
    try:
        yield
    finally:
        if not mode[0]:
            driver.cuThreadExchangeStreamCaptureMode(mode[1])


LIMIT = 1000
"""Maximum number of launches whose arrays are kept. If there are more, the newest launch waits until the oldest has
ended."""


class _Mark(NamedTuple):
    """An event that is recorded, and the address of its context."""

    event: Any
    context: int


_kept: deque[tuple[_Mark, list[Any]]] = deque()
"""(mark, arrays) of each launch that may still run, oldest first. The mark is an event recorded after the launch."""

_free_events: dict[int, list[Any]] = {}
"""Address of a context -> the context's events that nothing uses any more, to be recorded again."""

_releasing = Lock()
"""Lock held while `release` releases arrays. Releasing an array may run code that calls `release` again; that call does
nothing."""


def wait_for(stream: int, producer: int) -> None:
    """Let what is queued on `stream` from now on start after what is queued on `producer` now.

    If a graph is captured on `stream`, and `producer` takes no part in it, the host waits: a graph runs later, and
    cannot contain a wait for work outside of it. Raises DriverError.
    """
    if same_stream(stream, producer):
        return
    driver = cuda_driver()
    doing = "waiting for the stream of an array"
    if is_capturing(stream) and not is_capturing(producer):
        with relaxed_capture():
            check_result(driver.cuStreamSynchronize(producer), doing)
        return
    event, context = _recorded(producer)
    check_result(driver.cuStreamWaitEvent(stream, event, 0), doing)
    _free_events[context].append(event)  # the wait is for this record, whatever is recorded later


def keep(arrays: Kept, stream: int) -> None:
    """Keep these arrays until what is queued on a stream now has ended, and empty the list.

    A captured launch runs whenever its graph does: arrays of a graph are its owner's to keep. Raises DriverError.
    """
    if is_capturing(stream):
        arrays.clear()
        return
    if not _started:
        _start()
    release()
    mark = _recorded(stream)
    _kept.append((mark, [array for array, _ in arrays]))
    producers = {producer for _, producer in arrays if producer is not None and not same_stream(stream, producer)}
    arrays.clear()
    for producer in producers:
        check_result(cuda_driver().cuStreamWaitEvent(producer, mark.event, 0), "letting the stream of an array wait")
    if len(_kept) > LIMIT:
        release(wait=len(_kept) - LIMIT)


def release(wait: int = 0, blocking: bool = False) -> None:
    """Release the arrays of launches that have ended; wait for the `wait` oldest ones.

    While another thread does so, this does nothing or, if `blocking`, waits for that thread first.
    """
    if not _kept or is_forked() or not _releasing.acquire(blocking):
        return  # in a forked process, the driver cannot be asked
    try:
        with relaxed_capture():  # others may ask nothing of events while this thread captures a graph
            while _kept and _has_ended(_kept[0][0].event, wait > 0):
                event, context = _kept.popleft()[0]
                _free_events[context].append(event)
                wait -= 1
    finally:
        _releasing.release()


def _has_ended(event: Any, wait: bool) -> bool:
    """Return whether the work queued before an event has ended. If `wait`, wait for that work first, and return True.

    A GPU error ends all work, so the result is True then too.
    """
    driver = cuda_driver()
    if wait:
        driver.cuEventSynchronize(event)
        return True
    return int(driver.cuEventQuery(event)[0]) != int(driver.CUresult.CUDA_ERROR_NOT_READY)


def _recorded(stream: int) -> _Mark:
    """Record an event on the stream with the address `stream`. Return (event, address of the event's context)."""
    driver = cuda_driver()
    current = check_result(driver.cuCtxGetCurrent(), "getting the context")
    if not int(current):
        device_with_context()
        current = check_result(driver.cuCtxGetCurrent(), "getting the context")
    context = int(current)
    free = _free_events.setdefault(context, [])
    try:
        event = free.pop()
    except IndexError:  # another thread may have taken the last one just now
        event = None
    if event is None or driver.cuEventRecord(event, stream)[0]:  # refused if its context was reset
        flags = driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
        event = check_result(driver.cuEventCreate(flags), "creating an event")
        check_result(driver.cuEventRecord(event, stream), "recording an event on a stream")
    return _Mark(event, context)


_started: list[bool] = []
"""[True] after the first array was kept; [] before."""

_starting = Lock()
"""Lock held by `_start`, which several threads may call."""


def _start() -> None:
    with _starting:
        if _started:
            return
        # Without this callback, the arrays of the last launch would be kept until the next one.
        gc.callbacks.append(_after_collection)
        atexit.register(_finish)  # runs before what the arrays' libraries registered when they were imported
        _started.append(True)


def _after_collection(phase: str, info: Any) -> None:
    if phase == "stop" and _kept:
        release()


def _finish() -> None:
    """Wait, at exit, for all launches whose arrays are kept. The arrays' libraries free the arrays' memory later during
    the exit."""
    gc.callbacks.remove(_after_collection)
    release(wait=len(_kept), blocking=True)  # a daemon thread may be releasing arrays just now
