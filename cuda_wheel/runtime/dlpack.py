"""Read arrays by DLPack.

Source: DLPack, "Python Specification" and "C API"; Python array API standard, `array.__dlpack__`.
"""

import ctypes
import math
import struct
from typing import Any, NamedTuple

__all__ = ["MANAGED", "NO_WAIT", "ON_GPU", "PINNED", "PLACES", "Exported", "device_of", "export", "exports"]

ON_GPU, PINNED, MANAGED = 2, 3, 13
"""kDLCUDA, kDLCUDAHost and kDLCUDAManaged."""

PLACES = (ON_GPU, PINNED, MANAGED)
"""Where kernels can read arrays."""

NO_WAIT = -1
"""The stream of a consumer that asks the producer not to wait."""

_NEWEST = (1, 1)
"""The version of DLPack to ask for: the first with 8-bit floats. Later ones of the same major version read alike."""

_READ_ONLY, _COPIED = 1, 2
"""DLPACK_FLAG_BITMASK_READ_ONLY and DLPACK_FLAG_BITMASK_IS_COPIED."""

_NUMBERS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
"""The kinds of numbers of every size, by DLDataTypeCode."""

_OTHERS = {
    (6, 8): "bool",
    (7, 8): "float8_e3m4",
    (8, 8): "float8_e4m3",
    (9, 8): "float8_e4m3b11fnuz",
    (10, 8): "float8_e4m3fn",
    (11, 8): "float8_e4m3fnuz",
    (12, 8): "float8_e5m2",
    (13, 8): "float8_e5m2fnuz",
    (14, 8): "float8_e8m0fnu",
}
"""The other element types, as ml_dtypes names them, by DLDataTypeCode and bits."""


class Exported(NamedTuple):
    """An array that its library exported. Its memory is valid while the capsule lives."""

    capsule: Any
    address: int
    dtype: str
    """As NumPy and ml_dtypes name it."""
    bits: int
    """Of an element."""
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    """In elements; None for an array in C order."""
    read_only: bool

    @property
    def contiguous_size(self) -> int:
        """In bytes; raises TypeError if the array is not contiguous."""
        count = 1
        for length, stride in zip(reversed(self.shape), reversed(self.strides or ()), strict=bool(self.strides)):
            if stride != count and length > 1 and 0 not in self.shape:
                raise TypeError("is not contiguous")
            count *= length
        return math.prod(self.shape) * self.bits // 8


def exports(kind: type) -> bool:
    """Return whether arrays of a type export themselves by DLPack."""
    return hasattr(kind, "__dlpack__") and hasattr(kind, "__dlpack_device__")


def device_of(array: Any) -> tuple[int, int]:
    """Return the kind of memory that an array is in, as DLPack numbers them, and the device. Raises TypeError for an
    array of JAX that was deleted."""
    is_deleted = getattr(array, "is_deleted", None)
    if is_deleted is not None and is_deleted():  # JAX itself may only say that something "has no len()"
        raise TypeError("is an array that was deleted or donated")
    kind, number = array.__dlpack_device__()
    return kind, number


def export(array: Any, stream: int | None) -> Exported:
    """Return an array as its library exports it for work on a stream: its library makes the stream wait for the array.

    `stream` is 1 for the legacy default stream, `NO_WAIT`, or None for the library's own choice. Raises TypeError if
    the array is not in memory of a GPU, or is exported as a copy or in a form that a kernel cannot read; and what the
    library raises.
    """
    place, _ = device_of(array)
    if place not in PLACES:
        raise TypeError("is an array in host memory: copy it to the GPU")
    options: dict[str, Any] = {} if place == PINNED else {"stream": stream}
    try:
        capsule = array.__dlpack__(max_version=_NEWEST, copy=False, **options)
    except TypeError:  # a library that has fewer arguments: before DLPack 1.0, or with that only the version
        try:
            capsule = array.__dlpack__(max_version=_NEWEST, **options)
        except TypeError:
            capsule = array.__dlpack__(**options)
    name = _capsule_function("PyCapsule_GetName", ctypes.c_char_p)(capsule)
    pointer = _capsule_function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_char_p)(capsule, name)
    flags = 0
    if name == b"dltensor_versioned":  # version, context, deleter and flags come before the DLTensor
        major, minor, flags = struct.unpack("<II16xQ", ctypes.string_at(pointer, 32))
        if major != _NEWEST[0]:
            raise TypeError(f"is exported by DLPack {major}.{minor}, which is not known here")
        pointer += 32
    if flags & _COPIED:
        raise TypeError("is exported as a copy, not as the memory that it has")
    content = ctypes.string_at(pointer, 48)
    address, _, _, ndim, code, bits, lanes, shape_at, strides_at, offset = struct.unpack("<QiiiBBHQQQ", content)
    if lanes != 1:
        raise TypeError(f"has vectors of {lanes} numbers as elements")
    shape = _numbers(shape_at, ndim)
    if not address and 0 not in shape:
        raise TypeError("is an array without memory")
    dtype = f"{_NUMBERS[code]}{bits}" if code in _NUMBERS else _OTHERS.get((code, bits), f"DLPack's type {code}")
    strides = _numbers(strides_at, ndim) if strides_at else None
    return Exported(capsule, address + offset, dtype, bits, shape, strides, bool(flags & _READ_ONLY))


def _numbers(address: int, count: int) -> tuple[int, ...]:
    return struct.unpack(f"<{count}q", ctypes.string_at(address, 8 * count)) if count else ()


def _capsule_function(name: str, result: Any, *further: Any) -> Any:
    """Return a function of Python's C API that takes a capsule."""
    # The function object in ctypes.pythonapi is shared, and other code may set its types: use a private one.
    return ctypes.PYFUNCTYPE(result, ctypes.py_object, *further)((name, ctypes.pythonapi))
