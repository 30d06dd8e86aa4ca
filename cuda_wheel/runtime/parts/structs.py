"""Convert bytes, vectors and complex numbers to kernel arguments that are structs."""

import ctypes
import re
import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..arguments import (
    Converter,
    FloatConverter,
    is_array,
    is_of,
    is_on_gpu,
    plain_number,
    type_name,
    value_text,
)
from ..errors import ArgumentError
from .buffers import host_bytes
from .dtypes import COMPLEX, vector_format

if TYPE_CHECKING:
    from ..arguments import Kept

__all__ = ["StructConverter"]


_NUMBER_FORMATS = [*"?bhHiIlLqQefd"]
"""Formats of `struct` that mean a number. A buffer whose elements have such a format holds numbers. "B" is missing: a
buffer of that format holds raw bytes."""


_UNPACKED = re.compile(r"(at|torch|torch::headeronly(::detail)?)::(HeaderOnly)?TensorAccessor<")


class StructConverter(Converter):
    """Converts a buffer of the struct's size, or a struct of cuda.bindings, to bytes.

    For a vector or complex type, it also accepts its numbers. A single number is not accepted for a struct of its size:
    whether its value or its bytes are meant is not certain.
    """

    def __init__(self, size: int, cpp: str) -> None:
        super().__init__(f"{size}s")
        self._size = size
        self._complex = COMPLEX.search(cpp) is not None
        self._vector = vector_format(size, cpp)
        self._ctypes: set[type] = set()
        """Types of ctypes structures that `convert` has accepted before. `bytes(value)` converts a value of such a
        type."""
        self._help = ""
        if cpp in ("CUtensorMap", "CUtensorMap_st"):
            self._help = ": cuda_wheel.tensor_map(array, box) makes its tensor map"
        elif _UNPACKED.match(cpp):
            self._help = (
                ": an accessor that is not packed only points to its sizes and strides, which the kernel would read in "
                "memory of the GPU. Let the kernel take an at::PackedTensorAccessor32"
            )

    def expression(self, value: str, name: str) -> str:
        return f"convert_{name}({value}, kept)"

    def namespace(self, name: str) -> dict[str, Any]:
        return {f"convert_{name}": self.convert}

    def convert(self, value: Any, kept: "Kept") -> bytes:
        """Return the bytes of an argument; raise TypeError for a wrong one."""
        kind = type(value)
        if kind in self._ctypes:
            return bytes(value)
        if kind is bytes and len(value) == self._size and not self._vector:
            return value  # type: ignore[no-any-return]
        if getattr(value, "kept_by_launches", False):  # a tensor map, whose array the kernel uses
            kept.append((value, None))
        elif isinstance(value, ctypes.Structure) and ctypes.sizeof(value) == self._size and not self._vector:
            self._ctypes.add(kind)
            return bytes(value)
        if hasattr(value, "struct_of_size"):  # a struct with several layouts
            value = value.struct_of_size(self._size)
        return self._converted(plain_number(value))

    def _converted(self, value: Any) -> bytes:
        """Return the bytes of an argument for the struct. Raise TypeError for an argument that does not fit.

        The argument is a buffer of the struct's size, or an object of cuda.bindings or cuda.core that holds a struct.
        For a vector or complex type, it may also be numbers, such as (1.0, 2.0).
        """
        numbers = self._numbers(value) if self._vector else None
        if numbers is not None:
            return self._packed(numbers, value)
        if type(value).__module__.startswith("cuda.bindings.") and hasattr(value, "getPtr"):  # such as CUtensorMap
            return ctypes.string_at(value.getPtr(), self._size)
        if is_of(type(value), "cuda", "TensorMapDescriptor") and self._size == _TENSOR_MAP:
            return _descriptor_bytes(value)
        view = self._bytes_of(value)
        if self._vector and not _holds(view.format, self._vector[-1]):
            raise TypeError(f"takes elements of format {self._vector[-1]}, not {view.format}; see the module struct")
        if view.nbytes != self._size:
            raise TypeError(f"takes a struct of {self._size} bytes, not {view.nbytes} bytes")
        return view.tobytes()

    def _bytes_of(self, value: Any) -> memoryview:
        """Return the memory of a buffer. Raise TypeError for any other value, such as a number or an array on the
        GPU."""
        if is_on_gpu(value):
            raise TypeError(f"takes a struct of {self._size} bytes by value, not an array on the GPU{self._help}")
        if _is_number(value):
            raise TypeError(
                f"takes a struct of {self._size} bytes, not the number {value_text(value)}: if its bytes are meant, "
                "pass those, such as numpy.float32(1).tobytes()"
            )
        try:
            return memoryview(value.tobytes()) if _has_overlapping_fields(value) else host_bytes(value)
        except ArgumentError as error:
            reason = f" ({error})" if is_array(type(value)) else ""
            raise TypeError(f"takes a struct of {self._size} bytes, not {type_name(type(value))}{reason}") from None

    def _packed(self, numbers: Sequence[Any], value: Any) -> bytes:
        """Return the bytes of a vector with these numbers as elements; raise TypeError if they do not fit.

        `value` is the argument that the numbers come from, for the error message.
        """
        is_float = self._vector[-1] in "efd"
        try:
            plain = map(plain_number, numbers)
            return struct.pack(self._vector, *(map(_REAL.convert, plain) if is_float else plain))
        except struct.error as error:
            raise TypeError(f"{value_text(value)} does not fit: {error}") from None

    def _numbers(self, value: Any) -> Sequence[Any] | None:
        """Return the numbers in an argument for a vector or complex type. Return None for an argument whose bytes are
        used as they are.

        (1, 2) -> (1, 2). 1+2j -> (1.0, 2.0). A buffer of numbers -> the numbers in it. 3 -> (3,) for a vector type.
        """
        if isinstance(value, (tuple, list)):
            return value
        from numbers import Complex, Real  # imported when a value is no tuple

        # Before the buffer below, which NumPy's numbers have too: the 8 bytes of a double are not a float2.
        if isinstance(value, Complex):
            return (value.real, value.imag) if self._complex or not isinstance(value, Real) else (value,)
        if is_of(type(value), "numpy", "MaskedArray"):
            return None
        with suppress(TypeError, ValueError, BufferError):
            view = memoryview(value)
            format: Any = view.format.lstrip("@=<")  # ctypes has "<f"
            format = format.removeprefix("Z")  # a complex number is two numbers
            if format in _NUMBER_FORMATS:
                return struct.unpack(f"{view.nbytes // struct.calcsize(format)}{format}", view.tobytes())
        return None


def _has_overlapping_fields(value: Any) -> bool:
    """Return whether a value is a NumPy record, or an array of records, in which two fields overlap (a union). Python
    cannot export such a value as a buffer."""
    if not (is_of(type(value), "numpy", "void") or is_of(type(value), "numpy", "ndarray")) or not value.dtype.fields:
        return False
    try:
        memoryview(value)
    except ValueError:
        return bool(value.dtype.isnative)
    return False


def _descriptor_bytes(descriptor: Any) -> bytes:
    """Return the 128 bytes of the CUtensorMap in `descriptor`, a TensorMapDescriptor of cuda.core.

    Raise TypeError if this version of cuda.core gives no access to them.
    """
    try:
        from cuda.core._kernel_arg_handler import ParamHolder  # optional

        # No public attribute has the bytes. This private class, which prepares the arguments of a launch, has their
        # address.
        holder = ParamHolder([descriptor])
        address = ctypes.c_void_p.from_address(holder.ptr).value
    except (ImportError, AttributeError, TypeError) as error:
        raise TypeError(
            f"this version of cuda.core does not give its tensor map ({error}): use cuda_wheel.tensor_map"
        ) from None
    return ctypes.string_at(address or 0, _TENSOR_MAP)


_TENSOR_MAP = 128
"""Size in bytes of a CUtensorMap, the driver's struct for a tensor map."""

_REAL = FloatConverter("d")
"""Converter to a C double. It checks and converts each element of a vector of floating-point numbers."""


def _is_number(value: Any) -> bool:
    """Return whether a value is one number of Python or ctypes, or a scalar of NumPy. True for 3 and
    `numpy.float32(1)`; False for bytes and for a NumPy record."""
    from numbers import Number  # imported when a value is no tuple

    if isinstance(value, (bytes, bytearray)):
        return False
    if is_of(type(value), "numpy", "generic"):
        return not is_of(type(value), "numpy", "void")
    return isinstance(value, (Number, ctypes._SimpleCData))


def _holds(format: str, element: str) -> bool:
    """Return whether a buffer of elements of this `format` can be read as a vector of elements of the format `element`.

    ("<i", "i") -> True. ("<f", "i") -> False. ("B", "i") -> True: bytes suit any vector. Source: Python, "struct" and
    PEP 3118.
    """
    codes = re.findall(r"[a-zA-Z?]", re.sub(r":[^:]*:|T\{|\d+[sx]", "", format))
    return set(map(_number_kind, codes)) <= {_number_kind(element), *map(_number_kind, "Bcsx")}


def _number_kind(code: str) -> tuple[str, int]:
    """Return (kind, size in bytes) of a format character of `struct`: "H" -> ("u", 2).

    Kinds: "f" for a float, "i" for a signed integer, "u" for an unsigned integer. Any other character is its own kind.
    """
    kind = "f" if code in "efdg" else "u" if code in "BHILQ" else "i" if code in "bhilq" else code
    return kind, struct.calcsize(code) if code in _NUMBER_FORMATS else 1
