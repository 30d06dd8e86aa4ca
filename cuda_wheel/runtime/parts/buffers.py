"""Read the memory of whole arrays and buffers, on the host and on the GPU, for copies and for structs."""

import re
from typing import Any

from ..arguments import BIG_ENDIAN, is_of, item_size, refuse_interface, refuse_lazy, type_name
from ..errors import ArgumentError

__all__ = ["device_bytes", "host_bytes"]


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
