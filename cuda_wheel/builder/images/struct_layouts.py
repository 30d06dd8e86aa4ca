"""Read the names, types and struct fields of kernels' parameters from debugging information.

NVRTC's front end writes it, which knows what no reader of texts does: macros, templates, base classes and padding.
What NumPy cannot express, such as bit-fields, leaves a struct without fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod

from cuda_wheel.builder.cxx.demangling.signatures import signature
from cuda_wheel.builder.cxx.known_types import SPELLINGS
from cuda_wheel.builder.images.debug_info import DebugEntry, debug_entries
from cuda_wheel.builder.jobs import Declared
from cuda_wheel.runtime.formats.manifest_structs import Field, Struct
from cuda_wheel.runtime.manifest import PARAMETERS

__all__ = ["declared_parameters"]

_ARRAY, _ENUMERATION, _PARAMETER, _MEMBER, _POINTER, _REFERENCE = 0x01, 0x04, 0x05, 0x0D, 0x0F, 0x10
_CLASS, _STRUCT, _TYPEDEF, _UNION, _INHERITANCE, _BASE = 0x02, 0x13, 0x16, 0x17, 0x1C, 0x24
_CONST, _FUNCTION, _VOLATILE, _RESTRICT, _UNSPECIFIED = 0x26, 0x2E, 0x35, 0x37, 0x3B
_STRUCTS = (_CLASS, _STRUCT, _UNION)
_QUALIFIERS = {_CONST: "const", _VOLATILE: "volatile", _RESTRICT: "__restrict__"}
"""Tags of entries. Source: DWARF 2.0.0, figure 14."""

_NAME, _SIZE, _BIT_SIZE, _CONSTANT, _COUNT, _LOCATION = 0x03, 0x0B, 0x0D, 0x1C, 0x37, 0x38
_ENCODING, _VIRTUALITY, _TYPE, _SYMBOL = 0x3E, 0x4C, 0x49, 0x2007
"""Attributes. Source: DWARF 2.0.0, figure 15; _SYMBOL is the mangled name, which many compilers write."""

_ENCODINGS = {2: "?", 4: "f", 5: "i", 6: "i", 7: "u", 8: "u"}
"""The kind of a NumPy type by the encoding of a base type. Source: DWARF 2.0.0, figure 23."""

_NUMBERS = frozenset({"?1", "f4", "f8", *(f"{sign}{size}" for sign in "iu" for size in (1, 2, 4, 8))})

_MOST_DIMENSIONS = 32
"""NumPy's limit."""

_BASE_MEMBER = "__b_"
"""How the members begin that are base classes, in CUDA 12's debugging information."""

_TABLE_MEMBER = "__v"
"""How the members begin that are tables of virtual functions or bases."""


def declared_parameters(ptx: str) -> dict[str, tuple[Declared, ...]]:
    """Return the parameters of each function in PTX with debugging information, by symbol."""
    entries = debug_entries(ptx) or {}
    types = _Types(entries)
    found: dict[str, tuple[Declared, ...]] = {}
    for entry in entries.values():
        symbol = entry.attributes.get(_SYMBOL) or entry.attributes.get(_NAME)
        if entry.tag == _FUNCTION and isinstance(symbol, str):
            parameters = [child for child in entry.children if child.tag == _PARAMETER]
            found.setdefault(symbol, tuple(map(types.parameter, parameters)))
    return found


class _NoFieldsError(Exception):
    """A struct has a part that no field describes."""


class _Types:
    """The types among the entries of one text."""

    def __init__(self, entries: Mapping[int, DebugEntry]) -> None:
        self._entries = entries
        self._structs: dict[int, Struct | None] = {}

    def parameter(self, entry: DebugEntry) -> Declared:
        name = entry.attributes.get(_NAME)
        type_ = self._unqualified(self._type_of(entry))
        struct = self._struct(type_) if type_ is not None and type_.tag in _STRUCTS else None
        return Declared(name if isinstance(name, str) and name.isidentifier() else "", self._spelling(entry), struct)

    def _type_of(self, entry: DebugEntry | None) -> DebugEntry | None:
        reference = None if entry is None else entry.attributes.get(_TYPE)
        return self._entries.get(reference) if isinstance(reference, int) else None

    def _unqualified(self, entry: DebugEntry | None) -> DebugEntry | None:
        while entry is not None and (entry.tag == _TYPEDEF or entry.tag in _QUALIFIERS):
            entry = self._type_of(entry)
        return entry

    # --- C++ types ----------------------------------------------------------------------------------

    def _spelling(self, entry: DebugEntry) -> str:
        """Return the C++ type of a parameter, as symbols spell it; "" for a type that they spell in another way."""
        type_ = self._unqualified(self._type_of(entry))
        stars = []
        while type_ is not None and type_.tag == _POINTER:
            qualifiers, type_ = self._qualifiers(self._type_of(type_))
            stars.append(qualifiers)
        if type_ is None:
            return ""
        name = _type_name(type_)
        if not stars:
            return "" if name == "void" else name
        inner = "".join("".join(["*", *(f" {each}" for each in qualifiers)]) for qualifiers in reversed(stars[:-1]))
        return " ".join([*stars[-1], name]) + inner + "*" if name else "void*"

    def _qualifiers(self, entry: DebugEntry | None) -> tuple[list[str], DebugEntry | None]:
        """Return the qualifiers of a type in the order of symbols, and the type without them."""
        found = set()
        while entry is not None and (entry.tag == _TYPEDEF or entry.tag in _QUALIFIERS):
            found.add(_QUALIFIERS.get(entry.tag, ""))
            entry = self._type_of(entry)
        return [each for each in _QUALIFIERS.values() if each in found], entry

    # --- structs ------------------------------------------------------------------------------------

    def _struct(self, entry: DebugEntry) -> Struct | None:
        """Return a struct with its fields; None if fields cannot describe all of it, or if it has none."""
        if id(entry) not in self._structs:
            size = entry.attributes.get(_SIZE)
            try:
                fields = tuple(self._fields(entry, 0)) if isinstance(size, int) else ()
            except _NoFieldsError:
                fields = ()
            are_unique = len({field.name for field in fields}) == len(fields) and _count_fields(fields) <= PARAMETERS
            struct = (
                Struct(_type_name(entry), size, fields) if isinstance(size, int) and fields and are_unique else None
            )
            self._structs[id(entry)] = struct
        return self._structs[id(entry)]

    def _fields(self, entry: DebugEntry, start: int) -> Iterator[Field]:
        """Yield the fields of a struct at the offset `start`, with those of its bases and unnamed members."""
        end = 0
        for member in entry.children:
            if member.tag not in (_MEMBER, _INHERITANCE) or _LOCATION not in member.attributes:
                continue  # a type, a function or a static member
            name, type_ = member.attributes.get(_NAME, ""), self._unqualified(self._type_of(member))
            offset = start + _member_offset(member.attributes[_LOCATION])
            if type_ is None or not isinstance(name, str) or name.startswith(_TABLE_MEMBER):
                raise _NoFieldsError
            if _BIT_SIZE in member.attributes or member.attributes.get(_VIRTUALITY):
                raise _NoFieldsError
            if member.tag == _MEMBER and not name.startswith(_BASE_MEMBER) and entry.tag != _UNION:
                if offset < end:  # [[no_unique_address]]: NVRTC's debugging information does not have the real offsets
                    raise _NoFieldsError
                end = offset + self._size(type_)
            is_part = member.tag == _INHERITANCE or not name or name.startswith(_BASE_MEMBER)
            if is_part and type_.tag in _STRUCTS:
                yield from self._fields(type_, offset)
            elif not self._is_empty(type_):
                yield self._field(name, type_, offset)

    def _size(self, type_: DebugEntry | None) -> int:
        """Return the bytes of a type; 1 if that is not known."""
        size = type_.attributes.get(_SIZE) if type_ is not None else None
        if type_ is not None and type_.tag == _ARRAY:
            return prod(map(_count, type_.children)) * self._size(self._unqualified(self._type_of(type_)))
        return size if isinstance(size, int) else 8 if type_ is not None and type_.tag == _POINTER else 1

    def _field(self, name: str, type_: DebugEntry, offset: int) -> Field:
        shape: list[int] = []
        element: DebugEntry | None = type_
        while element is not None and element.tag == _ARRAY:
            shape += [_count(child) for child in element.children]
            element = self._unqualified(self._type_of(element))
        if element is None or not name.isidentifier() or len(shape) > _MOST_DIMENSIONS:
            raise _NoFieldsError
        number = _number(element)
        struct = None if number or element.tag not in _STRUCTS else self._struct(element)
        if not number and struct is None:
            raise _NoFieldsError
        return Field(name, number or (struct.name if struct else ""), offset, tuple(shape), struct)

    def _is_empty(self, type_: DebugEntry) -> bool:
        """Return whether a type is a struct without members, which takes part in no layout."""
        if type_.tag not in _STRUCTS:
            return False
        members = [each for each in type_.children if each.tag in (_MEMBER, _INHERITANCE)]
        parts = (self._unqualified(self._type_of(each)) for each in members if _LOCATION in each.attributes)
        return all(part is not None and self._is_empty(part) for part in parts)


def _count_fields(fields: tuple[Field, ...]) -> int:
    """Return the number of fields with those of their structs, which a manifest limits."""
    return sum(_count_fields(field.struct.fields) if field.struct else 1 for field in fields)


def _type_name(entry: DebugEntry) -> str:
    name = entry.attributes.get(_NAME)
    if entry.tag == _UNSPECIFIED:
        return "void"
    if not isinstance(name, str) or entry.tag not in (*_STRUCTS, _ENUMERATION, _BASE):
        return ""
    if entry.tag == _BASE:
        return SPELLINGS.get(" ".join(sorted(name.split())), "")
    return signature(name).name if name.startswith("_Z") else re.sub(r",(?=\S)", ", ", name)


def _number(entry: DebugEntry) -> str:
    """Return the NumPy type of a number, an enumeration or a pointer, without its byte order; "" if it is no number."""
    size = entry.attributes.get(_SIZE)
    if not isinstance(size, int):
        size = 0
    if entry.tag in (_POINTER, _REFERENCE):
        return "u8"
    if entry.tag in _STRUCTS:
        return "f2" if (entry.attributes.get(_NAME), size) == ("__half", 2) else ""
    kind = ""
    if entry.tag == _BASE:
        encoding = entry.attributes.get(_ENCODING)
        kind = _ENCODINGS.get(encoding, "") if isinstance(encoding, int) else ""
    elif entry.tag == _ENUMERATION and size:
        values = [each.attributes.get(_CONSTANT) for each in entry.children]
        is_large = any(isinstance(value, int) and value >> (8 * size - 1) > 0 for value in values)
        kind = "u" if is_large else "i"  # other values have the same bytes in both
    return f"{kind}{size}".replace("?1", "?") if f"{kind}{size}" in _NUMBERS else ""


def _member_offset(location: int | str | bytes) -> int:
    """Return a member's offset. Its location is the operation "add a constant" (DW_OP_plus_uconst) in a block."""
    if not isinstance(location, bytes) or location[:1] != b"\x23":
        raise _NoFieldsError
    return sum((byte & 0x7F) << 7 * index for index, byte in enumerate(location[1:]))


def _count(entry: DebugEntry) -> int:
    """Return the number of elements of one dimension of an array."""
    count = entry.attributes.get(_COUNT)
    if not isinstance(count, int) or count < 1:
        raise _NoFieldsError
    return count
