"""Find the kernels that a text defines, by its words alone: no macro is expanded and no condition evaluated."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from cuda_wheel.builder.cxx.tokens import Directive, Token, balanced, scan

__all__ = [
    "ScannedKernel",
    "kernels_in",
    "made_by_macros",
]


class ScannedKernel(NamedTuple):
    """A kernel as the text defines it: its name without scope, the line of `__global__`, and whether it is a template
    that somebody has to instantiate; the words between its parentheses, None where macros of the text or a directive
    may change them."""

    name: str
    line: int
    template: bool
    parameters: tuple[str, ...] | None


_WITH_ARGUMENTS = frozenset(
    {"__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__block_size__", "__attribute__", "__declspec"}
    | {"__align__", "alignas", "decltype", "noexcept", "explicit", "requires"}
)
"""Words whose parentheses hold no parameters."""


_FARTHEST = 400
"""How many tokens a declaration's head may have; what has more is none."""


def kernels_in(text: str) -> list[ScannedKernel]:
    """Return the kernels that a text defines, in its order; in linear time, and of any text.

    Left out are declarations without a body, explicit instantiations, and what only the preprocessor can tell:
    definitions within macros, and names that are or come out of macros of the text.
    """
    return list(_kernels_in(text))


@lru_cache(maxsize=8)  # a module's kernels are asked for by its table, its warnings and its types
def _kernels_in(text: str) -> tuple[ScannedKernel, ...]:
    if "__global__" not in text:
        return ()
    content = text.encode(errors="surrogateescape")
    tokens, directives = scan(content)
    macros = {_macro(directive) for directive in directives if directive.word == "define"}
    breaks = [directive.start for directive in directives]
    found: list[ScannedKernel] = []
    line, counted = 1, 0
    for index, token in enumerate(tokens):
        if token.text != "__global__" or token.kind != "word":
            continue
        head = _head(tokens, index + 1)
        template = _is_template(tokens, index)
        if head is None or head.name in macros or template is None:
            continue
        broken = bisect(breaks, token.start) != bisect(breaks, tokens[head.body].start)
        words = tuple(each.text for each in tokens[head.parameters])
        line += content.count(b"\n", counted, token.start)
        counted = token.start
        kernel = ScannedKernel(head.name, line, template, None if broken or not macros.isdisjoint(words) else words)
        if not found or found[-1] != kernel:
            found.append(kernel)
    return tuple(found)


def _macro(directive: Directive) -> str:
    match = re.match(r"[\w$]+", directive.rest)
    return match[0] if match else ""


class _Head(NamedTuple):
    """A function's name, where its parameters are, without the parentheses, and where its body begins."""

    name: str
    parameters: slice
    body: int


def _head(tokens: Sequence[Token], index: int) -> _Head | None:
    """Return the head of a function that goes on at `index`, if it has a body."""
    end = min(index + _FARTHEST, len(tokens))
    name = ""
    while index < end:
        token = tokens[index]
        if token.text == "(":
            if name in _WITH_ARGUMENTS or not name:
                index += balanced(tokens[index:end], 0)
                name = ""
                continue
            break
        if token.text in (";", "{", "}", "=", "__global__"):
            return None
        if token.text == "<" and name:  # template arguments: of a specialisation, or of a type before the name
            index = _behind_angles(tokens, index, end)
            continue
        if token.kind == "word":
            name = token.text
        index += 1
    first = index + 1
    index += balanced(tokens[index:end], 0)
    parameters = slice(first, index - 1)
    while index < end and tokens[index].text not in (";", "{"):
        if tokens[index].text == "(" and tokens[index - 1].text == ")":
            return None  # NAME(x)(parameters): a macro makes the name
        index += 1
    return _Head(name, parameters, index) if index < end and tokens[index].text == "{" else None


def _behind_angles(tokens: Sequence[Token], index: int, end: int) -> int:
    depth = 0
    while index < end:
        text = tokens[index].text
        depth += (text == "<") - (text == ">")
        index += 1
        if depth == 0 or text in (";", "{"):
            break
    return index


def _is_template(tokens: Sequence[Token], index: int) -> bool | None:
    """Return whether the declaration around `index` is a template's; None where it instantiates one."""
    first = max(index - _FARTHEST, 0)
    start = index
    while start > first and tokens[start - 1].text not in (";", "{", "}"):
        start -= 1
    for position in range(start, index):
        if tokens[position].text == "template" and tokens[position].kind == "word":
            following = [token.text for token in tokens[position + 1 : position + 3]]
            if following[:1] != ["<"]:
                return None
            if following != ["<", ">"]:
                return True
    return False


_CALL = re.compile(r"\b(\w+)\s*\(([^()]*)\)")


_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(((?:[^\n]*\\\r?\n)*[^\n]*)", re.MULTILINE)


def made_by_macros(text: str) -> set[str]:
    """Return the names that a text gives to those of its macros that make kernels: a kernel's may be among them."""
    makers = {match[1] for match in _DEFINE.finditer(text) if "__global__" in match[2]}
    uses = (match[2] for match in _CALL.finditer(text) if match[1] in makers) if makers else ()
    return {word for use in uses for word in re.findall(r"\b[A-Za-z_]\w*\b", use)}
