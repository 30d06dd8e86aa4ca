"""Read the address, size and type of arrays and buffers."""

from typing import Any

from ..errors import ArgumentError

__all__ = ["device_bytes", "host_bytes", "is_array", "is_on_gpu", "item_size", "type_name"]


def is_on_gpu(value: Any) -> bool:
    """Return whether a value says that it is an array on the GPU."""
    # The value and not its class: PyTorch's and JAX's arrays in host memory are of the same class.
    return hasattr(value, "__cuda_array_interface__")


def device_bytes(array: Any) -> tuple[int, int]:
    """Return the address and the size in bytes of an array on the GPU; raise ArgumentError if it is not contiguous."""
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
    if not view.c_contiguous:
        raise ArgumentError(
            f"the {type_name(type(data))} is not contiguous: numpy.ascontiguousarray makes a contiguous copy"
        )
    return view


def item_size(typestr: str) -> int:
    """Return the bytes of an element of an array interface's type, such as "<f4" or "<M8[ns]"."""
    return int(typestr[2:].partition("[")[0])


def type_name(kind: type) -> str:
    """Return a type's name for messages: "list", "numpy.ndarray"."""
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
