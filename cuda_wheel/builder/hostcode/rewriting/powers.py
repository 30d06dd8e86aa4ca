"""Have `pow(x, 2)` call `pow(double, double)`, as nvcc does: NVRTC has functions for an exponent of type int.

They are no templates, so that nothing is preferred to them. <math.h> makes such calls ambiguous, and declares the
function that then stands around the exponent: by the type of the base, it makes an int another number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cuda_wheel.builder.cxx.tokens import Token, balanced, end_of_argument
from cuda_wheel.builder.hostcode.constants import Replacement
from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.macro_bodies import definitions_of
from cuda_wheel.builder.hostcode.rewriting.rewriter import FileEdit, Rewriter, around

__all__ = ["Powers"]

_ERROR = re.compile(r'more than one instance of overloaded function "(?:\w+::)*pow" matches the argument list')

_EXPONENT = b"::cuda_wheel_detail::exponent<decltype(%s)>("
"""What stands before the exponent, with the base."""


class Powers(Rewriter):
    """The calls of `pow` that the compiler finds ambiguous."""

    @staticmethod
    def is_about(message: str) -> bool:
        return _ERROR.match(message) is not None

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        for error in errors:
            place = self.token_at(error)
            if place is None:
                continue
            tokens, index = place[0].tokens, place[1]
            index += tokens[index].text == "::" and index + 1 < len(tokens)
            call = _call(tokens, index)
            if call is not None:
                yield error.file, call
            else:
                yield from self._in_macro(tokens[index].text, set())

    def _in_macro(self, name: str, seen: set[str]) -> Iterator[FileEdit]:
        """Yield the calls in a macro, and in the macros that it uses."""
        seen.add(name)
        for definition in definitions_of(name, self.files):
            for index, token in enumerate(definition.body):
                if token.text == "pow":
                    call = _call(definition.body, index)
                    if call is not None:
                        yield definition.file, call
                elif token.kind == "word" and token.text not in seen:
                    yield from self._in_macro(token.text, seen)


def _call(tokens: Sequence[Token], index: int) -> list[Replacement] | None:
    """Return the replacements around the exponent of the call of `pow` at a token; None if there is none."""
    if index + 1 >= len(tokens) or tokens[index].text != "pow" or tokens[index + 1].text != "(":
        return None
    end = balanced(tokens, index + 1) - 1
    comma = end_of_argument(tokens, index + 2)
    if comma + 1 >= end:
        return None
    base = b" ".join(token.text.encode(errors="surrogateescape") for token in tokens[index + 2 : comma])
    return around(tokens[comma + 1].start, tokens[end - 1].end, _EXPONENT % (b"(%s)" % base))
