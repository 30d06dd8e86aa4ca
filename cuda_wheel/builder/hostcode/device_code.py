"""Separate device code from host code in one file, so that NVRTC compiles the file unedited.

In the text for the compiler, spaces replace the definitions that device code does not need; line numbers stay the
same. Which definitions are needed is determined first from names, then from the compiler's errors: a definition that
the compiler reports as missing is restored, and one that it rejects and that nothing needs is blanked. Definitions with
CUDA markers are never blanked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cuda_wheel.builder.cxx.definitions import Item, SourceText
from cuda_wheel.builder.cxx.header_names import HOST_TOOLKIT_HEADERS
from cuda_wheel.builder.cxx.tokens import DECORATION, Directive
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.hostcode.choice import WORD, Choice, learn
from cuda_wheel.builder.hostcode.template_deduction import Instances, Unresolved, instances
from cuda_wheel.builder.hostcode.unit import (
    INCLUDE,
    FindHeader,
    Header,
    TranslationUnit,
    is_surely_mixed,
    mismatch,
    read_unit,
    with_members,
)
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.runtime.formats import ptx

if TYPE_CHECKING:  # nvrtc defines it for type checkers only
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcResult

__all__ = ["Blanked", "ExpectedKernel", "Extraction", "compile_device_code", "extract"]

OPTIONS = (
    "--device-as-default-execution-space",
    "--pre-include=cuda_wheel_detail/without_host_code.h",
    "--diag-suppress=177",  # "declared but never referenced": the references may be in blanked code
)

ATTEMPTS = 16
"""The maximum number of times that a file is compiled to find out which definitions it needs."""


class Blanked(NamedTuple):
    """A definition or include that is blank in the text for the compiler."""

    kind: str
    name: str
    file: str
    line: int
    last_line: int
    reason: str


class ExpectedKernel(NamedTuple):
    """A kernel that the image must contain. `conditional`: it is inside an `#if`. `expression`: only of a template."""

    name: str
    file: str
    line: int
    conditional: bool
    expression: str | None


class Extraction(NamedTuple):
    """The compiler's input: a text, the project's headers by the names in its include directives, options and name
    expressions. Also what to report: blanked code, expected kernels and unresolved uses of kernel templates."""

    text: bytes
    headers: Mapping[str, bytes]
    options: tuple[str, ...]
    expressions: tuple[str, ...]
    blanked: tuple[Blanked, ...]
    kernels: tuple[ExpectedKernel, ...]
    unresolved: tuple[Unresolved, ...]


# --- writing --------------------------------------------------------------------------------------


def _render(unit: TranslationUnit, source: SourceText, kept: set[Item], choice: Choice) -> bytes:
    """Return a file's text in which everything that is not kept is blank."""
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


def _directive(unit: TranslationUnit, source: SourceText, directive: Directive, choice: Choice) -> bytes:
    text = source.content[directive.start : directive.end]
    if directive.word == "error" and (source.name, source.line(directive.start)) in choice.lines:
        return _blank(text)
    header = unit.found.get((source.name, directive.start), _MACRO)
    if header is _MACRO:
        # nvcc defines both macros, NVRTC only the second.
        is_condition = directive.word in ("if", "ifdef", "ifndef", "elif")
        return re.sub(rb"\b__NVCC__\b", b"__CUDACC__", text) if is_condition else text
    if _is_blank_include(directive, header, choice):
        return _blank(text)
    if header is not None and header.text is not None:
        return b'#include "' + os.fsencode(header.name) + b'"' + b"\n" * text.count(b"\n")
    return text


_MACRO = Header("", b"")
"""Stands for an include whose name is a macro, and for every other directive."""


def _is_blank_include(directive: Directive, header: Header | None, choice: Choice) -> bool:
    asked = INCLUDE.match(directive.rest)
    name = "" if asked is None else asked[1] or asked[2]
    if header is None:
        return True
    return header.text is None and (header.name in choice.headers or bool(HOST_TOOLKIT_HEADERS.fullmatch(name)))


def _told(unit: TranslationUnit, choice: Choice, kept: set[Item]) -> Iterator[Blanked]:
    """Yield what is blank: includes, and definitions without the members of a blank definition."""
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
"""An error in a name expression. NVRTC reports it with a line of a text that NVRTC generates."""


def _without_impossible(found: Instances, log: str, instantiate: Sequence[str]) -> Instances:
    """Return the instances that host code requests, without invalid ones: nothing here declares what they name."""
    reasons = {match["expression"].strip(): match["message"] for match in reversed([*_EXPRESSION.finditer(log)])}
    lost = [each for each in found.kernels if each.expression in reasons and each.expression not in instantiate]
    unresolved = [
        Unresolved(each.kernel, each.file, each.line, f"in {each.expression}, {reasons[each.expression]}")
        for each in lost
    ]
    kernels = tuple(each for each in found.kernels if each not in lost)
    return Instances(kernels, (*found.unresolved, *unresolved))


def _write(
    unit: TranslationUnit, name: str, choice: Choice, found: Instances, instantiate: Sequence[str]
) -> Extraction:
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


def _not_understood(unit: TranslationUnit) -> Iterator[Unresolved]:
    """Yield the kernel templates in text that the grammar cannot parse: their uses are unknown."""
    for item in unit.items:
        said = [token.text for token in item.tokens]
        if item.kind == "fragment" and "__global__" in said and "template" in said:
            following = said[said.index("__global__") + 1 :]
            calls = [word for word, after in zip(following, [*following[1:], ""], strict=True) if after == "("]
            names = [word for word in calls if word not in DECORATION]
            yield Unresolved(names[0] if names else "?", item.source.name, item.line, "its definition cannot be parsed")


def _qualified(item: Item) -> str:
    return "::".join([*(part for part in item.scope if part), *item.names[:1]])


# --- entry points ---------------------------------------------------------------------------------


def extract(content: bytes, name: str, find_header: FindHeader, instantiate: Sequence[str] = ()) -> Extraction:
    """Return the device code of a source, selected by names only; `compile_device_code` uses the compiler too."""
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
    compile: Callable[[Extraction], NvrtcResult],
    host_code: str = "auto",
    instantiate: Sequence[str] = (),
) -> tuple[Extraction, NvrtcResult]:
    """Return the final input for the compiler, and the compiler's result.

    `host_code` is "auto" (remove host code if the file does not compile with it), "keep" (never remove it) or "reject".
    The result may contain an error, like any other result. Raises CompileError if a kernel would be lost, and with
    "reject" if there is host code.
    """
    plain = Extraction(content, {}, (), tuple(instantiate), (), (), ())
    if host_code == "keep" or b"<<<" not in content:
        answer = compile(plain)
        if host_code == "keep" or not answer["error"]:
            return plain, answer
    choice, found = _begin(content, name, find_header, instantiate)
    extraction = _write(choice.unit, name, choice, found, instantiate)
    if b"<<<" in content and not is_surely_mixed(choice.unit, name):  # otherwise, this attempt surely fails
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
            # Not sooner: an error elsewhere may hide a declaration, which then looks undefined although it exists.
            before, found = found, _without_impossible(found, result["log"], instantiate)
            if found == before:
                break
        extraction = _write(choice.unit, name, choice, found, instantiate)
        result = compile(extraction)
    if not result["error"]:
        _check(extraction, result)
    elif not extraction.blanked:
        return plain, compile(plain)  # there is no host code: report the errors of the unedited file
    return extraction, result


def _missing(extraction: Extraction, answer: NvrtcResult) -> list[ExpectedKernel]:
    """Return the expected kernels that an image lacks, except those inside an `#if`."""
    held = {name for symbol in ptx.kernels(ptx_text.normalise(answer["ptx"].decode())) for name in _names(symbol)}
    return [each for each in extraction.kernels if not each.conditional and each.name.split("::")[-1] not in held]


def _names(symbol: str) -> set[str]:
    """Return a symbol and every part of it that may be a name: the length of a name precedes it."""
    names = {symbol}
    for digits in re.finditer(r"\d+", symbol):
        for start in range(digits.start(), digits.end()):  # the first digits may be the end of another name
            names.add(symbol[digits.end() :][: int(symbol[start : digits.end()])])
    return names


def _check(extraction: Extraction, answer: NvrtcResult) -> None:
    """Raise a CompileError that names every kernel that the image should contain but does not."""
    lines = [
        f"{each.file}:{each.line}: error: kernel {each.name} is not in the image."
        for each in _missing(extraction, answer)
    ]
    lines += [
        f"{each.file}:{each.line}: error: the launched instances of the kernel template {each.kernel} cannot be "
        f"determined: {each.reason}. Name them with instantiate."
        for each in extraction.unresolved
    ]
    if lines:
        raise CompileError("\n".join(lines))
