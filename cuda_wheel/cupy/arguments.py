"""Convert the arguments of CuPy's kernels to those of `Kernel.launch`.

CuPy passes the bytes of a value, whatever the kernel's parameter is. `Kernel.launch` converts a value to the declared
type. Where both give the same bytes, or CuPy gives bytes that mean nothing, the launch decides. The functions here are
for the rest: CuPy's own objects, values that are passed by their bytes, and those that would change in silence.
"""

import re
import struct
from collections.abc import Callable
from typing import Any

from cuda_wheel.runtime.arguments import is_of, value_text
from cuda_wheel.runtime.arrays import PointerConverter, argument_type, is_untyped, is_vector
from cuda_wheel.runtime.manifest import Parameter

__all__ = ["Convert", "converter_of"]

Convert = Callable[[Any], Any]
"""Function (argument of a CuPy kernel) -> argument for `Kernel.launch`. Raises TypeError for one with another
meaning."""


def converter_of(parameter: Parameter, long_size: int | None, check: bool) -> Convert:
    """Return the converter of a parameter's arguments. `long_size` is the number of bytes of a `long` in the module's
    code; `check` whether arrays' element types are checked."""
    kind, cpp = argument_type(parameter), parameter.cpp.removeprefix("const ")
    if kind == "Real":
        return _real
    if kind == "Integer" and not is_untyped(parameter):
        return _integer(parameter.size, is_signed=not cpp.startswith("unsigned "))
    if kind != "Struct" or is_untyped(parameter) or is_vector(cpp):
        return _plain
    array = re.fullmatch(r"CArray<(.+), (\d+), (true|false), (true|false)>", cpp)
    if array is not None:
        pointer = PointerConverter(f"{array[1]}*", check, long_size)
        return _CArray(pointer, int(array[2]), array[3] == "true", array[4] == "true")
    dimensions, rest = divmod(parameter.size - 16, 16)
    if not cpp and dimensions >= 0 and not rest:  # its type is not known, and CuPy passes an array as a CArray
        return _CArray(PointerConverter("void*", False), dimensions, False, False)
    return _struct(parameter.size)


# --- CuPy's objects -------------------------------------------------------------------------------


class _Readers(dict[type, Convert]):
    """Type of an argument -> function that returns what a launch takes for it; an entry is made at first use."""

    def __missing__(self, kind: type) -> Convert:
        self[kind] = read = _reader_of(kind)
        return read


def _reader_of(kind: type) -> Convert:
    if any(is_of(kind, "cupy", name) for name in ("MemoryPointer", "TextureObject", "SurfaceObject")):
        return lambda value: value.ptr
    return _single if is_of(kind, "numpy", "ndarray") else _unchanged


def _unchanged(value: Any) -> Any:
    return value


def _single(array: Any) -> Any:
    """Return the only element of a NumPy array, as CuPy passes it; any other array unchanged, which a launch
    refuses."""
    return array.reshape(())[()] if array.size == 1 else array


_readers = _Readers()


def _plain(value: Any) -> Any:
    return _readers[type(value)](value)


# --- numbers --------------------------------------------------------------------------------------


class _Widths(dict[type, int]):
    """Type of an argument -> bytes that CuPy passes for an integer or bool; 0 for all else."""

    def __missing__(self, kind: type) -> int:
        numpy = any(is_of(kind, "numpy", name) for name in ("integer", "bool", "bool_"))
        self[kind] = width = kind(0).nbytes if numpy else {int: 8, bool: 1}.get(kind, 0)
        return width


_widths = _Widths()


def _real(value: Any) -> Any:
    """Return a number for a floating-point parameter. Raise TypeError for an integer: CuPy passes its bits, which are
    another number unless all are 0."""
    value = _plain(value)
    if _widths[type(value)] and value != 0:
        raise TypeError(
            f"takes a floating-point number, not the integer {value_text(value)}, of which CuPy would pass the bits: "
            f"pass {value_text(float(value))}"
        )
    return value


def _integer(size: int, is_signed: bool) -> Convert:
    """Return the converter of an integer parameter of so many bytes.

    A number as wide as the parameter is passed by its bits, as by CuPy, for which a Python integer has 8 bytes:
    numpy.uint32(4294967295) is -1 for an `int`. Others keep their value, or a launch refuses them.
    """
    bits = 8 * size
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)

    def convert(value: Any) -> Any:
        value = _plain(value)
        if _widths[type(value)] != size or least <= value <= most or not -(1 << 63) <= value < 1 << 64:
            return value
        pattern = int(value) & (1 << bits) - 1
        return pattern - (1 << bits) if is_signed else pattern

    return convert


# --- structs --------------------------------------------------------------------------------------


def _struct(size: int) -> Convert:
    """Return the converter of a struct of so many bytes, for which a number that CuPy passes in as many bytes stands by
    its bytes: numpy.float16(1.5) for CuPy's type `float16`."""

    def convert(value: Any) -> Any:
        value = _plain(value)
        content = _number_bytes(value)
        return content if content is not None and len(content) == size else value

    return convert


def _number_bytes(value: Any) -> bytes | None:
    """Return the bytes of a number, as CuPy passes it; None for all else. Source: CuPy, cupy/_core/_scalar.pyx."""
    kind = type(value)
    if kind is int and -(1 << 63) <= value < 1 << 64:
        return int(value).to_bytes(8, "little", signed=value < 0)
    if kind in (float, complex):
        return struct.pack("<d", value) if kind is float else struct.pack("<dd", value.real, value.imag)
    is_scalar = is_of(kind, "numpy", "generic") and not is_of(kind, "numpy", "void")
    return bytes(value.tobytes()) if is_scalar else None


class _CArray:
    """Converts an array of CuPy to `CArray` of <cupy/carray.cuh>: the address, and the size, shape and strides in 64
    bits, strides in bytes. Source: CuPy, cupy/_core/include/cupy/carray.cuh."""

    def __init__(self, pointer: PointerConverter, dimensions: int, c_order: bool, index_32_bits: bool) -> None:
        self._pointer = pointer
        self._dimensions = dimensions
        self._c_order = c_order
        self._index_32_bits = index_32_bits
        self._pack = struct.Struct(f"<Qq{2 * dimensions}q").pack
        self._as_struct = _struct(16 + 16 * dimensions)

    def __call__(self, value: Any) -> Any:
        if not is_of(type(value), "cupy", "ndarray"):
            return self._as_struct(value)
        self._pointer.check_dtype(value.dtype.name)
        if value.ndim != self._dimensions:
            raise TypeError(f"takes an array of {self._dimensions} dimensions, not of {value.ndim}")
        if self._c_order and not value.flags.c_contiguous:
            raise TypeError("takes an array in C order without gaps: pass cupy.ascontiguousarray(array)")
        if self._index_32_bits and not value._index_32_bits:
            raise TypeError(f"is an array of {value.nbytes} bytes, which an index of 32 bits does not reach")
        return self._pack(value.data.ptr, value.size, *value.shape, *value.strides)
