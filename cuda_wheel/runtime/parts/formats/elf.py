"""Read the tables of an ELF file, a cubin or a host object: its header, sections and symbols.

Every offset and size is checked against the file before it is followed. Source: System V ABI, "Object Files"; for the
values that are NVIDIA's, what NVRTC 12.9 and 13.5 write and `cuobjdump -elf` shows.
"""

import enum
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

__all__ = [
    "ELF_MAGIC",
    "EM_CUDA",
    "ET_REL",
    "SYMBOL_SIZE",
    "Binding",
    "ElfFile",
    "ElfHeader",
    "Section",
    "SectionType",
    "Symbol",
    "SymbolType",
    "read_elf",
    "read_symbols",
    "section_names",
]


ELF_MAGIC = b"\x7fELF"

EM_CUDA = 190
"""Value of `e_machine` in the ELF header of a cubin, i.e. of code for GPUs."""

ET_REL = 1
"""Value of `e_type` in the ELF header of a relocatable file, which is input for a linker."""


class SectionType(enum.IntEnum):
    """Section type (`sh_type`). The last four are NVIDIA's, for the memory of relocatable cubins."""

    SYMTAB = 2
    STRTAB = 3
    RELA = 4
    NOTE = 7
    NOBITS = 8
    REL = 9
    CUDA_GLOBAL = 0x70000007
    CUDA_LOCAL = 0x70000009
    CUDA_SHARED = 0x7000000A
    CUDA_SHARED_RESERVED = 0x70000015


class Binding(enum.IntEnum):
    """Symbol binding: the upper 4 bits of `st_info`."""

    LOCAL = 0
    GLOBAL = 1
    WEAK = 2


class SymbolType(enum.IntEnum):
    """Symbol type: the lower 4 bits of `st_info`. CUDA_OBJECT is NVIDIA's."""

    OBJECT = 1
    FUNCTION = 2
    CUDA_OBJECT = 13


_WITHOUT_CONTENT = frozenset(
    {
        SectionType.NOBITS,
        SectionType.CUDA_GLOBAL,
        SectionType.CUDA_LOCAL,
        SectionType.CUDA_SHARED,
        SectionType.CUDA_SHARED_RESERVED,
    }
)
"""Types of the sections that have a size in memory, but no bytes in the file."""

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_PROGRAM = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")

SYMBOL_SIZE = _SYMBOL.size
"""Size in bytes of one symbol's entry in a symbol table."""

# In a damaged file, thousands of sections may share one long name; to read it each time would take forever.
_READ_LIMIT = 16
"""Maximum number of bytes that are read from a file, as a multiple of the file's size. One such limit is for all
sections together, another for the names in one string table."""


class ElfHeader(NamedTuple):
    """The ELF header, field by field."""

    ident: bytes
    type: int
    machine: int
    version: int
    entry: int
    programs_offset: int
    sections_offset: int
    flags: int
    header_size: int
    program_size: int
    program_count: int
    section_size: int
    section_count: int
    names_index: int

    @property
    def abi_version(self) -> int:
        return self.ident[8]


class Section(NamedTuple):
    """One entry of the section table."""

    name: str
    type: int
    flags: int
    start: int
    size: int
    """Size in bytes in the file; 0 for a section whose type is in `_WITHOUT_CONTENT`."""
    extent: int
    """Size in bytes (`sh_size`): size in the file, or in memory if the section's type is in `_WITHOUT_CONTENT`."""
    link: int
    info: int
    entry_size: int

    @property
    def end(self) -> int:
        return self.start + self.size


class Symbol(NamedTuple):
    """One entry of a symbol table. `section` is the index of a section, 0 for an undefined symbol."""

    number: int
    name: str
    binding: int
    type: int
    other: int
    section: int
    size: int


class ElfFile(NamedTuple):
    """An ELF file, of which `read_elf` has checked that all tables lie inside the content."""

    content: bytes
    header: ElfHeader
    sections: Sequence[Section]

    def named(self, name: str) -> Iterator[Section]:
        return (section for section in self.sections if section.name == name)

    def of_type(self, type: SectionType) -> Iterator[Section]:
        return (section for section in self.sections if section.type == type)


def section_names(content: bytes) -> list[str]:
    """Return the names of an ELF file's sections; raise ValueError if the content is not a complete ELF file."""
    return [section.name for section in read_elf(content).sections]


def read_elf(content: bytes) -> ElfFile:
    """Return the header and sections of a 64-bit little-endian ELF file.

    Raises ValueError, with the reason, if the content is not such a file, or if a table, section or segment extends
    beyond its end.
    """
    header = _read_header(content)
    sections = [
        _SECTION.unpack_from(content, header.sections_offset + index * _SECTION.size)
        for index in range(header.section_count)
    ]
    stored = 0
    for index, (_, type_, _, _, start, size, *_) in enumerate(sections):
        if type_ not in _WITHOUT_CONTENT:
            _check_inside(content, f"section {index}", start, size)
            stored += size
    # In nvcc's cubins for Blackwell, two sections share the line information, so that some overlap is valid.
    if stored > _READ_LIMIT * len(content):
        raise ValueError("its sections overlap")
    for index in range(header.program_count):
        _, _, start, _, _, size, _, _ = _PROGRAM.unpack_from(content, header.programs_offset + index * _PROGRAM.size)
        _check_inside(content, f"segment {index}", start, size)
    names_start, names_size = sections[header.names_index][4:6]
    names = _strings(content, names_start, names_size, (name for name, *_ in sections))
    return ElfFile(
        content,
        header,
        [
            Section(name, type_, flags, start, 0 if type_ in _WITHOUT_CONTENT else size, size, link, info, entry_size)
            for name, (_, type_, flags, _, start, size, link, info, _, entry_size) in zip(names, sections, strict=True)
        ],
    )


def _read_header(content: bytes) -> ElfHeader:
    """Return the header; raise ValueError if the tables of sections and segments do not lie inside the file."""
    if not content.startswith(ELF_MAGIC):
        raise ValueError(f"it begins with {content[:4]!r}, not with the magic number of ELF files")
    if len(content) < _HEADER.size:
        raise ValueError(f"it is cut short: {len(content)} bytes are less than an ELF header")
    header = ElfHeader(*_HEADER.unpack_from(content))
    if header.ident[4:6] != b"\x02\x01":
        raise ValueError("it is not a 64-bit little-endian ELF file")
    if (
        header.section_size != _SECTION.size
        or not 0 < header.section_count < 0xFF00
        or header.names_index >= header.section_count
        or (header.program_count and header.program_size != _PROGRAM.size)
    ):
        raise ValueError("its header is damaged")
    _check_inside(content, "table of sections", header.sections_offset, header.section_count * _SECTION.size)
    _check_inside(content, "table of segments", header.programs_offset, header.program_count * header.program_size)
    return header


def _check_inside(content: bytes, what: str, start: int, size: int) -> None:
    if start + size > len(content):
        raise ValueError(f"it is cut short: its {what} ends at byte {start + size}, but it has {len(content)} bytes")


def read_symbols(elf: ElfFile, table: Section) -> list[Symbol]:
    """Return the symbols of a symbol table; raise ValueError if this table or its table of names is damaged."""
    if table.entry_size != _SYMBOL.size or table.link >= len(elf.sections):
        raise ValueError("its symbol table is damaged")
    strings = elf.sections[table.link]
    end = table.start + table.size // table.entry_size * table.entry_size
    entries = list(_SYMBOL.iter_unpack(elf.content[table.start : end]))
    names = _strings(elf.content, strings.start, strings.size, (name for name, *_ in entries))
    return [
        Symbol(number, name, info >> 4, info & 15, other, section, size)
        for number, (name, (_, info, other, section, _, size)) in enumerate(zip(names, entries, strict=True))
    ]


def _strings(content: bytes, start: int, size: int, offsets: Iterable[int]) -> Iterator[str]:
    """Yield the string at each byte offset in `offsets`, in their order.

    The string table has `size` bytes and begins at byte `start` of the file `content`. `offsets` count from the start
    of the table. Raise ValueError if a string does not end inside the table, or if all strings together exceed
    `_READ_LIMIT`.
    """
    remaining = _READ_LIMIT * len(content)
    for offset in offsets:
        end = content.find(b"\0", start + offset, start + size)
        remaining -= end - start - offset
        if end < 0 or remaining < 0:
            raise ValueError("its table of names is damaged")
        yield content[start + offset : end].decode(errors="replace")
