"""Say which arrays and addresses a pointer to vectors (float4, __half2) or complex numbers accepts."""

import re

__all__ = ["alignment", "numbers_of"]


_ELEMENTS = {
    "longlong": "long long",
    "uchar": "unsigned char",
    "ushort": "unsigned short",
    "uint": "unsigned int",
    "ulong": "unsigned long",
    "ulonglong": "unsigned long long",
}
"""Name of a vector type without its length -> C++ type of its elements: "uint" (of uint4) -> "unsigned int". A name
that is a C++ type itself, such as "int", is not here."""

_OTHER_TYPES = {
    "__half2": {"float16"},
    "__nv_bfloat162": {"bfloat16", "int16", "uint16"},  # NumPy and CuPy have no bfloat16
    "c10::complex<__half>": {"complex32"},
}

_COMPLEX_TYPES = {"float": "complex64", "double": "complex128"}


def numbers_of(element: str) -> tuple[str, set[str]]:
    """Return what arrays a pointer to a vector or complex type accepts: the C++ type of their numbers, "" for none, and
    further element types. For float4, ("float", {"complex64"})."""
    if vector := re.fullmatch(r"([a-z]+)[1-4](_(16|32)a)?", element):
        others = {_COMPLEX_TYPES[vector[1]]} if vector[1] in _COMPLEX_TYPES else set()
        return _ELEMENTS.get(vector[1], vector[1]), others
    if scalar := re.search(r"\bcomplex<(float|double)>$", element):
        return "", {_COMPLEX_TYPES[scalar[1]]}
    return "", _OTHER_TYPES.get(element, set())


_VECTOR = re.compile(r"(u?)(char|short|int|long|longlong|float|double)([1-4])(?:_(16|32)a)?")

_COMPLEX = re.compile(r"(?:thrust|c10|cuda::std)(?:::\w+)*::complex<(float|double)>")

_NUMBER_SIZES = {"char": 1, "short": 2, "int": 4, "longlong": 8, "float": 4, "double": 8}
"""Name of the elements in a vector type's name ("int" in uint4) -> size of an element in bytes. "long" is missing: its
size depends on the machine of the build."""


def alignment(element: str, long_size: int | None) -> int:
    """Return the bytes that the address of a vector or complex type must be a multiple of; 1 for all other types.

    Source: CUDA C++ Programming Guide, "Built-in Vector Types", alignment requirements.
    """
    if vector := _VECTOR.fullmatch(element):
        if vector[4]:
            return int(vector[4])
        size = _NUMBER_SIZES.get(vector[2]) or long_size or 4
        return min(size * int(vector[3]), 16) if vector[3] != "3" else size
    if number := _COMPLEX.fullmatch(element):
        return 2 * _NUMBER_SIZES[number[1]]
    return 4 if element in _OTHER_TYPES else 1
