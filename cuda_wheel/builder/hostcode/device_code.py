"""Take the device code out of files that mix it with host code, so that NVRTC compiles them unedited.

Definitions that device code does not need are blank in what the compiler is given; lines stay where they are. What is
needed is first told by names, and then by the compiler itself: a definition that it misses comes back, one that nobody
needs and that it refuses goes. What CUDA's markers mark always stays.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cuda_wheel.builder.cxx.definitions import Item, SourceText
from cuda_wheel.builder.cxx.tokens import DECORATION, Directive
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.hostcode.choice import WORD, Choice, learn
from cuda_wheel.builder.hostcode.template_deduction import Instances, Unresolved, instances
from cuda_wheel.builder.hostcode.unit import (
    INCLUDE,
    FindHeader,
    Header,
    Unit,
    is_surely_mixed,
    mismatch,
    read_unit,
    with_members,
)
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.runtime.formats import ptx

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import Answer

__all__ = [
    "Blanked",
    "ExpectedKernel",
    "Extraction",
    "compile_device_code",
    "extract",
]


OPTIONS = (
    "--device-as-default-execution-space",
    "--pre-include=cuda_wheel_detail/host_code.h",
    "--diag-suppress=177",  # "declared but never referenced": what refers to it may be what is left out
)


ATTEMPTS = 16
"""How often a file is compiled at most, until what it needs is known."""


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


_HOST_HEADERS = re.compile(
    r"cuda_runtime(_api)?\.h|cuda_profiler_api\.h|cuda_.*_interop\.h|device_launch_parameters\.h|nvtx3/.*"
    r"|cuda(EGL|GL|VDPAU)(Typedefs)?\.h|cuda(Profiler)?Typedefs\.h|(channel_descriptor|driver_functions)\.h"
    r"|nv(rtc|Fatbin|JitLink|PTXCompiler)\.h|cuda/(buffer|memory_pool|memory_resource|stream|stream_ref)"
    r"|thrust/(?!pair\.h|tuple\.h).*|cub/device/.*"
)
"""Headers of the toolchain that declare host functions. What device code uses of them, NVRTC knows by itself."""


# --- writing --------------------------------------------------------------------------------------


def _render(unit: Unit, source: SourceText, kept: set[Item], choice: Choice) -> bytes:
    """Return a file's text with everything blank that is not kept."""
    text = bytearray(source.content)
    edits = [(each.start, each.end, _directive(unit, source, each, choice)) for each in source.directives]
    if source.name not in unit.verbatim:
        for item in source.items:
            for part in with_members(item):
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


def _directive(unit: Unit, source: SourceText, directive: Directive, choice: Choice) -> bytes:
    text = source.content[directive.start : directive.end]
    if directive.word == "error" and (source.name, source.line(directive.start)) in choice.lines:
        return _blank(text)
    header = unit.found.get((source.name, directive.start), _MACRO)
    if header is _MACRO:
        # nvcc defines both, NVRTC the second.
        is_condition = directive.word in ("if", "ifdef", "ifndef", "elif")
        return re.sub(rb"\b__NVCC__\b", b"__CUDACC__", text) if is_condition else text
    if _is_blank_include(directive, header, choice):
        return _blank(text)
    if header is not None and header.text is not None:
        return b'#include "' + os.fsencode(header.name) + b'"' + b"\n" * text.count(b"\n")
    return text


_MACRO = Header("", b"")
"""Stands for an include whose name a macro gives, and for every other directive."""


def _is_blank_include(directive: Directive, header: Header | None, choice: Choice) -> bool:
    asked = INCLUDE.match(directive.rest)
    name = "" if asked is None else asked[1] or asked[2]
    if header is None:
        return True
    return header.text is None and (header.name in choice.headers or bool(_HOST_HEADERS.fullmatch(name)))


def _told(unit: Unit, choice: Choice, kept: set[Item]) -> Iterator[Blanked]:
    """Return what is blank, outermost first."""
    for source in unit.sources.values():
        for directive in source.directives:
            if (source.name, directive.start) in unit.found and _is_blank_include(
                directive, unit.found[source.name, directive.start], choice
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


_EXPRESSION = re.compile(
    r"^__nv_name_map\(\d+\): error(?: #\S+)?: (?P<message>.*)\n\s*#pragma nv_mangled_name (?P<expression>.*)$",
    re.MULTILINE,
)
"""An error in a name expression. NVRTC shows each in a line of a text that it writes itself."""


def _without_impossible(found: Instances, log: str, instantiate: Sequence[str]) -> Instances:
    """Return what host code asks for without the instances that are none: what they name, nothing here declares."""
    reasons = {match["expression"].strip(): match["message"] for match in reversed([*_EXPRESSION.finditer(log)])}
    lost = [each for each in found.kernels if each.expression in reasons and each.expression not in instantiate]
    unresolved = [
        Unresolved(each.kernel, each.file, each.line, f"in {each.expression}, {reasons[each.expression]}")
        for each in lost
    ]
    kernels = tuple(each for each in found.kernels if each not in lost)
    return Instances(kernels, (*found.unresolved, *unresolved))


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
    lost = [*found.unresolved, *_not_understood(unit)]
    given = {re.split("<", expression)[0].split("::")[-1].strip() for expression in instantiate}
    unresolved = tuple(each for each in lost if each.kernel.split("::")[-1] not in given)
    text = texts.pop(name)
    options = (*OPTIONS, *(f"--pre-include={header}" for header in choice.includes))
    return Extraction(text, texts, options, expressions, tuple(_told(unit, choice, kept)), tuple(kernels), unresolved)


def _not_understood(unit: Unit) -> Iterator[Unresolved]:
    """Return the kernel templates that stand in what the grammar did not understand: nobody knows who uses them."""
    for item in unit.items:
        said = [token.text for token in item.tokens]
        if item.kind == "fragment" and "__global__" in said and "template" in said:
            following = said[said.index("__global__") + 1 :]
            calls = [word for word, after in zip(following, [*following[1:], ""], strict=True) if after == "("]
            names = [word for word in calls if word not in DECORATION]
            yield Unresolved(
                names[0] if names else "?", item.source.name, item.line, "its definition is not understood"
            )


def _qualified(item: Item) -> str:
    return "::".join([*(part for part in item.scope if part), *item.names[:1]])


# --- the whole ------------------------------------------------------------------------------------


def extract(content: bytes, name: str, find_header: FindHeader, instantiate: Sequence[str] = ()) -> Extraction:
    """Return the device code of a source, as its names tell it; `compile_device_code` asks the compiler too."""
    choice, found = _begin(content, name, find_header, instantiate)
    return _write(choice.unit, name, choice, found, instantiate)


def _begin(content: bytes, name: str, find_header: FindHeader, instantiate: Sequence[str]) -> tuple[Choice, Instances]:
    unit = read_unit(content, name, find_header)
    found = instances(unit.items, unit.macros)
    expressions = [*instantiate, *(each.expression for each in found.kernels)]
    choice = Choice(unit, frozenset(word for expression in expressions for word in WORD.findall(expression)))
    return choice, found


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
    if host_code == "keep" or b"<<<" not in content:
        answer = compile(plain)
        if host_code == "keep" or not answer["error"]:
            return plain, answer
    choice, found = _begin(content, name, find_header, instantiate)
    extraction = _write(choice.unit, name, choice, found, instantiate)
    if b"<<<" in content and not is_surely_mixed(choice.unit, name):  # else to compile it takes time, and tells nothing
        answer = compile(plain)
        if not answer["error"] and not _missing(extraction, answer):
            return plain, answer
    if host_code == "reject":
        host = next((each for each in extraction.blanked if each.kind in ("function", "variable")), None)
        if host is None:
            return plain, compile(plain)
        raise CompileError(
            f'{host.file}:{host.line}: error: {host.kind} {host.name} is host code (host-code = "reject").'
        )
    confused = mismatch(choice.unit) if extraction.blanked else None
    if confused is not None:
        raise CompileError(confused)
    result = compile(extraction)
    for _ in range(ATTEMPTS):
        if not result["error"]:
            break
        if not learn(choice, result["log"]):
            # Not sooner: what an error elsewhere hides is as undefined as what is nowhere.
            before, found = found, _without_impossible(found, result["log"], instantiate)
            if found == before:
                break
        extraction = _write(choice.unit, name, choice, found, instantiate)
        result = compile(extraction)
    if not result["error"]:
        _check(extraction, result)
    elif not extraction.blanked:
        return plain, compile(plain)  # there is no host code: the file's own errors are what to show
    return extraction, result


def _missing(extraction: Extraction, answer: Answer) -> list[ExpectedKernel]:
    """Return the expected kernels that an image lacks; one that an `#if` rules is not missed."""
    held = {name for symbol in ptx.kernels(ptx_text.normalise(answer["ptx"].decode())) for name in _names(symbol)}
    return [each for each in extraction.kernels if not each.conditional and each.name.split("::")[-1] not in held]


def _names(symbol: str) -> set[str]:
    """Return a symbol and all that may be names in it: each has its length before it."""
    names = {symbol}
    for digits in re.finditer(r"\d+", symbol):
        for start in range(digits.start(), digits.end()):  # the first ones may be the end of another name
            names.add(symbol[digits.end() :][: int(symbol[start : digits.end()])])
    return names


def _check(extraction: Extraction, answer: Answer) -> None:
    """Raise CompileError that names every kernel which an image should hold, and does not."""
    lines = [
        f"{each.file}:{each.line}: error: kernel {each.name} is not in the image."
        for each in _missing(extraction, answer)
    ]
    lines += [
        f"{each.file}:{each.line}: error: which instances of the kernel template {each.kernel} are launched cannot be "
        f"told: {each.reason}. Name them with instantiate."
        for each in extraction.unresolved
    ]
    if lines:
        raise CompileError("\n".join(lines))
