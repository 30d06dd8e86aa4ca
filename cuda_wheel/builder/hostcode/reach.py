"""The kernels and functions of a project's files, and which definitions are host code, by names and markers.

A text does not tell what a macro of a library stands for: what is decided by this is checked by the compiler.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from cuda_wheel.builder.cxx.macros import macro_of
from cuda_wheel.builder.cxx.tokens import MARKERS, Token, before_template_arguments, words
from cuda_wheel.builder.hostcode.blocks import CodeBlock, SourceBlocks

__all__ = ["DEVICE_WORDS", "ProjectCode", "project_code"]

DEVICE_WORDS = (MARKERS - {"__host__"}) | {"constexpr", "consteval"}
"""The markers of code that device code may use."""


class ProjectCode(NamedTuple):
    """The functions and macros of a source and of the project's headers that it includes."""

    device_words: frozenset[str]
    """The markers of device code, and the macros that contain one."""
    kernels: frozenset[str]
    functions: frozenset[str]
    """The names that are only functions."""

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
            if name not in local and name in self.functions and name not in self.kernels:
                yield token, name


def _launched(tokens: Sequence[Token], index: int) -> str:
    """Return the name before `<<<`, without its template arguments; empty if it is no name."""
    index = before_template_arguments(tokens, index)
    return tokens[index].text if index >= 0 and tokens[index].kind == "word" else ""


def project_code(files: Iterable[SourceBlocks]) -> ProjectCode:
    """Return the code of these files together."""
    files = list(files)
    macros = [macro for file in files for directive in file.directives if (macro := macro_of(directive))]
    device_words, global_words = set(DEVICE_WORDS), {"__global__"}
    for known in (device_words, global_words):
        while new := {macro.name for macro in macros if words(macro.body) & known} - known:
            known |= new
    kernels: set[str] = set()
    functions: set[str] = set()
    others = {macro.name for macro in macros}
    for definition in (each for file in files for each in file.definitions):
        (functions if definition.is_function else others).add(definition.name)
        if definition.words & global_words:
            kernels.add(definition.name)
    return ProjectCode(frozenset(device_words), frozenset(kernels), frozenset(functions - others))
