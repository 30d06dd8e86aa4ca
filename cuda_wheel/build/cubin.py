"""Read what a cubin says of itself: it is an ELF file."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from cuda_wheel.loader import Parameter

__all__ = ["Entry", "constant_bytes", "entries", "section_names"]

ENTRY = 0x10
"""The bit of a symbol's "other" byte that marks kernels, as `cuobjdump -elf` shows it."""
REGCOUNT, KPARAM_INFO, VALUE = 0x2F, 0x17, 4
"""Attributes of sections `.nv.info`, EIATTR_... in the words of `cuobjdump -elf`, and the format with a value of any
size."""


NOBITS = 8
"""The type of sections that take no place in the file."""


class Entry(NamedTuple):
    """A kernel in machine code: its parameters, of which no more than offset and size is known, and how many registers
    a thread needs, with all that it calls."""

    parameters: tuple[Parameter, ...]
    registers: int


class _Section(NamedTuple):
    name: str
    start: int
    size: int
    link: int


def constant_bytes(cubin: bytes) -> int:
    """Return the size of a module's `__constant__` variables, all together: of the section of constant bank 3.

    Source: System V ABI, "Object Files"; CUDA Binary Utilities, where `cuobjdump -elf` shows that section. ValueError
    where it is no such file.
    """
    return next((section.size for section in _sections(cubin) if section.name == ".nv.constant3"), 0)


def section_names(file: bytes) -> list[str]:
    """Return the names of the sections of an ELF file, a cubin or an object; ValueError where it is none, or not all of
    it is there."""
    return [section.name for section in _sections(file)]


def entries(cubin: bytes) -> dict[str, Entry]:
    """Return the kernels of a cubin by symbol; ValueError where it is no such file."""
    sections = _sections(cubin)
    kernels: dict[int, str] = {}
    for table in sections:
        if table.name == ".symtab":
            names = sections[table.link].start
            for index in range(table.size // 24):
                name, _, other = struct.unpack_from("<IBB", cubin, table.start + 24 * index)
                if other & ENTRY:
                    kernels[index] = _text(cubin, names + name)
    registers: dict[int, int] = {}
    parameters: dict[str, list[Parameter]] = {}
    for section in sections:
        if section.name == ".nv.info":
            for attribute, value in _attributes(cubin, section):
                if attribute == REGCOUNT:
                    index, count = struct.unpack_from("<II", value)
                    registers[index] = count
        elif section.name.startswith(".nv.info."):
            own = parameters.setdefault(section.name.removeprefix(".nv.info."), [])
            own += (_parameter(value) for attribute, value in _attributes(cubin, section) if attribute == KPARAM_INFO)
    return {
        symbol: Entry(tuple(sorted(parameters.get(symbol, ()), key=lambda each: each.offset)), registers.get(index, 0))
        for index, symbol in kernels.items()
    }


def _parameter(value: bytes) -> Parameter:
    _, _, offset, flags = struct.unpack_from("<IHHI", value)
    size = flags >> 18
    return Parameter(f"b{8 * size}" if size in (1, 2, 4, 8) else "b8", offset, size)


def _attributes(cubin: bytes, section: _Section) -> Iterator[tuple[int, bytes]]:
    """Yield attribute and value of each record that has one of any size."""
    at, end = section.start, section.start + section.size
    while at + 4 <= end:
        form, attribute, size = struct.unpack_from("<BBH", cubin, at)
        at += 4
        if form == VALUE:
            yield attribute, cubin[at : at + size]
            at += size


def _sections(cubin: bytes) -> list[_Section]:
    try:
        magic, table, *_, entry, count, names = struct.unpack_from("<4s36xQIHHHHHH", cubin)
        headers = [struct.unpack_from("<IIQQQQI", cubin, table + index * entry) for index in range(count)]
        base = headers[names][4]
        sections = [
            _Section(_text(cubin, base + name), start, 0 if kind == NOBITS else size, link)
            for name, kind, _, _, start, size, link in headers
        ]
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise ValueError(f"not an ELF file, or cut short: {error}") from error
    if magic != b"\x7fELF":
        raise ValueError("not an ELF file")
    if any(section.start + section.size > len(cubin) for section in sections):
        raise ValueError("an ELF file that is cut short")
    return sections


def _text(cubin: bytes, start: int) -> str:
    return cubin[start : cubin.index(b"\0", start)].decode(errors="replace")
