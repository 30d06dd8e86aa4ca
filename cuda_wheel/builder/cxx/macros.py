"""Expand macros in the tokens of a text, as the preprocessor does, keeping the offset that each token comes from.

`sources.header_macros` expands the macros that name headers in another way: it follows all definitions of a macro at
once, and works on characters, because spaces count in the name of a header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from cuda_wheel.builder.cxx.tokens import Directive, Token, balanced, scan

__all__ = ["Macro", "expand", "macro_of"]


class Macro(NamedTuple):
    """A `#define`. `parameters` are None for an object-like macro."""

    name: str
    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]


_DEFINE = re.compile(r"define[ \t]+([\w$]+)(\([^)]*\))?(.*)", re.DOTALL)

_PAINTED = "painted"
"""The kind of a macro's name that appears in the expansion of that macro, so that it is not expanded again."""

_MAX_TOKENS = 1_000_000
"""Maximum number of tokens to read in one expansion."""

_MAX_DEPTH = 24
"""Maximum number of macros whose expansions contain each other."""


def macro_of(directive: Directive) -> Macro | None:
    """Return the macro that a directive defines; None if it defines none."""
    if directive.word != "define":
        return None
    match = _DEFINE.match("define " + directive.rest)
    if match is None:
        return None
    parameters = None if match[2] is None else tuple(part.strip() for part in match[2][1:-1].split(",") if part.strip())
    return Macro(match[1], parameters, tuple(scan(match[3].strip().lstrip("#").encode(errors="surrogateescape"))[0]))


def expand(tokens: Sequence[Token], macros: Mapping[str, Sequence[Macro]]) -> Iterator[tuple[str, int]]:
    """Yield the expansion of tokens, each token with the offset of the one that it comes from.

    Of several definitions of a macro, the last counts. Raises OverflowError if more than 1,000,000 tokens are read.
    """
    budget = iter(range(_MAX_TOKENS))
    return ((token.text, token.start) for token in _expanded(tokens, macros, frozenset(), budget))


def _expanded(
    tokens: Sequence[Token], macros: Mapping[str, Sequence[Macro]], hidden: frozenset[str], budget: Iterator[int]
) -> Iterator[Token]:
    """Yield the expansion of tokens; `hidden` are the macros that are being expanded."""
    index = 0
    while index < len(tokens):
        _spend(budget)
        token = tokens[index]
        index += 1
        macro = macros[token.text][-1] if token.text in macros and token.kind != _PAINTED else None
        if macro is None or token.text in hidden or len(hidden) > _MAX_DEPTH:
            yield token if macro is None else token._replace(kind=_PAINTED)
            continue
        arguments: dict[str, list[Token]] = {}
        if macro.parameters is not None:
            if index >= len(tokens) or tokens[index].text != "(":
                yield token
                continue
            after = balanced(tokens, index)
            arguments = _arguments(macro.parameters, tokens[index + 1 : after - 1])
            index = after
        # As in the preprocessor, arguments are expanded first, without regard to the macro around them.
        expanded = {name: list(_expanded(argument, macros, hidden, budget)) for name, argument in arguments.items()}
        body = _substituted(macro.body, arguments, expanded, token.start, budget)
        yield from _expanded(body, macros, hidden | {token.text}, budget)


def _spend(budget: Iterator[int]) -> None:
    if next(budget, None) is None:
        raise OverflowError


def _arguments(parameters: Sequence[str], tokens: Sequence[Token]) -> dict[str, list[Token]]:
    """Return the arguments of a call by parameter; missing ones are empty."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in "([{") - (token.text in ")]}")
        if token.text == "," and depth == 0 and (len(parts) < len(parameters) or "..." not in parameters[-1:]):
            parts.append([])
        else:
            parts[-1].append(token)
    names = ["__VA_ARGS__" if name == "..." else name.removesuffix("...") for name in parameters]
    return {name: (parts[index] if index < len(parts) else []) for index, name in enumerate(names)}


def _substituted(
    body: Sequence[Token],
    arguments: Mapping[str, list[Token]],
    expanded: Mapping[str, list[Token]],
    start: int,
    budget: Iterator[int],
) -> list[Token]:
    """Return the body of a macro with its arguments: as they are written beside `##`, elsewhere expanded."""
    result: list[Token] = []
    paste = False
    for index, token in enumerate(body):
        if token.text == "##":
            paste = True
            continue
        as_written = paste or any(following.text == "##" for following in body[index + 1 : index + 2])
        for part in (arguments if as_written else expanded).get(token.text, [token]):
            _spend(budget)
            moved = part._replace(start=start)
            if paste and result:
                moved = moved._replace(text=result.pop().text + part.text)
            result.append(moved)
            paste = False
    return result
