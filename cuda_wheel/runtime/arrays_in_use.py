"""Read arrays by DLPack, wait for those that their libraries still compute, and keep those that they may free.

Source: DLPack, "Python Specification" and "C API"; Python array API standard, `array.__dlpack__`.

A launch with arrays of PyTorch and CuPy runs on the current stream of their library, and their allocators hand out
freed memory in the order of that stream. For other arrays, a launch waits for the work that computes them, and keeps
them until it has ended. The GPU waits, not the host; nothing here runs in a thread or in a callback of the driver.
"""

import atexit
import ctypes
import gc
import struct
from collections import deque
from threading import Lock
from typing import Any, NamedTuple

from .arguments import Kept
from .driver import check_result, cuda_driver, device_with_context, is_forked
from .streams import LEGACY, is_capturing, relaxed_capture, same_stream

__all__ = [
    "LIMIT",
    "NO_WAIT",
    "ON_GPU",
    "PLACES",
    "Exported",
    "export",
    "export_for",
    "keep",
    "memory_of",
    "release",
    "wait_for",
]

# --- DLPack --------------------------------------------------------------------------------------

ON_GPU, PINNED, MANAGED = 2, 3, 13
"""DLPack device types kDLCUDA, kDLCUDAHost and kDLCUDAManaged."""

PLACES = (ON_GPU, PINNED, MANAGED)
"""DLPack device types of memory that kernels can read."""

NO_WAIT = -1
"""Stream argument by which a consumer asks the producer not to wait."""

_NEWEST = (1, 1)
"""DLPack version to ask for: the first with 8-bit floats. Later versions with the same major version are compatible."""

_READ_ONLY, _COPIED = 1, 2
"""DLPack flags DLPACK_FLAG_BITMASK_READ_ONLY and DLPACK_FLAG_BITMASK_IS_COPIED."""

_NUMBERS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
"""DLDataTypeCode -> prefix of the type's name, for types of every size."""

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
"""(DLDataTypeCode, bits) -> name of the other element types, as in ml_dtypes."""


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
    """Return a function of Python's C API whose first parameter is a capsule."""
    # The function object in ctypes.pythonapi is shared, and other code may set its types: use a private one.
    return ctypes.PYFUNCTYPE(result, ctypes.py_object, *further)((name, ctypes.pythonapi))


def export_for(array: Any, stream: int) -> Exported:
    """Return an array as its library exports it by DLPack, after letting a stream wait for the work that computes it.

    Nothing is waited for if a graph is captured on the stream, or if it is `NO_WAIT`: a producer would make the
    graph depend on work outside of it. Only JAX's arrays are, by the host. Raises what `export` raises.
    """
    if stream != NO_WAIT and not is_capturing(stream):
        return export(array, stream or LEGACY)
    if not hasattr(array, "block_until_ready"):
        return export(array, NO_WAIT)
    with relaxed_capture():
        array.block_until_ready()
        return export(array, None)  # JAX takes the number for a stream


# --- waiting and keeping ---------------------------------------------------------------------------

LIMIT = 1000
"""Maximum number of launches whose arrays are kept; one launch more waits for the oldest."""


class _Mark(NamedTuple):
    """An event that is recorded, and the address of its context."""

    event: Any
    context: int


_kept: deque[tuple[_Mark, list[Any]]] = deque()
"""(event recorded after the launch, the launch's arrays) of launches that may still run, oldest first."""

_free_events: dict[int, list[Any]] = {}
"""Address of a context -> events that can be recorded again."""

_releasing = Lock()
"""Lock held while arrays are released, which may run any Python code, including code that returns here."""


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


def release(wait: int = 0) -> None:
    """Release the arrays of launches that have ended; wait for the `wait` oldest ones."""
    if not _kept or is_forked() or not _releasing.acquire(blocking=False):
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
    """Return whether the work queued before an event has ended; if `wait`, after waiting for it.

    True after a GPU error, which ends all work.
    """
    driver = cuda_driver()
    if wait:
        driver.cuEventSynchronize(event)
        return True
    return int(driver.cuEventQuery(event)[0]) != int(driver.CUresult.CUDA_ERROR_NOT_READY)


def _recorded(stream: int) -> _Mark:
    """Return an event recorded on a stream."""
    driver = cuda_driver()
    current = check_result(driver.cuCtxGetCurrent(), "getting the context")
    if not int(current):
        device_with_context()
        current = check_result(driver.cuCtxGetCurrent(), "getting the context")
    context = int(current)
    free = _free_events.setdefault(context, [])
    event = free.pop() if free else None
    if event is None or driver.cuEventRecord(event, stream)[0]:  # refused if its context was reset
        flags = driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
        event = check_result(driver.cuEventCreate(flags), "creating an event")
        check_result(driver.cuEventRecord(event, stream), "recording an event on a stream")
    return _Mark(event, context)


_started: list[bool] = []
"""Non-empty after the first array was kept."""


def _start() -> None:
    _started.append(True)
    # Without them, the arrays of the last launch would be kept until the next one.
    gc.callbacks.append(_after_collection)
    atexit.register(_finish)  # runs before what the arrays' libraries registered when they were imported


def _after_collection(phase: str, info: Any) -> None:
    if phase == "stop" and _kept:
        release()


def _finish() -> None:
    """Wait for the launches whose arrays are kept; at exit, the arrays' libraries free their memory."""
    gc.callbacks.remove(_after_collection)
    release(wait=len(_kept))
