"""Write members that are arrays of no elements for some arguments of a template: `float rest[N - 4];` with N = 4.

With GCC and nvcc such a member takes no space, and aligns the members after it and the class. In C++20 an attribute and
an empty class have that layout behind a bit-field of no width, which aligns what follows. In C++17 nothing has it: the
error stays. It stays for a member with an alignment of its own, too, and in a file that packs classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cuda_wheel.builder.cxx.tokens import Token, balanced
from cuda_wheel.builder.hostcode.constants import Replacement
from cuda_wheel.builder.hostcode.own_files import RefusedCode, definition_at
from cuda_wheel.builder.hostcode.rewriting.rewriter import FileEdit, Rewriter

__all__ = ["ZeroArrays"]

_NO_TYPES = frozenset(
    {
        *("alignas", "__align__", "__attribute__", "static", "mutable", "constexpr"),
        *("typedef", "using", "friend", "extern", "="),
    }
)
"""Words and signs of declarations that are not `TYPE name[SIZE];`."""

_PACKING = re.compile(rb"\b(?:packed|__packed__|pack)\b")


class ZeroArrays(Rewriter):
    """The members that are arrays of no elements in an instance of a template."""

    @staticmethod
    def is_about(message: str) -> bool:
        return message == "the size of an array must be greater than zero"

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        for error in errors:
            member = definition_at(self.files, error.file, error.line, error.column)
            if error.in_instance and member is not None and member.in_class:
                edits = _as_member(member.tokens, self.files[error.file].content)
                if edits:
                    yield error.file, edits


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
