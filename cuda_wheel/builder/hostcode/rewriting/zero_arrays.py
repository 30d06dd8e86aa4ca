"""Write members that are arrays of no elements for some arguments of a template: `float rest[N - 4];` with N = 4.

With GCC and nvcc such a member takes no space, and aligns the members after it and the class. In C++20 an attribute and
an empty class have that layout behind a bit-field of no width, which aligns what follows. In C++17 nothing has it: the
error stays. It stays for a member with an alignment of its own, too, and in a file that packs classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from cuda_wheel.builder.cxx.tokens import Token, balanced
from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.constants import Replacement
from cuda_wheel.builder.hostcode.own_files import RefusedCode

__all__ = ["ZeroArrays", "is_zero_array_error"]

_NO_TYPES = frozenset(
    (
        "alignas",
        "__align__",
        "__attribute__",
        "static",
        "mutable",
        "constexpr",
        "typedef",
        "using",
        "friend",
        "extern",
        "=",
    )
)
_PACKING = re.compile(rb"\b(?:packed|__packed__|pack)\b")


def is_zero_array_error(message: str) -> bool:
    """Return whether an error is about an array of no elements."""
    return message == "the size of an array must be greater than zero"


class ZeroArrays:
    """The members of a project's classes that are arrays of no elements in an instance of a template."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self._files = files
        self._found: dict[str, dict[int, list[Replacement]]] = {}

    def rewrite(self, errors: Iterable[RefusedCode]) -> bool:
        """Rewrite the members that errors are about; return False if none is new."""
        is_new = False
        for file, line, column, message, in_instance in errors:
            if not is_zero_array_error(message) or not in_instance or file not in self._files:
                continue
            around = self._files[file].definition_at(self._files[file].offset(line, column))
            if around is None or not around.in_class or around.start in self._found.setdefault(file, {}):
                continue
            edits = _as_member(around.tokens, self._files[file].content)
            if edits:
                self._found[file][around.start] = edits
                is_new = True
        return is_new

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return what to replace in each file."""
        return {file: [edit for edits in found.values() for edit in edits] for file, found in self._found.items()}


def _as_member(tokens: Sequence[Token], content: bytes) -> list[Replacement]:
    """Return the replacements in `TYPE name[SIZE];`; none of another declaration."""
    texts = [token.text for token in tokens]
    bracket = texts.index("[") if "[" in texts else 0
    is_plain = bracket > 1 and balanced(tokens, bracket) == len(tokens) - 1 and texts[-1] == ";"
    if not is_plain or _NO_TYPES & set(texts) or tokens[bracket - 1].kind != "word" or _PACKING.search(content):
        return []
    name, size = tokens[bracket - 1], tokens[bracket:-1]
    type_ = content[tokens[0].start : tokens[bracket - 2].end]
    written = (
        b"typename ::cuda_wheel_detail::integer_aligned<alignof(%s)>::type : 0; "
        b"[[no_unique_address]] typename ::cuda_wheel_detail::member_array<%s, (%s), %d>::type "
    ) % (type_, type_, content[size[0].end : size[-1].start], name.start)
    if b"\n" in written:
        return []
    return [(tokens[0].start, name.start, written), (size[0].start, size[-1].end, b"")]
