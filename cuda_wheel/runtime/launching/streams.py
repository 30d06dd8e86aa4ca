"""Read the addresses of CUDA streams from the stream objects of other libraries."""

from typing import Any

from ..errors import ArgumentError
from .arguments import value_text

__all__ = ["stream_address"]


def stream_address(stream: Any) -> int:
    """Return the address of the CUstream of a library's stream object; raise ArgumentError for anything else."""
    try:
        protocol = getattr(stream, "__cuda_stream__", None)
        if protocol is not None:
            return int((protocol() if callable(protocol) else protocol)[1])
        for attribute in ("cuda_stream", "ptr", "handle"):  # PyTorch, CuPy, Numba
            address = getattr(stream, attribute, None)
            if address is not None:
                return int(getattr(address, "value", address) or 0)
        # int() alone would accept "5" and 5.5 too.
        if hasattr(stream, "__index__") or (hasattr(stream, "__int__") and not hasattr(stream, "__float__")):
            return int(stream)
    except (TypeError, ValueError, LookupError):
        pass
    raise ArgumentError(
        f"stream must be an address or have __cuda_stream__, as CuPy's and PyTorch's do, not {value_text(stream)}"
    )
