"""Find the kernel launches that a piece of host code may reach, by names.

If a piece of host code is left out, the kernel templates that it launches are not instantiated. More is found than a
compiler reaches, and not less: a name stands for everything of that name, also for a macro.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from cuda_wheel.builder.cxx.macros import macro_of
from cuda_wheel.builder.cxx.tokens import MARKERS, Token, words
from cuda_wheel.builder.hostcode.blocks import CodeBlock, SourceBlocks

__all__ = ["DEVICE_WORDS", "Launches", "ProjectCode", "project_code"]

DEVICE_WORDS = (MARKERS - {"__host__"}) | {"constexpr", "consteval"}
"""The markers of code that device code may use."""


class Launches(NamedTuple):
    """What a piece of code may launch: the names of kernel templates, and whether a launch names no known kernel."""

    templates: frozenset[str]
    unknown: bool


class ProjectCode(NamedTuple):
    """The definitions and macros of a source and of the project's headers that it includes."""

    by_name: Mapping[str, Sequence[Sequence[Token]]]
    """The tokens of all that has a name."""
    device_words: frozenset[str]
    """The markers of device code, and the macros that contain one."""
    kernels: frozenset[str]
    """The kernels that are no templates."""
    templates: frozenset[str]
    """The kernel templates."""
    functions: frozenset[str]
    """The names that are only functions."""
    declared: Mapping[str, int]
    """How many definitions and declarations each name has."""

    def is_host(self, definition: CodeBlock) -> bool:
        """Return whether no marker of device code is in the heading of a definition."""
        return not definition.words & self.device_words

    def launched_functions(self, tokens: Sequence[Token]) -> Iterator[tuple[Token, str]]:
        """Yield each `<<<` in tokens that launches a function without `__global__`, with the function's name.

        nvcc refuses that; NVRTC generates nothing for it.
        """
        local = {token.text for token, after in pairwise(tokens) if after.text == "="}
        for index, token in enumerate(tokens):
            name = _launched(tokens, index) if token.text == "<<<" else ""
            if name not in local and name in self.functions and name not in self.kernels | self.templates:
                yield token, name

    def launches(self, piece: Iterable[Token]) -> Launches:
        """Return what a piece of code may launch, directly or through what it names."""
        templates: set[str] = set()
        unknown = False
        seen: set[str] = set()
        waiting: list[Sequence[Token]] = [list(piece)]
        while waiting:
            tokens = waiting.pop()
            said = words(tokens)
            templates |= said & self.templates
            for index, token in enumerate(tokens):
                if token.text == "<<<":
                    kernel = _launched(tokens, index)
                    unknown = unknown or kernel not in self.kernels | self.templates
            for name in said - seen:
                seen.add(name)
                waiting += self.by_name.get(name, ())
        return Launches(frozenset(templates), unknown)


def _launched(tokens: Sequence[Token], index: int) -> str:
    """Return the name before `<<<`, without its template arguments; empty if it is no name."""
    index -= 1
    depth = 0
    while index >= 0 and (depth or tokens[index].text in (">", ">>>")):
        depth += {">": 1, ">>>": 3, "<": -1, "<<<": -3}.get(tokens[index].text, 0)
        index -= 1
    return tokens[index].text if index >= 0 and tokens[index].kind == "word" else ""


def project_code(files: Iterable[SourceBlocks]) -> ProjectCode:
    """Return the code of these files together."""
    files = list(files)
    by_name: dict[str, list[Sequence[Token]]] = {}
    macros = [macro for file in files for directive in file.directives if (macro := macro_of(directive))]
    for macro in macros:
        by_name.setdefault(macro.name, []).append(macro.body)
    device_words, global_words = set(DEVICE_WORDS), {"__global__"}
    for known in (device_words, global_words):
        while new := {macro.name for macro in macros if words(macro.body) & known} - known:
            known |= new
    kernels: set[str] = set()
    templates: set[str] = set()
    declared: dict[str, int] = {}
    functions: set[str] = set()
    others = {macro.name for macro in macros}
    for definition in (each for file in files for each in file.definitions):
        name = definition.name
        for each in definition.names:
            by_name.setdefault(each, []).append(definition.tokens)
            declared[each] = declared.get(each, 0) + 1
        (functions if definition.is_function else others).add(name)
        if definition.words & global_words:
            (templates if definition.is_template else kernels).add(name)
    return ProjectCode(
        by_name,
        frozenset(device_words),
        frozenset(kernels - templates),
        frozenset(templates),
        frozenset(functions - others),
        declared,
    )
