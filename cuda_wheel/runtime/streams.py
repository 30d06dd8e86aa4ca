"""Find the stream of a launch or copy: the argument `stream`, the `launch_stream` block, the arrays' library."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .arguments import exports, is_array, is_of, value_text
from .errors import ArgumentError

__all__ = [
    "LEGACY",
    "NO_WAIT",
    "CurrentStreams",
    "FindStream",
    "block_stream",
    "by_arrays",
    "is_address",
    "launch_stream",
    "object_address",
    "same_stream",
    "stream_address",
    "stream_blocks",
    "wrong_address",
]

LEGACY = 1
"""Address of the legacy default stream, CU_STREAM_LEGACY; 0 is this stream too. Source: CUDA Driver API, "Stream
synchronization behavior"."""

NO_WAIT = -1
"""Stream argument if no launch follows: do not wait until an array is computed."""


_stream_of_block: ContextVar[int | None] = ContextVar("cuda_wheel.launch_stream", default=None)

block_stream = _stream_of_block.get
"""Returns the stream address of the `launch_stream` block of this thread or task; None outside of a block."""

stream_blocks: list[bool] = []
"""Non-empty after the first `launch_stream` block; faster to check than a call of `block_stream`."""


@contextmanager
def launch_stream(stream: Any) -> Iterator[None]:
    """Run the launches of a `with` block on a stream, those without an argument `stream` of their own.

    `stream` is what `Kernel.launch` takes; None stands for the current stream of the arrays' library. The block applies
    to this thread or task of asyncio, and also to `Global.write` and `Global.read`. The innermost block counts.

        with cuda_wheel.launch_stream(stream):
            kernel.launch(grid, block, x, y, n)

    A library's own current stream (`torch.cuda.stream`, `with cupy_stream:`) needs no such block: launches follow it.
    """
    stream_blocks[:] = [True]
    token = _stream_of_block.set(None if stream is None else stream_address(stream))
    try:
        yield
    finally:
        _stream_of_block.reset(token)


def stream_address(stream: Any) -> int:
    """Return the address of a stream object's CUstream, 0 for "default"; raise ArgumentError for anything else."""
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
"""Function: index of a GPU -> address of a library's current stream there."""


def by_arrays(device: int) -> int:
    """Mark that each array may name its own stream, which this function does not know; see `named_stream`."""
    return 0


class CurrentStreams(dict[tuple[type, ...], FindStream | None]):
    """Types of the arguments that may be arrays -> function that finds a launch's stream; None for the default stream.

    PyTorch and CuPy have a current stream for each thread and GPU. Without arrays of theirs, arrays with an array
    interface name a stream. Addresses, arrays exported by DLPack, such as JAX's, and cuda.core's buffers have none.
    """

    def __missing__(self, types: tuple[type, ...]) -> FindStream | None:
        libraries = dict.fromkeys(library for kind in types if (library := _library(kind)))
        finders = {library: _FINDERS[library]() for library in libraries}
        if finders:
            self[types] = next(iter(finders.values())) if len(finders) < 2 else _common_finder(finders)
        else:
            self[types] = by_arrays if any(map(_may_name_stream, types)) else None
        return self[types]


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
    # PyTorch is imported already. Its first function takes 0.07 µs, its second one 5; the first is not documented, but
    # code that its compiler generates calls it, and so does Triton.
    torch = sys.modules["torch"]
    find: FindStream | None = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return find or (lambda device: int(torch.cuda.current_stream(device).cuda_stream))


def _cupy_finder() -> FindStream:
    current_stream = sys.modules["cupy"].cuda.get_current_stream
    return lambda device: current_stream().ptr


_FINDERS = {"PyTorch": _pytorch_finder, "CuPy": _cupy_finder}


def _common_finder(finders: Mapping[str, FindStream]) -> FindStream:
    """Return a function that finds the current stream of several libraries. It raises ArgumentError if their streams
    differ."""

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
