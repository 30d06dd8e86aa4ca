"""Find the current stream of the library whose arrays a launch or a copy is given."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..driver import current_device, device_count
from ..errors import ArgumentError
from ..memory import dlpack
from ..memory.arrays_in_use import LEGACY, PER_THREAD, same_stream
from .buffers import is_array, is_of

__all__ = ["CurrentStreams", "array_stream", "by_arrays", "named_stream", "producer_stream"]

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
        if (interface := getattr(array, "__cuda_array_interface__", None)) and not dlpack.exports(type(array)):
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
    if kind in (int, type(None)) or dlpack.exports(kind):
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
