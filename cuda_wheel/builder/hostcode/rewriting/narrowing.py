"""Write a narrowing conversion in braces as a cast: `k<<<{static_cast<unsigned int>(n), 1}, 32>>>`.

nvcc with GCC only warns about the arguments of a constructor that narrow. An option of NVRTC's front end does the same,
but then narrowing is no reason any more for a template not to be chosen, and with nvcc it is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cuda_wheel.builder.cxx.tokens import Token, end_of_argument
from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.rewriter import FileEdit, Rewriter, around

__all__ = ["NarrowingArguments"]

_ERROR = re.compile(
    r'invalid narrowing conversion from "[^"]*"(?: \(aka "[^"]*"\))? to "([^"]*)"(?: \(aka "([^"]*)"\))?'
)

_BUILT_IN = re.compile(r"(?:bool|char|short|int|long|float|double|unsigned|signed| )+")


class NarrowingArguments(Rewriter):
    """The arguments whose narrowing the compiler refuses."""

    @staticmethod
    def is_about(message: str) -> bool:
        return _ERROR.match(message) is not None

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        for error in errors:
            match, place = _ERROR.match(error.message), self.token_at(error)
            if match is None or place is None:
                continue
            span = _argument(place[0].tokens, place[1], of_dimensions=error.in_instance)
            type_ = match[2] or match[1]
            if span is not None and _BUILT_IN.fullmatch(type_):
                yield error.file, around(*span, f"static_cast<{type_}>(".encode())


def _argument(tokens: Sequence[Token], index: int, of_dimensions: bool) -> tuple[int, int] | None:
    """Return the span of the argument in braces that begins at a token; None if there is none.

    With `of_dimensions` it must be one of `dim3`, whatever the arguments of the templates around it are.
    """
    if not index or tokens[index - 1].text not in ("{", ","):
        return None
    end = end_of_argument(tokens, index)
    if end == len(tokens) or tokens[end].text not in (",", "}"):
        return None
    if of_dimensions and not _is_of_dimensions(tokens, index):
        return None
    return tokens[index].start, tokens[end - 1].end


def _is_of_dimensions(tokens: Sequence[Token], index: int) -> bool:
    """Return whether the braces around a token are those of `<<<{...}` or `dim3 name{...}`."""
    depth = 0
    while index > 2:
        index -= 1
        text = tokens[index].text
        depth += (text in (")", "}", "]")) - (text in ("(", "{", "["))
        if depth < 0:
            break
        if text == ";":
            return False
    words = [token.text for token in tokens[max(0, index - 3) : index]]
    if words[-1:] == ["="]:
        words.pop()
    return words[-1:] == ["<<<"] or words[-1:] == ["dim3"] or words[-2:-1] == ["dim3"] or _ends_launch(tokens, index)


def _ends_launch(tokens: Sequence[Token], index: int) -> bool:
    """Return whether an opening brace begins the second argument of a launch, which the first precedes."""
    while index > 1 and tokens[index].text not in (";", "<<<", ">>>"):
        index -= 1
    return tokens[index].text == "<<<"
