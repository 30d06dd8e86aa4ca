"""Convert arguments for parameters by value that few kernels have: accessors of tensors, C++ arrays, bfloat16.

An array on the GPU becomes a packed accessor or a `TensorInfo`: its address, sizes and strides. A sequence of numbers
or arrays becomes a `std::array`. Bytes are accepted for both, as for any other struct.
"""

import re
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import prod
from typing import Any, NamedTuple

from ..arguments import (
    Converter,
    FloatConverter,
    IntegerConverter,
    Kept,
    NumberConverter,
    exports,
    is_of,
    is_on_gpu,
    type_name,
    value_text,
)
from ..arrays import PointerConverter, Reader, number_type
from ..manifest import Parameter
from .structs import StructConverter

__all__ = ["Accessor", "AccessorConverter", "BFloat16Converter", "accessor_of", "by_value_converter", "template_of"]


_ARRAYS = ("std::array", "cuda::std::array", "at::detail::Array")


def by_value_converter(
    parameter: Parameter, check: bool, long_size: int | None, converter_for: Callable[..., Converter]
) -> Converter:
    """Return the converter for a parameter by value; see `launching.converter_for`, which is passed for the elements of
    arrays."""
    size, cpp = parameter.size, parameter.cpp
    if number_type(cpp) == "__nv_bfloat16":
        return BFloat16Converter()
    accessor = accessor_of(parameter)
    if accessor is not None:
        kind = AccessorConverter if accessor.dimensions else TensorInfoConverter
        return kind(parameter, accessor, check, long_size)
    name, arguments = template_of(cpp)
    length = _length(arguments)
    if name in _ARRAYS and length and size % length == 0:
        # Not the PTX type, for that of an element is not known: the C++ type alone decides.
        element = converter_for(Parameter("b8", 0, size // length, arguments[0]), check, long_size)
        if isinstance(element, PointerConverter):
            return AddressesConverter(parameter, length, element)
        # Without checks, too: an array is no place for a number that is cut to its width.
        element = converter_for(Parameter("b8", 0, size // length, arguments[0]), True, long_size)
        if isinstance(element, NumberConverter):
            return NumbersConverter(parameter, length, element, is_char=arguments[0] == "char")
    return StructConverter(size, cpp)


# --- numbers of 16 bits -------------------------------------------------------------------------


class BFloat16Converter(FloatConverter):
    """Converts a number to bfloat16, the upper 16 bits of a float."""

    struct_converts = False  # it would write an integer as the bits

    def __init__(self) -> None:
        super().__init__("H")

    def expression(self, value: str, name: str) -> str:
        return f"convert_{name}({value})"

    def convert(self, value: Any) -> int:
        """Return the 16 bits of the nearest bfloat16, ties to even; raise OverflowError if that is infinite."""
        number = float(super().convert(value))
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


# --- the types -------------------------------------------------------------------------------------


class Accessor(NamedTuple):
    """Element type, number of dimensions and index type of a packed accessor or a `TensorInfo`."""

    element: str
    """C++ type of the elements, with `const` if the kernel only reads them."""
    dimensions: int
    """0 for a `TensorInfo`, which has as many as the array."""
    index_format: str
    """`struct` format of one size or stride in the accessor: "i" for 4 bytes, "q" for 8."""

    @property
    def pointer(self) -> str:
        """C++ type of a pointer to the elements."""
        return f"{self.element}*"


def accessor_of(parameter: Parameter) -> Accessor | None:
    """Return the description of a parameter's type if that is a packed accessor or a `TensorInfo` of PyTorch; else
    None.

    The layout of an accessor is the address, the sizes and the strides; a `TensorInfo` has room for 25 of both, and
    then the number of dimensions. The size of the parameter, not the name of the type, decides whether sizes and
    strides have 4 or 8 bytes. Sources: PyTorch, torch/headeronly/core/TensorAccessor.h and
    ATen/cuda/detail/TensorInfo.cuh.
    """
    name, arguments = template_of(parameter.cpp)
    if name == "at::cuda::detail::TensorInfo":
        found = next((index for index, size in _INFO_SIZES.items() if size == parameter.size), None)
        return Accessor(arguments[0], 0, found) if found else None
    if not re.fullmatch(r"(at|torch|torch::headeronly(::detail)?)::\w*PackedTensorAccessor(32|64)?", name):
        return None
    if name == "torch::headeronly::detail::GenericPackedTensorAccessor":  # after the accessor of a row, and a check
        arguments = arguments[2:]
    dimensions = _length(arguments)
    for index, size in (("i", 4), ("q", 8)):
        if dimensions and parameter.size == 8 + 2 * dimensions * size:
            return Accessor(arguments[0], dimensions, index)
    return None


_ROOM = 25
"""Sizes, and strides, that a `TensorInfo` has room for; it has one dimension less. Source: as in `accessor_of`."""
_INFO_SIZES = {index: struct.calcsize(f"<Q{2 * _ROOM}{index}i4x") for index in "iq"}
"""`struct` format of one size or stride -> size of a `TensorInfo` in bytes, with padding at the end."""


def template_of(cpp: str) -> tuple[str, list[str]]:
    """Return a template's name and arguments: "std::array<float, 3ul>" -> ("std::array", ["float", "3ul"])."""
    name, _, rest = cpp.partition("<")
    arguments, depth = [""], 0
    for char in rest[:-1]:
        depth += (char in "<(") - (char in ">)")
        if char == "," and not depth:
            arguments.append("")
        else:
            arguments[-1] += char
    return name, [each.strip() for each in arguments] if rest else []


def _length(arguments: Sequence[str]) -> int:
    """Return the second argument of a template as an integer: ["float", "3ul"] -> 3. Return 0 if there is no second
    argument, or if it is not an integer."""
    number = re.fullmatch(r"(\d+)[ul]*", arguments[1]) if len(arguments) > 1 else None
    return int(number[1]) if number else 0


# --- accessors -------------------------------------------------------------------------------------

_VECTOR = re.compile(r"[a-z]+[1-4](_\d+a)?|__half2|__nv_bfloat162")
"""Matches the name of a CUDA vector type, such as "float4". If an accessor has elements of such a type, the arrays that
it accepts are not known."""


class AccessorConverter(PointerConverter):
    """Converts an array to a packed accessor of it: the address, the sizes and the strides in elements.

    The sizes and strides are read at each launch, so that a tensor may be resized between launches.
    """

    def __init__(self, parameter: Parameter, accessor: Accessor, check: bool, long_size: int | None) -> None:
        super().__init__(accessor.pointer, check, long_size)
        self.format = f"{parameter.size}s"
        self._accessor = accessor
        self._pack = struct.Struct(f"<Q{2 * accessor.dimensions}{accessor.index_format}").pack
        self._as_struct = StructConverter(parameter.size, parameter.cpp).convert
        # An array has numbers as elements, not vectors.
        if _VECTOR.fullmatch(number_type(re.sub(r"\bconst\b", "", accessor.element).strip())):
            self._dtypes = None

    def expression(self, value: str, name: str) -> str:
        here = f"(device is None or {value}.get_device() == device)"
        packed = self.tensor_expression(value, f"torch_{name}", f"dtype_{name}", here)
        return packed.format(f"read_{name}[type_{value}]({value}, device, stream, kept)", pack=f"pack_{name}")

    def tensor_expression(self, value: str, kind: str, dtype: str, here: str) -> str:
        """Return a format string of Python source that packs the argument named `value`, a PyTorch tensor.

        `kind`, `dtype` and `here` are the source for its type, its element type and the condition on its GPU. The field
        "{pack}" is the function that packs, and "{}" the source for all other values.
        """
        at, sizes, strides = f"at_{value}", f"sizes_{value}", f"strides_{value}"
        known = _has_memory(value, kind, dtype, here)
        known += f" and ({sizes} := {value}.shape) and ({strides} := {value}.stride())"
        if self._accessor.index_format == "i":  # a product that does not fit may still be right: the reader decides
            known += "".join(f" and {sizes}[{each}] * {strides}[{each}] < {1 << 31}" for each in self._dimensions)
        return f"{{pack}}({at}, *{sizes}, *{strides}) if {known} else {{}}"

    def bound_expression(self, value: str, sample: Any, device: str) -> str:
        """Return Python source for an argument of a bound launch; see `bind`."""
        if type(sample) is bytes:
            return f"{value} if type({value}) is bytes and len({value}) == {len(sample)} else refuse()"
        if not is_of(type(sample), "torch", "Tensor") or not sample.is_cuda or sample.dtype.is_complex:
            return ""
        here = "True" if device == "None" else f"{value}.get_device() == {device}"
        packed = self.tensor_expression(value, f"type_{value}", f"dtype_{value}", here)
        return packed.format("refuse()", pack=f"pack_{value}")

    def by_address_expression(self, name: str) -> str:
        """Return Python source for an argument of an operator, a tensor that it checked; see `bind`."""
        packed = self.tensor_expression(name, f"torch_{name}", f"dtype_{name}", "True")
        return packed.format("refuse()", pack=f"pack_{name}")

    @property
    def _dimensions(self) -> range:
        return range(self._accessor.dimensions)

    def namespace(self, name: str) -> dict[str, Any]:
        return {f"read_{name}": self, f"torch_{name}": None, f"dtype_{name}": None, f"pack_{name}": self._pack}

    def _reader_for(self, kind: type) -> Reader:
        read: Any = self._read_other  # the readers return bytes
        if is_of(kind, "torch", "Tensor"):
            address_of_tensor = self._torch_reader()

            def read(tensor: Any, device: int | None, stream: int, kept: Kept) -> bytes:
                return self._packed(address_of_tensor(tensor, device, stream, kept), tensor.shape, tensor.stride())

        elif is_of(kind, "cupy", "ndarray"):
            address_of_array = self._cupy_reader()

            def read(array: Any, device: int | None, stream: int, kept: Kept) -> bytes:
                address = address_of_array(array, device, stream, kept)
                return self._packed(address, array.shape, _in_elements(array.strides, array.dtype.itemsize))

        elif is_of(kind, "numpy", "ndarray"):  # which is exported, too
            pass
        elif exports(kind) or hasattr(kind, "__cuda_array_interface__"):
            read = self.reader_by_protocol(kind)
        return read  # type: ignore[no-any-return]

    def _of_dimensions(self) -> str:
        return f" of {_dimensions_text(self._accessor.dimensions)}"

    def _read_other(self, value: Any, device: int | None, stream: int, kept: Kept) -> bytes:
        """Return the bytes of an accessor. The class of `value` does not show what `value` is. It may have an array
        interface, or be the finished bytes of an accessor. Raise TypeError for any other value."""
        if is_on_gpu(value):
            read: Any = self.reader_by_protocol(type(value))  # the readers return bytes
            return bytes(read(value, device, stream, kept))
        try:
            content: bytes = self._as_struct(value, kept)
        except TypeError as error:
            raise TypeError(
                f"takes an array{self._of_dimensions()} on the GPU, or the bytes of an accessor, not "
                f"{type_name(type(value))} ({error})"
            ) from None
        return content

    def argument(self, address: int, shape: Sequence[int], strides: Sequence[int] | None, unit: int = 1) -> bytes:
        return self._packed(address, shape, strides and _in_elements(strides, unit))

    def check_dtype(self, dtype: str) -> None:
        if self.is_checked and self._dtypes is None:
            raise TypeError(
                f"is an array, but which element type has elements of the type {self._accessor.element} is not known: "
                "pass the bytes of the accessor"
            )
        super().check_dtype(dtype)

    def check_dimensions(self, number: int) -> None:
        """Raise TypeError if the kernel does not take an array of this number of dimensions."""
        if number != self._accessor.dimensions:
            raise TypeError(f"takes an array of {_dimensions_text(self._accessor.dimensions)}, not of {number}")

    def _all_bytes(self, address: int, sizes: Sequence[int], strides: Sequence[int]) -> bytes:
        return self._pack(address, *sizes, *strides)

    def _packed(self, address: int, sizes: Sequence[int], strides: Sequence[int] | None) -> bytes:
        """Return the bytes of an accessor of an array with this address and these sizes. `strides` are in elements;
        None means C order. Raise TypeError if the kernel cannot use such an array."""
        self.check_dimensions(len(sizes))
        if strides is None:
            strides = [prod(sizes[place + 1 :]) for place in range(len(sizes))]
        if not address and 0 not in sizes:
            raise TypeError("is an array without memory")
        if address & (self.alignment - 1):
            self.refuse_address(address)
        try:
            # Device code multiplies an index by a stride in integers of the accessor's size.
            last = [(size - 1) * stride for size, stride in zip(sizes, strides, strict=True)]
            struct.pack(f"<{len(last)}{self._accessor.index_format}", *last)
            return self._all_bytes(address, sizes, strides)
        except struct.error:
            raise TypeError(
                f"has the sizes {tuple(sizes)} and strides {tuple(strides)}, which are too large for an accessor of "
                f"{8 * struct.calcsize(self._accessor.index_format)} bits"
            ) from None


class TensorInfoConverter(AccessorConverter):
    """Converts an array to a `TensorInfo` of it: as an accessor, for any number of dimensions."""

    def __init__(self, parameter: Parameter, accessor: Accessor, check: bool, long_size: int | None) -> None:
        super().__init__(parameter, accessor, check, long_size)
        self._pack = struct.Struct(f"<Q{2 * _ROOM}{accessor.index_format}i4x").pack

    def tensor_expression(self, value: str, kind: str, dtype: str, here: str) -> str:
        known = _has_memory(value, kind, dtype, here)
        return f"{{pack}}(at_{value}, {value}.shape, {value}.stride()) if {known} else {{}}"

    def namespace(self, name: str) -> dict[str, Any]:
        return super().namespace(name) | {f"pack_{name}": self._packed}

    def _of_dimensions(self) -> str:
        return ""

    def check_dimensions(self, number: int) -> None:
        if number >= _ROOM:
            raise TypeError(f"takes an array of at most {_dimensions_text(_ROOM - 1)}, not of {number}")

    def _all_bytes(self, address: int, sizes: Sequence[int], strides: Sequence[int]) -> bytes:
        rest = (0,) * (_ROOM - len(sizes))
        return self._pack(address, *sizes, *rest, *strides, *rest, len(sizes))


def _has_memory(value: str, kind: str, dtype: str, here: str) -> str:
    """Return the condition of a `tensor_expression` for a tensor with memory on the GPU, which assigns its address to
    `at_{value}`."""
    known = f"type({value}) is {kind} and {value}.dtype is {dtype} and {here} and {value}.is_cuda"
    return f"{known} and not {value}.is_neg() and (at_{value} := {value}.data_ptr())"


def _in_elements(strides: Sequence[int], size: int) -> list[int]:
    """Return strides in elements, from `strides` in bytes. `size` is the number of bytes of an element. Raise TypeError
    if a stride is not a multiple of `size`."""
    if any(stride % size for stride in strides):
        raise TypeError(f"has the strides {tuple(strides)} in bytes, which are no multiples of its elements' {size}")
    return [stride // size for stride in strides]


def _dimensions_text(number: int) -> str:
    return f"{number} dimension{'' if number == 1 else 's'}"


# --- arrays of fixed length ------------------------------------------------------------------------


class NumbersConverter(StructConverter):
    """Converts a sequence of numbers to a C++ array."""

    def __init__(self, parameter: Parameter, length: int, element: NumberConverter, *, is_char: bool) -> None:
        super().__init__(parameter.size, parameter.cpp)
        self._length = length
        self._element = element
        self._is_char = is_char
        self._pack_all = struct.Struct(f"<{length}{element.format}").pack
        self._pack_one = struct.Struct(f"<{element.format}").pack
        quick: dict[type, set[type]] = {FloatConverter: {float, int}, IntegerConverter: {int}}
        self._quick_types = quick.get(type(element), set())
        """Python types of numbers that `struct.pack` takes directly. For a number of such a type, `struct.pack` returns
        the correct bytes or raises an error."""

    def convert(self, value: Any, kept: Kept) -> bytes:
        numbers: Sequence[Any] | None = value if isinstance(value, (tuple, list)) else None
        # The numbers of a buffer of chars, whose sign is not known, do not tell theirs: they are taken as bytes.
        if numbers is None and not self._is_char:
            numbers = self._numbers(value)
        if numbers is None:
            return super().convert(value, kept)
        _check_length(numbers, self._length, "numbers")
        if self._quick_types.issuperset(map(type, numbers)):
            with suppress(struct.error, OverflowError):
                return self._pack_all(*numbers)
        return b"".join(map(self._packed_number, numbers, range(self._length)))

    def _packed_number(self, number: Any, place: int) -> bytes:
        try:
            return self._pack_one(self._element.convert(number))
        except (struct.error, OverflowError):
            raise TypeError(f"element {place}: {value_text(number)} is out of range") from None
        except TypeError as error:
            raise TypeError(f"element {place} {error}") from None


class AddressesConverter(PointerConverter):
    """Converts a sequence of arrays, addresses and None to a C++ array of pointers."""

    def __init__(self, parameter: Parameter, length: int, element: PointerConverter) -> None:
        super().__init__("void*", check=False)
        self.format = f"{parameter.size}s"
        self._length = length
        self._element = element
        self._pack = struct.Struct(f"<{length}Q").pack
        self._as_struct = StructConverter(parameter.size, parameter.cpp).convert

    def expression(self, value: str, name: str) -> str:
        return f"convert_{name}({value}, device, stream, kept)"

    def bound_expression(self, value: str, sample: Any, device: str) -> str:
        """Return "": each of the arrays may be of another library, so that only an ordinary launch converts them."""
        return ""

    def by_address_expression(self, name: str) -> str:
        return "refuse()"

    def namespace(self, name: str) -> dict[str, Any]:
        return {f"convert_{name}": self._convert}

    def _convert(self, value: Any, device: int | None, stream: int, kept: Kept) -> bytes:
        if not isinstance(value, (tuple, list)):
            return self._as_struct(value, kept)
        _check_length(value, self._length, "arrays, addresses or None")
        return self._pack(*[self._address_of(each, place, device, stream, kept) for place, each in enumerate(value)])

    def _address_of(self, value: Any, place: int, device: int | None, stream: int, kept: Kept) -> int:
        try:
            address = self._element[type(value)](value, device, stream, kept)
            if address & (self._element.alignment - 1):
                self._element.refuse_address(address)
        except TypeError as error:
            raise TypeError(f"element {place} {error}") from None
        if not 0 <= address < 1 << 64:
            raise TypeError(f"element {place}: {value_text(value)} is out of range")
        return address


def _check_length(values: Sequence[Any], length: int, what: str) -> None:
    if len(values) != length:
        raise TypeError(f"takes {length} {what}, not {len(values)}")
