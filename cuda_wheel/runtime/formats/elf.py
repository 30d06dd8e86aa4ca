"""Read a cubin, which is an ELF file: that it is whole, what GPU it is for, what it defines and what it asks for.

Linkers read the tables of such a file without looking whether they lie inside it: one that is cut short ends the
process. Sources: System V ABI, "Object Files"; for NVIDIA's part, what NVRTC 12.9 and 13.5 write, and `cuobjdump -elf`
shows.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..manifest import Parameter, Space

__all__ = [
    "Cubin",
    "Entry",
    "check_cubin",
    "read_cubin",
    "section_names",
]


CUDA = 190
"""The machine of device code. (EM_CUDA)"""


_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")


_SECTION = struct.Struct("<IIQQQQIIQQ")


_PROGRAM = struct.Struct("<IIQQQQQQ")


_SYMBOL = struct.Struct("<IBBHQQ")


_RELOCATABLE = 1


_SYMTAB, _STRTAB, _RELA, _NOTE, _REL = 2, 3, 4, 7, 9


_INSTRUCTIONS = 4
"""Of a section's flags: that it holds code. (SHF_EXECINSTR)"""


_NOT_STORED = frozenset({8, 0x70000007, 0x70000009, 0x7000000A, 0x70000015})
"""Types of sections that take no place in the file: NOBITS, and in relocatable cubins those of global, local and shared
memory (CUDA_GLOBAL, CUDA_LOCAL, CUDA_SHARED, CUDA_SHARED_RESERVED)."""


_SPECIAL = (0xFFF1, 0xFFF2)
"""Instead of a symbol's section: that it is a number, or a variable without a place yet. (SHN_ABS, SHN_COMMON)"""


_BLACKWELL = 8
"""The version of the ABI that came with it, and that CUDA 13 uses for all."""


_NOTES, _AUTHOR = ".note.nv.", b"NVIDIA Corp\0"
"""What the driver finds its notes by, whatever type their sections have, and what each begins with."""


_SHARED_BY = 16
"""How many times a file's size its sections may have together, or its names: several may share a place, and a long one
could be that of thousands."""


_LOCAL, _GLOBAL, _WEAK = 0, 1, 2


_OBJECT, _FUNCTION, _CUDA_OBJECT = 1, 2, 13


_ENTRY, _MEMORY, _SHARED = 0x10, 0xE0, 0x40
"""Of a symbol's `st_other`: whether it is a kernel, and in which memory a variable of relocatable code lies."""


_SPACES: dict[str, Space] = {".nv.global": "global", ".nv.global.init": "global", ".nv.constant3": "constant"}


_REGCOUNT, _KPARAM_INFO, _VALUE = 0x2F, 0x17, 4
"""Attributes in the sections `.nv.info` (EIATTR_...), and the format with a value of any size."""


_OF_SYMBOLS = frozenset({_REGCOUNT, 0x11, 0x12, 0x23})
"""Attributes that begin with a symbol's number: registers, sizes of frame and stack."""


class _Section(NamedTuple):
    name: str
    kind: int
    flags: int
    start: int
    size: int
    """Bytes that it takes in the file."""
    extent: int
    """Bytes that it is said to have, there or in memory."""
    link: int
    info: int
    entry: int


class _Symbol(NamedTuple):
    number: int
    name: str
    bind: int
    kind: int
    other: int
    section: int
    size: int


class Entry(NamedTuple):
    """A kernel in machine code: its parameters, of which no more than offset and size is known, and how many registers
    a thread needs, with all that it calls if the cubin is finished."""

    parameters: tuple[Parameter, ...]
    registers: int


class Cubin(NamedTuple):
    """What a cubin says of itself: the compute capability that it is for, as a number (90), and the symbols that it
    defines for others, that it defines unless others do, and that others have to define."""

    arch: int
    relocatable: bool
    """Whether it can be linked: a finished one cannot any more."""
    defined: frozenset[str]
    weak: frozenset[str]
    wanted: frozenset[str]
    kernels: Mapping[str, Entry]
    """Its kernels, also those that it defines for itself alone."""
    variables: Mapping[str, tuple[Space, int]]
    """Those that are variables: in which memory, and their size in bytes."""
    private: frozenset[str]
    """The variables that it defines for itself alone."""
    constant: int
    """Bytes of constant memory that the `__constant__` variables take, all together: of constant bank 3."""


def read_cubin(content: bytes) -> Cubin:
    """Return what the cubin says; ValueError, which tells what is wrong, for what is none or not whole."""
    return _cubin(content, _sections(content))


def _cubin(content: bytes, sections: Sequence[_Section]) -> Cubin:
    ident, form, machine, _, _, _, _, flags, *_ = _HEADER.unpack_from(content)
    if machine != CUDA:
        raise ValueError(f"it is an ELF file for machine {machine}, and not for GPUs ({CUDA})")
    # In a damaged file, thousands may lie on each other. (Those that NVIDIA's tools let overlap are others.)
    if sum(each.size for each in sections if each.kind == _SYMTAB or each.name.startswith(".nv.info")) > len(content):
        raise ValueError("its sections overlap")
    own = [each for table in sections if table.kind == _SYMTAB for each in _symbols(content, table, sections)]
    symbols = [symbol for symbol in own if symbol.bind != _LOCAL]
    defined = {symbol.name for symbol in symbols if symbol.bind == _GLOBAL and symbol.section}
    weak = {symbol.name for symbol in symbols if symbol.bind == _WEAK and symbol.section}
    wanted = {
        symbol.name
        for symbol in symbols
        if symbol.bind == _GLOBAL and not symbol.section
        # Shared memory gets its place at launch.
        if symbol.kind == _FUNCTION or (symbol.kind == _CUDA_OBJECT and symbol.other & _MEMORY != _SHARED)
    }
    variables = {
        symbol: (_SPACES[sections[symbol.section].name], symbol.size)
        for symbol in own
        if symbol.kind in (_OBJECT, _CUDA_OBJECT)
        and 0 < symbol.section < len(sections)
        and sections[symbol.section].name in _SPACES
    }
    # Source: e_flags of cubins that NVRTC made; the ABI's version says which bits hold the compute capability.
    arch = flags >> 8 & 0xFF if ident[8] >= _BLACKWELL else flags & 0xFF
    return Cubin(
        arch=arch,
        relocatable=form == _RELOCATABLE,
        defined=frozenset(defined),
        weak=frozenset(weak),
        wanted=frozenset(wanted - defined - weak),
        kernels=_kernels(content, sections, own),
        variables={symbol.name: its for symbol, its in variables.items() if symbol.bind != _LOCAL},
        private=frozenset(symbol.name for symbol in variables if symbol.bind == _LOCAL),
        constant=sum(section.size for section in sections if section.name == ".nv.constant3"),
    )


def check_cubin(content: bytes) -> Cubin:
    """Return what `read_cubin` returns; ValueError, which tells what is wrong, also for what points out of its own
    tables.

    That is what the driver follows without looking: it ends the process, or never returns. That a cubin passes does not
    mean that it holds what its author meant. Source: what driver 580 did with a million damaged cubins.
    """
    sections = _sections(content)
    cubin = _cubin(content, sections)
    ident, _, _, _, _, _, _, flags, *_, names = _HEADER.unpack_from(content)
    symbols = max((section.size // _SYMBOL.size for section in sections if section.kind == _SYMTAB), default=0)
    if sections[names].kind != _STRTAB or flags & (0xFF000000 if ident[8] < _BLACKWELL else 1):  # which no tool sets
        raise ValueError("its header is damaged")
    for section in sections:
        # The number of a section or a symbol; above that of code's, before Blackwell, how many registers it takes.
        info = section.info & (0xFFFFFF if section.flags & _INSTRUCTIONS else 0xFFFFFFFF)
        if section.link >= len(sections) or info >= max(len(sections), symbols + 1):
            raise ValueError(f"its section {section.name} belongs to {section.link} and {info}, which it does not have")
        if section.kind in (_RELA, _REL):
            _check_relocations(content, section, symbols, sections[info].extent if info < len(sections) else 0)
        if section.kind == _SYMTAB:
            if sections[section.link].kind != _STRTAB:
                raise ValueError("its section of symbols' names is damaged")
            _check_symbols(content, section, len(sections))
        if section.name == ".nv.info":
            _check_attributes(content, section, symbols)
        if section.kind == _NOTE or section.name.startswith(_NOTES):
            _check_note(content, section)
    return cubin


def _check_symbols(content: bytes, table: _Section, sections: int) -> None:
    for at in range(table.start, table.start + table.size - _SYMBOL.size + 1, _SYMBOL.size):
        (section,) = struct.unpack_from("<6xH", content, at)
        if section >= sections and section not in _SPECIAL:
            raise ValueError(f"its section {table.name} is damaged")


def _check_relocations(content: bytes, section: _Section, symbols: int, size: int) -> None:
    width = 24 if section.kind == _RELA else 16
    for at in range(section.start, section.start + section.size - width + 1, width):
        offset, what = struct.unpack_from("<QQ", content, at)
        if offset >= size or what >> 32 >= symbols:
            raise ValueError(f"its section {section.name} is damaged")


def _check_attributes(content: bytes, section: _Section, symbols: int) -> None:
    for attribute, value in _attributes(content, section):
        if attribute in _OF_SYMBOLS and (len(value) < 4 or struct.unpack_from("<I", value)[0] >= symbols):
            raise ValueError(f"its section {section.name} tells of a symbol that it does not have")


def _check_note(content: bytes, section: _Section) -> None:
    """Raise ValueError where a note does not fit its section, or the texts of the one about tools do not fit it."""
    if section.size < 12:
        raise ValueError(f"its section {section.name} is cut short")
    name, size, _ = struct.unpack_from("<III", content, section.start)
    start = section.start + 12 + name
    if 12 + name + size > section.size:
        raise ValueError(f"its section {section.name} is cut short")
    if section.name.startswith(_NOTES) and content[start - name : start] != _AUTHOR:
        raise ValueError(f"its section {section.name} is damaged")
    if section.name == ".note.nv.tkinfo" and size >= 24 and struct.unpack_from("<I", content, start)[0] == 2:
        places = struct.unpack_from("<5I", content, start + 4)
        if max(places) >= size - 24:
            raise ValueError(f"its section {section.name} is damaged")


def section_names(content: bytes) -> list[str]:
    """Return the names of the sections of an ELF file, a cubin or an object; ValueError where it is none, or not all of
    it is there."""
    return [section.name for section in _sections(content)]


def _kernels(content: bytes, sections: Sequence[_Section], symbols: Sequence[_Symbol]) -> dict[str, Entry]:
    registers: dict[int, int] = {}
    parameters: dict[str, list[Parameter]] = {}
    for section in sections:
        if section.name == ".nv.info":
            for attribute, value in _attributes(content, section):
                if attribute == _REGCOUNT and len(value) == 8:
                    index, count = struct.unpack("<II", value)
                    registers[index] = count
        elif section.name.startswith(".nv.info."):
            own = parameters.setdefault(section.name.removeprefix(".nv.info."), [])
            for attribute, value in _attributes(content, section):
                if attribute == _KPARAM_INFO and len(value) == 12:
                    _, _, offset, size = struct.unpack("<IHHI", value)
                    size >>= 18  # below are what a pointer points to, and where parameters lie
                    own.append(Parameter(f"b{8 * size}" if size in (2, 4, 8) else "b8", offset, size))
    return {
        symbol.name: Entry(
            tuple(sorted(parameters.get(symbol.name, ()), key=lambda each: each.offset)),
            registers.get(symbol.number, 0),
        )
        for symbol in symbols
        if symbol.section and symbol.kind == _FUNCTION and symbol.other & _ENTRY
    }


def _attributes(content: bytes, section: _Section) -> Iterator[tuple[int, bytes]]:
    """Yield attribute and value of each record that has one of any size."""
    at, end = section.start, section.start + section.size
    while at + 4 <= end:
        form, attribute, size = struct.unpack_from("<BBH", content, at)
        at += 4
        if form == _VALUE:
            yield attribute, content[at : min(at + size, end)]
            at += size


def _sections(content: bytes) -> list[_Section]:
    if content[:4] != b"\x7fELF":
        raise ValueError(f"it begins with {content[:4]!r}, and not as an ELF file")
    if len(content) < _HEADER.size:
        raise ValueError(f"it is cut short: {len(content)} bytes are less than an ELF file's header")
    ident, _, _, _, _, programs_at, sections_at, _, _, program, programs, entry, count, names = _HEADER.unpack_from(
        content
    )
    if ident[4:6] != b"\x02\x01":
        raise ValueError("it is an ELF file of 32 bits, or for machines of another byte order")
    if entry != _SECTION.size or not 0 < count < 0xFF00 or names >= count or (programs and program != _PROGRAM.size):
        raise ValueError("its header is damaged")
    _within(content, "table of sections", sections_at, count * entry)
    _within(content, "table of segments", programs_at, programs * program)
    headers = [_SECTION.unpack_from(content, sections_at + index * entry) for index in range(count)]
    stored = 0
    for index, (_, kind, _, _, at, size, *_) in enumerate(headers):
        if kind not in _NOT_STORED:
            _within(content, f"section {index}", at, size)
            stored += size
    # For Blackwell, nvcc has what tells of lines in two sections at once. But to read one thing many times is for ever.
    if stored > _SHARED_BY * len(content):
        raise ValueError("its sections overlap")
    for index in range(programs):
        _, _, at, _, _, size, _, _ = _PROGRAM.unpack_from(content, programs_at + index * program)
        _within(content, f"segment {index}", at, size)
    texts, texts_size = headers[names][4:6]
    names_of = _texts(content, texts, texts_size, (name for name, *_ in headers))
    return [
        _Section(text, kind, flags, at, 0 if kind in _NOT_STORED else size, size, link, info, width)
        for text, (_, kind, flags, _, at, size, link, info, _, width) in zip(names_of, headers, strict=True)
    ]


def _within(content: bytes, what: str, at: int, size: int) -> None:
    if at + size > len(content):
        raise ValueError(f"it is cut short: its {what} ends at byte {at + size}, and it has {len(content)}")


def _symbols(content: bytes, table: _Section, sections: Sequence[_Section]) -> list[_Symbol]:
    """Return the symbols of a table."""
    if table.entry != _SYMBOL.size or table.link >= len(sections):
        raise ValueError("its table of symbols is damaged")
    texts = sections[table.link]
    end = table.start + table.size // table.entry * table.entry
    own = list(_SYMBOL.iter_unpack(content[table.start : end]))
    names = _texts(content, texts.start, texts.size, (name for name, *_ in own))
    return [
        _Symbol(index, name, info >> 4, info & 15, other, where, length)
        for index, (name, (_, info, other, where, _, length)) in enumerate(zip(names, own, strict=True))
    ]


def _texts(content: bytes, at: int, size: int, starts: Iterable[int]) -> Iterator[str]:
    """Yield the texts that start at places in a section of texts."""
    most = _SHARED_BY * len(content)
    for start in starts:
        end = content.find(b"\0", at + start, at + size)
        most -= end - at - start
        if end < 0 or most < 0:
            raise ValueError("its table of names is damaged")
        yield content[at + start : end].decode(errors="replace")
