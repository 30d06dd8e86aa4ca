"""Read a cubin: its GPU, kernels, variables and symbols, and whether the driver can load it safely.

Linkers and drivers follow the tables of a cubin without checking them: a damaged one ends the process. Source: what
NVRTC 12.9 and 13.5 write, and `cuobjdump -elf` shows.
"""

import enum
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...manifest import Image, Parameter, Space, Target
from .elf import (
    EM_CUDA,
    ET_REL,
    SYMBOL_SIZE,
    Binding,
    ElfFile,
    Section,
    SectionType,
    Symbol,
    SymbolType,
    read_elf,
    read_symbols,
)
from .fatbin import whole_fatbin

__all__ = ["Cubin", "Entry", "Symbols", "check_cubin", "demangled", "read_cubin", "structural_damage"]


class Symbols(NamedTuple):
    """The symbols of a file of device code that a linker resolves together with other files."""

    defined: frozenset[str]
    """Strongly defined symbols, which no other file may define."""
    weak: frozenset[str]
    """Weakly defined symbols, used unless another file has a strong definition."""
    undefined: frozenset[str]
    """Symbols that another file must define."""


_LENGTH = re.compile(r"[1-9][0-9]{0,8}")


def demangled(symbol: str) -> str:
    """Return the C++ name of a mangled symbol without its parameters: "_ZN2ns5scaleEf" -> "ns::scale".

    Return the symbol itself if it is not mangled, or has parts that are not parsed here, such as template arguments.
    Source: Itanium C++ ABI, "Mangling".
    """
    match = re.match(r"_ZN?", symbol)
    if match is None:
        return symbol
    nested, at, names = match[0] == "_ZN", match.end(), []
    while length := _LENGTH.match(symbol, at):
        at = length.end() + int(length[0])
        names.append(symbol[length.end() : at])
        if not nested:
            break
    template = symbol.startswith("I", at) or (nested and not symbol.startswith("E", at))
    return symbol if template or not names or at > len(symbol) else "::".join(names)


# It came with Blackwell; CUDA 13 writes it for all targets.
_BLACKWELL_ABI = 8
"""First ABI version (EI_ABIVERSION, ELF header) whose `e_flags` hold the compute capability in bits 8 to 15. Earlier
versions have it in bits 0 to 7."""

_EXECUTABLE = 4
"""Flag of a section that holds instructions. (SHF_EXECINSTR)"""

_SPECIAL_SECTIONS = (0xFFF1, 0xFFF2)
"""Values of `st_shndx`, a symbol's section, that are not the index of a section. The first (SHN_ABS) marks an absolute
value, the second (SHN_COMMON) a variable without an address."""

_ENTRY = 0x10
"""Bit of a symbol's `st_other` that marks a kernel."""

_MEMORY_MASK, _SHARED_MEMORY = 0xE0, 0x40
"""In a relocatable cubin: bits of a symbol's `st_other` that give a variable's kind of memory, and these bits' value
for shared memory."""


class _Attribute(enum.IntEnum):
    """Numbers of attributes in the `.nv.info` sections. (EIATTR_...)"""

    FRAME_SIZE = 0x11
    MIN_STACK_SIZE = 0x12
    KPARAM_INFO = 0x17
    MAX_STACK_SIZE = 0x23
    REGCOUNT = 0x2F
    KPARAM_INFO_V2 = 0x45


_SIZED_VALUE = 4
"""Number of an attribute format in an `.nv.info` section (EIFMT_SVAL). After it come the attribute's number, the size
of its value, and the value."""

_ATTRIBUTES_OF_SYMBOLS = frozenset(
    {_Attribute.FRAME_SIZE, _Attribute.MIN_STACK_SIZE, _Attribute.MAX_STACK_SIZE, _Attribute.REGCOUNT}
)
"""Numbers of the `.nv.info` attributes with a value that begins with the index of a symbol."""

_SPACES: dict[str, Space] = {".nv.global": "global", ".nv.global.init": "global", ".nv.constant3": "constant"}

_NOTE_PREFIX, _NOTE_OWNER = ".note.nv.", b"NVIDIA Corp\0"
"""Prefix of the names of sections with NVIDIA's notes, and the owner stated in these notes. The driver finds the
sections by this prefix, whatever their type."""


class Entry(NamedTuple):
    """A kernel in machine code."""

    parameters: tuple[Parameter, ...]
    """Parameters, of which only offset and size in bytes are known."""
    registers: int
    """Registers per thread. In a cubin that is ready to load, this number covers all functions that the kernel
    calls."""


class Cubin(NamedTuple):
    """What a cubin contains."""

    arch: int
    """Compute capability as a number: 90 for 9.0."""
    relocatable: bool
    """Whether the cubin must be linked before it can be loaded. A cubin that can be loaded cannot be linked."""
    symbols: Symbols
    kernels: Mapping[str, Entry]
    """Symbol -> kernel, including kernels with local binding."""
    variables: Mapping[str, tuple[Space, int]]
    """Symbol -> (memory space, size in bytes) of each variable with global or weak binding."""
    private: frozenset[str]
    """Symbols of the variables with local binding, which other files cannot see."""
    constant: int
    """Size in bytes of constant bank 3, which holds the `__constant__` variables."""

    @property
    def target(self) -> Target:
        return Target(*divmod(self.arch, 10), "", True)


def structural_damage(image: Image, content: bytes) -> str | None:
    """Return how the structure of a fatbin or cubin is damaged, which the driver does not check; None if it is not."""
    if image.offset is None:
        return None if whole_fatbin(content) else "it is cut short"
    if image.kind == "cubin":
        try:
            check_cubin(content)
        except ValueError as error:
            return f"in {image}, {error}"
    return None


def read_cubin(content: bytes) -> Cubin:
    """Return what a cubin contains; raise ValueError, with the reason, if the content is not a complete cubin."""
    return _cubin_of(read_elf(content))


def check_cubin(content: bytes) -> Cubin:
    """Return what `read_cubin` returns; raise ValueError also if a table refers to something that does not exist.

    The driver follows such a reference unchecked: it ends the process or never returns. The code of a cubin that passes
    may still be damaged. Source: what driver 580 did with a million damaged cubins.
    """
    elf = read_elf(content)
    cubin = _cubin_of(elf)
    header, sections = elf.header, elf.sections
    # No tool sets these flags.
    unused_flags = 0xFF000000 if header.abi_version < _BLACKWELL_ABI else 1
    if sections[header.names_index].type != SectionType.STRTAB or header.flags & unused_flags:
        raise ValueError("its header is damaged")
    symbols = max((section.size // SYMBOL_SIZE for section in elf.of_type(SectionType.SYMTAB)), default=0)
    for section in sections:
        _check_section(elf, section, symbols)
    return cubin


def _cubin_of(elf: ElfFile) -> Cubin:
    header, sections = elf.header, elf.sections
    if header.machine != EM_CUDA:
        raise ValueError(f"it is an ELF file for machine {header.machine}, not for GPUs ({EM_CUDA})")
    _check_overlap(elf)
    symbols = [symbol for table in elf.of_type(SectionType.SYMTAB) for symbol in read_symbols(elf, table)]
    variables = [symbol for symbol in symbols if _is_variable(symbol, sections)]
    # Source: e_flags of cubins that NVRTC wrote; the ABI version decides which bits hold the compute capability.
    arch = header.flags >> 8 & 0xFF if header.abi_version >= _BLACKWELL_ABI else header.flags & 0xFF
    return Cubin(
        arch=arch,
        relocatable=header.type == ET_REL,
        symbols=_shared_symbols(symbols),
        kernels=_kernels(elf, symbols),
        variables={
            symbol.name: (_SPACES[sections[symbol.section].name], symbol.size)
            for symbol in variables
            if symbol.binding != Binding.LOCAL
        },
        private=frozenset(symbol.name for symbol in variables if symbol.binding == Binding.LOCAL),
        constant=sum(section.size for section in elf.named(".nv.constant3")),
    )


def _check_overlap(elf: ElfFile) -> None:
    """Raise ValueError if all symbol tables and `.nv.info` sections together are larger than the file. Then some of
    these sections overlap."""
    # In a damaged file, thousands may overlap. NVIDIA's tools let only sections of other types overlap.
    tables = (each for each in elf.sections if each.type == SectionType.SYMTAB or each.name.startswith(".nv.info"))
    if sum(each.size for each in tables) > len(elf.content):
        raise ValueError("its sections overlap")


def _is_variable(symbol: Symbol, sections: Sequence[Section]) -> bool:
    return (
        symbol.type in (SymbolType.OBJECT, SymbolType.CUDA_OBJECT)
        and 0 < symbol.section < len(sections)
        and sections[symbol.section].name in _SPACES
    )


def _shared_symbols(symbols: Sequence[Symbol]) -> Symbols:
    """Return the names of a cubin's symbols that a linker resolves: strongly defined, weakly defined and undefined
    ones. Names with local binding, which other files cannot see, are left out."""
    strong = [symbol for symbol in symbols if symbol.binding == Binding.GLOBAL]
    defined = frozenset(symbol.name for symbol in strong if symbol.section)
    weak = frozenset(symbol.name for symbol in symbols if symbol.binding == Binding.WEAK and symbol.section)
    undefined = frozenset(symbol.name for symbol in strong if not symbol.section and _needs_definition(symbol))
    return Symbols(defined, weak, undefined - defined - weak)


def _needs_definition(symbol: Symbol) -> bool:
    """Return whether another file must define the undefined symbol `symbol`.

    True for a function, and for a variable that is not in shared memory. False for a variable in shared memory, and for
    symbols of other types.
    """
    if symbol.type == SymbolType.CUDA_OBJECT:
        # A variable in shared memory gets its address at launch.
        return symbol.other & _MEMORY_MASK != _SHARED_MEMORY
    return symbol.type == SymbolType.FUNCTION


def _kernels(elf: ElfFile, symbols: Sequence[Symbol]) -> dict[str, Entry]:
    registers: dict[int, int] = {}
    parameters: dict[str, list[Parameter]] = {}
    for section in elf.sections:
        if section.name == ".nv.info":
            for attribute, value in _attributes(elf.content, section):
                if attribute == _Attribute.REGCOUNT and len(value) == 8:
                    number, count = struct.unpack("<II", value)
                    registers[number] = count
        elif section.name.startswith(".nv.info."):
            found = parameters.setdefault(section.name.removeprefix(".nv.info."), [])
            for attribute, value in _attributes(elf.content, section):
                if attribute == _Attribute.KPARAM_INFO and len(value) == 12:
                    _, _, offset, size = struct.unpack("<IHHI", value)
                    size >>= 18  # the bits below say what a pointer points to, and which bank the parameter is in
                elif attribute == _Attribute.KPARAM_INFO_V2 and len(value) == 12:  # kernels of tileiras with TMA
                    _, _, offset, size, _ = struct.unpack("<IHHHH", value)
                else:
                    continue
                found.append(Parameter(f"b{8 * size}" if size in (2, 4, 8) else "b8", offset, size))
    return {
        symbol.name: Entry(
            tuple(sorted(parameters.get(symbol.name, ()), key=lambda parameter: parameter.offset)),
            registers.get(symbol.number, 0),
        )
        for symbol in symbols
        if symbol.section and symbol.type == SymbolType.FUNCTION and symbol.other & _ENTRY
    }


def _attributes(content: bytes, section: Section) -> Iterator[tuple[int, bytes]]:
    """Yield (number, value) of each attribute in `section`, an `.nv.info` section of the cubin `content`. Attributes of
    other formats than `_SIZED_VALUE` are skipped."""
    at, end = section.start, section.end
    while at + 4 <= end:
        form, attribute, size = struct.unpack_from("<BBH", content, at)
        at += 4
        if form == _SIZED_VALUE:
            yield attribute, content[at : min(at + size, end)]
            at += size


def _check_section(elf: ElfFile, section: Section, symbols: int) -> None:
    """Raise ValueError if a section, or its content, refers to a section or symbol that does not exist. `symbols` is
    the number of symbols in the file's largest symbol table."""
    content, sections = elf.content, elf.sections
    # `sh_info` is a section's or a symbol's number. Before Blackwell, a code section has its registers above that.
    info = section.info & (0xFFFFFF if section.flags & _EXECUTABLE else 0xFFFFFFFF)
    if section.link >= len(sections) or info >= max(len(sections), symbols + 1):
        raise ValueError(f"its section {section.name} refers to {section.link} and {info}, which do not exist")
    if section.type in (SectionType.RELA, SectionType.REL):
        _check_relocations(content, section, symbols, sections[info].extent if info < len(sections) else 0)
    if section.type == SectionType.SYMTAB:
        if sections[section.link].type != SectionType.STRTAB:
            raise ValueError("its table of symbols' names is damaged")
        _check_symbols(content, section, len(sections))
    if section.name == ".nv.info":
        _check_attributes(content, section, symbols)
    if section.type == SectionType.NOTE or section.name.startswith(_NOTE_PREFIX):
        _check_note(content, section)


def _check_symbols(content: bytes, table: Section, sections: int) -> None:
    for at in range(table.start, table.end - SYMBOL_SIZE + 1, SYMBOL_SIZE):
        (section,) = struct.unpack_from("<6xH", content, at)
        if section >= sections and section not in _SPECIAL_SECTIONS:
            raise ValueError(f"its section {table.name} is damaged")


def _check_relocations(content: bytes, section: Section, symbols: int, target_size: int) -> None:
    width = 24 if section.type == SectionType.RELA else 16
    for at in range(section.start, section.end - width + 1, width):
        offset, info = struct.unpack_from("<QQ", content, at)
        if offset >= target_size or info >> 32 >= symbols:
            raise ValueError(f"its section {section.name} is damaged")


def _check_attributes(content: bytes, section: Section, symbols: int) -> None:
    for attribute, value in _attributes(content, section):
        if attribute in _ATTRIBUTES_OF_SYMBOLS and (len(value) < 4 or struct.unpack_from("<I", value)[0] >= symbols):
            raise ValueError(f"its section {section.name} refers to a symbol that does not exist")


def _check_note(content: bytes, section: Section) -> None:
    """Raise ValueError if the ELF note at the start of `section` is damaged:

    1. It extends beyond the section.
    2. Its owner is not NVIDIA, but the section's name begins with `_NOTE_PREFIX`.
    3. It is the note with tool information (".note.nv.tkinfo"), and states an offset outside of its own strings.
    """
    if section.size < 12:
        raise ValueError(f"its section {section.name} is cut short")
    owner_size, size, _ = struct.unpack_from("<III", content, section.start)
    start = section.start + 12 + owner_size
    if 12 + owner_size + size > section.size:
        raise ValueError(f"its section {section.name} is cut short")
    if section.name.startswith(_NOTE_PREFIX) and content[start - owner_size : start] != _NOTE_OWNER:
        raise ValueError(f"its section {section.name} is damaged")
    if section.name == ".note.nv.tkinfo" and size >= 24 and struct.unpack_from("<I", content, start)[0] == 2:
        offsets = struct.unpack_from("<5I", content, start + 4)
        if max(offsets) >= size - 24:
            raise ValueError(f"its section {section.name} is damaged")
