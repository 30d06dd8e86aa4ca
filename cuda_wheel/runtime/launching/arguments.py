"""Convert Python numbers and structs to kernel arguments."""

import ctypes
import re
import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ..errors import ArgumentError
from .buffers import host_bytes, is_array, is_on_gpu, type_name

__all__ = [
    "FLOAT_FORMATS",
    "LONG_TYPE_NAMES",
    "UNSIGNED_FORMATS",
    "BFloat16Converter",
    "BoolConverter",
    "Converter",
    "FloatConverter",
    "IntegerConverter",
    "RawScalarConverter",
    "StructConverter",
    "UnknownSignConverter",
    "value_text",
]

_NUMBER_FORMATS = [*"bhHiIlLqQfd"]
"""Formats of a buffer's elements that are numbers; a buffer of format B is bytes."""

_SIZES = {"B": 1, "H": 2, "I": 4, "Q": 8}

UNSIGNED_FORMATS = {size: format for format, size in _SIZES.items()}
"""The format of an unsigned integer by its size in bytes."""

FLOAT_FORMATS = {"f32": "f", "f64": "d"}
"""The format of a float by its PTX type."""

LONG_TYPE_NAMES = {
    "longlong": "long long",
    "uchar": "unsigned char",
    "ushort": "unsigned short",
    "uint": "unsigned int",
    "ulong": "unsigned long",
    "ulonglong": "unsigned long long",
}
"""The C++ type of the elements of a vector type, such as uint4, by how the vector type's name begins."""


# There is one converter for each parameter of a kernel. The function that launches the kernel (see `launcher`) writes
# all arguments with one call of struct.pack_into, for which the converter provides the format and an expression of the
# value. An exception in the expression becomes the reason in an ArgumentError.


class Converter:
    """Converts a number without checks: an integer is cut to the declared width."""

    stub_type = "Any"
    """The type of the argument for type checkers; see `cuda_wheel.runtime.module`."""

    def __init__(self, format: str) -> None:
        self.format = format
        """The argument's format for `struct`."""

    def expression(self, value: str, name: str) -> str:
        """Return the Python expression that converts the argument in the variable `value`.

        `name` is part of the names in `namespace`, so that each parameter has its own.
        """
        return value if self.format in "fd" else f"int({value}) & {(1 << 8 * _SIZES[self.format]) - 1}"

    def namespace(self, name: str) -> dict[str, Any]:
        """Return the values of the names that the expression uses."""
        return {}


class NumberConverter(Converter):
    """Converts a number of a known type.

    A value whose type is in `quick_types` is written as it is, and struct checks its range. Each type that passes the
    checks is added.
    """

    def __init__(self, format: str, takes: str, *quick_types: type) -> None:
        super().__init__(format)
        self._takes = takes
        self._quick_types = set(quick_types)

    def expression(self, value: str, name: str) -> str:
        return f"{value} if type({value}) in quick_{name} else convert_{name}({value})"

    def namespace(self, name: str) -> dict[str, Any]:
        return {f"quick_{name}": self._quick_types, f"convert_{name}": self._convert}

    def _convert(self, value: Any) -> Any:
        kind = type(value)
        if not self._accepts(kind):
            raise TypeError(f"takes {self._takes}, not {type_name(kind)}")
        self._quick_types.add(kind)
        return value

    def _accepts(self, kind: type) -> bool:
        return hasattr(kind, "__index__") and not is_array(kind)


class IntegerConverter(NumberConverter):
    stub_type = "Integer"

    def __init__(self, format: str) -> None:
        super().__init__(format, "an integer", int)


class UnknownSignConverter(IntegerConverter):
    """Converts an integer whose signedness is unknown: it accepts the signed and the unsigned range."""

    def __init__(self, size: int) -> None:
        super().__init__(UNSIGNED_FORMATS[size])
        self._low, self._high = -(1 << 8 * size - 1), (1 << 8 * size) - 1

    def expression(self, value: str, name: str) -> str:
        # Such parameters are frequent, and a call would take longer than this expression.
        fits = f"type({value}) is int and {self._low} <= {value} <= {self._high}"
        return f"{value} & {self._high} if {fits} else convert_{name}({value})"

    def _convert(self, value: Any) -> int:
        number: int = super()._convert(value).__index__()
        if not self._low <= number <= self._high:
            raise OverflowError
        return number & self._high


class RawScalarConverter(UnknownSignConverter):
    """Converts a scalar for a parameter of machine code, of which only the size is known.

    It accepts an integer, a scalar of NumPy or ctypes of that size, and a float where the size is 4 bytes.
    """

    stub_type = "Struct"

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._size = size

    def _convert(self, value: Any) -> int:
        if type(value) is float and self._size == 4:
            return int.from_bytes(struct.pack("<f", value), "little")
        content = _scalar_bytes(value)
        if content is None:
            return super()._convert(value)
        if len(content) != self._size:
            raise TypeError(f"takes {self._size} bytes, not the {len(content)} of {type_name(type(value))}")
        return int.from_bytes(content, "little")


class FloatConverter(NumberConverter):
    stub_type = "Real"

    def __init__(self, format: str) -> None:
        super().__init__(format, "a number", float, int)

    def _accepts(self, kind: type) -> bool:
        from numbers import Complex, Real  # imported when a number is neither float nor int

        if issubclass(kind, Complex):
            return issubclass(kind, Real)
        return hasattr(kind, "__float__") and not is_array(kind)


class BFloat16Converter(FloatConverter):
    def __init__(self) -> None:
        super().__init__("H")

    def expression(self, value: str, name: str) -> str:
        return f"convert_{name}({value})"

    def _convert(self, value: Any) -> int:
        """Return the upper half of the number's 32 bits, rounded to nearest, ties to even."""
        number = float(super()._convert(value))
        single = struct.pack("<f", number)
        bits: int = struct.unpack("<I", single)[0]
        if number != number:  # rounding could turn a NaN into an infinity
            return bits >> 16 | 0x40
        rounded = struct.unpack("<f", single)[0]
        # The second rounding could see a tie where the exact number is none. The last bit prevents that.
        if rounded != number:
            bits = bits - (abs(rounded) > abs(number)) | 1
        bits = bits + 0x7FFF + (bits >> 16 & 1) >> 16
        if bits & 0x7FFF == 0x7F80 and number - number == 0:
            raise OverflowError
        return bits


class BoolConverter(NumberConverter):
    stub_type = "bool"

    def __init__(self) -> None:
        super().__init__("?", "True or False", bool)

    def _convert(self, value: Any) -> bool:
        if type(value).__name__ not in ("bool_", "bool") and not (type(value) is int and value in (0, 1)):
            raise TypeError(f"takes {self._takes}, not {value_text(value)}")
        return bool(value)


class StructConverter(Converter):
    """Converts bytes, or anything with the size of the struct, or a struct of cuda.bindings.

    For a vector or complex type, it also accepts its numbers.
    """

    stub_type = "Struct"

    def __init__(self, size: int, cpp: str) -> None:
        super().__init__(f"{size}s")
        self._size = size
        vector = re.fullmatch(r"(u?)(char|short|int|long|longlong|float|double)([1-4])(_(16|32)a)?", cpp)
        complex_ = re.search(r"\bcomplex<(float|double)>$", cpp)
        self._complex = complex_ is not None
        self._vector = ""
        if vector:
            formats = {"char": "b", "short": "h", "int": "i", "longlong": "q", "float": "f", "double": "d"}
            formats["long"] = "q" if size == 8 * int(vector[3]) else "i"  # 4 bytes on Windows
            format = formats[vector[2]]
            self._vector = f"<{vector[3]}{format.upper() if vector[1] else format}"
        elif complex_:
            self._vector = f"<2{complex_[1][0]}"
        else:
            self._vector = {"dim3": "<3I", "__half2": "<2e"}.get(cpp, "")
        if (
            self._vector and struct.calcsize(self._vector) != size
        ):  # the project's own type with the name of a vector type
            self._vector = ""

    def expression(self, value: str, name: str) -> str:
        return f"convert_{name}({value})"

    def namespace(self, name: str) -> dict[str, Any]:
        return {f"convert_{name}": self._convert}

    def _convert(self, value: Any) -> bytes:
        numbers = self._numbers(value) if self._vector else None
        if numbers is not None:
            try:
                return struct.pack(self._vector, *numbers)
            except struct.error as error:
                raise TypeError(f"{value_text(value)} does not fit: {error}") from None
        if type(value).__module__.startswith("cuda.bindings.") and hasattr(value, "getPtr"):  # such as CUtensorMap
            return ctypes.string_at(value.getPtr(), self._size)
        if is_on_gpu(value):
            raise TypeError(f"takes a struct of {self._size} bytes by value, not an array on the GPU")
        try:
            content = bytes(host_bytes(value))
        except ArgumentError:
            raise TypeError(f"takes a struct of {self._size} bytes, not {type_name(type(value))}") from None
        if len(content) != self._size:
            raise TypeError(f"takes a struct of {self._size} bytes, not {len(content)} bytes")
        return content

    def _numbers(self, value: Any) -> Sequence[Any] | None:
        """Return the elements of a vector or complex value; None where the value is to be read as bytes."""
        if isinstance(value, (tuple, list)):
            return value
        from numbers import Complex, Real  # imported when a value is no tuple

        # Before the buffer below, which NumPy's numbers have too: the 8 bytes of a double are not a float2.
        if isinstance(value, Complex):
            return (value.real, value.imag) if self._complex or not isinstance(value, Real) else (value,)
        with suppress(TypeError, ValueError, BufferError):
            view = memoryview(value)
            format: Any = view.format.lstrip("@=<")  # ctypes has "<f"
            if format in _NUMBER_FORMATS:
                return memoryview(view.tobytes()).cast(format).tolist()
        return None


def _scalar_bytes(value: Any) -> bytes | None:
    """Return the bytes of a NumPy or ctypes scalar, or of a bytes object; None for a Python number or an array."""
    kind = type(value)
    if kind in (bytes, bytearray) or not is_array(kind):
        with suppress(TypeError, BufferError):
            return memoryview(value).tobytes()
    return None


def value_text(value: Any) -> str:
    """Return a value for an error message: on one line, cut after 100 characters."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # Python refuses to print an integer of thousands of digits
        return f"this {type_name(type(value))}"
    return text if len(text) <= 100 else f"{text[:100]}…"
