"""Write a narrowing conversion in braces as a cast: `k<<<{static_cast<unsigned int>(n), 1}, 32>>>`.

nvcc with GCC only warns about the arguments of a constructor that narrow. An option of NVRTC's front end does the same,
but then narrowing is no reason any more for a template not to be chosen, and with nvcc it is one.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from cuda_wheel.builder.cxx.tokens import Token, balanced
from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.constants import Replacement
from cuda_wheel.builder.hostcode.own_files import RefusedCode

__all__ = ["NarrowingArguments", "is_narrowing_error"]

_ERROR = re.compile(
    r'invalid narrowing conversion from "[^"]*"(?: \(aka "[^"]*"\))? to "([^"]*)"(?: \(aka "([^"]*)"\))?'
)

_BUILT_IN = re.compile(r"(?:bool|char|short|int|long|float|double|unsigned|signed| )+")


def is_narrowing_error(message: str) -> bool:
    """Return whether an error is about a narrowing conversion."""
    return _ERROR.match(message) is not None


class NarrowingArguments:
    """The arguments in a project's files whose narrowing the compiler refuses."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self._files = files
        self._found: dict[str, dict[tuple[int, int], str]] = {}

    def rewrite(self, errors: Iterable[RefusedCode]) -> bool:
        """Cast the arguments that errors are about; return False if none is new."""
        is_new = False
        for file, line, column, message, in_instance in errors:
            match = _ERROR.match(message)
            if match is None or file not in self._files or column is None:
                continue
            tokens = self._files[file].tokens
            index = bisect_left(tokens, self._files[file].offset(line, column), key=lambda token: token.start)
            span = _argument(tokens, index, of_dimensions=in_instance)
            type_ = match[2] or match[1]
            if span is not None and _BUILT_IN.fullmatch(type_) and span not in self._found.setdefault(file, {}):
                self._found[file][span] = type_
                is_new = True
        return is_new

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return what to insert in each file."""
        return {
            file: [
                edit
                for (start, end), type_ in found.items()
                for edit in ((start, start, f"static_cast<{type_}>(".encode()), (end, end, b")"))
            ]
            for file, found in self._found.items()
        }


def _argument(tokens: Sequence[Token], index: int, of_dimensions: bool) -> tuple[int, int] | None:
    """Return the span of the argument in braces that begins at a token; None if there is none.

    With `of_dimensions` it must be one of `dim3`, whatever the arguments of the templates around it are.
    """
    before = tokens[index - 1].text if 0 < index < len(tokens) else ""
    if before not in ("{", ","):
        return None
    end = index
    while end < len(tokens) and tokens[end].text not in (",", "}"):
        if tokens[end].text == ";":
            return None
        end = balanced(tokens, end) if tokens[end].text in ("(", "{", "[") else end + 1
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
