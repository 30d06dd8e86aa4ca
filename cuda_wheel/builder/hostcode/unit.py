"""Read a source with the project's headers that it includes, and find its device code by the CUDA markers."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from cuda_wheel.builder.cxx.definitions import Item, SourceText, read_source
from cuda_wheel.builder.cxx.macros import Macro
from cuda_wheel.builder.cxx.masking import decorations
from cuda_wheel.builder.cxx.syntax import parse
from cuda_wheel.builder.cxx.tokens import words
from cuda_wheel.builder.sources.include_graph import visit

__all__ = [
    "DEVICE",
    "INCLUDE",
    "FindHeader",
    "Header",
    "TranslationUnit",
    "is_device",
    "is_host_member",
    "is_sacred",
    "is_surely_mixed",
    "launches",
    "mismatch",
    "read_unit",
    "with_members",
]


class Header(NamedTuple):
    """A header that was found: its name in diagnostics, and its text. The text is None if the header belongs to the
    toolchain and not to the project; the compiler finds such a header itself."""

    name: str
    text: bytes | None


FindHeader = Callable[[str, bool, str], "Header | None"]
"""Finds the header of `#include "name"` (True) or `<name>` (False) in the file that the last argument names."""

INCLUDE = re.compile(r'^(?:"([^"]+)"|<([^>]+)>)')

DEVICE = frozenset({"__global__", "__device__", "__constant__", "__managed__", "__shared__"})


@dataclass(frozen=True, eq=False)
class TranslationUnit:
    """A source and its project's headers, parsed."""

    sources: Mapping[str, SourceText]
    found: Mapping[tuple[str, int], Header | None]
    """The header that each include directive found, by the file's name and the directive's offset."""
    verbatim: frozenset[str]
    """Headers that are included inside a definition, and are therefore parts of it."""
    macros: Mapping[str, Sequence[Macro]]
    decorations: Mapping[str, frozenset[str]]

    @cached_property
    def items(self) -> list[Item]:
        """All items; members follow the item that contains them."""
        return [
            item
            for source in self.sources.values()
            if source.name not in self.verbatim
            for outer in source.items
            for item in with_members(outer)
        ]

    @cached_property
    def device_macros(self) -> frozenset[str]:
        """Macros that expand to definitions of device code."""
        return frozenset(name for name in self.macros if self.expanded({name}) & DEVICE)

    @cached_property
    def led(self) -> set[Item]:
        """Items directly after a marker that belongs to no item, because the grammar misread the text there."""
        found: set[Item] = set()
        for source in self.sources.values():
            ends = [item.end for item in source.items]
            for token in source.tokens:
                if token.text in DEVICE or (token.text in self.device_macros and token.text in self.decorations):
                    after = bisect_right(ends, token.start)
                    if after < len(ends) and source.items[after].kind == "fragment":
                        found.add(source.items[after])
                        after += 1
                    if after < len(ends) and source.items[after].start > token.start:
                        found.add(source.items[after])
        return found

    @cached_property
    def marked(self) -> frozenset[str]:
        """The functions that have a declaration marked as device code."""
        return frozenset(
            name for item in self.items if item.kind == "function" and is_device(item) for name in item.names
        )

    def expanded(self, names: Iterable[str]) -> frozenset[str]:
        """Return names, and the names in the expansions of the macros among them."""
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


def with_members(item: Item) -> Iterator[Item]:
    yield item
    for member in item.members:
        yield from with_members(member)


def read_unit(content: bytes, name: str, find_header: FindHeader) -> TranslationUnit:
    """Return a source and all headers of its project that it includes, parsed."""
    sources: dict[str, SourceText] = {}
    found: dict[tuple[str, int], Header | None] = {}
    texts = {name: content}

    def included(current: str) -> Iterator[str]:
        source = sources[current] = read_source(current, texts[current])
        for directive in source.directives:
            asked = INCLUDE.match(directive.rest) if directive.word == "include" else None
            if asked is not None:
                header = find_header(asked[1] or asked[2], asked[1] is not None, current)
                found[current, directive.start] = header
                if header is not None and header.text is not None:
                    texts.setdefault(header.name, header.text)
                    yield header.name

    visit([name], included)
    macros: dict[str, list[Macro]] = {}
    for source in sources.values():
        for macro in source.macros:
            macros.setdefault(macro.name, []).append(macro)
    known = decorations(macro for definitions in macros.values() for macro in definitions)
    for source in sources.values():
        parse(source, macros, known)
    return TranslationUnit(sources, found, frozenset(_verbatim(sources, found)), macros, known)


def _verbatim(sources: Mapping[str, SourceText], found: Mapping[tuple[str, int], Header | None]) -> Iterator[str]:
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


def is_device(item: Item) -> bool:
    """Return whether an item is device code only."""
    return bool(item.markers & DEVICE) and "__host__" not in item.markers


def is_sacred(item: Item, unit: TranslationUnit) -> bool:
    """Return whether an item must always reach the compiler."""
    if item in unit.led:
        return True
    if _is_nonsense(item, unit):
        return True
    if item.kind in ("macro call", "fragment"):
        return bool(words(item.tokens) & (unit.device_macros | DEVICE))
    if item.kind in ("function", "variable"):
        return is_device(item)
    if item.kind == "instantiation":
        return "__global__" in item.markers or bool(set(item.names) & unit.marked)
    return False


_MACRO_LIKE = re.compile(r"\b_*[A-Z][A-Z0-9_]+\b|^(?:\w+\s+)*\w+\s*\(.*\)\s*;?\s*$", re.DOTALL)


def _is_nonsense(item: Item, unit: TranslationUnit) -> bool:
    """Return whether an item is not valid C++ and cannot be a use of a macro that a host-only header defines.

    It may be a kernel with a typing error, which the compiler must report. Headers are excepted: they are written for
    other compilers too, so that much unusual code in them is correct.
    """
    return (
        item.kind == "fragment"
        and not item.owner
        and item.source.name == next(iter(unit.sources))
        and not item.source.is_conditional(item.start)
        and "friend" not in item.heading
        and not _MACRO_LIKE.search(item.text.strip())
    )


def mismatch(unit: TranslationUnit) -> str | None:
    """Return an error message with the place where the source's brackets do not match; None if they match.

    Without matching brackets, the end of a definition is unknown: a kernel may look like a part of a host function.
    Definitions that contain a directive other than `#pragma`, or are inside an `#if`, are not checked.
    """
    source = next(iter(unit.sources.values()))
    for item in source.items:
        said = [token.text for token in item.tokens]
        directives = any(item.start < each.start < item.end and each.word != "pragma" for each in source.directives)
        for opening, closing in ("{}", "()", "[]"):
            if said.count(opening) != said.count(closing) and not directives and not source.is_conditional(item.start):
                what = f"{item.kind} {', '.join(item.names)}".strip()
                return f'{source.name}:{item.line}: error: "{opening}" and "{closing}" do not match in this {what}'
    return None


def is_surely_mixed(unit: TranslationUnit, name: str) -> bool:
    """Return whether no NVRTC can compile the unedited source `name` for any target: it includes a missing header, or
    has a function that launches kernels."""
    source = unit.sources[name]
    lost = any(
        unit.found.get((name, each.start), each) is None and not source.is_conditional(each.start)
        for each in source.directives
    )
    return lost or any(
        item.kind == "function"
        and item.defined
        and launches(item)
        and not item.markers & DEVICE
        and not source.is_conditional(item.start)
        for item in source.items
    )


def launches(item: Item) -> bool:
    return any(token.text == "<<<" for token in item.tokens)


def is_host_member(item: Item, unit: TranslationUnit) -> bool:
    """Return whether only the host calls a member function."""
    if item.kind != "function" or item.markers & DEVICE:
        return False
    if "__host__" in item.markers:
        return True
    if item.heading & {"constexpr", "consteval", "virtual", "override", "final"}:
        return False
    return not re.search(r"=\s*(default|delete)\s*;?\s*$", item.text)
