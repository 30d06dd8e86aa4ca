"""Find the constants of a project that are host code, by names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from cuda_wheel.builder.cxx.macros import macro_of
from cuda_wheel.builder.cxx.tokens import words
from cuda_wheel.builder.hostcode.blocks import CodeBlock, SourceBlocks

__all__ = ["HostConstants", "host_constants"]

_ATTRIBUTES = frozenset({"device", "constant", "managed", "shared"})
"""What the markers are, as arguments of `__attribute__`."""

_PLAIN_WORDS = (
    "static extern inline thread_local const constexpr constinit volatile mutable typename auto void bool char short "
    "int long float double signed unsigned wchar_t char8_t char16_t char32_t std size_t ptrdiff_t int8_t int16_t "
    "int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t string alignas"
)
_PLAIN = frozenset(_PLAIN_WORDS.split())
"""Words of a declaration that are no macros."""


class HostConstants(NamedTuple):
    """Names of constants."""

    names: frozenset[str]
    """Those of which no definition has a marker for variables."""
    doubtful: frozenset[str]
    """Those of them with a word in the definition that may be a macro which is a marker."""


_MARKERS = frozenset({"__device__", "__constant__", "__managed__", "__shared__"})
"""The markers of device variables."""


def host_constants(texts: Iterable[bytes]) -> HostConstants:
    """Return the names of constants that are host code: no definition of the name has a marker for variables.

    NVRTC makes every constant a device variable. `texts` are those of the source and of the project's headers, or what
    the preprocessor makes of them: without that, macros of libraries and of options are not known.
    """
    named = [each for text in texts for each in _named_words(text)]
    markers = set(_MARKERS)
    while new := {name for each in named if each.is_macro and each.words & markers for name in each.names} - markers:
        markers |= new
    host: set[str] = set()
    device: set[str] = set()
    doubtful: set[str] = set()
    for each in named:
        if each.words & markers or ("__attribute__" in each.words and each.words & _ATTRIBUTES):
            device |= each.words
        elif each.is_constant:
            host.update(each.names)
            doubtful.update(each.names if each.first_words - _PLAIN else ())
    return HostConstants(frozenset(host - device), frozenset(doubtful - device))


class _Named(NamedTuple):
    """A macro or a definition: its names, which are only looked for if it is a macro or may be a constant."""

    names: frozenset[str]
    words: frozenset[str]
    """All words in it."""
    first_words: frozenset[str]
    """Of a constant, those before its name."""
    is_macro: bool

    @property
    def is_constant(self) -> bool:
        return not self.words.isdisjoint(("const", "constexpr"))


@lru_cache(maxsize=1024)  # the jobs of a module have their texts in common, and reading them takes long
def _named_words(text: bytes) -> tuple[_Named, ...]:
    blocks = SourceBlocks(text)
    macros = filter(None, map(macro_of, blocks.directives))
    found = [_Named(frozenset({macro.name}), words(macro.body), frozenset(), True) for macro in macros]
    for definition in blocks.definitions:
        each = _Named(frozenset(), words(definition.tokens), frozenset(), False)
        if each.is_constant:
            first = frozenset(_words_before(definition, definition.name))
            each = each._replace(names=definition.names, first_words=first)
        found.append(each)
    return tuple(found)


def _words_before(definition: CodeBlock, name: str) -> Iterator[str]:
    """Yield the words of a definition before its name."""
    for token in definition.heading:
        if token.text == name or token.text in ("=", "{"):
            return
        if token.kind == "word":
            yield token.text
