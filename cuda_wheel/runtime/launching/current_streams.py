"""Find the current stream of the library whose arrays a launch or a copy is given."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..driver import current_device, device_count
from ..errors import ArgumentError
from .buffers import is_of

__all__ = ["CurrentStreams", "array_stream"]

FindStream = Callable[[int], int]
"""Returns the address of a library's current stream on the GPU of this number."""

PER_THREAD = 2
"""CU_STREAM_PER_THREAD. Source: CUDA Driver API, "Stream synchronization behavior"."""


class CurrentStreams(dict[tuple[type, ...], FindStream | None]):
    """Finds the stream of a launch by the types of the arguments that may be arrays.

    It is a mapping from these types to the function that finds the stream, which is chosen when the types are first
    met; None stands for the default stream. PyTorch and CuPy have a current stream for each thread and GPU, and Numba
    has its default stream. All others have none: addresses, variables of modules, JAX's arrays, and cuda.core's
    buffers, which do not tell their stream.
    """

    def __missing__(self, types: tuple[type, ...]) -> FindStream | None:
        libraries = dict.fromkeys(library for kind in types if (library := _library(kind)))
        finders = {library: _FINDERS[library]() for library in libraries}
        self[types] = next(iter(finders.values()), None) if len(finders) < 2 else _common_finder(finders)
        return self[types]


def array_stream(array: Any) -> int:
    """Return the address of the current stream of an array's library; 0, the default stream, if it has none."""
    device = current_device() if device_count() > 1 else None
    find = CurrentStreams()[(type(array),)]
    return find(device or 0) if find else 0


def _library(kind: type) -> str | None:
    """Return the name of the library whose stream arrays of this type call for."""
    if is_of(kind, "torch", "Tensor"):
        return "PyTorch"
    if is_of(kind, "cupy", "ndarray"):
        return "CuPy"
    is_numba = any(base.__module__.partition(".")[0] == "numba" for base in kind.__mro__)
    return "Numba" if is_numba and hasattr(kind, "__cuda_array_interface__") else None


def _pytorch_finder() -> FindStream:
    # An array's library is imported already. The first function takes 0.07 µs, the second one 5. PyTorch does not
    # document the first, but the code that its compiler generates calls it, and so does Triton.
    torch = sys.modules["torch"]
    find: FindStream | None = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return find or (lambda device: int(torch.cuda.current_stream(device).cuda_stream))


def _cupy_finder() -> FindStream:
    current_stream = sys.modules["cupy"].cuda.get_current_stream
    return lambda device: current_stream().ptr


def _numba_finder() -> FindStream:
    # Numba has no current stream. With these settings, its own launches use the default stream of each thread.
    config = getattr(sys.modules.get("numba"), "config", None)
    per_thread = getattr(config, "CUDA_PER_THREAD_DEFAULT_STREAM", 0)
    address = PER_THREAD if per_thread or os.environ.get("CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM") == "1" else 0
    return lambda device: address


_FINDERS = {"PyTorch": _pytorch_finder, "CuPy": _cupy_finder, "Numba": _numba_finder}


def _common_finder(finders: Mapping[str, FindStream]) -> FindStream:
    """Return a function that finds the stream on which several libraries agree."""

    def find(device: int) -> int:
        found = {library: find(device) for library, find in finders.items()}
        # The legacy default stream has the addresses 0 and 1.
        if len({0 if address == 1 else address for address in found.values()}) > 1:
            streams = " and ".join(f"{library}'s is {_stream_text(address)}" for library, address in found.items())
            raise ArgumentError(
                f"the arrays are of libraries with different current streams: {streams}. Choose one by the argument "
                "stream or cuda_wheel.launch_stream, or make one stream current in all of them"
            )
        return next(iter(found.values()))

    return find


def _stream_text(address: int) -> str:
    return hex(address) if address > 1 else "the default stream"
