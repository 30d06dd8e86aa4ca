"""Rewrite compound literals of GNU C++, `(T){1, 2}`, as `T{1, 2}`, which every C++ compiler reads.

In place of an array's type, as in `(T[2]){1, 2}`, stands a name for it. nvcc reads them as GCC does; NVRTC has no GNU
mode. In C++ without it, a type in parentheses before a brace is an error, so that nothing else can be meant where the
compiler expects an expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from cuda_wheel.builder.cxx.tokens import Token, balanced
from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.macro_bodies import macro_tokens
from cuda_wheel.builder.hostcode.rewriting.rewriter import FileEdit, Rewriter

__all__ = ["CompoundLiterals"]

_ERRORS = ("expected an expression", "type name is not allowed")
"""The second is about a type that depends on a template's parameters."""

_ARRAY = (b"typename ::cuda_wheel_detail::without_reference<", b">::type")
"""What stands for the parentheses around an array's type. The preamble declares it."""

_NO_NAMES = frozenset(("class", "struct", "union", "enum", "const", "volatile", "unsigned", "signed", "long", "short"))
"""Words of types that `T{...}` cannot begin with."""


class CompoundLiterals(Rewriter):
    """The compound literals of a type, once the compiler refuses one of them: in the code, and in macros, into which
    the compiler does not point."""

    @staticmethod
    def is_about(message: str) -> bool:
        # For an array there are two errors.
        return message in _ERRORS or re.match(r'cast to type ".*\]" is not allowed', message) is not None

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        types = frozenset().union(*map(self._types_at, errors))
        for file, blocks in self.files.items() if types else ():
            for tokens in (blocks.tokens, *(macro_tokens(blocks, each) for each in blocks.directives)):
                for start, end in _literals(tokens):
                    if _spelled(tokens[start + 1 : end]) in types:
                        # Both parentheses become spaces, or make a name of an array's type.
                        written = _ARRAY if tokens[end - 1].text == "]" else (b"", b"")
                        opening, closing = tokens[start], tokens[end]
                        yield (
                            file,
                            [
                                (opening.start, opening.end, written[0]),
                                (closing.start, closing.end, written[1]),
                            ],
                        )

    def _types_at(self, error: RefusedCode) -> set[str]:
        """Return the types of the literal at an error, or of those in the macro that is used there."""
        place = self.token_at(error)
        if place is None:
            return set()
        tokens, index = place[0].tokens, place[1]
        here = {_spelled(tokens[start + 1 : end]) for start, end in _literals(tokens) if index in (start + 1, end + 1)}
        if here or tokens[index].text == "{":
            return here
        name = tokens[index].text
        return {
            _spelled(body[start + 1 : end])
            for each in self.files.values()
            for directive in each.directives
            if len(body := macro_tokens(each, directive)) > 1 and body[1].text == name
            for start, end in _literals(body)
        }


def _literals(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield the indices of the parentheses of each `(T) {` that may be a compound literal."""
    for index, token in enumerate(tokens):
        if token.text != "{" or not index or tokens[index - 1].text != ")":
            continue
        start = index - 2
        while start > 2 and tokens[start].text == "]" and tokens[start - 2].text == "[":
            start -= 3
        while start >= 0 and (tokens[start].kind == "word" or tokens[start].text == "::"):
            start -= 1
        begin = start + 2 if tokens[start + 1].text == "typename" else start + 1
        first = tokens[begin]
        is_type = first.kind == "word" and first.text not in _NO_NAMES and tokens[begin + 1].text in ("::", "[", ")")
        if start < 0 or tokens[start].text != "(" or not is_type:
            continue
        before = tokens[start - 1] if start else None
        is_call = before is not None and (before.kind == "word" or before.text in (")", "]", ">"))
        if before is None or not is_call or before.text == "return" or _begins_a_macro(tokens, start):
            yield start, index - 1


def _begins_a_macro(tokens: Sequence[Token], index: int) -> bool:
    """Return whether a token is the first of a macro's text: after `define NAME` or `define NAME(...)`."""
    if tokens[0].text != "define":
        return False
    has_parameters = tokens[2].text == "(" and tokens[1].end == tokens[2].start
    return index == (balanced(tokens, 2) if has_parameters else 2)


def _spelled(tokens: Iterable[Token]) -> str:
    return " ".join(token.text for token in tokens)
