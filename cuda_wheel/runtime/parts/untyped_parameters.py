"""Convert arguments for parameters whose C++ type is unknown, or is an integer type of unknown sign."""

import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..arguments import (
    UNSIGNED_FORMATS,
    Converter,
    IntegerConverter,
    Kept,
    is_array,
    is_of,
    plain_number,
    type_name,
    value_text,
)
from ..arrays import PointerConverter, Reader, is_machine_word
from ..manifest import Parameter

__all__ = ["untyped_converter"]


def untyped_converter(parameter: Parameter, check: bool) -> Converter:
    """Return the converter of a parameter's arguments, with or without checks; see `launching.converter_for`."""
    size = parameter.size
    if is_machine_word(parameter):
        return RawScalarConverter(size)
    if size == 8 and not parameter.cpp:
        return RawWordConverter(check, accept_floats=parameter.type == "b64")
    return UnknownSignConverter(size) if check else Converter(UNSIGNED_FORMATS[size])


def _word_expression(value: str, name: str, size: int) -> str:
    # Such parameters are frequent, and a call would take longer than this comparison.
    fits = f"type({value}) is int and 0 <= {value} < {1 << 8 * size - 1}"
    return f"{value} if {fits} else words_{name}[type({value})]({value})"


_as_float, _as_word = struct.Struct("<f"), struct.Struct("<I")


def _float_word(number: Any) -> int:
    word: int = _as_word.unpack(_as_float.pack(number))[0]
    return word


class _Words(dict[type, Callable[[Any], int]]):
    """Type of a number -> function that returns its bytes as an unsigned integer of `size` bytes.

    The types whose numbers all fit need no check: NumPy's of this size. Numbers of others are for `convert`.
    """

    def __init__(self, size: int, convert: Callable[[Any], int], takes_floats: bool) -> None:
        self._size = size
        self._convert = convert
        self._takes_floats = takes_floats and size == 4

    def __missing__(self, kind: type) -> Callable[[Any], int]:
        found, mask = self._convert, (1 << 8 * self._size) - 1
        if self._takes_floats and (kind is float or is_of(kind, "numpy", "float32")):
            found = _float_word
        elif kind.__module__ == "numpy" and is_of(kind, "numpy", "integer") and kind().itemsize == self._size:
            found = lambda number: int(number) & mask  # noqa: E731
        self[kind] = found
        return found


class UnknownSignConverter(IntegerConverter):
    """Converts an integer for a parameter that may be signed or unsigned.

    It accepts integers with the same bytes in both cases, and any NumPy integer of the parameter's size.
    """

    struct_converts = False  # it would write numbers that fit an unsigned parameter only

    def __init__(self, size: int) -> None:
        super().__init__(UNSIGNED_FORMATS[size])
        self._size = size

    def expression(self, value: str, name: str) -> str:
        return _word_expression(value, name, self._size)

    def namespace(self, name: str) -> dict[str, Any]:
        return {f"words_{name}": _Words(self._size, self.convert, takes_floats=False)}

    def _converted(self, number: Any) -> int:
        return integer_of_unknown_sign(number, self._size)


def integer_of_unknown_sign(number: Any, size: int) -> int:
    """Return a number's bytes as an unsigned integer of `size` bytes; raise OverflowError if it does not fit, or
    TypeError if the bytes depend on the parameter's unknown sign."""
    word = any_integer(number, size)
    is_typed = is_of(type(number), "numpy", "integer") and number.dtype.itemsize == size
    if not is_typed and word >= 1 << 8 * size - 1:  # with a sign, that would be another number
        integer = number.__index__()
        signed, type_ = ("a signed", "int") if integer < 0 else ("an unsigned", "uint")
        raise TypeError(
            f"{value_text(number)} fits {signed} parameter only, and whether this one is signed is not known: pass "
            f"numpy.{type_}{8 * size}({integer})"
        )
    return word


class RawScalarConverter(IntegerConverter):
    """Converts a scalar for a parameter of machine code, of which only the size is known.

    It accepts an integer, signed or not, a scalar of NumPy or ctypes of that size, and a float if the size is 4 bytes.
    """

    def __init__(self, size: int) -> None:
        super().__init__(UNSIGNED_FORMATS[size])
        self._size = size

    def expression(self, value: str, name: str) -> str:
        return _word_expression(value, name, self._size)

    def namespace(self, name: str) -> dict[str, Any]:
        return {f"words_{name}": _Words(self._size, self.convert, takes_floats=True)}

    def convert(self, value: Any) -> int:
        value = plain_number(value)
        if type(value) is float and self._size == 4:
            return int.from_bytes(struct.pack("<f", value), "little")
        content = _scalar_bytes(value)
        if content is None:
            return any_integer(super().convert(value), self._size)
        if len(content) != self._size:
            raise TypeError(f"takes {self._size} bytes, not the {len(content)} of {type_name(type(value))}")
        return int.from_bytes(content, "little")


def any_integer(number: Any, size: int) -> int:
    """Return a number's bytes as an unsigned integer of `size` bytes, signed or not; raise OverflowError if it does not
    fit."""
    integer: int = number.__index__()
    if not -(1 << 8 * size - 1) <= integer < 1 << 8 * size:
        raise OverflowError
    return integer & (1 << 8 * size) - 1


def _scalar_bytes(value: Any) -> bytes | None:
    """Return the bytes of a NumPy or ctypes scalar, or of a `bytes` or `bytearray`. Return None for any other value,
    such as a Python number or an array."""
    kind = type(value)
    if kind in (bytes, bytearray) or not is_array(kind):
        with suppress(TypeError, BufferError):
            return memoryview(value).tobytes()
    return None


class RawWordConverter(PointerConverter):
    """Converts an argument of 8 bytes whose C++ type is unknown: an address, or an integer with the same bytes as a
    signed and as an unsigned one.

    With `accept_floats`, for a parameter of machine code, it also accepts floats and all integers of 64 bits.
    """

    def __init__(self, check: bool, accept_floats: bool) -> None:
        super().__init__("void*", check)
        self._accept_floats = accept_floats

    def _reader_for(self, kind: type) -> Reader:
        if self._accept_floats and issubclass(kind, float):  # NumPy's float64 is a subclass
            return _read_double
        if hasattr(kind, "__index__") and not is_array(kind):
            return _read_any_integer if self._accept_floats or not self.is_checked else _read_integer
        if is_of(kind, "numpy", "bool") or is_of(kind, "numpy", "bool_") or is_of(kind, "numpy", "ndarray"):
            return self._read_plain_number
        return super()._reader_for(kind)

    def expression(self, value: str, name: str) -> str:
        fits = f"type_{value} is int and 0 <= {value} < {1 << 63}"
        return f"{value} if {fits} else read_{name}[type_{value}]({value}, device, stream, kept)"

    def _read_plain_number(self, value: Any, device: int | None, stream: int, kept: Kept) -> int:
        number = plain_number(value)
        if number is value:  # an array with dimensions
            return self._read_instance(value, device, stream, kept)
        return self[type(number)](number, device, stream, kept)


def _read_double(value: Any, device: int | None, stream: int, kept: Kept) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def _read_integer(value: Any, device: int | None, stream: int, kept: Kept) -> int:
    return integer_of_unknown_sign(value, 8)


def _read_any_integer(value: Any, device: int | None, stream: int, kept: Kept) -> int:
    return any_integer(value, 8)
