"""The types that need no header to be known: C++'s fundamental types, CUDA's, and the standard library's."""

from __future__ import annotations

import struct

__all__ = [
    "ARRAY_SIZES",
    "FUNDAMENTAL_WORDS",
    "KNOWN_TYPES",
    "LONG_SIZE",
    "NUMBER_SIZES",
    "SPELLINGS",
    "STANDARD_TYPES",
]

LONG_SIZE = struct.calcsize("l")
"""Bytes of a `long`. NVRTC takes it from the machine that it runs on: 8, but 4 on Windows."""

_INTEGER_SIZES = {"char": 1, "short": 2, "int": 4, "long": LONG_SIZE, "long long": 8}

NUMBER_SIZES = {
    **{"bool": 1, "signed char": 1, "float": 4, "double": 8},
    **{sign + name: size for name, size in _INTEGER_SIZES.items() for sign in ("", "unsigned ")},
}
"""Sizes in bytes of the types that are numbers in PTX too."""

_VECTOR_SIZES = {
    f"{name}{count}": NUMBER_SIZES[element] * count
    for name, element in {
        **{name: name for name in ("char", "short", "int", "long", "float", "double")},
        **{f"u{name}": f"unsigned {name}" for name in ("char", "short", "int", "long")},
        **{"longlong": "long long", "ulonglong": "unsigned long long"},
    }.items()
    for count in (1, 2, 3, 4)
}

ARRAY_SIZES = {
    **{"__half": 2, "__half2": 4, "__nv_bfloat16": 2, "__nv_bfloat162": 4},
    **_VECTOR_SIZES,
    "dim3": 12,
    **{f"{scope}::complex<float>": 8 for scope in ("std", "cuda::std")},
    **{f"{scope}::complex<double>": 16 for scope in ("std", "cuda::std")},
}
"""Sizes in bytes of the types that are arrays of bytes in PTX."""

SPELLINGS = {
    **{
        " ".join(sorted([*sign.split(), *width.split(), *word.split()])): (
            ("unsigned " if sign == "unsigned" else "") + (width or "int")
        )
        for sign in ("", "signed", "unsigned")
        for width in ("", "short", "long", "long long")
        for word in ("", "int")
        if sign or width or word
    },
    **{name: name for name in ("bool", "char", "float", "double", "void")},
    **{"char signed": "signed char", "char unsigned": "unsigned char"},
}
"""The fundamental types, by the words of any of their spellings in alphabetical order: "int long" is "long"."""

FUNDAMENTAL_WORDS = frozenset(word for spelling in SPELLINGS for word in spelling.split())
"""The words that spell fundamental types."""

_LONG_64 = "long" if LONG_SIZE == 8 else "long long"

STANDARD_TYPES = {
    **{"int8_t": "signed char", "int16_t": "short", "int32_t": "int"},
    **dict.fromkeys(("int64_t", "intptr_t", "ptrdiff_t"), _LONG_64),
    **{"uint8_t": "unsigned char", "uint16_t": "unsigned short", "uint32_t": "unsigned int"},
    **dict.fromkeys(("uint64_t", "uintptr_t", "size_t"), f"unsigned {_LONG_64}"),
}
"""Type names of the standard library, as cuda-wheel's own headers define them for NVRTC: as under nvcc."""

KNOWN_TYPES = {
    **{name: name for name in (*SPELLINGS.values(), *ARRAY_SIZES)},
    **{"half": "__half", "half2": "__half2", "nv_bfloat16": "__nv_bfloat16", "nv_bfloat162": "__nv_bfloat162"},
    **{"cuComplex": "float2", "cuFloatComplex": "float2", "cuDoubleComplex": "double2"},
    **STANDARD_TYPES,
    **{f"{scope}::{name}": type_ for scope in ("std", "cuda::std") for name, type_ in STANDARD_TYPES.items()},
}
"""Known types, by their own names and by the aliases that headers define for them."""
