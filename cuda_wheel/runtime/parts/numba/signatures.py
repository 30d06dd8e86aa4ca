"""How a variant of a module writes the arguments that one Numba kernel was compiled for.

A variant has Numba's type of each parameter of the kernel, and options of Numba's compiler:

    {"numba": "demo.ops:add", "x": "float32[::1]", "out": "float32[:, ::1]", "n": "int64", "fastmath": True}

- "numba" is the Python module and the function.
- A scalar has its name: "float32", "boolean". An array has its elements' type and a ":" for each dimension; "::1" marks
  the dimension whose elements are side by side, the last ("C", C order) or the first one ("F"). Without it ("A"), the
  array may have any strides.

A kernel gets several numbers for an array, and two for a complex number; `words` has them in order. Source: Numba's
data model of arrays, and `_Kernel._prepare_args` in numba-cuda, 0.22 to 0.30.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["ARRAY_WORDS", "KERNEL", "OPTIONS", "SCALARS", "Type", "read_type"]

KERNEL = "numba"
"""Key of the kernel in a variant."""

OPTIONS = ("fastmath", "max_registers", "opt")
"""Keys of a variant that are options of Numba's compiler."""

SCALARS: Mapping[str, tuple[str, str]] = {
    "boolean": ("bool", "bool"),
    "int8": ("signed char", "int8"),
    "int16": ("short", "int16"),
    "int32": ("int", "int32"),
    "int64": ("long long", "int64"),
    "uint8": ("unsigned char", "uint8"),
    "uint16": ("unsigned short", "uint16"),
    "uint32": ("unsigned int", "uint32"),
    "uint64": ("unsigned long long", "uint64"),
    "float16": ("__half", "float16"),
    "float32": ("float", "float32"),
    "float64": ("double", "float64"),
    "complex64": ("float", "complex64"),
    "complex128": ("double", "complex128"),
}
"""Numba's name of a scalar -> (C++ type of the number, or of the real and the imaginary part; name of the element type
in PyTorch, JAX and NumPy)."""

ARRAY_WORDS = ("meminfo", "parent", "nitems", "itemsize", "data")
"""What a kernel gets for an array, before its shape and its strides in bytes: two pointers that are null, the number of
elements, the bytes of one, and the address."""

_ARRAY = re.compile(r"(\w+)\[(.+)\]", re.ASCII)


class Type(NamedTuple):
    """The type of an argument."""

    element: str
    """Numba's name of the scalar, or of an array's elements: "float32"."""
    ndim: int | None
    """Number of dimensions of an array; None for a scalar."""
    layout: str
    """"C", "F" or "A" for an array; "" for a scalar."""

    def __str__(self) -> str:
        """Return the type as Numba writes it: "float32[:, ::1]"."""
        if self.ndim is None:
            return self.element
        dimensions = [":"] * self.ndim
        if self.layout != "A":
            dimensions[-1 if self.layout == "C" else 0] = "::1"
        return f"{self.element}[{', '.join(dimensions)}]"

    @property
    def words(self) -> int:
        """Number of values that a kernel gets for an argument of the type."""
        if self.ndim is not None:
            return len(ARRAY_WORDS) + 2 * self.ndim
        return 2 if self.element.startswith("complex") else 1


def read_type(text: Any) -> Type | None:
    """Return the type that a text means; None for anything else. The name of a scalar is one of `SCALARS`."""
    if not isinstance(text, str):
        return None
    if text in SCALARS:
        return Type(text, None, "")
    match = _ARRAY.fullmatch(text)
    if match is None or match[1] not in SCALARS:
        return None
    dimensions = [each.strip() for each in match[2].split(",")]
    ndim = len(dimensions)
    if dimensions == [":"] * ndim:
        return Type(match[1], ndim, "A")
    if dimensions == [*[":"] * (ndim - 1), "::1"]:
        return Type(match[1], ndim, "C")
    if dimensions == ["::1", *[":"] * (ndim - 1)]:
        return Type(match[1], ndim, "F")
    return None
