"""How a variant of a module writes the arguments that one cuTile kernel (`cuda.tile` of Python) was compiled for.

A variant has a value for each parameter of the kernel, and the options of cuTile's compiler:

    {"tile": "demo.ops:add", "x": "float32[1]:16", "s": "float32", "BLOCK": 1024, "num_ctas": 2}

- "tile" is the Python module and the function.
- An array is "ELEMENT[DIMENSIONS]", and may end with what the compiler was told of it (HINTS).
- A number that a launch takes is the name of its type: "int32", "float32", "bool".
- A constant (`ct.Constant`) has its value: a number or a bool.

Of an array, the compiled kernel takes the address, the lengths and the strides, in elements; of constants nothing.
Source: cuTile, "Compilation and Export", "Calling Conventions" (cutile_python_v1). As in cuTile's own launches, arrays
are told not to overlap.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

__all__ = ["HINTS", "KERNEL", "OPTIONS", "TYPES", "Type", "is_type", "level_of", "read_type"]

KERNEL = "tile"
"""Key of the kernel in a variant."""

OPTIONS = ("num_ctas", "occupancy", "opt_level", "num_worker_warps")
"""Keys of a variant that are options of cuTile's compiler."""

TYPES: Mapping[str, tuple[str, int]] = {
    "bool": ("bool", 1),
    "int8": ("signed char", 1),
    "int16": ("short", 2),
    "int32": ("int", 4),
    "int64": ("long long", 8),
    "uint8": ("unsigned char", 1),
    "uint16": ("unsigned short", 2),
    "uint32": ("unsigned int", 4),
    "uint64": ("unsigned long long", 8),
    "float16": ("__half", 2),
    "bfloat16": ("__nv_bfloat16", 2),
    "float32": ("float", 4),
    "float64": ("double", 8),
    "float8_e4m3fn": ("__nv_fp8_e4m3", 1),
    "float8_e5m2": ("__nv_fp8_e5m2", 1),
}
"""Name of an element type in cuTile, PyTorch, JAX and NumPy -> (C++ type, bytes)."""

HINTS = ("", "1", "16", "16n")
"""What the compiler was told of an array, from nothing to everything:

"": strides are not negative.
"1": the last stride is 1, and no two elements share memory.
"16": so is "1", and the address and all other strides are divisible by 16 bytes.
"16n": so is "16", and each length is divisible by 16.
"""

_TYPE = re.compile(rf"({'|'.join(TYPES)})(?:\[([0-9])\](?::(1|16|16n))?)?")


class Type(NamedTuple):
    """The type of an argument of a launch, and what the compiler was told of it."""

    element: str
    ndim: int | None
    """Number of dimensions; None for a number."""
    level: int
    """Index in HINTS."""


def read_type(text: Any) -> Type | None:
    """Return the type that a text means; None for anything else."""
    match = _TYPE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    ndim = None if match[2] is None else int(match[2])
    return Type(match[1], ndim, HINTS.index(match[3] or ""))


def is_type(text: Any) -> bool:
    """Return whether a value of a variant is a type, and not a constant."""
    return read_type(text) is not None


def level_of(address: int, shape: Sequence[int], strides: Sequence[int], size: int) -> int | None:
    """Return the index of the last of HINTS that is true of an array; None if a stride is negative.

    `strides` are in elements of `size` bytes.
    """
    if any(stride < 0 for stride in strides):
        return None
    if strides and (strides[-1] != 1 or not _are_disjoint(shape, strides)):
        return 0
    if address % 16 or any(stride * size % 16 for stride in strides[:-1]):
        return 1
    return 2 if any(length % 16 for length in shape) else 3


def _are_disjoint(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Return whether no two elements share memory, as cuTile's own launch finds out."""
    ordered = sorted(zip(strides, shape, strict=True))
    return ordered[0][0] > 0 and all(larger[0] >= stride * length for (stride, length), larger in pairwise(ordered))
