"""Choose the stream of launches and copies: read streams and events of other libraries, keep the stream of a block.

Read arrays by DLPack.

Source: DLPack, "Python Specification" and "C API"; Python array API standard, `array.__dlpack__`.

Find the current stream of the library whose arrays a launch or a copy is given.

Arrays of launches that their libraries still compute, or free too early.

A launch with arrays of PyTorch and CuPy runs on the current stream of their library, and their allocators hand out
freed memory in the order of that stream. For other arrays, a launch waits for the work that computes them, and keeps
them until it has ended. The GPU waits, not the host; nothing here runs in a thread or in a callback of the driver.
"""

import atexit
import ctypes
import gc
import math
import os
import struct
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, NamedTuple

from .arguments import is_array, is_of, value_text
from .driver import check_result, cuda_driver, current_device, device_count, device_with_context, is_forked
from .errors import ArgumentError

__all__ = [
    "LEGACY",
    "PER_THREAD",
    "CurrentStreams",
    "Exported",
    "Kept",
    "array_stream",
    "block_stream",
    "by_arrays",
    "device_of",
    "event_address",
    "export",
    "export_for",
    "exports",
    "is_address",
    "is_capturing",
    "keep",
    "launch_stream",
    "named_stream",
    "producer_stream",
    "release",
    "same_stream",
    "stream_address",
    "stream_blocks",
    "wait_for",
    "wrong_address",
]


_stream_of_block: ContextVar[int | None] = ContextVar("cuda_wheel.launch_stream", default=None)

block_stream = _stream_of_block.get
"""Returns the address of the stream that `launch_stream` chose in this thread or task, None outside of such blocks."""

stream_blocks: list[bool] = []
"""Not empty once there was such a block. A launch finds out five times faster than it calls `block_stream`."""


@contextmanager
def launch_stream(stream: Any) -> Iterator[None]:
    """Run the launches of a `with` block on a stream, those without an argument `stream` of their own.

    `stream` is what `Kernel.launch` takes: a stream of a library, an address, "default", or None for the current stream
    of the library whose arrays a launch is given. It holds for this thread, or this task of asyncio, and also for
    `Global.write` and `Global.read`. Blocks may be nested; the innermost counts.

        with cuda_wheel.launch_stream(stream):
            kernel.launch(grid, block, x, y, n)
            kernel.launch(grid, block, y, z, n)

    A library's own current stream (`torch.cuda.stream`, `with cupy_stream:`) needs no such block: launches follow it.
    """
    stream_blocks[:] = [True]
    token = _stream_of_block.set(None if stream is None else stream_address(stream))
    try:
        yield
    finally:
        _stream_of_block.reset(token)


def stream_address(stream: Any) -> int:
    """Return the address of the CUstream of a library's stream object, 0 for "default"; raise ArgumentError for
    anything else."""
    if isinstance(stream, str) and stream == "default":
        return 0
    address = _read_address(stream, "cuda_stream")
    if address is None:
        raise ArgumentError(
            "stream must be an address, \"default\", or have __cuda_stream__, as CuPy's and PyTorch's streams do, not "
            f"{value_text(stream)}"
        )
    if not is_address(address):
        raise wrong_address(address)
    return address


def is_address(number: int) -> bool:
    return 0 <= number < 1 << 64


def wrong_address(number: int) -> ArgumentError:
    """Return the error for a number that is no address of a stream."""
    return ArgumentError(f"stream must be an address, not {value_text(number)}")


def event_address(event: Any) -> int:
    """Return the address of the CUevent of a library's event object; raise ArgumentError for anything else."""
    address = _read_address(event, "cuda_event")
    if address is None or not is_address(address):
        raise ArgumentError(
            "completion_event must be an event of PyTorch, CuPy, cuda.core or Numba, or an address, not "
            f"{value_text(event)}"
        )
    if not address:
        raise ArgumentError(
            "completion_event has the address 0. PyTorch makes an event when it is first recorded: record it once"
        )
    return address


def _read_address(value: Any, pytorchs_attribute: str) -> int | None:
    """Return the address in a stream or event object; None if it is none."""
    if isinstance(value, bool):
        return None
    try:
        protocol = getattr(value, "__cuda_stream__", None)
        if protocol is not None:
            return int((protocol() if callable(protocol) else protocol)[1])
        for attribute in (pytorchs_attribute, "ptr", "handle"):  # the last two are CuPy's and Numba's
            address = getattr(value, attribute, None)
            if address is not None:
                return int(getattr(address, "value", address) or 0)
        # int() alone would accept "5" and 5.5 too.
        if hasattr(value, "__index__") or (hasattr(value, "__int__") and not hasattr(value, "__float__")):
            return int(value)
    except (TypeError, ValueError, LookupError):
        pass
    return None


ON_GPU, PINNED, MANAGED = 2, 3, 13
"""kDLCUDA, kDLCUDAHost and kDLCUDAManaged."""

PLACES = (ON_GPU, PINNED, MANAGED)
"""Where kernels can read arrays."""

NO_WAIT = -1
"""The stream of a consumer that asks the producer not to wait."""

_NEWEST = (1, 1)
"""The version of DLPack to ask for: the first with 8-bit floats. Later ones of the same major version read alike."""

_READ_ONLY, _COPIED = 1, 2
"""DLPACK_FLAG_BITMASK_READ_ONLY and DLPACK_FLAG_BITMASK_IS_COPIED."""

_NUMBERS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
"""The kinds of numbers of every size, by DLDataTypeCode."""

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
"""The other element types, as ml_dtypes names them, by DLDataTypeCode and bits."""


class Exported(NamedTuple):
    """An array that its library exported. Its memory is valid while the capsule lives."""

    capsule: Any
    address: int
    dtype: str
    """As NumPy and ml_dtypes name it."""
    bits: int
    """Of an element."""
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    """In elements; None for an array in C order."""
    read_only: bool

    @property
    def contiguous_size(self) -> int:
        """In bytes; raises TypeError if the array is not contiguous."""
        count = 1
        for length, stride in zip(reversed(self.shape), reversed(self.strides or ()), strict=bool(self.strides)):
            if stride != count and length > 1 and 0 not in self.shape:
                raise TypeError("is not contiguous")
            count *= length
        return math.prod(self.shape) * self.bits // 8


def exports(kind: type) -> bool:
    """Return whether arrays of a type export themselves by DLPack."""
    return hasattr(kind, "__dlpack__") and hasattr(kind, "__dlpack_device__")


def device_of(array: Any) -> tuple[int, int]:
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
    place, _ = device_of(array)
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
    """Return a function of Python's C API that takes a capsule."""
    # The function object in ctypes.pythonapi is shared, and other code may set its types: use a private one.
    return ctypes.PYFUNCTYPE(result, ctypes.py_object, *further)((name, ctypes.pythonapi))


FindStream = Callable[[int], int]
"""Returns the address of a library's current stream on the GPU of this number."""


def by_arrays(device: int) -> int:
    """Stand for the function that finds a stream where each array may name its own; see `named_stream`."""
    return 0


class CurrentStreams(dict[tuple[type, ...], FindStream | None]):
    """Finds the stream of a launch by the types of the arguments that may be arrays.

    It is a mapping from these types to the function that finds the stream, which is chosen when the types are first
    met; None stands for the default stream. PyTorch and CuPy have a current stream for each thread and GPU. Without
    arrays of theirs, arrays with an array interface name the stream themselves. All others have none: addresses,
    arrays that are exported by DLPack, such as JAX's, and cuda.core's buffers, which do not tell their stream.
    """

    def __missing__(self, types: tuple[type, ...]) -> FindStream | None:
        libraries = dict.fromkeys(library for kind in types if (library := _library(kind)))
        finders = {library: _FINDERS[library]() for library in libraries}
        if finders:
            self[types] = next(iter(finders.values())) if len(finders) < 2 else _common_finder(finders)
        else:
            self[types] = by_arrays if any(map(_may_name_stream, types)) else None
        return self[types]


def array_stream(array: Any) -> int:
    """Return the address of the stream of a launch with an array; 0, the default stream, if it has none."""
    device = current_device() if device_count() > 1 else None
    find = CurrentStreams()[(type(array),)]
    if find is by_arrays:
        return named_stream([array])
    return find(device or 0) if find else 0


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


def _may_name_stream(kind: type) -> bool:
    if kind in (int, type(None)) or exports(kind):
        return False
    return hasattr(kind, "__cuda_array_interface__") or not hasattr(kind, "__index__") or is_array(kind)


def _library(kind: type) -> str | None:
    """Return the name of the library whose stream arrays of this type call for."""
    if is_of(kind, "torch", "Tensor"):
        return "PyTorch"
    return "CuPy" if is_of(kind, "cupy", "ndarray") else None


def _pytorch_finder() -> FindStream:
    # An array's library is imported already. The first function takes 0.07 µs, the second one 5. PyTorch does not
    # document the first, but the code that its compiler generates calls it, and so does Triton.
    torch = sys.modules["torch"]
    find: FindStream | None = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return find or (lambda device: int(torch.cuda.current_stream(device).cuda_stream))


def _cupy_finder() -> FindStream:
    current_stream = sys.modules["cupy"].cuda.get_current_stream
    return lambda device: current_stream().ptr


def _numbas_stream() -> int:
    """Return the stream on which Numba's launches run, the default stream of the process or of each thread."""
    config = getattr(sys.modules.get("numba"), "config", None)
    per_thread = getattr(config, "CUDA_PER_THREAD_DEFAULT_STREAM", 0)
    is_per_thread = per_thread or os.environ.get("CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM") == "1"
    return PER_THREAD if is_per_thread else LEGACY


_FINDERS = {"PyTorch": _pytorch_finder, "CuPy": _cupy_finder}


def _common_finder(finders: Mapping[str, FindStream]) -> FindStream:
    """Return a function that finds the stream on which several libraries agree."""

    def find(device: int) -> int:
        found = {library: find(device) for library, find in finders.items()}
        first, *others = found.values()
        if not all(same_stream(first, other) for other in others):
            streams = " and ".join(f"{library}'s is {_stream_text(address)}" for library, address in found.items())
            raise ArgumentError(
                f"the arrays are of libraries with different current streams: {streams}. Choose one by the argument "
                "stream or cuda_wheel.launch_stream, or make one stream current in all of them"
            )
        return first

    return find


def _stream_text(address: int) -> str:
    return hex(address) if address > 1 else "the default stream"


LEGACY, PER_THREAD = 1, 2
"""CU_STREAM_LEGACY, which 0 means too, and CU_STREAM_PER_THREAD. Source: CUDA Driver API, "Stream synchronization
behavior"."""

Kept = list[tuple[Any, int | None]]
"""The arrays of a launch to keep until it has ended, or what keeps their memory; each with the stream that has to wait
for the launch because the kernel may write to the array, None if there is none."""

LIMIT = 1000
"""The number of launches to keep arrays for. The next one waits for the oldest."""


class _Mark(NamedTuple):
    """An event that is recorded, and the address of its context."""

    event: Any
    context: int


_kept: deque[tuple[_Mark, list[Any]]] = deque()
"""The arrays of the launches that may still run, each with the event after it, in the order of the launches."""

_free_events: dict[int, list[Any]] = {}
"""Events to record again, by the address of their context."""

_releasing = Lock()
"""Held by whoever releases arrays. That may run Python code of any kind, which may come back here."""


def same_stream(first: int, second: int) -> bool:
    return first == second or (first <= LEGACY and second <= LEGACY)


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


def export_for(array: Any, stream: int) -> Exported:
    """Return an array as its library exports it by DLPack, after letting a stream wait for the work that computes it.

    Nothing is waited for if a graph is captured on the stream, or if it is `dlpack.NO_WAIT`: a producer would make the
    graph depend on work outside of it. Only JAX's arrays are, by the host. Raises what `dlpack.export` raises.
    """
    if stream != NO_WAIT and not is_capturing(stream):
        return export(array, stream or LEGACY)
    if not hasattr(array, "block_until_ready"):
        return export(array, NO_WAIT)
    with relaxed_capture():
        array.block_until_ready()
        return export(array, None)  # JAX takes the number for a stream


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
    """Return whether what was queued before an event has ended, after waiting for it if asked to.

    After an error of the GPU, which ends all work, it has.
    """
    driver = cuda_driver()
    if wait:
        driver.cuEventSynchronize(event)
        return True
    return int(driver.cuEventQuery(event)[0]) != int(driver.CUresult.CUDA_ERROR_NOT_READY)


def is_capturing(stream: int) -> bool:
    """Return whether a graph is captured on a stream, which then cannot be waited for."""
    # The driver refuses to tell of the legacy default stream while any other stream captures.
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


def _recorded(stream: int) -> _Mark:
    """Return an event that is recorded on a stream."""
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
"""Not empty once arrays were kept."""


def _start() -> None:
    _started.append(True)
    # Without them, the arrays of the last launch would be kept until the next one.
    gc.callbacks.append(_after_collection)
    atexit.register(_finish)  # runs before what the arrays' libraries registered when they were imported


def _after_collection(phase: str, info: Any) -> None:
    if phase == "stop" and _kept:
        release()


def _finish() -> None:
    """Wait for the launches whose arrays are kept: at exit, their libraries free their memory."""
    gc.callbacks.remove(_after_collection)
    release(wait=len(_kept))
