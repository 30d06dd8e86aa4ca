"""Describe the structs that kernels take, and read them from a manifest."""

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

__all__ = ["Field", "Struct", "structs_of"]

MOST_FIELDS = 32_764
"""The most fields that a struct may have, with those of its structs: as many as a kernel's parameters have bytes."""


class Field(NamedTuple):
    """A field of a struct: its name, its type, its offset in bytes and, for an array, the length of each dimension.

    The type is NumPy's of a number, without the byte order ("f4", "u8" for a pointer), or the C++ name of a struct.
    """

    name: str
    type: str
    offset: int
    shape: tuple[int, ...] = ()
    struct: "Struct | None" = None
    """The struct, if the type is one."""


class Struct(NamedTuple):
    """A struct: its C++ name, its size in bytes and its fields; those of its bases are its own. Fields of a union
    overlap."""

    name: str
    size: int
    fields: tuple[Field, ...]


def structs_of(
    items: dict[str, Any],
    printable: Callable[[object], str],
    count_of: Callable[[object, int], int],
    list_of: Callable[[Callable[[Any], Any], object], tuple[Any, ...]],
) -> dict[str, Struct]:
    """Return a manifest's structs by their keys. A struct that contains itself is a KeyError.

    The readers of names, of numbers with their least value, and of lists are those of `manifest`, which imports this
    file. They raise what `manifest.read_document` expects.
    """
    found: dict[str, Struct] = {}
    counts: dict[str, int] = {}

    def struct_of(key: str) -> Struct:
        if key not in found:
            item = items.pop(key)
            name, size = printable(item["name"]), count_of(item["size"], 1)
            found[key] = Struct(name, size, list_of(lambda each: field_of(each, size), item["fields"]))
            counts[key] = sum(counts[each["struct"]] if "struct" in each else 1 for each in item["fields"])
            if counts[key] > MOST_FIELDS:  # whoever expands them would need too long
                raise ValueError(f"the struct {name} has {counts[key]} fields with those of its structs")
        return found[key]

    def field_of(item: dict[str, Any], size: int) -> Field:
        struct = struct_of(item["struct"]) if "struct" in item else None
        type_ = _number_type(item["type"]) if struct is None else struct.name
        shape = list_of(lambda count: count_of(count, 1), item.get("shape", []))
        if len(shape) > 32:  # NumPy's limit
            raise ValueError(f"a field has {len(shape)} dimensions")
        field = Field(printable(item["name"]), type_, count_of(item["offset"], 0), shape, struct)
        end = field.offset + (struct.size if struct else int(type_[1:] or 1)) * prod(shape)
        if end > size:
            raise ValueError(f"the field {field.name} ends at {end} in a struct of {size} bytes")
        return field

    while items:
        struct_of(next(iter(items)))
    return found


def _number_type(value: object) -> str:
    if value not in ("?", "f2", "f4", "f8", *(f"{sign}{size}" for sign in "iu" for size in "1248")):
        raise ValueError(f"{value!r} is not the type of a field")
    return str(value)
