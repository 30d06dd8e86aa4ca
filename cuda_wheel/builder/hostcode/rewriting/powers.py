"""Have `pow(x, 2)` call `pow(double, double)`, as nvcc does: NVRTC has functions for an exponent of type int.

They are no templates, so that nothing is preferred to them. <math.h> makes such calls ambiguous, and declares the
function that then stands around the exponent: by the type of the base, it makes an int another number.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from cuda_wheel.builder.cxx.tokens import Token, balanced
from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.constants import Replacement
from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.macro_bodies import definitions_of

__all__ = ["Powers", "is_power_error"]

_ERROR = re.compile(r'more than one instance of overloaded function "(?:\w+::)*pow" matches the argument list')

_EXPONENT = b"::cuda_wheel_detail::exponent<decltype(%s)>("
"""What stands before the exponent, with the base."""


def is_power_error(message: str) -> bool:
    """Return whether an error is about a call of `pow` with an exponent of type int."""
    return _ERROR.match(message) is not None


class Powers:
    """The calls of `pow` in a project's files that the compiler finds ambiguous."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self._files = files
        self._found: dict[str, dict[tuple[int, int], bytes]] = {}

    def rewrite(self, errors: Iterable[RefusedCode]) -> bool:
        """Rewrite the calls that errors are about; return False if none is new."""
        before = sum(map(len, self._found.values()))
        for file, line, column, message, _ in errors:
            if is_power_error(message) and file in self._files:
                tokens = self._files[file].tokens
                index = bisect_left(tokens, self._files[file].offset(line, column), key=lambda token: token.start)
                index += index < len(tokens) and tokens[index].text == "::"
                if not self._add(file, tokens, index) and index < len(tokens):
                    self._add_in_macro(tokens[index].text, set())
        return sum(map(len, self._found.values())) > before

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return what to insert in each file."""
        return {
            file: [
                edit
                for (start, end), base in spans.items()
                for edit in ((start, start, _EXPONENT % base), (end, end, b")"))
            ]
            for file, spans in self._found.items()
        }

    def _add_in_macro(self, name: str, seen: set[str]) -> None:
        """Rewrite the calls in a macro, and in the macros that it uses."""
        seen.add(name)
        for definition in definitions_of(name, self._files):
            for index, token in enumerate(definition.body):
                if token.text == "pow":
                    self._add(definition.file, definition.body, index)
                elif token.kind == "word" and token.text not in seen:
                    self._add_in_macro(token.text, seen)

    def _add(self, file: str, tokens: Sequence[Token], index: int) -> bool:
        """Rewrite the call at a token; return False if there is none."""
        if index + 1 >= len(tokens) or tokens[index].text != "pow" or tokens[index + 1].text != "(":
            return False
        end = balanced(tokens, index + 1) - 1
        position = index + 2
        while position < end and tokens[position].text != ",":
            position = balanced(tokens, position) if tokens[position].text in ("(", "{", "[") else position + 1
        if position + 1 < end:
            base = b" ".join(token.text.encode(errors="surrogateescape") for token in tokens[index + 2 : position])
            self._found.setdefault(file, {})[tokens[position + 1].start, tokens[end - 1].end] = b"(%s)" % base
        return position + 1 < end
