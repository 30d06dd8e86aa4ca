"""C++ types as clang spells them: which numbers they are, and which element type of PyTorch."""

from __future__ import annotations

import re
from functools import cache

__all__ = [
    "element_type",
    "float_bits",
    "integer_bounds",
    "is_number",
    "item_size",
    "plain",
    "pointee",
    "template_arguments",
    "template_name",
]

_INTEGERS = {
    "char": (8, True), "signed char": (8, True), "unsigned char": (8, False), "short": (16, True),
    "unsigned short": (16, False), "int": (32, True), "unsigned int": (32, False), "long": (64, True),
    "unsigned long": (64, False), "long long": (64, True), "unsigned long long": (64, False),
    "wchar_t": (32, True), "char32_t": (32, False), "char16_t": (16, False),
}  # fmt: skip
"""C++ type of an integer -> (bits, whether it is signed), on Linux."""

_FLOATS = {"float": 32, "double": 64}

_ELEMENTS = {
    "float": "torch.float32", "double": "torch.float64", "c10::Half": "torch.float16", "__half": "torch.float16",
    "c10::BFloat16": "torch.bfloat16", "__nv_bfloat16": "torch.bfloat16", "unsigned char": "torch.uint8",
    "signed char": "torch.int8", "char": "torch.int8", "short": "torch.int16", "unsigned short": "torch.uint16",
    "int": "torch.int32", "unsigned int": "torch.uint32", "long": "torch.int64", "long long": "torch.int64",
    "unsigned long": "torch.uint64", "unsigned long long": "torch.uint64", "bool": "torch.bool",
    "c10::complex<float>": "torch.complex64", "c10::complex<double>": "torch.complex128",
    "c10::Float8_e4m3fn": "torch.float8_e4m3fn", "c10::Float8_e5m2": "torch.float8_e5m2",
}  # fmt: skip
"""C++ type of a tensor's element -> element type of PyTorch.

With namespaces, unlike `aten.ELEMENT_TYPES`: a project may have a `Half` of its own.
"""

_SIZES = {
    "64": 8,
    "32": 4,
    "16": 2,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
    "complex64": 8,
    "complex128": 16,
    "8_e4m3fn": 1,
    "8_e5m2": 1,
}


@cache
def plain(type_: str) -> str:
    """Return a C++ type without reference, and without `const` of the value itself."""
    type_ = type_.strip()
    while True:
        if type_.endswith("&"):
            type_ = type_.rstrip("& ")
        elif type_.endswith(("*__restrict", "* __restrict", "*__restrict__")):
            type_ = type_[: type_.rindex("*") + 1]
        elif type_.endswith("*const"):
            type_ = type_.removesuffix("const").strip()
        elif type_.startswith("const ") and not type_.endswith("*"):
            type_ = type_.removeprefix("const ").strip()
        elif type_.startswith("volatile "):
            type_ = type_.removeprefix("volatile ").strip()
        else:
            return type_


def pointee(type_: str) -> str | None:
    """Return what a pointer points to, without `const`; None for a type that is no pointer."""
    type_ = plain(type_)
    return plain(type_[:-1].strip()).removeprefix("const ") if type_.endswith("*") else None


def integer_bounds(type_: str) -> tuple[int, int] | None:
    """Return the least and the greatest value of an integer type or bool; None for another type."""
    type_ = plain(type_)
    if type_ == "bool":
        return 0, 1
    if type_ not in _INTEGERS:
        return None
    bits, is_signed = _INTEGERS[type_]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)


def float_bits(type_: str) -> int | None:
    """Return 32 for float, 64 for double, None for another type."""
    return _FLOATS.get(plain(type_))


def is_number(type_: str) -> bool:
    """Return whether a type is that of an integer, a bool, float or double."""
    return integer_bounds(type_) is not None or float_bits(type_) is not None


def element_type(type_: str) -> str | None:
    """Return the element type of PyTorch, as "torch.float32", for the C++ type of an element; None if there is none."""
    return _ELEMENTS.get(plain(type_))


def item_size(type_: str) -> int | None:
    """Return the size of an element in bytes; None if it is not known."""
    found = element_type(type_)
    if found is None:
        vector = re.fullmatch(r"(u?(?:char|short|int|long|longlong)|float|double)([1234])", plain(type_))
        if vector is None:
            return None
        size = {"char": 1, "short": 2, "int": 4, "float": 4}.get(vector[1].removeprefix("u"), 8)
        return size * int(vector[2])
    name = found.removeprefix("torch.")
    for part in ("complex128", "complex64", "8_e4m3fn", "8_e5m2", "64", "32", "16", "uint8", "int8", "bool"):
        if name.endswith(part):
            return _SIZES[part]
    return None


def template_name(type_: str) -> str:
    """Return the name of a template's instance without its arguments: "std::vector" for "std::vector<int>"."""
    return plain(type_).partition("<")[0]


def template_arguments(type_: str) -> list[str]:
    """Return the arguments of a template's instance: ["int", "A<B, C>"] for "F<int, A<B, C>>"."""
    text = plain(type_)
    start = text.find("<")
    if start < 0 or not text.endswith(">"):
        return []
    found, depth, begin = [], 0, start + 1
    for number, character in enumerate(text):
        if number <= start:
            continue
        if character in "<(":
            depth += 1
        elif character in ">)" and depth:
            depth -= 1
        elif (character == "," and not depth) or number == len(text) - 1:
            found.append(text[begin:number].strip())
            begin = number + 1
    return [each for each in found if each]
