"""Find attributes that change the layout of a type with GCC, and that NVRTC ignores.

These are attributes after the closing brace of a class or an enumeration, as in
`struct A { char a; int b; } __attribute__((packed));`, and `[[gnu::packed]]`.

NVRTC 12.9, 13.0 and 13.5 warn about some of them only. They are found in the preprocessed text, where
macros are expanded; only texts that may have them are preprocessed for this.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from cuda_wheel.builder.cxx.tokens import Token, balanced, scan, template_arguments_end
from cuda_wheel.builder.rewriting.blocks import parameters
from cuda_wheel.builder.rewriting.preprocessed import Segment, segments

__all__ = [
    "BEHIND_BRACKET",
    "LOWERED",
    "LayoutError",
    "PreprocessedCode",
    "may_have_layout_attributes",
    "type_brackets",
]


BEHIND_BRACKET = (
    "NVRTC ignores an attribute behind the closing bracket of a type, which changes the type's layout: write it behind "
    "the keyword, as in struct __attribute__((packed)) name {...}"
)

_GNU_NAME = (
    "NVRTC ignores [[gnu::packed]] and [[gnu::aligned]], which change the layout of a type: write __attribute__((...))"
)

LOWERED = (
    "this lowers the alignment of a type, which the attribute does with NVRTC and does not with GCC and nvcc, so that "
    "layouts differ: leave it out, or write packed too"
)

_LAYOUT_WORDS = frozenset(("packed", "aligned", "align"))

_ATTRIBUTES = frozenset(("__attribute__", "__attribute", "__declspec"))

_ALIGNMENTS = frozenset(("alignas", "aligned", "__aligned__"))

_ALIGNMENT = re.compile(rb"\b(?:alignas|aligned|__aligned__)\s*\(([^()]*)")

_NAMED = re.compile(rb"\b_*(?:packed|aligned|align)_*\b")

_NAMED_IN_PACK = re.compile(rb"\b_*(?:packed|aligned|align)_*\b|\balignas\b")

_WITH_ARGUMENTS = frozenset((*_ATTRIBUTES, "alignas", "__align__", "decltype"))

_MENTION = re.compile(rb"\b(?:(?:__)?(?:packed|aligned)(?:__)?|align|__align__|__builtin_align__|__CUDA_ALIGN__)\b")

_ATTRIBUTE = re.compile(rb"\b__attribute|\b__declspec\b|\bgnu\b|__align__|__builtin_align__|__CUDA_ALIGN__")

# An alignment of less than 16 bytes may be below the type's natural alignment.
_BEHIND_KEYWORD = re.compile(
    rb"(?:\b(?:struct|class|union|extern\s+__shared__)|[;{]\s*__shared__)\s+"
    rb"(?:(?:__align__|__builtin_align__)\s*\(\s*(?:16|32|64|128|256|512|1024)\s*\)|__attribute__\s*\(\(\s*(?:__)?packed)"
)
"""Matches a frequent layout attribute that NVRTC honours, with the keyword before it: `struct __attribute__((packed` or
`struct __align__(16)`. An alignment of less than 16 bytes does not match."""

_SUSPECT = re.compile(
    rb"\}(?:\s|\#[^\n]*\n)*(?:__attribute|__declspec)[^;{}]*?(?:packed|align)|\[\s*\[[^;{}]*?\bgnu\b[^;{}]*?(?:packed|align)"
)
"""Matches, in preprocessed text, what may be a layout attribute that NVRTC ignores: `[[gnu::packed`, or an attribute
after the closing brace of a type, `} __attribute__((packed`. A match may also be harmless code."""


def _text_may_have(text: bytes) -> bool:
    """Return whether a text may contain a layout attribute that NVRTC ignores or treats otherwise than GCC.

    True: `struct A {...} __attribute__((packed));`, or `alignas` in a text with `#pragma pack`.
    False: `struct __attribute__((packed)) A`, and other attributes that `_BEHIND_KEYWORD` matches.
    """
    if b"packed" not in text and b"align" not in text:
        return False
    if b"alignas" in text and _PACK.search(text):
        return True
    rest = _BEHIND_KEYWORD.sub(b"", text)
    return _MENTION.search(rest) is not None and _ATTRIBUTE.search(rest) is not None


def may_have_layout_attributes(texts: Iterable[bytes], headers: Iterable[str]) -> bool:
    """Return whether one of `texts`, or one of the files with the absolute paths `headers`, may contain a layout
    attribute that NVRTC ignores."""
    return any(map(_text_may_have, texts)) or any(
        _version_may_have(path, (found := os.stat(path)).st_mtime_ns, found.st_size) for path in headers
    )


@lru_cache(maxsize=4096)  # sources have most of their headers in common
def _version_may_have(header: str, changed: int, size: int) -> bool:
    """Return whether the file `header` may contain a layout attribute that NVRTC ignores (see `_text_may_have`).

    `changed`: modification time of the file in nanoseconds.
    `size`: size of the file in bytes.

    Both are only keys for the cache: a changed file is read again.
    """
    return _text_may_have(Path(header).read_bytes())


class LayoutError(NamedTuple):
    """An error about a layout attribute."""

    file: str
    """Path of the file with the layout attribute that must be changed, as the compiler prints paths."""
    line: int
    """1-based line of the layout attribute that must be changed."""
    reason: str
    """Error message: what is wrong, and what to write instead."""


_WITHIN_PACK = (
    "within #pragma pack, NVRTC gives a member with an alignment of its own another place than GCC and nvcc: write "
    "__attribute__((packed)) behind the keyword in place of the pragma, or leave the alignment out"
)

_PACK = re.compile(rb"\bpragma\s+pack\s*\(([^)\n]*)\)|_Pragma\s*\(\s*\"\s*pack\s*\(([^)\n]*)\)")


class PreprocessedCode:
    """The parts of a preprocessed text that come from the project and its libraries, and not from the toolchain."""

    def __init__(self, text: bytes, toolchain: tuple[str, ...]) -> None:
        """`toolchain` are the beginnings of paths of the toolchain's headers."""
        self._text = text
        parts = segments(text)
        self._segments = [part for part in parts if not part.file.startswith((*toolchain, "__nv_"))]
        self._builtin = [(part.start, part.end) for part in parts if part.file.startswith("__nv_")]
        own = [(each, text[each.start : each.end]) for each in self._segments]
        code = b"".join(part for _, part in own)
        self._may_be_ignored = _SUSPECT.search(code) is not None
        self._largest = _largest_alignment(code)
        packs = ((segment.start + match.start(), match) for segment, part in own for match in _PACK.finditer(part))
        self._packs = [(at, (match[1] or match[2] or b"").strip()) for at, match in packs]
        self.tokens = _tokens_with(_NAMED_IN_PACK if self._packs else _NAMED, own)

    def place(self, offset: int) -> tuple[str, int]:
        """Return the file, as the compiler prints its path, and the 1-based line of a byte offset in the text."""
        index = bisect_right(self._segments, offset, key=lambda segment: segment.start) - 1
        segment = self._segments[index]
        return segment.file, segment.line + self._text.count(b"\n", segment.start, offset)

    def ignored(self) -> Iterator[LayoutError]:
        """Yield an error for each layout attribute that NVRTC ignores or treats differently from GCC."""
        if self._may_be_ignored:
            yield from self._behind_brackets()
        for token in self._within_pack():
            yield LayoutError(*self.place(token.start), _WITHIN_PACK)
        if self._may_be_ignored:
            yield from self._with_gnu_names()

    def _behind_brackets(self) -> Iterator[LayoutError]:
        """Yield an error for each layout attribute behind the closing brace of a type, where NVRTC ignores it."""
        tokens = self.tokens
        for keyword, _, last in type_brackets(tokens):
            words = {token.text.strip("_") for token in tokens[last + 1 : _attributes_end(tokens, last + 1)]}
            # GCC does not align enumerations by such an attribute either.
            if "packed" in words or (tokens[keyword].text != "enum" and not _LAYOUT_WORDS.isdisjoint(words)):
                yield LayoutError(*self.place(tokens[last + 1].start), BEHIND_BRACKET)

    def _with_gnu_names(self) -> Iterator[LayoutError]:
        """Yield an error for each attribute such as `[[gnu::packed]]`, which NVRTC ignores."""
        for index, (token, after) in enumerate(pairwise(self.tokens)):
            if token.text == after.text == "[":
                words = {each.text.strip("_") for each in self.tokens[index : balanced(self.tokens, index)]}
                if "gnu" in words and not _LAYOUT_WORDS.isdisjoint(words):
                    yield LayoutError(*self.place(token.start), _GNU_NAME)

    def _within_pack(self) -> Iterator[Token]:
        """Yield the token `alignas` or `aligned` of each alignment inside a class to which `#pragma pack` applies."""
        for keyword, first, last in type_brackets(self.tokens) if self._packs else ():
            depth = 0
            for at, argument in self._packs:
                if at < self.tokens[first].start:
                    depth = 0 if not argument else depth - 1 if argument.startswith(b"pop") else depth + 1
            if depth > 0 and self.tokens[keyword].text != "enum":
                yield from (each for each in self.tokens[first:last] if each.text in _ALIGNMENTS)

    def with_alignas(self) -> tuple[bytes, set[tuple[str, int]]]:
        """Return the text with `alignas(N)` in place of attributes that may lower an alignment, and the (file, 1-based
        line) of each of these attributes and of its `alignas`.

        The compiler refuses `alignas` where it lowers an alignment. The text is b"" if there is no such attribute.
        """
        edits: list[tuple[int, int, bytes]] = []
        places = set()
        for attribute, written, place in self._alignments():
            places |= {self.place(attribute[0].start), self.place(place)}
            edits += [(attribute[0].start, attribute[-1].end, b""), (place, place, written)]
        if not edits:
            return b"", places
        edits += [(start, end, b"\n" * self._text.count(b"\n", start, end)) for start, end in self._builtin]
        parts, at = [], 0
        for start, end, new in sorted(edits):
            parts += [self._text[at:start], new]
            at = end
        return b"".join([*parts, self._text[at:]]), places

    def _alignments(self) -> Iterator[tuple[Sequence[Token], bytes, int]]:
        """Yield (tokens, new text, byte offset) for each attribute that may lower the alignment of a type or data
        member. The new text is ` alignas(N) `, to be inserted at the byte offset."""
        tokens = self.tokens
        for keyword, first, last in type_brackets(tokens):
            if tokens[keyword].text == "enum":
                continue
            end = _attributes_end(tokens, keyword + 1)
            if any(token.text.strip("_") == "packed" for token in tokens[keyword + 1 : end]):
                continue
            places = [(keyword + 1, end, tokens[keyword].end)]
            places += _member_attributes(tokens, first, last)
            for begin, stop, place in places:
                for start, after in _single_attributes(tokens, begin, stop):
                    written = _alignas(tokens[start:after], self._largest)
                    if written:
                        yield tokens[start:after], written, place


def _tokens_with(named: re.Pattern[bytes], own: Sequence[tuple[Segment, bytes]]) -> list[Token]:
    """Return the tokens of each file that contains a match of `named`. Their byte offsets count from the start of the
    preprocessed text.

    `own`: (segment, its text) of each segment outside the toolchain's headers. A segment is a part of the
    preprocessed text that comes from one file.
    """
    files = {segment.file for segment, part in own if named.search(part)}
    # A class is found in these tokens only if both of its braces are in files with a match.
    return [
        token._replace(start=token.start + segment.start)
        for segment, part in own
        if segment.file in files
        for token in scan(part)[0]
    ]


def _largest_alignment(text: bytes) -> int:
    """Return a number of bytes that no alignment of a type in the text exceeds. If an alignment is not written as a
    number, this is 1 << 30."""
    numbers = [match[1].strip() for match in _ALIGNMENT.finditer(text)]
    if not all(map(bytes.isdigit, numbers)):
        return 1 << 30
    return max([32 if b"_32a" in text else 16, *map(int, numbers)])


def _number(tokens: Sequence[Token]) -> int | None:
    """Return the number that the tokens are, such as 16. None if the tokens are not exactly one decimal number."""
    return int(tokens[0].text) if len(tokens) == 1 and tokens[0].text.isdecimal() else None


def _single_attributes(tokens: Sequence[Token], begin: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield (index of the first token, index after the last token) of each `__attribute__((...))` or `__declspec(...)`
    in `tokens[begin:stop]`. There are no other tokens in that range."""
    while begin < stop:
        after = balanced(tokens, begin + 1)
        yield begin, after
        begin = after


def _member_attributes(tokens: Sequence[Token], first: int, last: int) -> Iterator[tuple[int, int, int]]:
    """Yield a tuple for each sequence of attributes of a data member: the index of its first token, the index after its
    last token, and the byte offset of the member's declaration.

    `first` and `last` are the token indices of the class's braces. Sequences that contain `packed` are skipped.
    """
    index = head = first + 1
    while index < last:
        text = tokens[index].text
        if text in _ATTRIBUTES and tokens[index + 1].text == "(":
            end = _attributes_end(tokens, index)
            is_packed = any(token.text.strip("_") == "packed" for token in tokens[index:end])
            if not is_packed and _is_data_member(tokens, head, index):
                yield index, end, tokens[head].start
            index = end
        elif text in ("(", "[", "{"):
            is_body = text == "{" and parameters(tokens[head:index]) is not None
            index = balanced(tokens, index)
            head = index if is_body else head
        else:
            index += 1
            if text == ";" or (text == ":" and tokens[index - 2].text in ("public", "private", "protected")):
                head = index


def _is_data_member(tokens: Sequence[Token], head: int, index: int) -> bool:
    """Return whether the attributes at the token `index` belong to a data member. `head` is the index of the first
    token of the declaration.

    True: `int a __attribute__(...)`. False: attributes of a type, a function, a static member or a `typedef`.
    """
    if tokens[index - 1].text in ("class", "struct", "union", "enum", "}"):  # those of a type
        return False
    before = tokens[head:index]
    return _NO_MEMBERS.isdisjoint(token.text for token in before) and parameters(before) is None


_NO_MEMBERS = frozenset(("typedef", "using", "friend", "static", "operator"))


def _alignas(attribute: Sequence[Token], largest: int) -> bytes:
    """Return ` alignas(N) ` for an attribute `__attribute__((aligned(N)))` that may lower an alignment; otherwise b"".

    `largest` is a number of bytes that no type's alignment exceeds. An N of at least `largest` cannot lower an
    alignment. An attribute without N gives b"" too.
    """
    for index, token in enumerate(attribute):
        if token.text.strip("_") == "aligned" and attribute[index + 1].text == "(":
            inside = attribute[index + 1 : balanced(attribute, index + 1)]
            number = _number(inside[1:-1])
            if number is None or number < largest:
                return f" alignas{' '.join(each.text for each in inside)} ".encode(errors="surrogateescape")
    return b""


def type_brackets(tokens: Sequence[Token]) -> Iterator[tuple[int, int, int]]:
    """Yield the token indices of keyword, opening brace and closing brace of each class and enumeration definition."""
    opened: list[
        tuple[int, int | None, int]
    ] = []  # indices: where the declaration begins, its keyword if it is a type's, the open bracket
    head = 0
    for index, token in enumerate(tokens):
        text = token.text
        if text in ("(", "[", "{"):
            opened.append((head, _type_keyword(tokens, head, index) if text == "{" else None, index))
            head = index + 1
        elif text in (")", "]", "}"):
            head, keyword, first = opened.pop() if opened else (index + 1, None, index)
            if text == "}":
                head = index + 1
            if keyword is not None:
                yield keyword, first, index
        elif text == ";":
            head = index + 1


def _type_keyword(tokens: Sequence[Token], head: int, bracket: int) -> int | None:
    """Return the token index of the keyword (`struct`, `enum` ...) of the type whose body begins at `bracket`.

    `head`: token index at which the declaration begins.
    `bracket`: token index of the opening brace. None is returned if the brace does not begin the body of a type.
    """
    keyword = None
    index = head
    while index < bracket:
        text = tokens[index].text
        if text == "<":
            index = template_arguments_end(tokens, index) or index + 1
            continue
        if text == "(":
            is_attribute = tokens[index - 1].text in _WITH_ARGUMENTS or index - 2 == keyword  # a macro: struct ALIGN(8)
            if not is_attribute:
                return None
            index = balanced(tokens, index)
            continue
        if text == ":" and keyword is not None:  # bases follow, or the type of an enumeration
            return keyword
        if text == "=":
            return None
        if text in ("class", "struct", "union", "enum"):
            keyword = index
        index += 1
    return keyword


def _attributes_end(tokens: Sequence[Token], index: int) -> int:
    """Return the index of the first token after the `__attribute__((...))` and `__declspec(...)` that begin at `index`;
    if there are none, return `index`."""
    while index + 1 < len(tokens) and tokens[index].text in _ATTRIBUTES and tokens[index + 1].text == "(":
        index = balanced(tokens, index + 1)
    return index
