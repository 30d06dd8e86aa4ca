"""Choose the stream of launches and copies: read streams and events of other libraries, keep the stream of a block."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..errors import ArgumentError
from .arguments import value_text

__all__ = [
    "block_stream",
    "event_address",
    "is_address",
    "launch_stream",
    "stream_address",
    "stream_blocks",
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
