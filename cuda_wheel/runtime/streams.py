"""Find the stream of a launch or copy: the argument `stream`, the `launch_stream` block, the arrays' library.

Streams and events of other libraries are read here too.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .arguments import exports, is_array, is_of, value_text
from .driver import check_result, cuda_driver
from .errors import ArgumentError

__all__ = [
    "LEGACY",
    "PER_THREAD",
    "CurrentStreams",
    "FindStream",
    "block_stream",
    "by_arrays",
    "is_address",
    "is_capturing",
    "launch_stream",
    "named_stream",
    "object_address",
    "producer_stream",
    "relaxed_capture",
    "same_stream",
    "stream_address",
    "stream_blocks",
    "wrong_address",
]

LEGACY, PER_THREAD = 1, 2
"""Stream addresses CU_STREAM_LEGACY, which 0 means too, and CU_STREAM_PER_THREAD. Source: CUDA Driver API, "Stream
synchronization behavior"."""


_stream_of_block: ContextVar[int | None] = ContextVar("cuda_wheel.launch_stream", default=None)

block_stream = _stream_of_block.get
"""Function that returns the address of the stream that `launch_stream` set in this thread or task; None outside its
blocks."""

stream_blocks: list[bool] = []
"""Non-empty after the first `launch_stream` block. A launch checks it in a fifth of the time of a `block_stream`
call."""


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
    address = object_address(stream, "cuda_stream")
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


def object_address(value: Any, pytorchs_attribute: str) -> int | None:
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


FindStream = Callable[[int], int]
"""Function of a GPU's number that returns the address of a library's current stream there."""


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
    """Return the name of the library whose stream is used for arrays of this type; None if there is none."""
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
    """Return the stream of Numba's launches: the default stream of the process or of each thread."""
    config = getattr(sys.modules.get("numba"), "config", None)
    per_thread = getattr(config, "CUDA_PER_THREAD_DEFAULT_STREAM", 0)
    is_per_thread = per_thread or os.environ.get("CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM") == "1"
    return PER_THREAD if is_per_thread else LEGACY


_FINDERS = {"PyTorch": _pytorch_finder, "CuPy": _cupy_finder}


def _common_finder(finders: Mapping[str, FindStream]) -> FindStream:
    """Return a function that finds the one stream on which several libraries agree."""

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


def same_stream(first: int, second: int) -> bool:
    return first == second or (first <= LEGACY and second <= LEGACY)


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
