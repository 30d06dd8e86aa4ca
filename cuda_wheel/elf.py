"""Read a cubin, which is an ELF file: that it is whole, what GPU it is for, what it defines and what it asks for.

Linkers read the tables of such a file without looking whether they lie inside it: one that is cut short ends the
process. Sources: System V ABI, "Object Files"; for NVIDIA's part, what NVRTC 12.9 and 13.5 write.
"""

import struct
from collections.abc import Mapping
from typing import NamedTuple

from .loader import Space

__all__ = ["Cubin", "read_cubin"]

CUDA = 190
"""The machine of device code. (EM_CUDA)"""

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_PROGRAM = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATABLE = 1
_SYMTAB, _NOBITS = 2, 8
_LOCAL, _GLOBAL, _WEAK = 0, 1, 2
_OBJECT, _FUNCTION, _CUDA_OBJECT = 1, 2, 13
_ENTRY, _MEMORY, _SHARED = 0x10, 0xE0, 0x40
"""Of a symbol's `st_other`: whether it is a kernel, and in which memory a variable of relocatable code lies."""
_SECTIONS: dict[str, Space] = {".nv.global": "global", ".nv.global.init": "global", ".nv.constant3": "constant"}


class _Symbol(NamedTuple):
    name: str
    bind: int
    kind: int
    other: int
    section: int
    size: int


class Cubin(NamedTuple):
    """What a cubin says of itself: the compute capability that it is for, as a number (90), and the symbols that it
    defines for others, that it defines unless others do, and that others have to define."""

    arch: int
    relocatable: bool
    """Whether it can be linked: a finished one cannot any more."""
    defined: frozenset[str]
    weak: frozenset[str]
    wanted: frozenset[str]
    kernels: frozenset[str]
    """Those of the defined ones that are kernels."""
    variables: Mapping[str, tuple[Space, int]]
    """Those that are variables: in which memory, and their size in bytes."""


def read_cubin(content: bytes) -> Cubin:
    """Return what the cubin says; ValueError, which tells what is wrong, for what is none or not whole."""
    if content[:4] != b"\x7fELF":
        raise ValueError(f"it begins with {content[:4]!r}, and not as an ELF file")
    if len(content) < _HEADER.size:
        raise ValueError(f"it is cut short: {len(content)} bytes are less than an ELF file's header")
    ident, form, machine, _, _, programs_at, sections_at, flags, _, program, programs, entry, count, names = (
        _HEADER.unpack_from(content)
    )
    if ident[4:6] != b"\x02\x01" or machine != CUDA:
        raise ValueError(f"it is an ELF file for machine {machine}, and not for GPUs ({CUDA})")
    if entry != _SECTION.size or not 0 < count < 0xFF00 or names >= count or (programs and program != _PROGRAM.size):
        raise ValueError("its header is damaged")
    _within(content, "table of sections", sections_at, count * entry)
    _within(content, "table of segments", programs_at, programs * program)
    sections = [_SECTION.unpack_from(content, sections_at + index * entry) for index in range(count)]
    for index, (_, kind, _, _, at, size, *_) in enumerate(sections):
        if kind != _NOBITS:
            _within(content, f"section {index}", at, size)
    for index in range(programs):
        _, _, at, _, _, size, _, _ = _PROGRAM.unpack_from(content, programs_at + index * program)
        _within(content, f"segment {index}", at, size)
    symbols = [
        symbol
        for section in sections
        if section[1] == _SYMTAB
        for symbol in _symbols(content, section, sections)
        if symbol.bind != _LOCAL
    ]
    defined = {symbol.name for symbol in symbols if symbol.bind == _GLOBAL and symbol.section}
    weak = {symbol.name for symbol in symbols if symbol.bind == _WEAK and symbol.section}
    wanted = {
        symbol.name
        for symbol in symbols
        if symbol.bind == _GLOBAL and not symbol.section
        # Shared memory gets its place at launch.
        if symbol.kind == _FUNCTION or (symbol.kind == _CUDA_OBJECT and symbol.other & _MEMORY != _SHARED)
    }
    kernels = {
        symbol.name for symbol in symbols if symbol.section and symbol.kind == _FUNCTION and symbol.other & _ENTRY
    }
    labels = [_text(content, sections[names], section[0]) for section in sections]
    variables = {
        symbol.name: (_SECTIONS[labels[symbol.section]], symbol.size)
        for symbol in symbols
        if symbol.kind in (_OBJECT, _CUDA_OBJECT) and 0 < symbol.section < count and labels[symbol.section] in _SECTIONS
    }
    # Source: e_flags of cubins that NVRTC made; the ABI's version says which bits hold the compute capability.
    arch = flags >> 8 & 0xFF if ident[8] >= 8 else flags & 0xFF
    return Cubin(
        arch=arch,
        relocatable=form == _RELOCATABLE,
        defined=frozenset(defined),
        weak=frozenset(weak),
        wanted=frozenset(wanted - defined - weak),
        kernels=frozenset(kernels),
        variables=variables,
    )


def _within(content: bytes, what: str, at: int, size: int) -> None:
    if at + size > len(content):
        raise ValueError(f"it is cut short: its {what} ends at byte {at + size}, and it has {len(content)}")


def _symbols(content: bytes, section: tuple[int, ...], sections: list[tuple[int, ...]]) -> list[_Symbol]:
    """Return the symbols of a table."""
    _, _, _, _, at, size, link, _, _, entry = section
    if entry != _SYMBOL.size or link >= len(sections):
        raise ValueError("its table of symbols is damaged")
    found = []
    for place in range(at, at + size - size % entry, entry):
        name, info, other, where, _, length = _SYMBOL.unpack_from(content, place)
        found.append(_Symbol(_text(content, sections[link], name), info >> 4, info & 15, other, where, length))
    return found


def _text(content: bytes, section: tuple[int, ...], start: int) -> str:
    """Return the text that starts at a place in a section of texts."""
    _, _, _, _, at, size, *_ = section
    end = content.find(b"\0", at + start, at + size)
    if end < 0:
        raise ValueError("its table of symbols is damaged")
    return content[at + start : end].decode(errors="replace")
