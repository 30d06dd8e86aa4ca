"""Read a source together with the headers of its project, and tell device code from host code by its markers."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from cuda_wheel.builder.cxx.definitions import Item, SourceText, read_source
from cuda_wheel.builder.cxx.syntax import decorations, parse
from cuda_wheel.builder.cxx.tokens import Macro, words

__all__ = [
    "DEVICE",
    "INCLUDE",
    "FindHeader",
    "Header",
    "Unit",
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
    """A header that was found: the name that diagnostics shall have for it, and its text; None where it is not the
    project's but the toolchain's, which the compiler finds by itself."""

    name: str
    text: bytes | None


FindHeader = Callable[[str, bool, str], "Header | None"]
"""Finds `#include "name"` (True) or `<name>` (False) of the file with the last argument as its name."""


INCLUDE = re.compile(r'^(?:"([^"]+)"|<([^>]+)>)')


DEVICE = frozenset({"__global__", "__device__", "__constant__", "__managed__", "__shared__"})


@dataclass(frozen=True, eq=False)
class Unit:
    """A source and its project's headers, read."""

    sources: Mapping[str, SourceText]
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
            for item in with_members(outer)
        ]

    @cached_property
    def device_macros(self) -> frozenset[str]:
        """Macros that stand for definitions of device code."""
        return frozenset(name for name in self.macros if self.expanded({name}) & DEVICE)

    @cached_property
    def led(self) -> set[Item]:
        """Items right after a marker that belongs to none, because the grammar was led astray there."""
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
        """The functions of which a declaration is marked as device code."""
        return frozenset(
            name for item in self.items if item.kind == "function" and is_device(item) for name in item.names
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


def with_members(item: Item) -> Iterator[Item]:
    yield item
    for member in item.members:
        yield from with_members(member)


def read_unit(content: bytes, name: str, find_header: FindHeader) -> Unit:
    """Return a source and all headers of its project that it includes."""
    sources: dict[str, SourceText] = {}
    found: dict[tuple[str, int], Header | None] = {}
    waiting = [(name, content)]
    while waiting:
        current, text = waiting.pop()
        if current in sources:
            continue
        source = sources[current] = read_source(current, text)
        for directive in source.directives:
            asked = INCLUDE.match(directive.rest) if directive.word == "include" else None
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
    """Return whether an item is device code and nothing else."""
    return bool(item.markers & DEVICE) and "__host__" not in item.markers


def is_sacred(item: Item, unit: Unit) -> bool:
    """Return whether an item must reach the compiler, whatever happens."""
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


def _is_nonsense(item: Item, unit: Unit) -> bool:
    """Return whether an item makes no sense, and a macro of a header that only the host has cannot give it one.

    It may be what a slip has left of a kernel: the compiler is to tell its reader. In headers, which are written for
    other compilers too, much is strange that is not wrong.
    """
    return (
        item.kind == "fragment"
        and not item.owner
        and item.source.name == next(iter(unit.sources))
        and not item.source.is_conditional(item.start)
        and "friend" not in item.heading
        and not _MACRO_LIKE.search(item.text.strip())
    )


def mismatch(unit: Unit) -> str | None:
    """Return where the source's brackets do not match, as an error of it; None where they do, or an `#if` is amid.

    What is one definition then, and what the next, nobody can tell: a kernel may look like a part of a host function.
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


def is_surely_mixed(unit: Unit, name: str) -> bool:
    """Return whether no NVRTC takes the source `name` as it is, whatever the target: it includes what is not there, or
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


def is_host_member(item: Item, unit: Unit) -> bool:
    """Return whether a member function is one that only the host calls."""
    if item.kind != "function" or item.markers & DEVICE:
        return False
    if "__host__" in item.markers:
        return True
    if item.heading & {"constexpr", "consteval", "virtual", "override", "final"}:
        return False
    return not re.search(r"=\s*(default|delete)\s*;?\s*$", item.text)
