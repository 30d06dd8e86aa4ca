"""Remove markers where they say nothing: `__device__ __host__ constexpr float a = 1;`, `void f(__shared__ int* p)`.

nvcc warns that `__host__` does not apply to a variable and `__shared__` not to a parameter, and ignores them; for NVRTC
that is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.macro_bodies import definitions_of
from cuda_wheel.builder.hostcode.rewriting.rewriter import FileEdit, Rewriter

__all__ = ["HostMarkers"]

_ERROR = re.compile(r'attribute "(__(?:host|shared)__)" does not apply here')


class HostMarkers(Rewriter):
    """The markers that do not apply, and the uses of macros that stand for them."""

    @staticmethod
    def is_about(message: str) -> bool:
        return _ERROR.fullmatch(message) is not None

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        for error in errors:
            match, place = _ERROR.fullmatch(error.message), self.token_at(error)
            if match is None or place is None:
                continue
            token = place[0].tokens[place[1]]
            text = "" if token.text == match[1] else self._without(match[1], token.text, frozenset())
            if text is not None:
                yield error.file, [(token.start, token.end, text.encode())]

    def _without(self, marker: str, name: str, outer: frozenset[str]) -> str | None:
        """Return what a macro without parameters stands for, but for the marker.

        None if no definition of it has the marker, or if two that have it differ.
        """
        texts = set()
        for definition in definitions_of(name, self.files) if name not in outer else ():
            words, has_marker = [], False
            for token in definition.body:
                inner = "" if token.text == marker else self._without(marker, token.text, outer | {name})
                has_marker = has_marker or inner is not None
                words.append(token.text if inner is None else inner)
            if has_marker and not definition.has_parameters:
                texts.add(" ".join(filter(None, words)))
        return texts.pop() if len(texts) == 1 else None
