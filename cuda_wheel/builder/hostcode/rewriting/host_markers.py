"""Remove markers where they say nothing: `__device__ __host__ constexpr float a = 1;`, `void f(__shared__ int* p)`.

nvcc warns that `__host__` does not apply to a variable and `__shared__` not to a parameter, and ignores them; for NVRTC
that is an error.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping

from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.constants import Replacement
from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.macro_bodies import definitions_of

__all__ = ["HostMarkers", "is_host_marker_error"]

_ERROR = re.compile(r'attribute "(__(?:host|shared)__)" does not apply here')


def is_host_marker_error(message: str) -> bool:
    """Return whether an error is about a marker that does not apply."""
    return _ERROR.fullmatch(message) is not None


class HostMarkers:
    """The markers of a project's files that the compiler refuses, and the uses of macros that stand for them."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self._files = files
        self._found: dict[str, dict[int, Replacement]] = {}

    def rewrite(self, errors: Iterable[RefusedCode]) -> bool:
        """Remove the markers that errors are about; return False if none is new."""
        is_new = False
        for file, line, column, message, _ in errors:
            match = _ERROR.fullmatch(message)
            if match is None or file not in self._files or column is None:
                continue
            tokens = self._files[file].tokens
            index = bisect_left(tokens, self._files[file].offset(line, column), key=lambda token: token.start)
            if index == len(tokens) or index in self._found.setdefault(file, {}):
                continue
            token = tokens[index]
            text = "" if token.text == match[1] else self._without(match[1], token.text, frozenset())
            if text is not None:
                self._found[file][index] = (token.start, token.end, text.encode())
                is_new = True
        return is_new

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return what to replace in each file."""
        return {file: list(found.values()) for file, found in self._found.items()}

    def _without(self, marker: str, name: str, outer: frozenset[str]) -> str | None:
        """Return what a macro without parameters stands for, but for the marker.

        None if no definition of it has the marker, or if two that have it differ.
        """
        texts = set()
        for definition in definitions_of(name, self._files) if name not in outer else ():
            words, has_marker = [], False
            for token in definition.body:
                inner = "" if token.text == marker else self._without(marker, token.text, outer | {name})
                has_marker = has_marker or inner is not None
                words.append(token.text if inner is None else inner)
            if has_marker and not definition.has_parameters:
                texts.add(" ".join(filter(None, words)))
        return texts.pop() if len(texts) == 1 else None
