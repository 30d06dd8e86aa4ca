"""Read the address, size and type of arrays and buffers."""

import re
from collections.abc import Mapping
from typing import Any

from ..errors import ArgumentError

__all__ = [
    "BIG_ENDIAN",
    "device_bytes",
    "host_bytes",
    "is_array",
    "is_of",
    "is_on_gpu",
    "item_size",
    "plain_number",
    "refuse_interface",
    "refuse_lazy",
    "type_name",
]

BIG_ENDIAN = "holds big-endian numbers, and GPUs are little-endian"


def is_on_gpu(value: Any) -> bool:
    """Return whether a value says that it is an array on the GPU."""
    # The value and not its class: PyTorch's and JAX's arrays in host memory are of the same class.
    return hasattr(value, "__cuda_array_interface__")


def device_bytes(array: Any) -> tuple[int, int]:
    """Return the address and the size in bytes of an array on the GPU.

    Raises ArgumentError if it is not contiguous, or if its memory holds other numbers than the array means.
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


def is_array(kind: type) -> bool:
    """Return whether the values of a type are arrays or sequences."""
    # hasattr would find the length of an IntEnum class itself, whose values are numbers.
    names = ("__len__", "__cuda_array_interface__", "__dlpack__")
    return any(name in base.__dict__ for base in kind.__mro__ for name in names)


def host_bytes(data: Any) -> memoryview:
    """Return a view of a contiguous buffer in host memory; raise ArgumentError for anything else."""
    try:
        view = memoryview(data)
    except (TypeError, ValueError, BufferError) as error:
        raise ArgumentError(f"{type_name(type(data))} is not a buffer in host memory ({error})") from None
    if view.format == "O":
        raise ArgumentError(f"the {type_name(type(data))} holds Python objects, not their content")
    if is_of(type(data), "numpy", "MaskedArray"):
        raise ArgumentError("the numpy.MaskedArray may have masked elements: pass its filled() or its data")
    if re.search("[>!]", re.sub(":[^:]*:", "", view.format)):  # without the names of a record's fields
        raise ArgumentError(f"the {type_name(type(data))} {BIG_ENDIAN}")
    if not view.c_contiguous:
        raise ArgumentError(
            f"the {type_name(type(data))} is not contiguous: numpy.ascontiguousarray makes a contiguous copy"
        )
    return view


def refuse_interface(interface: Mapping[str, Any]) -> None:
    """Raise TypeError for an array interface of data that is not what the array means.

    Source: Numba, "CUDA Array Interface (Version 3)".
    """
    if interface["typestr"].startswith(">"):
        raise TypeError(BIG_ENDIAN)
    if interface.get("mask") is not None:
        raise TypeError("has masked elements, which a kernel would read like the others")


def refuse_lazy(array: Any) -> None:
    """Raise TypeError for a tensor of PyTorch whose memory holds other numbers than the tensor means.

    PyTorch conjugates and negates some views without touching the memory; `data_ptr` and the array interface ignore it.
    """
    for is_lazy, done, help in (("is_conj", "conjugated", "resolve_conj"), ("is_neg", "negated", "resolve_neg")):
        if getattr(array, is_lazy, bool)():
            raise TypeError(f"is a lazily {done} tensor: pass tensor.{help}()")


def is_of(kind: type, library: str, name: str) -> bool:
    """Return whether a type is a library's class of this name, or derived from it."""
    return any(base.__name__ == name and base.__module__.partition(".")[0] == library for base in kind.__mro__)


def plain_number(value: Any) -> Any:
    """Return the number in a NumPy array of no dimensions, and NumPy's bool as Python's; other values unchanged.

    A masked number stays the array that it is.
    """
    kind = type(value)
    if kind.__module__ == "builtins":
        return value
    if is_of(kind, "numpy", "ndarray") and value.shape == ():
        value = value[()]
        kind = type(value)
    return bool(value) if is_of(kind, "numpy", "bool") or is_of(kind, "numpy", "bool_") else value


def item_size(typestr: str) -> int:
    """Return the bytes of an element of an array interface's type, such as "<f4" or "<M8[ns]"."""
    return int(typestr[2:].partition("[")[0])


def type_name(kind: type) -> str:
    """Return a type's name for messages: "list", "numpy.ndarray"."""
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
