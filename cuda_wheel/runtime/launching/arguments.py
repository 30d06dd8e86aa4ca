"""Convert Python numbers and structs to the bytes of kernel arguments."""

import ctypes
import re
import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ..errors import ArgumentError
from .buffers import host_bytes, is_array, is_on_gpu, type_name

__all__ = [
    "FLOATS",
    "NUMBERS",
    "UNSIGNED",
    "VECTORS",
    "WIDTHS",
    "Argument",
    "BFloat16",
    "Bool",
    "EitherInteger",
    "Integer",
    "Number",
    "Real",
    "Struct",
    "UnknownScalar",
    "scalar_bytes",
    "value_text",
]


#
# One object for each parameter: the `format` in which `struct` writes it, the `expression` that stands for a value in
# the launching function, and the `names` that this uses. What goes wrong in an expression becomes the reason in an
# ArgumentError.


class Argument:
    """A number without checks: cut to the width that is declared."""

    hint = "Any"
    """What type checkers know an argument by."""

    def __init__(self, format: str) -> None:
        self.format = format

    def expression(self, value: str, name: str) -> str:
        return value if self.format in "fd" else f"int({value}) & {(1 << 8 * WIDTHS[self.format]) - 1}"

    def names(self, name: str) -> dict[str, Any]:
        return {}


NUMBERS = [*"bhHiIlLqQfd"]
"""Formats of a buffer's elements that are numbers; of format B it is bytes."""


WIDTHS = {"B": 1, "H": 2, "I": 4, "Q": 8}


UNSIGNED = {size: format for format, size in WIDTHS.items()}


FLOATS = {"f32": "f", "f64": "d"}


class Number(Argument):
    """A number of a known type. What is of a type in `quick` is written as it is, and struct sees to its range."""

    def __init__(self, format: str, takes: str, *quick: type) -> None:
        super().__init__(format)
        self._takes = takes
        self._quick = set(quick)

    def expression(self, value: str, name: str) -> str:
        return f"{value} if type({value}) in quick_{name} else convert_{name}({value})"

    def names(self, name: str) -> dict[str, Any]:
        return {f"quick_{name}": self._quick, f"convert_{name}": self._convert}

    def _convert(self, value: Any) -> Any:
        kind = type(value)
        if not self._suits(kind):
            raise TypeError(f"takes {self._takes}, not {type_name(kind)}")
        self._quick.add(kind)
        return value

    def _suits(self, kind: type) -> bool:
        return hasattr(kind, "__index__") and not is_array(kind)


class Integer(Number):
    hint = "Integer"

    def __init__(self, format: str) -> None:
        super().__init__(format, "an integer", int)


class EitherInteger(Integer):
    """An integer of unknown sign: of either sign's range."""

    def __init__(self, size: int) -> None:
        super().__init__(UNSIGNED[size])
        self._low, self._high = -(1 << 8 * size - 1), (1 << 8 * size) - 1

    def expression(self, value: str, name: str) -> str:
        # Such numbers are frequent, and a call would take longer than this.
        fits = f"type({value}) is int and {self._low} <= {value} <= {self._high}"
        return f"{value} & {self._high} if {fits} else convert_{name}({value})"

    def _convert(self, value: Any) -> int:
        number: int = super()._convert(value).__index__()
        if not self._low <= number <= self._high:
            raise OverflowError
        return number & self._high


class UnknownScalar(EitherInteger):
    """Bytes of machine code of which nothing more is known: an integer, of four bytes a float too, or a scalar of NumPy
    or ctypes that has just so many."""

    hint = "Struct"

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._size = size

    def _convert(self, value: Any) -> int:
        if type(value) is float and self._size == 4:
            return int.from_bytes(struct.pack("<f", value), "little")
        content = scalar_bytes(value)
        if content is None:
            return super()._convert(value)
        if len(content) != self._size:
            raise TypeError(f"takes {self._size} bytes, not the {len(content)} of {type_name(type(value))}")
        return int.from_bytes(content, "little")


class Real(Number):
    hint = "Real"

    def __init__(self, format: str) -> None:
        super().__init__(format, "a number", float, int)

    def _suits(self, kind: type) -> bool:
        from numbers import Complex, Real

        if issubclass(kind, Complex):
            return issubclass(kind, Real)
        return hasattr(kind, "__float__") and not is_array(kind)


class BFloat16(Real):
    def __init__(self) -> None:
        super().__init__("H")

    def expression(self, value: str, name: str) -> str:
        return f"convert_{name}({value})"

    def _convert(self, value: Any) -> int:
        """Return the upper half of the number's 32 bits, rounded to the nearest, to even in the middle."""
        number = float(super()._convert(value))
        single = struct.pack("<f", number)
        bits: int = struct.unpack("<I", single)[0]
        if number != number:  # rounding could make it infinite
            return bits >> 16 | 0x40
        rounded = struct.unpack("<f", single)[0]
        if rounded != number:  # rounded twice, it could seem to be in the middle: its last bit says that it is not
            bits = bits - (abs(rounded) > abs(number)) | 1
        bits = bits + 0x7FFF + (bits >> 16 & 1) >> 16
        if bits & 0x7FFF == 0x7F80 and number - number == 0:
            raise OverflowError
        return bits


class Bool(Number):
    hint = "bool"

    def __init__(self) -> None:
        super().__init__("?", "True or False", bool)

    def _convert(self, value: Any) -> bool:
        if type(value).__name__ not in ("bool_", "bool") and not (type(value) is int and value in (0, 1)):
            raise TypeError(f"takes {self._takes}, not {value_text(value)}")
        return bool(value)


class Struct(Argument):
    """Anything of so many bytes, or a struct of cuda.bindings; of a vector or complex type also its numbers."""

    hint = "Struct"

    def __init__(self, size: int, cpp: str) -> None:
        super().__init__(f"{size}s")
        self._size = size
        vector = re.fullmatch(r"(u?)(char|short|int|long|longlong|float|double)([1-4])(_(16|32)a)?", cpp)
        complex_ = re.search(r"\bcomplex<(float|double)>$", cpp)
        self._complex = complex_ is not None
        self._vector = ""
        if vector:
            words = {"char": "b", "short": "h", "int": "i", "longlong": "q", "float": "f", "double": "d"}
            words["long"] = "q" if size == 8 * int(vector[3]) else "i"  # 4 bytes on Windows
            word = words[vector[2]]
            self._vector = f"<{vector[3]}{word.upper() if vector[1] else word}"
        elif complex_:
            self._vector = f"<2{complex_[1][0]}"
        else:
            self._vector = {"dim3": "<3I", "__half2": "<2e"}.get(cpp, "")
        if self._vector and struct.calcsize(self._vector) != size:  # somebody's own type of such a name
            self._vector = ""

    def expression(self, value: str, name: str) -> str:
        return f"convert_{name}({value})"

    def names(self, name: str) -> dict[str, Any]:
        return {f"convert_{name}": self._convert}

    def _convert(self, value: Any) -> bytes:
        numbers = self._numbers(value) if self._vector else None
        if numbers is not None:
            try:
                return struct.pack(self._vector, *numbers)
            except struct.error as error:
                raise TypeError(f"{value_text(value)} does not fit: {error}") from None
        if type(value).__module__.startswith("cuda.bindings.") and hasattr(value, "getPtr"):  # CUtensorMap, say
            return ctypes.string_at(value.getPtr(), self._size)
        if is_on_gpu(value):
            raise TypeError(f"takes a struct of {self._size} bytes by value, not an array on the GPU")
        try:
            content = bytes(host_bytes(value))
        except ArgumentError:
            raise TypeError(f"takes a struct of {self._size} bytes, not {type_name(type(value))}") from None
        if len(content) != self._size:
            raise TypeError(f"takes a struct of {self._size} bytes, not of {len(content)}")
        return content

    def _numbers(self, value: Any) -> Sequence[Any] | None:
        """Return the numbers that stand for a vector; None for what is bytes."""
        if isinstance(value, (tuple, list)):
            return value
        from numbers import Complex, Real

        if isinstance(value, Complex):  # before the bytes that NumPy's numbers have too: of eight, not all are a float2
            return (value.real, value.imag) if self._complex or not isinstance(value, Real) else (value,)
        with suppress(TypeError, ValueError, BufferError):
            view = memoryview(value)
            format: Any = view.format.lstrip("@=<")  # of ctypes it is "<f"
            if format in NUMBERS:
                return memoryview(view.tobytes()).cast(format).tolist()
        return None


VECTORS = {"longlong": "long long", "uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned int"}


VECTORS |= {"ulong": "unsigned long", "ulonglong": "unsigned long long"}


def scalar_bytes(value: Any) -> bytes | None:
    """Return the bytes of a scalar of NumPy or ctypes, or of bytes; None for what is a number alone, or no scalar."""
    kind = type(value)
    if kind in (bytes, bytearray) or not is_array(kind):
        with suppress(TypeError, BufferError):
            return memoryview(value).tobytes()
    return None


def value_text(value: Any) -> str:
    """Return a value as an error tells it: on one line, and not all of what is long."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # an integer of thousands of digits has no decimal form
        return f"this {type_name(type(value))}"
    return text if len(text) <= 100 else f"{text[:100]}…"
