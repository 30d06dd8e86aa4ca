"""Read the names, types and struct fields of kernels' parameters from debugging information.

NVRTC's front end writes this information into PTX (DWARF 2): a tree of entries, such as types and functions. It
includes what no reader of source text knows: the effect of macros, templates, base classes and padding. A struct with a
part that NumPy cannot express, such as a bit-field, is recorded without fields.

Source: the DWARF Debugging Information Format, version 2.0.0, section 7.

Debugging information takes a second compilation of the source. It is made only if a kernel takes a struct, or a type
that neither its symbol nor the source text shows; and only for the module's first architecture, if no text depends on
the architecture. A job and the files that it reads alone decide this, so that neither caches nor the schedule change a
manifest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import prod
from typing import TYPE_CHECKING

from cuda_wheel.builder.config.compiler_options import defined_macros
from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.cxx.kernel_scan import kernels_in
from cuda_wheel.builder.cxx.parameter_types import ARRAY_SIZES, NUMBER_SIZES, SPELLINGS, agree, parameter_types
from cuda_wheel.builder.jobs import Compiled, Declared, Job
from cuda_wheel.builder.sources.header_search import own_texts
from cuda_wheel.builder.toolchain.nvrtc import compile_apart
from cuda_wheel.runtime.manifest import PARAMETERS, Parameter
from cuda_wheel.runtime.parts.dtypes import Field, Struct

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult
__all__ = ["DebugEntry", "debug_entries", "declared_parameters", "with_parameters"]


_SECTION = re.compile(r"^[ \t]*\.section[ \t]+(\.debug_\w+)\s*\{([^}]*)\}", re.MULTILINE)

_DATA = re.compile(
    r"^((?:[ \t]*\.b8[ \t]+\d+(?:,[ \t]*\d+)*[ \t]*\n)+)|^[ \t]*\.b(8|16|32|64)[ \t]+(.+)$", re.MULTILINE
)
"""Matches data in a section of PTX. Group 1 is a run of lines such as `.b8 1,2,3`. Any other line, such as `.b32
.debug_abbrev`, matches alone: group 2 is its number of bits ("32"), and group 3 its values (".debug_abbrev")."""

_NUMBER = re.compile(r"-?(?:\d+|0[xX][0-9a-fA-F]+)")

_HEADER_SIZE = 11
"""Size in bytes of the header at the beginning of the DWARF section `.debug_info`: its length, the version of DWARF, an
offset into `.debug_abbrev`, and the size of an address."""

_FIXED_SIZES = {0x0B: 1, 0x0C: 1, 0x11: 1, 0x05: 2, 0x12: 2, 0x06: 4, 0x13: 4, 0x01: 8, 0x07: 8, 0x14: 8, 0x0E: 4}
"""Number of a DWARF form (encoding of an attribute's value) -> size in bytes of the value. These are the forms of fixed
size: data, flags, references, addresses and offsets of strings."""


@dataclass
class DebugEntry:
    """A DWARF entry: its tag, attribute number -> value (an integer, a string, or the bytes of a block), and its
    children."""

    tag: int
    attributes: dict[int, int | str | bytes]
    children: list[DebugEntry] = field(default_factory=list)


def debug_entries(ptx: str) -> dict[int, DebugEntry] | None:
    """Return byte offset -> entry, in order, of the debugging information in PTX. Entries refer to each other by
    offset.

    None if the text has no debugging information, or none of DWARF 2.
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
    """Return the bytes that the text of a PTX section stands for. Where the text has a label, whose value only a linker
    knows, the bytes are zeros."""
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
"""(Tag, whether the entry has children, (attribute number, form) of each attribute): the layout of all DWARF entries
that use this abbreviation."""


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
    """Reads attribute values from bytes, in DWARF's encodings, which are called forms."""

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
        """Read the value of an attribute of this form; raises KeyError for an unknown form."""
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


_ARRAY, _ENUMERATION, _PARAMETER, _MEMBER, _POINTER, _REFERENCE = 0x01, 0x04, 0x05, 0x0D, 0x0F, 0x10
_CLASS, _STRUCT, _TYPEDEF, _UNION, _INHERITANCE, _BASE = 0x02, 0x13, 0x16, 0x17, 0x1C, 0x24
_CONST, _FUNCTION, _VOLATILE, _RESTRICT, _UNSPECIFIED = 0x26, 0x2E, 0x35, 0x37, 0x3B
_STRUCTS = (_CLASS, _STRUCT, _UNION)
_QUALIFIERS = {_CONST: "const", _VOLATILE: "volatile", _RESTRICT: "__restrict__"}
"""Tag of a DWARF entry -> the C++ qualifier that the entry adds to a type. Source: DWARF 2.0.0, figure 14."""

# Source: DWARF 2.0.0, figure 15. _SYMBOL is a common extension of DWARF 2.
_NAME, _SIZE, _BIT_SIZE, _CONSTANT, _COUNT, _LOCATION = 0x03, 0x0B, 0x0D, 0x1C, 0x37, 0x38
_ENCODING, _VIRTUALITY, _TYPE, _SYMBOL = 0x3E, 0x4C, 0x49, 0x2007
"""Numbers of DWARF attributes. _ENCODING: kind of a base type, such as floating point. _VIRTUALITY: whether a base
class is virtual. _TYPE: offset of the type's entry. _SYMBOL: mangled name of a function. Source of all but _SYMBOL:
DWARF 2.0.0, figure 15."""

_ENCODINGS = {2: "?", 4: "f", 5: "i", 6: "i", 7: "u", 8: "u"}
"""DWARF encoding of a base type -> kind character of a NumPy type ("f" for floating point). Source: DWARF 2.0.0, figure
23."""

_NUMBERS = frozenset({"?1", "f4", "f8", *(f"{sign}{size}" for sign in "iu" for size in (1, 2, 4, 8))})

_MOST_DIMENSIONS = 32
"""Maximum number of dimensions of a NumPy array. A struct with an array of more dimensions is not described."""

_BASE_MEMBER = "__b_"
"""Prefix of member names. In CUDA 12's debugging information, a member with this prefix stands for a base class."""

_TABLE_MEMBER = "__v"
"""Prefix of member names. The compiler adds a member with this prefix to a struct with virtual functions or virtual
bases."""


def declared_parameters(ptx: str) -> dict[str, tuple[Declared, ...]]:
    """Return symbol -> declared parameters, for each function in PTX with debugging information."""
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
    """A struct has a part, such as a bit-field, that no NumPy field can describe."""


class _Types:
    """Converts the types in one PTX text's debugging information to C++ spellings and struct fields."""

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
        """Return the C++ type of the parameter that `entry` describes, in the spelling of demangled symbols ("const
        float*"). Return "" for a reference, and for a type that is unknown."""
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
        """Return (C++ qualifiers of a type, the type without qualifiers and typedefs). `entry` is the DWARF entry of
        the type. The order of the qualifiers is "const", "volatile", "__restrict__".

        The second item is None if `entry` is None, or if the debugging information lacks the type.
        """
        found = set()
        while entry is not None and (entry.tag == _TYPEDEF or entry.tag in _QUALIFIERS):
            found.add(_QUALIFIERS.get(entry.tag, ""))
            entry = self._type_of(entry)
        return [each for each in _QUALIFIERS.values() if each in found], entry

    # --- structs ------------------------------------------------------------------------------------

    def _struct(self, entry: DebugEntry) -> Struct | None:
        """Return the struct that a DWARF entry describes.

        Return None if the struct has no fields, if two of its fields have the same name, if it has more than PARAMETERS
        fields, or if no NumPy field can describe a part of it.
        """
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
        """Yield the fields of the struct that `entry` describes. In place of a base class or an unnamed member, yield
        the fields inside it.

        `start` is added to the byte offset of each field. It is 0 for a whole struct. For a base class or an unnamed
        member, it is the byte offset in the outer struct. Raises _NoFieldsError for a part that no NumPy field can
        describe.
        """
        end = 0
        for member in entry.children:
            if member.tag not in (_MEMBER, _INHERITANCE) or _LOCATION not in member.attributes:
                continue  # a type, a function or a static member
            name, type_ = self._name_and_type(member)
            offset = start + _member_offset(member.attributes[_LOCATION])
            if member.tag == _MEMBER and not name.startswith(_BASE_MEMBER) and entry.tag != _UNION:
                if offset < end:  # [[no_unique_address]]: NVRTC's debugging information does not have the real offsets
                    raise _NoFieldsError
                end = offset + self._size(type_)
            is_part = member.tag == _INHERITANCE or not name or name.startswith(_BASE_MEMBER)
            if is_part and type_.tag in _STRUCTS:
                yield from self._fields(type_, offset)
            elif not self._is_empty(type_):
                yield self._field(name, type_, offset)

    def _name_and_type(self, member: DebugEntry) -> tuple[str, DebugEntry]:
        """Return (name, type without qualifiers) of `member`, which is a member or a base class of a struct.

        Raises _NoFieldsError for a bit-field, a virtual base, a table of virtual functions, and a member of unknown
        type.
        """
        name, type_ = member.attributes.get(_NAME, ""), self._unqualified(self._type_of(member))
        if type_ is None or not isinstance(name, str) or name.startswith(_TABLE_MEMBER):
            raise _NoFieldsError
        if _BIT_SIZE in member.attributes or member.attributes.get(_VIRTUALITY):
            raise _NoFieldsError
        return name, type_

    def _size(self, type_: DebugEntry | None) -> int:
        """Return the size in bytes of a type; 1 if the size is unknown."""
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
        """Return whether a type is a struct, class or union that has no data. If it has non-static members
        or base classes, these have no data either. Such a type needs no field."""
        if type_.tag not in _STRUCTS:
            return False
        members = [each for each in type_.children if each.tag in (_MEMBER, _INHERITANCE)]
        parts = (self._unqualified(self._type_of(each)) for each in members if _LOCATION in each.attributes)
        return all(part is not None and self._is_empty(part) for part in parts)


def _count_fields(fields: tuple[Field, ...]) -> int:
    """Return the number of fields in `fields`. In place of a field that is a struct, count the fields inside it, at any
    depth."""
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
    """Return the NumPy type of a number, an enumeration or a pointer, without a byte order: "f4", "i4", "u8". Return ""
    for any other type."""
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
    """Return a member's byte offset in its struct. `location` is the value of the attribute _LOCATION: bytes that
    encode the operation "add the offset" (DW_OP_plus_uconst). Raises _NoFieldsError for any other value."""
    if not isinstance(location, bytes) or location[:1] != b"\x23":
        raise _NoFieldsError
    return sum((byte & 0x7F) << 7 * index for index, byte in enumerate(location[1:]))


def _count(entry: DebugEntry) -> int:
    """Return the number of elements in one dimension of an array. `entry` is the DWARF entry of the dimension. Raises
    _NoFieldsError if the number is unknown or 0."""
    count = entry.attributes.get(_COUNT)
    if not isinstance(count, int) or count < 1:
        raise _NoFieldsError
    return count


_LARGEST = 1 << 18
"""Maximum size in bytes of a source's PTX. If the PTX is larger, as with hundreds of template instances, no debugging
information is made: writing and reading it would take many seconds."""

# Headers of libraries are not searched. The structs of libraries are the same for every architecture: host code fills
# them, and nvcc's host compiler defines none of these macros.
_NAMES_TARGET = re.compile(rb"(?<![A-Z])ARCH|(?<!\w)_?NV_|nv::target|nv/target|arch_id|arch_traits|_CG_HAS_")
"""Matches names of macros and functions through which a text can depend on the architecture, such as
`__CUDA_ARCH_FEAT_SM90_ALL`, `CUB_PTX_ARCH` and `NV_IF_TARGET`."""

_OTHER_OUTPUT = re.compile(
    r"-lineinfo$|--generate-line-info$|-dlto$|--dlink-time-opt|--relocatable-device-code|-rdc=|--gpu-architecture=|"
    r"-arch=|--ptxas-options|-Xptxas|-G$|--device-debug$"
)
"""Matches NVRTC options that choose the architecture or the kind of output, such as `-arch=` and `-lineinfo`. The
compilation that makes debugging information has `--gpu-architecture=` and `--device-debug` instead."""


def with_parameters(
    job: Job,
    request: NvrtcRequest,
    compiled: Compiled,
    compile_: Callable[[NvrtcRequest], NvrtcResult | None] = compile_apart,
) -> Compiled:
    """Return a job's result with the declared parameters of its kernels, if a kernel has a struct or an unknown type
    among them; else the result unchanged.

    `request` is the call that compiled the source; `compile_` calls NVRTC in a process that compiles nothing
    afterwards. A kernel that the debugging information does not describe gets ().
    """
    if not (job.describes or _may_depend_on_target(job, compiled)) or not _needs_fields(job, compiled):
        return compiled
    if len(compiled.ptx or b"") > _LARGEST:
        return replace(compiled, parameters=dict.fromkeys(compiled.kernels, ()))
    options = [option for option in request["options"] if not _OTHER_OUTPUT.match(option)]
    options += [f"--gpu-architecture=compute_{job.arch}", "--device-debug"]
    result, types = _compiled_with_types({**request, "options": options}, compiled, compile_)
    declared = {} if result is None or result["error"] else declared_parameters(result["ptx"].decode(errors="replace"))
    for symbol in types.keys() & declared.keys():
        declared[symbol] = _with_qualified_types(declared[symbol], types[symbol])
    kernels = compiled.kernels if job.form != "lto" else declared
    return replace(compiled, parameters={symbol: declared.get(symbol, ()) for symbol in kernels})


# The debugging information of CUDA 13 names types without their namespaces, and the symbols of `extern "C"` kernels
# encode no types. The symbol of this template's instance encodes the type of a kernel. It has the parameters of the
# kernel behind _TYPES_START; that of a function with these parameters has them behind _TYPES_FUNCTION.
_TYPES = "cuda_wheel_types_of_a_kernel"
_TYPES_START, _TYPES_END = f"_Z{len(_TYPES)}{_TYPES}IFv", "EEvv"
_TYPES_FUNCTION = f"_Z{len(_TYPES)}{_TYPES}IvEv"


def _compiled_with_types(
    request: NvrtcRequest, compiled: Compiled, compile_: Callable[[NvrtcRequest], NvrtcResult | None]
) -> tuple[NvrtcResult | None, dict[str, Sequence[str]]]:
    """Compile a source. Return the result, and symbol -> parameter types of the kernels whose symbols encode no types.

    The mapping is empty if the types cannot be found, as for a kernel inside a namespace.
    """
    kernels = [symbol for symbol, each in compiled.kernels.items() if each and not symbol.startswith("_Z")]
    if kernels:
        text = request["text"] + f"\ntemplate <class> __global__ void {_TYPES}() {{}}\n".encode()
        own = request["expressions"]
        expressions = [*own, *(f"{_TYPES}<decltype({each})>" for each in kernels)]
        result = compile_({**request, "text": text, "expressions": expressions})
        if result is not None and not result["error"]:
            return result, dict(zip(kernels, map(_types_in, result["symbols"][len(own) :]), strict=True))
    return compile_(request), {}


def _types_in(symbol: str) -> Sequence[str]:
    """Return the types of a kernel's parameters that the symbol of an instance of _TYPES encodes; () if unknown."""
    parameters = symbol.removeprefix(_TYPES_START).removesuffix(_TYPES_END)
    return signature(_TYPES_FUNCTION + parameters).parameters or ()


def _with_qualified_types(declared: tuple[Declared, ...], types: Sequence[str]) -> tuple[Declared, ...]:
    """Return the parameters with these types, where the types of structs and pointers are known."""
    if len(types) != len(declared):
        return declared
    return tuple(
        each._replace(type=type_, struct=each.struct and each.struct._replace(name=type_)) if each.type else each
        for each, type_ in zip(declared, types, strict=True)
    )


def _may_depend_on_target(job: Job, compiled: Compiled) -> bool:
    """Return whether a struct of the project may differ between architectures.

    True if a text of the project or an option of the job contains a name that depends on the architecture, such as
    `__CUDA_ARCH__`. True also if `compiled.headers` is None.
    """
    # Not all texts of the project are known.
    if compiled.headers is None:
        return True
    texts = [*(text for _, text in own_texts(job, compiled.headers)), *map(os.fsencode, job.options)]
    return any(map(_NAMES_TARGET.search, texts))


def _needs_fields(job: Job, compiled: Compiled) -> bool:
    """Return whether a kernel has a parameter of unknown type, or of a struct type other than CUDA's own. Only
    debugging information describes such a parameter.

    False for `k(const float*, float4)`; True for `k(Params)` with a struct of the project.
    """
    # The types are those in the kernel's symbol or, if it has none, in the source text.
    text = job.text.decode(errors="surrogateescape")
    declared = cache(lambda: parameter_types(text, defined_macros(job.options)))  # few symbols need it
    if job.form == "lto":  # no symbols: the text alone decides
        return any("" in declared().get(kernel.name, ("",)) for kernel in kernels_in(text))
    return any(_is_undescribed(symbol, parameters, declared) for symbol, parameters in compiled.kernels.items())


def _is_undescribed(
    symbol: str, parameters: Sequence[Parameter], declared: Callable[[], Mapping[str, Sequence[str]]]
) -> bool:
    types: Sequence[str] | None = signature(symbol).parameters
    if types is None:
        written = declared().get(symbol)
        types = written if written is not None and agree(written, parameters) else None
    if types is None or len(types) != len(parameters):
        return bool(parameters)
    return any(
        not type_ or (each.type == "b8" and not type_.endswith(("*", "&")) and not _is_known(type_, each.size))
        for type_, each in zip(types, parameters, strict=True)
    )


def _is_known(type_: str, size: int) -> bool:
    return size in (ARRAY_SIZES.get(type_), NUMBER_SIZES.get(type_))
