"""Describe structs, and translate the C++ types of kernel parameters: to formats of `struct`, and to NumPy dtypes.

It imports nothing of this package, because `manifest` imports it.
"""

import re
import struct
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

__all__ = ["COMPLEX", "Field", "Struct", "dtype", "read_structs", "vector_format"]


class Field(NamedTuple):
    """A field of a struct: its name, its type, its offset in bytes and, for an array, the length of each dimension.

    The type is NumPy's name of a number type without byte order ("f4"; "u8" for a pointer), or a struct's C++ name.
    """

    name: str
    type: str
    offset: int
    shape: tuple[int, ...] = ()
    struct: "Struct | None" = None
    """The struct that is the field's type; None for a number."""


class Struct(NamedTuple):
    """A struct: its C++ name, its size in bytes and its fields, including those of base classes. Fields of a union
    overlap."""

    name: str
    size: int
    fields: tuple[Field, ...]


def read_structs(items: Mapping[str, Any]) -> dict[str, Struct]:
    """Return key -> struct from a manifest; raise KeyError if a struct contains itself."""
    found: dict[str, Struct] = {}
    waiting = dict(items)

    def struct_of(key: str) -> Struct:
        if key not in found:
            item = waiting.pop(key)
            found[key] = Struct(item["name"], item["size"], tuple(map(field_of, item["fields"])))
        return found[key]

    def field_of(item: Mapping[str, Any]) -> Field:
        struct = struct_of(item["struct"]) if "struct" in item else None
        type_ = item["type"] if struct is None else struct.name
        return Field(item["name"], type_, item["offset"], tuple(item.get("shape", ())), struct)

    while waiting:
        struct_of(next(iter(waiting)))
    return found


COMPLEX = re.compile(r"\bcomplex<(float|double)>$")
"""Matches the end of the name of a complex type of std, thrust or cuda::std: "complex<float>"."""


def vector_format(size: int, cpp: str) -> str:
    """Return the `struct` format of a vector or complex type: "<4f" for "float4" of 16 bytes; else ""."""
    vector = re.fullmatch(r"(u?)(char|short|int|long|longlong|float|double)([1-4])(_(16|32)a)?", cpp)
    complex_ = COMPLEX.search(cpp)
    if vector:
        formats = {"char": "b", "short": "h", "int": "i", "longlong": "q", "float": "f", "double": "d"}
        formats["long"] = "q" if size == 8 * int(vector[3]) else "i"  # 4 bytes on Windows
        format = formats[vector[2]]
        found = f"<{vector[3]}{format.upper() if vector[1] else format}"
    elif complex_:
        found = f"<2{complex_[1][0]}"
    else:
        found = {"dim3": "<3I", "__half2": "<2e"}.get(cpp, "")
    return found if found and struct.calcsize(found) == size else ""  # the project's own type of that name


def dtype(parameter: Any) -> Any:
    """Return the NumPy dtype of a `manifest.Parameter`; see `Parameter.dtype`."""
    numpy: Any = import_module("numpy")  # no requirement of this package

    cpp, size = parameter.cpp, parameter.size
    if cpp in _HALVES:  # a number for a launch, though a class in C++
        return numpy.dtype("<f2") if _HALVES[cpp] else None
    if parameter.struct is not None:
        spec: Any = _struct_dtype(parameter.struct)
        return numpy.dtype(spec)
    if cpp.endswith(("*", "&")):
        return numpy.dtype("<u8")
    if cpp in _NUMBER_KINDS:
        return numpy.dtype(f"<{_NUMBER_KINDS[cpp]}{size}")
    format = vector_format(size, cpp)
    if not format:
        return None
    code = {"e": "f2", "f": "f4", "d": "f8", "b": "i1", "B": "u1"}.get(format[-1])
    code = code or f"{'u' if format[-1].isupper() else 'i'}{struct.calcsize('<' + format[-1])}"
    if COMPLEX.search(cpp):
        return numpy.dtype("<c8" if code == "f4" else "<c16")
    return numpy.dtype([(name, f"<{code}") for name in "xyzw"[: int(format[1])]])


_HALVES = {
    **dict.fromkeys(("__half", "c10::Half", "at::Half", "cutlass::half_t"), True),
    **dict.fromkeys(("__nv_bfloat16", "c10::BFloat16", "at::BFloat16", "cutlass::bfloat16_t"), False),
}
"""C++ type of a 16-bit floating-point number -> whether NumPy has a dtype for the type."""

_NUMBER_KINDS = {
    **{"bool": "b", "float": "f", "double": "f"},
    **dict.fromkeys(("signed char", "char", "short", "int", "long", "long long"), "i"),
    **{f"unsigned {name}": "u" for name in ("char", "short", "int", "long", "long long")},
}
"""C++ number type -> NumPy's character for the kind of number: "unsigned int" -> "u"."""


def _struct_dtype(fields_of: Any) -> dict[str, Any]:
    """Return the dtype of the `Struct` `fields_of`, as a dict for `numpy.dtype`. The dtype has the struct's padding."""
    fields = fields_of.fields
    formats = [_struct_dtype(each.struct) if each.struct else f"<{each.type}" for each in fields]
    return {
        "names": [each.name for each in fields],
        "formats": [
            (format, each.shape) if each.shape else format for format, each in zip(formats, fields, strict=True)
        ],
        "offsets": [each.offset for each in fields],
        "itemsize": fields_of.size,
    }
