"""Find the constants of a project that are host code, by names."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from cuda_wheel.builder.cxx.macros import macro_of
from cuda_wheel.builder.cxx.tokens import words
from cuda_wheel.builder.hostcode.blocks import SourceBlocks

__all__ = ["host_constants"]

_MARKERS = frozenset({"__device__", "__constant__", "__managed__", "__shared__"})
"""The markers of device variables."""


def host_constants(texts: Iterable[bytes]) -> frozenset[str]:
    """Return the names of constants that are host code: no definition of the name has a marker for variables.

    NVRTC makes every constant a device variable. `texts` are those of the source and of the project's headers.
    """
    named = [each for text in texts for each in _named_words(text)]
    markers = set(_MARKERS)
    while new := {name for each in named if each.is_macro and each.words & markers for name in each.names} - markers:
        markers |= new
    host: set[str] = set()
    device: set[str] = set()
    for each in named:
        if each.words & markers:
            device |= each.words
        elif each.is_constant:
            host.update(each.names)
    return frozenset(host - device)


class _Named(NamedTuple):
    """A macro or a definition: its names, which are only looked for if it is a macro or may be a constant."""

    names: frozenset[str]
    words: frozenset[str]
    """All words in it."""
    is_macro: bool

    @property
    def is_constant(self) -> bool:
        return not self.words.isdisjoint(("const", "constexpr"))


@lru_cache(maxsize=1024)  # the jobs of a module have their texts in common, and reading them takes long
def _named_words(text: bytes) -> tuple[_Named, ...]:
    blocks = SourceBlocks(text)
    macros = filter(None, map(macro_of, blocks.directives))
    found = [_Named(frozenset({macro.name}), words(macro.body), True) for macro in macros]
    for definition in blocks.definitions:
        each = _Named(frozenset(), words(definition.tokens), False)
        found.append(each._replace(names=definition.names) if each.is_constant else each)
    return tuple(found)
