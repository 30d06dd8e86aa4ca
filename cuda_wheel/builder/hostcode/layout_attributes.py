"""Find attributes that change the layout of a type with GCC, and that NVRTC ignores.

These are those behind the closing bracket of a class or an enumeration, as in
`struct A { char a; int b; } __attribute__((packed));`, and `[[gnu::packed]]`.

NVRTC 12.9, 13.0 and 13.5 warn about some and say nothing about others. They are found in the preprocessed text, where
macros are expanded; only texts that may have them are preprocessed for this.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from cuda_wheel.builder.cxx.tokens import Directive, Token, balanced, scan
from cuda_wheel.builder.hostcode.preprocessed import template_arguments_end

__all__ = ["BEHIND_BRACKET", "ignored_attributes", "may_have_layout_attributes", "text_may_have", "type_brackets"]

BEHIND_BRACKET = (
    "NVRTC ignores an attribute behind the closing bracket of a type, which changes the type's layout: write it behind "
    "the keyword, as in struct __attribute__((packed)) name {...}"
)

_GNU_NAME = (
    "NVRTC ignores [[gnu::packed]] and [[gnu::aligned]], which change the layout of a type: write __attribute__((...))"
)

_LAYOUT_WORDS = frozenset(("packed", "aligned", "align"))

_ATTRIBUTES = frozenset(("__attribute__", "__attribute", "__declspec"))

_WITH_ARGUMENTS = frozenset((*_ATTRIBUTES, "alignas", "__align__", "decltype"))

_MENTION = re.compile(rb"\b(?:(?:__)?(?:packed|aligned)(?:__)?|align|__align__|__builtin_align__|__CUDA_ALIGN__)\b")

_ATTRIBUTE = re.compile(rb"\b__attribute|\b__declspec\b|\bgnu\b|__align__|__builtin_align__|__CUDA_ALIGN__")

_BEHIND_KEYWORD = re.compile(
    rb"(?:\b(?:struct|class|union|extern\s+__shared__)|[;{]\s*__shared__)\s+"
    rb"(?:__align__|__builtin_align__|__CUDA_ALIGN__|__attribute__\s*\(\(\s*(?:packed|__packed__|aligned|__aligned__))"
)
"""Matches the most frequent places of such an attribute, where NVRTC honours it."""

_SUSPECT = re.compile(
    rb"\}(?:\s|\#[^\n]*\n)*(?:__attribute|__declspec)[^;{}]*?(?:packed|align)|\[\s*\[[^;{}]*?\bgnu\b[^;{}]*?(?:packed|align)"
)
"""Matches what an ignored attribute looks like in preprocessed text, and more."""


def text_may_have(text: bytes) -> bool:
    """Return whether a text names an attribute about layouts elsewhere than behind `struct` and the like."""
    if b"packed" not in text and b"align" not in text:
        return False
    rest = _BEHIND_KEYWORD.sub(b"", text)
    return _MENTION.search(rest) is not None and _ATTRIBUTE.search(rest) is not None


def may_have_layout_attributes(texts: Iterable[bytes], headers: Iterable[str]) -> bool:
    """Return whether one of these texts, or of the files with these absolute paths, names such an attribute."""
    return any(map(text_may_have, texts)) or any(
        _version_may_have(path, (found := os.stat(path)).st_mtime_ns, found.st_size) for path in headers
    )


@lru_cache(maxsize=4096)  # sources have most of their headers in common
def _version_may_have(header: str, changed: int, size: int) -> bool:
    return text_may_have(Path(header).read_bytes())


def ignored_attributes(text: bytes) -> Iterator[tuple[str, int, str]]:
    """Yield the file and line, as the compiler names them, of each ignored attribute in a preprocessed text, and what
    is wrong."""
    if not _SUSPECT.search(text):
        return
    tokens, directives = scan(text)
    found = [
        (tokens[last + 1], BEHIND_BRACKET)
        for _, last in type_brackets(tokens)
        if any(map(_is_layout_word, tokens[last + 1 : _attributes_end(tokens, last + 1)]))
    ]
    for index, token in enumerate(tokens):
        if token.text == "[" and [each.text for each in tokens[index + 1 : index + 2]] == ["["]:
            inside = tokens[index : balanced(tokens, index)]
            if any(each.text == "gnu" for each in inside) and any(map(_is_layout_word, inside)):
                found.append((token, _GNU_NAME))
    starts = [directive.start for directive in directives]
    for token, reason in found:
        yield *_place(text, token.start, directives, bisect_right(starts, token.start)), reason


def type_brackets(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield the indices of the keyword and of the closing bracket of each class and enumeration that tokens define."""
    opened: list[tuple[int, int | None]] = []  # where the declaration begins, and its keyword if it is a type's
    head = 0
    for index, token in enumerate(tokens):
        text = token.text
        if text in ("(", "[", "{"):
            opened.append((head, _type_keyword(tokens, head, index) if text == "{" else None))
            head = index + 1
        elif text in (")", "]", "}"):
            head, keyword = opened.pop() if opened else (index + 1, None)
            if text == "}":
                head = index + 1
            if keyword is not None:
                yield keyword, index
        elif text == ";":
            head = index + 1


def _type_keyword(tokens: Sequence[Token], head: int, bracket: int) -> int | None:
    """Return the index of the keyword of the type whose definition has its opening bracket at an index; None if the
    bracket is another. The declaration begins at `head`."""
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
    """Return the index after all attributes from an index on."""
    while index + 1 < len(tokens) and tokens[index].text in _ATTRIBUTES and tokens[index + 1].text == "(":
        index = balanced(tokens, index + 1)
    return index


def _is_layout_word(token: Token) -> bool:
    return token.text.strip("_") in _LAYOUT_WORDS


def _place(text: bytes, offset: int, directives: Sequence[Directive], count: int) -> tuple[str, int]:
    """Return the file and the line of an offset, before which there are so many directives."""
    for directive in reversed(directives[:count]):
        match = re.match(r'(?:line\s+)?(\d+)\s+"((?:[^"\\]|\\.)*)"', f"{directive.word} {directive.rest}".strip())
        if match:
            line = int(match[1]) + text.count(b"\n", directive.end, offset) - 1
            return match[2].replace("\\\\", "\\"), line
    return "", 1 + text.count(b"\n", 0, offset)
