"""Take the device code out of files that mix it with host code, so that NVRTC compiles them unedited.

Definitions that device code does not need are blank in what the compiler is given; lines stay where they are. What is
needed is first told by names, and then by the compiler itself: a definition that it misses comes back, one that nobody
needs and that it refuses goes. What CUDA's markers mark always stays.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from cuda_wheel.build import ptx
from cuda_wheel.build.cuda_syntax import Directive, Item, Macro, Source, decorations, parse, read_source, words
from cuda_wheel.build.errors import CompileError
from cuda_wheel.build.launches import Instances, Unresolved, instances

if TYPE_CHECKING:
    from cuda_wheel.build.nvrtc import Answer

__all__ = ["Blanked", "ExpectedKernel", "Extraction", "FindHeader", "Header", "compile_device_code", "extract"]

OPTIONS = ("--device-as-default-execution-space", "--pre-include=cuda_wheel_detail/host_code.h")
ATTEMPTS = 16
"""How often a file is compiled at most, until what it needs is known."""


class Header(NamedTuple):
    """A header that was found: the name that diagnostics shall have for it, and its text; None where it is not the
    project's but the toolchain's, which the compiler finds by itself."""

    name: str
    text: bytes | None


FindHeader = Callable[[str, bool, str], "Header | None"]
"""Finds `#include "name"` (True) or `<name>` (False) of the file with the last argument as its name."""


class Blanked(NamedTuple):
    """A definition or include that the compiler was not given."""

    kind: str
    name: str
    file: str
    line: int
    last_line: int
    reason: str


class ExpectedKernel(NamedTuple):
    """A kernel that the image must hold. `conditional`: an `#if` decides whether. `expression`: of a template."""

    name: str
    file: str
    line: int
    conditional: bool
    expression: str | None


class Extraction(NamedTuple):
    """What to give the compiler: a text, the project's headers by the name that it includes them with, options and name
    expressions; and what is to be told of it."""

    text: bytes
    headers: Mapping[str, bytes]
    options: tuple[str, ...]
    expressions: tuple[str, ...]
    blanked: tuple[Blanked, ...]
    kernels: tuple[ExpectedKernel, ...]
    unresolved: tuple[Unresolved, ...]


# --- reading --------------------------------------------------------------------------------------

_INCLUDE = re.compile(r'^(?:"([^"]+)"|<([^>]+)>)')
_HOST_HEADERS = re.compile(
    r"cuda\.h|cuda_runtime(_api)?\.h|cuda_profiler_api\.h|cuda_.*_interop\.h|device_launch_parameters\.h|nvtx3/.*"
    r"|cuda(EGL|GL|VDPAU)(Typedefs)?\.h|thrust/(?!pair\.h|tuple\.h).*|cub/device/.*"
)
"""Headers of the toolchain that declare host functions. What device code uses of them, NVRTC knows by itself."""

_DEVICE = frozenset({"__global__", "__device__", "__constant__", "__managed__", "__shared__"})
_NAMESPACES = frozenset({"std", "cuda", "cooperative_groups", "nvcuda", "cg"})


@dataclass(frozen=True, eq=False)
class Unit:
    """A source and its project's headers, read."""

    sources: Mapping[str, Source]
    found: Mapping[tuple[str, int], Header | None]
    """What each include found, by the file's name and the line's offset."""
    verbatim: frozenset[str]
    """Headers that are included amid a definition, and therefore parts of one."""
    macros: Mapping[str, Sequence[Macro]]
    decorations: Mapping[str, frozenset[str]]

    @cached_property
    def items(self) -> list[Item]:
        """All items, members after what they are members of."""
        return [
            item
            for source in self.sources.values()
            if source.name not in self.verbatim
            for outer in source.items
            for item in _with_members(outer)
        ]

    @cached_property
    def device_macros(self) -> frozenset[str]:
        """Macros that stand for definitions of device code."""
        return frozenset(name for name in self.macros if self.expanded({name}) & _DEVICE)

    @cached_property
    def led(self) -> set[Item]:
        """Items right after a marker that belongs to none, because the grammar was led astray there."""
        found: set[Item] = set()
        for source in self.sources.values():
            ends = [item.end for item in source.items]
            for token in source.tokens:
                if token.text in _DEVICE or (token.text in self.device_macros and token.text in self.decorations):
                    after = bisect_right(ends, token.start)
                    if after < len(ends) and source.items[after].kind == "fragment":
                        found.add(source.items[after])
                        after += 1
                    if after < len(ends) and source.items[after].start > token.start:
                        found.add(source.items[after])
        return found

    @cached_property
    def marked(self) -> frozenset[str]:
        """The functions of which a declaration is marked as device code."""
        return frozenset(
            name for item in self.items if item.kind == "function" and _is_device(item) for name in item.names
        )

    def expanded(self, names: Iterable[str]) -> frozenset[str]:
        """Return names, and those that the macros among them lead to."""
        seen: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += [word for macro in self.macros.get(name, ()) for word in self._bodies(macro)]
        return frozenset(seen)

    def _bodies(self, macro: Macro) -> frozenset[str]:
        return words(macro.body)


def _with_members(item: Item) -> Iterator[Item]:
    yield item
    for member in item.members:
        yield from _with_members(member)


def read_unit(content: bytes, name: str, find_header: FindHeader) -> Unit:
    """Return a source and all headers of its project that it includes."""
    sources: dict[str, Source] = {}
    found: dict[tuple[str, int], Header | None] = {}
    waiting = [(name, content)]
    while waiting:
        current, text = waiting.pop()
        if current in sources:
            continue
        source = sources[current] = read_source(current, text)
        for directive in source.directives:
            asked = _INCLUDE.match(directive.rest) if directive.word == "include" else None
            if asked is not None:
                header = find_header(asked[1] or asked[2], asked[1] is not None, current)
                found[current, directive.start] = header
                if header is not None and header.text is not None:
                    waiting.append((header.name, header.text))
    macros: dict[str, list[Macro]] = {}
    for source in sources.values():
        for macro in source.macros:
            macros.setdefault(macro.name, []).append(macro)
    known = decorations(macro for definitions in macros.values() for macro in definitions)
    for source in sources.values():
        parse(source, macros, known)
    return Unit(sources, found, frozenset(_verbatim(sources, found)), macros, known)


def _verbatim(sources: Mapping[str, Source], found: Mapping[tuple[str, int], Header | None]) -> Iterator[str]:
    waiting = list(sources)
    parts: set[str] = set()
    while waiting:
        source = sources[waiting.pop()]
        for directive in source.directives:
            header = found.get((source.name, directive.start))
            if header is None or header.text is None or header.name in parts:
                continue
            if source.name in parts or any(item.start < directive.start < item.end for item in source.items):
                parts.add(header.name)
                waiting.append(header.name)
    yield from parts


# --- deciding -------------------------------------------------------------------------------------


def _is_device(item: Item) -> bool:
    """Return whether an item is device code and nothing else."""
    return bool(item.markers & _DEVICE) and "__host__" not in item.markers


def _is_sacred(item: Item, unit: Unit) -> bool:
    """Return whether an item must reach the compiler, whatever happens."""
    if item in unit.led:
        return True
    if item.kind in ("macro call", "fragment"):
        return bool(words(item.tokens) & (unit.device_macros | _DEVICE))
    if item.kind in ("function", "variable"):
        return _is_device(item)
    if item.kind == "instantiation":
        return "__global__" in item.markers or bool(set(item.names) & unit.marked)
    return False


def _launches(item: Item) -> bool:
    return any(token.text == "<<<" for token in item.tokens)


def _is_host_member(item: Item, unit: Unit) -> bool:
    """Return whether a member function is one that only the host calls."""
    if item.kind != "function" or item.markers & _DEVICE:
        return False
    if "__host__" in item.markers:
        return True
    if item.heading & {"constexpr", "consteval", "virtual", "override", "final"}:
        return False
    return not re.search(r"=\s*(default|delete)\s*;?\s*$", item.text)


@dataclass
class Choice:
    """What is kept, and what the compiler has taught."""

    unit: Unit
    names: frozenset[str]
    """Names that are needed besides: those of name expressions."""
    restored: set[Item] = field(default_factory=set)
    refused: dict[Item, str] = field(default_factory=dict)
    """Items that the compiler refused, and its words."""
    constants: set[Item] = field(default_factory=set)
    """Constants that have to say constexpr: as a device variable, one is not computed before the program runs."""
    lines: set[tuple[str, int]] = field(default_factory=set)
    """Where an `#error` is passed over, which a macro of the host's would have kept out."""
    includes: dict[str, None] = field(default_factory=dict)
    """Standard headers that other, absent headers would have included."""

    def kept(self) -> set[Item]:
        """Return the items that the compiler is given, members on their own."""
        unit = self.unit
        by_name: dict[str, list[Item]] = {}
        for item in unit.items:
            for name in item.names:
                by_name.setdefault(name, []).append(item)
        kept: set[Item] = set()
        waiting = [item for item in unit.items if self._is_root(item)]
        names = set(self.names)
        while waiting or names:
            for name in unit.expanded(names):
                waiting += [item for item in by_name.get(name, ()) if self._may_keep(item)]
            names = set()
            while waiting:
                item = waiting.pop()
                if item in kept or item in self.refused:
                    continue
                kept.add(item)
                waiting += [member for member in item.members if self._keeps_member(member)]
                names |= self._uses(item)
        return kept

    def _is_root(self, item: Item) -> bool:
        if item in self.refused:
            return False
        if item in self.restored or _is_sacred(item, self.unit):
            return not item.owner or item in self.restored or not self._is_inner(item)
        if item.kind == "function" and "__device__" in item.markers and item.names[0].startswith("operator"):
            return not self._is_inner(item)  # no name tells its uses
        if item.kind == "type":
            return any(_is_device(member) for member in item.members) and not self._is_inner(item)
        if item.kind == "using" and "namespace" in item.heading:
            return bool(set(item.names) & (self._namespaces | _NAMESPACES))
        return item.kind in ("assertion", "fragment") and not self._is_inner(item)

    @cached_property
    def _inner(self) -> set[Item]:
        return {member for item in self.unit.items for member in item.members}

    def _is_inner(self, item: Item) -> bool:
        return item in self._inner

    @cached_property
    def _namespaces(self) -> set[str]:
        return {part for item in self.unit.items if not item.owner for part in item.scope}

    def _may_keep(self, item: Item) -> bool:
        """Return whether a use of its name is enough to keep an item."""
        if self._is_inner(item):
            return False
        if item.kind == "function":
            if "__device__" not in item.markers and ("__host__" in item.markers or _launches(item)):
                return False
            return not item.owner or bool(item.markers)
        if item.kind == "variable":
            return bool(item.members) or bool(item.heading & {"const", "constexpr"}) or bool(item.markers)
        return item.kind in ("type", "using")

    def _keeps_member(self, member: Item) -> bool:
        return member in self.restored or not _is_host_member(member, self.unit)

    def _uses(self, item: Item) -> frozenset[str]:
        """Return the names that an item uses; those of functions only where they may be calls."""
        inside = [(member.start, member.end) for member in item.members]
        tokens = [token for token in item.tokens if not any(start <= token.start < end for start, end in inside)]
        found = set()
        for index, token in enumerate(tokens):
            if token.kind == "word" and not (index and tokens[index - 1].text in (".", "->")):
                found.add(token.text)
        return frozenset(found)


# --- writing --------------------------------------------------------------------------------------


def _render(unit: Unit, source: Source, kept: set[Item], choice: Choice) -> bytes:
    """Return a file's text with everything blank that is not kept."""
    text = bytearray(source.content)
    edits = [(each.start, each.end, _directive(unit, source, each, choice)) for each in source.directives]
    if source.name not in unit.verbatim:
        for item in source.items:
            for part in _with_members(item):
                if part not in kept:
                    text[part.start : part.end] = _blank(bytes(text[part.start : part.end]))
        constants = [item for item in choice.constants if item.source is source]
        for item in constants:
            word = next((token for token in item.tokens if token.text == "const"), None)
            if word is not None and item in kept and "constexpr" not in item.heading:
                edits.append((word.start, word.end, b"constexpr"))
    pieces: list[bytes] = []
    position = 0
    for start, end, new in sorted(edits):
        pieces += [bytes(text[position:start]), new]
        position = end
    return b"".join([*pieces, bytes(text[position:])])


def _blank(text: bytes) -> bytes:
    return re.sub(rb"[^\r\n]", b" ", text)


def _directive(unit: Unit, source: Source, directive: Directive, choice: Choice) -> bytes:
    text = source.content[directive.start : directive.end]
    if directive.word == "error" and (source.name, source.line(directive.start)) in choice.lines:
        return _blank(text)
    header = unit.found.get((source.name, directive.start), _MACRO)
    if header is _MACRO:
        # nvcc defines both, NVRTC the second.
        is_condition = directive.word in ("if", "ifdef", "ifndef", "elif")
        return re.sub(rb"\b__NVCC__\b", b"__CUDACC__", text) if is_condition else text
    if _is_blank_include(directive, header):
        return _blank(text)
    if header is not None and header.text is None and directive.rest == "<cub/cub.cuh>":
        return b"#include <cuda_wheel_detail/cub.h>" + b"\n" * text.count(b"\n")
    if header is not None and header.text is not None:
        return b'#include "' + os.fsencode(header.name) + b'"' + b"\n" * text.count(b"\n")
    return text


_MACRO = Header("", b"")
"""Stands for an include whose name a macro gives, and for every other directive."""


def _is_blank_include(directive: Directive, header: Header | None) -> bool:
    asked = _INCLUDE.match(directive.rest)
    name = "" if asked is None else asked[1] or asked[2]
    return header is None or (header.text is None and bool(_HOST_HEADERS.fullmatch(name)))


def _told(unit: Unit, choice: Choice, kept: set[Item]) -> Iterator[Blanked]:
    """Return what is blank, outermost first."""
    for source in unit.sources.values():
        for directive in source.directives:
            if (source.name, directive.start) in unit.found and _is_blank_include(
                directive, unit.found[source.name, directive.start]
            ):
                line = source.line(directive.start)
                yield Blanked("include", directive.rest, source.name, line, line, "host header")
        if source.name not in unit.verbatim:
            yield from _told_items(source.items, choice, kept)


def _told_items(items: Iterable[Item], choice: Choice, kept: set[Item]) -> Iterator[Blanked]:
    for item in items:
        if item in kept:
            yield from _told_items(item.members, choice, kept)
        else:
            name = f"{item.owner}::" * bool(item.owner) + ", ".join(item.names)
            reason = choice.refused.get(item, "host code")
            yield Blanked(item.kind, name, item.source.name, item.line, item.last_line, reason)


def _write(unit: Unit, name: str, choice: Choice, found: Instances, instantiate: Sequence[str]) -> Extraction:
    kept = choice.kept()
    texts = {source.name: _render(unit, source, kept, choice) for source in unit.sources.values()}
    expressions = tuple(dict.fromkeys([*instantiate, *(each.expression for each in found.kernels)]))
    kernels = [
        ExpectedKernel(_qualified(item), item.source.name, item.line, item.source.is_conditional(item.start), None)
        for item in unit.items
        if item.kind == "function"
        and "__global__" in item.markers
        and item.defined
        and not item.template
        and item.source.name not in unit.verbatim
    ]
    kernels += [ExpectedKernel(each.kernel, each.file, each.line, False, each.expression) for each in found.kernels]
    given = {re.split("<", expression)[0].split("::")[-1].strip() for expression in instantiate}
    unresolved = tuple(each for each in found.unresolved if each.kernel.split("::")[-1] not in given)
    text = texts.pop(name)
    options = (*OPTIONS, *(f"--pre-include={header}" for header in choice.includes))
    return Extraction(text, texts, options, expressions, tuple(_told(unit, choice, kept)), tuple(kernels), unresolved)


def _qualified(item: Item) -> str:
    return "::".join([*(part for part in item.scope if part), *item.names[:1]])


# --- learning from the compiler -------------------------------------------------------------------

_ERROR = re.compile(
    r"^(?P<file>\S.*?)\((?P<line>\d+)\): (?:catastrophic )?error(?: #\S+)?: (?P<message>.*)", re.MULTILINE
)
_QUOTED = re.compile(r'"([^"]*)"')
_OPERATOR = re.compile(r'no operator "([^"]+)" matches')
_WORD = re.compile(r"operator\s*[^\s\w]+|[A-Za-z_$][\w$]*")


def _learn(choice: Choice, log: str) -> bool:
    """Note what a compiler's log teaches about what is needed; return whether that is anything new."""
    kept = choice.kept()
    complaints = [(match["file"], int(match["line"]), match["message"]) for match in _ERROR.finditer(log)]
    restorable: dict[str, list[Item]] = {}
    for item in choice.unit.items:
        if item not in kept and item not in choice.refused and _may_return(item):
            said = item.names or tuple(words(item.tokens))
            for name in said:
                restorable.setdefault(name, []).append(item)
    before = len(choice.restored), len(choice.constants), len(choice.lines), len(choice.includes)
    refused: dict[Item, str] = {}
    for file, line, message in complaints:
        culprit = _innermost(choice, kept, file, line)
        if (
            culprit is not None
            and culprit.kind in ("assertion", "fragment", "using")
            and not _is_sacred(culprit, choice.unit)
        ):
            refused.setdefault(culprit, message)
            continue
        header = _STANDARD.get(match[1]) if (match := _NO_MEMBER.search(message)) else None
        header = header or (_TOOLKIT.get(match[1]) if (match := _UNDEFINED.search(message)) else None)
        missing = [re.sub(r"\s", "", word) for quoted in _QUOTED.findall(message) for word in _WORD.findall(quoted)]
        missing += [f"operator{sign}" for sign in _OPERATOR.findall(message)]
        returning = {item for name in missing for item in restorable.get(name, ())}
        if message.startswith("#error"):
            choice.lines.add((file, line))
        elif header is not None:
            choice.includes[header] = None
        elif "dynamic initialization" in message and culprit is not None and culprit.kind == "variable":
            choice.constants.add(culprit)
        elif "must have a constant value" in message and culprit in choice.constants:
            used = words(culprit.tokens)
            choice.constants |= {
                item for item in kept if item.kind == "variable" and not item.markers and used.intersection(item.names)
            }
        elif returning:
            choice.restored |= returning
        elif culprit is not None and not _is_sacred(culprit, choice.unit):
            refused.setdefault(culprit, message)
    if before != (len(choice.restored), len(choice.constants), len(choice.lines), len(choice.includes)):
        return True  # what is refused now may follow from what was missing
    choice.refused.update(refused)
    return bool(refused)


_NO_MEMBER = re.compile(r'namespace "(?:std|cuda::std::\w+)" has no member(?: class)? "(\w+)"')
_UNDEFINED = re.compile(r'identifier "(\w+)" is undefined')
_TOOLKIT = {
    name: header
    for header, names in {
        "cuda_fp16.h": "__half __half2 half half2 __half_raw",
        "cuda_bf16.h": "__nv_bfloat16 __nv_bfloat162 nv_bfloat16 nv_bfloat162",
        "cuda_fp8.h": "__nv_fp8_e4m3 __nv_fp8_e5m2",
        "cuComplex.h": "cuComplex cuFloatComplex cuDoubleComplex",
        "cfloat": "FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX DBL_MIN DBL_EPSILON",
        "cstdint": "uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t uintptr_t",
        "assert.h": "assert",
    }.items()
    for name in names.split()
}
"""Which header names what, of those that libraries' headers include."""
_STANDARD = {
    name: header
    for header, names in {
        "type_traits": "is_same is_same_v enable_if enable_if_t conditional conditional_t is_integral is_integral_v decay "
        "decay_t integral_constant true_type false_type is_floating_point is_floating_point_v disjunction disjunction_v "
        "conjunction conjunction_v remove_reference remove_reference_t remove_cv remove_cv_t remove_const void_t "
        "is_signed is_unsigned is_signed_v is_unsigned_v is_pointer is_const make_unsigned make_unsigned_t bool_constant "
        "is_trivially_copyable is_base_of is_base_of_v is_convertible is_convertible_v underlying_type negation negation_v "
        "is_enum is_void is_arithmetic is_arithmetic_v make_signed make_signed_t add_const common_type common_type_t "
        "remove_pointer remove_pointer_t is_class is_empty invoke_result invoke_result_t alignment_of",
        "limits": "numeric_limits",
        "algorithm": "min max swap sort fill copy clamp lower_bound upper_bound",
        "utility": "pair make_pair move forward declval index_sequence make_index_sequence integer_sequence exchange "
        "make_integer_sequence index_sequence_for",
        "tuple": "tuple make_tuple get tuple_size tuple_element tie apply",
        "array": "array",
        "functional": "plus minus multiplies less greater equal_to",
        "cmath": "abs sqrt pow exp log sin cos tan floor ceil round fabs isnan isinf fma log2 exp2 tanh fmod copysign",
        "cstdint": "uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t uintptr_t",
        "cstddef": "size_t ptrdiff_t nullptr_t byte max_align_t",
        "complex": "complex",
        "initializer_list": "initializer_list",
        "cstring": "memcpy memset",
        "cstdio": "printf",
    }.items()
    for name in names.split()
}
"""Which header names what in namespace std."""


def _may_return(item: Item) -> bool:
    """Return whether an item may come back as device code: not what the host alone can have."""
    if "__host__" in item.markers and "__device__" not in item.markers:
        return False
    if item.kind == "variable":
        return bool(item.heading & {"const", "constexpr"})
    return item.names != ("main",)


def _innermost(choice: Choice, kept: set[Item], file: str, line: int) -> Item | None:
    around = [
        item
        for item in kept
        if item.source.name == file
        and item.line <= line <= item.last_line
        and item.source.name not in choice.unit.verbatim
    ]
    # Without one of its fields or types, a class would be another one: it goes as a whole, or stays.
    whole = [item for item in around if not item.owner or item.kind == "function" or "friend" in item.heading]
    return min(whole, key=lambda item: item.end - item.start, default=None)


# --- the whole ------------------------------------------------------------------------------------


def extract(content: bytes, name: str, find_header: FindHeader, instantiate: Sequence[str] = ()) -> Extraction:
    """Return the device code of a source, as its names tell it; `compile_device_code` asks the compiler too."""
    return _begin(content, name, find_header, instantiate)[1]()


def _begin(
    content: bytes, name: str, find_header: FindHeader, instantiate: Sequence[str]
) -> tuple[Choice, Callable[[], Extraction]]:
    unit = read_unit(content, name, find_header)
    found = instances(unit.items, unit.macros)
    expressions = [*instantiate, *(each.expression for each in found.kernels)]
    choice = Choice(unit, frozenset(word for expression in expressions for word in _WORD.findall(expression)))
    return choice, lambda: _write(unit, name, choice, found, instantiate)


def compile_device_code(
    content: bytes,
    name: str,
    find_header: FindHeader,
    compile: Callable[[Extraction], Answer],
    host_code: str = "auto",
    instantiate: Sequence[str] = (),
) -> tuple[Extraction, Answer]:
    """Return what the compiler was given in the end, and what it made of it.

    `host_code` is "auto" (host code is taken out where the file does not compile with it), "keep" (never) or "reject".
    The answer may hold an error, as any other. CompileError is raised where a kernel would be lost, and with "reject"
    where there is host code.
    """
    plain = Extraction(content, {}, (), tuple(instantiate), (), (), ())
    answer = compile(plain)
    if host_code == "keep" or (not answer["error"] and b"<<<" not in content):
        return plain, answer
    choice, write = _begin(content, name, find_header, instantiate)
    extraction = write()
    if not answer["error"] and not _missing(extraction, answer):
        return plain, answer
    if host_code == "reject":
        host = next((each for each in extraction.blanked if each.kind in ("function", "variable")), None)
        if host is None:
            return plain, answer
        raise CompileError(f'{host.file}({host.line}): {host.kind} {host.name} is host code (host-code = "reject").')
    answer = compile(extraction)
    for _ in range(ATTEMPTS):
        if not answer["error"] or not _learn(choice, answer["log"]):
            break
        extraction = write()
        answer = compile(extraction)
    if not answer["error"]:
        _check(extraction, answer)
    return extraction, answer


def _missing(extraction: Extraction, answer: Answer) -> list[ExpectedKernel]:
    """Return the expected kernels that an image lacks; one that an `#if` rules is not missed."""
    entries = set(ptx.kernels(ptx.normalise(answer["ptx"].decode())))
    lacking = []
    for kernel in extraction.kernels:
        plain = kernel.name.split("::")[-1]
        held = any(entry == plain or f"{len(plain)}{plain}" in entry for entry in entries)
        if not held and not kernel.conditional:
            lacking.append(kernel)
    return lacking


def _check(extraction: Extraction, answer: Answer) -> None:
    """Raise CompileError that names every kernel which an image should hold, and does not."""
    lines = [
        f"{each.file}({each.line}): kernel {each.name} is not in the image." for each in _missing(extraction, answer)
    ]
    lines += [
        f"{each.file}({each.line}): which instances of the kernel template {each.kernel} are launched cannot be told: "
        f"{each.reason}. Name them with instantiate."
        for each in extraction.unresolved
    ]
    if lines:
        raise CompileError("\n".join(lines))
