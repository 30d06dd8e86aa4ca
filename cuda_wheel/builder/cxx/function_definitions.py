"""Find the functions that a text defines, from its text alone, for messages: no macro is expanded. In linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["FunctionDefinition", "function_definitions", "masked", "open_namespaces"]

_NOISE = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|^[ \t]*#(?:[^\n\\]|\\.)*",
    re.DOTALL | re.MULTILINE,
)

_END = re.compile(r"[;{}]")

_NAME = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[^<>()]*>)?\s*\(")

_OTHERS = frozenset(
    {"if", "for", "while", "switch", "catch", "return", "sizeof", "alignof", "alignas", "decltype", "noexcept"}
    | {"requires", "defined", "do", "else", "throw", "new", "__launch_bounds__", "__cluster_dims__", "__block_size__"}
    | {"__maxnreg__", "__attribute__", "__declspec", "__align__"}
)
"""Words that parentheses may follow and that name no function."""

_NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")


class FunctionDefinition(NamedTuple):
    """The definition of a function: what stands before its name since the last statement, its name, and places."""

    head: str
    name: str
    line: int
    """That of the name, from 1."""
    body: int
    """The offset after the opening brace."""


def masked(text: str) -> str:
    """Return a text without comments, strings and directives, with the same lines."""
    return _NOISE.sub(lambda match: "\n" * match[0].count("\n") or " ", text)


def function_definitions(plain: str) -> Iterator[FunctionDefinition]:
    """Yield the functions that a masked text defines, in its order."""
    start, line = 0, 1
    for end in _END.finditer(plain):
        part = plain[start : end.start()]
        if end[0] == "{" and (found := _declarator(part)):
            head, name, offset = found
            yield FunctionDefinition(head, name, line + part.count("\n", 0, offset), end.end())
        line += part.count("\n")
        start = end.end()


def _declarator(part: str) -> tuple[str, str, int] | None:
    """Return the head, the name and the offset of the name in the text before a body; None if it is no function."""
    at = 0
    while match := _NAME.search(part, at):
        if match[1] not in _OTHERS and _closes(part, match.end()):
            return part[: match.start()], match[1], match.start()
        at = _after_parenthesis(part, match.end())
    return None


def _closes(text: str, start: int) -> bool:
    """Return whether a parenthesis is closed: `f(Pair{` is a call."""
    return text[start:].count(")") > text[start:].count("(")


def _after_parenthesis(text: str, start: int) -> int:
    depth = 1
    for match in re.finditer(r"[()]", text[start:]):
        depth += 1 if match[0] == "(" else -1
        if not depth:
            return start + match.end()
    return len(text)


def open_namespaces(plain: str, end: int) -> list[str]:
    """Return the namespaces that are open at an offset of a masked text."""
    scopes: list[str] = []
    start = 0
    for match in _END.finditer(plain, 0, end):
        if match[0] == "{":
            namespace = _NAMESPACE.search(plain[start : match.start()])
            scopes.append(namespace[1] if namespace else "")
        elif match[0] == "}" and scopes:
            scopes.pop()
        start = match.end()
    return [scope for scope in scopes if scope]
