"""Read buffers and arrays: their addresses, sizes and kinds."""

from typing import Any

from ..errors import ArgumentError

__all__ = ["device_bytes", "host_bytes", "is_array", "is_on_gpu", "item_size", "type_name"]


def is_on_gpu(value: Any) -> bool:
    """Return whether a value is an array on the GPU, by its own word."""
    # The value itself: PyTorch's and JAX's classes are the same for arrays in the memory of the host.
    return hasattr(value, "__cuda_array_interface__")


def device_bytes(array: Any) -> tuple[int, int]:
    """Return address and size in bytes of a contiguous array on the GPU; raises ArgumentError for another."""
    interface = array.__cuda_array_interface__
    shape = interface["shape"]
    strides = interface.get("strides") or [None] * len(shape)
    size = item_size(interface["typestr"])
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if stride not in (None, size) and length > 1 and 0 not in shape:
            raise ArgumentError(f"the {type_name(type(array))} is not contiguous")
        size *= length
    return int(interface["data"][0] or 0), size


def is_array(kind: type) -> bool:
    # In the class itself: an enumeration's own class has a length, and an IntEnum is a number.
    names = ("__len__", "__cuda_array_interface__", "__dlpack__")
    return any(name in base.__dict__ for base in kind.__mro__ for name in names)


def host_bytes(data: Any) -> memoryview:
    """Return a view of a contiguous buffer; raises ArgumentError for anything else."""
    try:
        view = memoryview(data)
    except (TypeError, ValueError, BufferError) as error:
        raise ArgumentError(f"{type_name(type(data))} is no buffer in the memory of the host ({error})") from None
    if view.format == "O":
        raise ArgumentError(f"the {type_name(type(data))} holds Python's objects, and not their content")
    if not view.c_contiguous:
        raise ArgumentError(f"the {type_name(type(data))} is not contiguous: numpy.ascontiguousarray makes it so")
    return view


def item_size(typestr: str) -> int:
    return int(typestr[2:].partition("[")[0])  # "<M8[ns]"


def type_name(kind: type) -> str:
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
