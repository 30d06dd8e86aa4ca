"""Read the debugging information (DWARF 2) that NVRTC writes into PTX: a tree of entries, such as types and functions.

Source: the DWARF Debugging Information Format, version 2.0.0, section 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["DebugEntry", "debug_entries"]

_SECTION = re.compile(r"^[ \t]*\.section[ \t]+(\.debug_\w+)\s*\{([^}]*)\}", re.MULTILINE)

_DATA = re.compile(
    r"^((?:[ \t]*\.b8[ \t]+\d+(?:,[ \t]*\d+)*[ \t]*\n)+)|^[ \t]*\.b(8|16|32|64)[ \t]+(.+)$", re.MULTILINE
)
"""Matches lines of bytes, which are almost all, or another line of data."""

_NUMBER = re.compile(r"-?(?:\d+|0[xX][0-9a-fA-F]+)")

_HEADER_SIZE = 11
"""The bytes before the first entry: length, version, offset of the abbreviations, and size of an address."""

_FIXED_SIZES = {0x0B: 1, 0x0C: 1, 0x11: 1, 0x05: 2, 0x12: 2, 0x06: 4, 0x13: 4, 0x01: 8, 0x07: 8, 0x14: 8, 0x0E: 4}
"""The bytes of an attribute's value by its form: data, flags, references and addresses."""


@dataclass
class DebugEntry:
    """An entry: its tag, its attributes by number (integers, strings, or the bytes of a block) and its children."""

    tag: int
    attributes: dict[int, int | str | bytes]
    children: list[DebugEntry] = field(default_factory=list)


def debug_entries(ptx: str) -> dict[int, DebugEntry] | None:
    """Return the entries in the debugging information of PTX by their offset, which references name, in order.

    None if the text has no such information, or another version of it.
    """
    sections = {match[1]: match[2] for match in _SECTION.finditer(ptx)}
    try:
        info, abbreviations = (_content(sections.get(name, "")) for name in (".debug_info", ".debug_abbrev"))
    except ValueError:
        return None
    if len(info) < _HEADER_SIZE or int.from_bytes(info[4:6], "little") != 2:
        return None
    try:
        return _entries(info, _abbreviations(abbreviations))
    except (IndexError, KeyError, ValueError):
        return None


def _content(text: str) -> bytes:
    """Return the bytes of a section; labels, which a linker resolves, are zero."""
    content = bytearray()
    for lines, bits, values in _DATA.findall(text):
        if lines:
            content += bytes(map(int, lines.replace(".b8", "").replace(",", " ").split()))
            continue
        for value in values.split(","):
            number = int(value, 0) if _NUMBER.fullmatch(value.strip()) else 0
            content += (number % (1 << int(bits))).to_bytes(int(bits) // 8, "little")
    return bytes(content)


_Abbreviation = tuple[int, bool, list[tuple[int, int]]]
"""A tag, whether children follow, and the number and form of each attribute."""


def _abbreviations(content: bytes) -> dict[int, _Abbreviation]:
    reader = _FormReader(content)
    found: dict[int, _Abbreviation] = {}
    while reader.at < len(content) and (code := reader.number()):
        tag, has_children = reader.number(), bool(reader.fixed(1))
        found[code] = tag, has_children, list(iter(lambda: (reader.number(), reader.number()), (0, 0)))
    return found


def _entries(content: bytes, abbreviations: dict[int, _Abbreviation]) -> dict[int, DebugEntry]:
    reader = _FormReader(content, _HEADER_SIZE)
    found: dict[int, DebugEntry] = {}
    parents: list[DebugEntry] = [DebugEntry(0, {})]
    end = min(len(content), 4 + int.from_bytes(content[:4], "little"))
    while reader.at < end and parents:
        offset = reader.at
        code = reader.number()
        if not code:
            parents.pop()
            continue
        tag, has_children, attributes = abbreviations[code]
        entry = found[offset] = DebugEntry(tag, {name: reader.value(form) for name, form in attributes})
        parents[-1].children.append(entry)
        if has_children:
            parents.append(entry)
    return found


class _FormReader:
    """Reads the values of DWARF's forms from bytes."""

    def __init__(self, content: bytes, at: int = 0) -> None:
        self.at = at
        self._content = content

    def fixed(self, size: int) -> int:
        if self.at + size > len(self._content):
            raise IndexError
        self.at += size
        return int.from_bytes(self._content[self.at - size : self.at], "little")

    def number(self, is_signed: bool = False) -> int:
        """Return a number of variable length (LEB128)."""
        parts = list(self._parts())
        value = sum(part << 7 * index for index, part in enumerate(parts))
        return value - (1 << 7 * len(parts)) if is_signed and parts[-1] & 0x40 else value

    def _parts(self) -> Iterator[int]:
        while True:
            byte = self.fixed(1)
            yield byte & 0x7F
            if byte < 0x80:
                return

    def value(self, form: int) -> int | str | bytes:
        """Return an attribute's value; raises KeyError for an unknown form."""
        if form == 0x08:  # a string
            end = self._content.index(b"\0", self.at)
            text = self._content[self.at : end].decode(errors="replace")
            self.at = end + 1
            return text
        if form in (0x0D, 0x0F):
            return self.number(is_signed=form == 0x0D)
        if form in (0x09, 0x0A, 0x03, 0x04):  # a block, with its length before it
            size = self.number() if form == 0x09 else self.fixed({0x0A: 1, 0x03: 2, 0x04: 4}[form])
            self.at += size
            return self._content[self.at - size : self.at]
        return self.fixed(_FIXED_SIZES[form])
