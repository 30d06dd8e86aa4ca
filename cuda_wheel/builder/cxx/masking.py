"""Blank the parts of a source that mislead the grammar: directives, CUDA's markers, and macros that stand for such.

The masked text has the same length and lines as the source, so that neither an `#if` between two parameters nor a macro
before a function leads the parser astray.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cuda_wheel.builder.cxx.definitions import SourceText
from cuda_wheel.builder.cxx.macros import Macro
from cuda_wheel.builder.cxx.tokens import DECORATION, MARKERS, Token, balanced

__all__ = ["blank", "decorations", "macro_calls", "masked"]

_SPECIFIERS = DECORATION | {"inline", "static", "extern", "constexpr", "const", "volatile", "__extension__"}
"""What the body of a macro may consist of if the macro only decorates definitions."""


def decorations(macros: Iterable[Macro]) -> dict[str, frozenset[str]]:
    """Return the macros that only decorate definitions, each with the markers that it expands to."""
    found: dict[str, frozenset[str]] = {}
    definitions_of: dict[str, list[Macro]] = {}
    for macro in macros:
        definitions_of.setdefault(macro.name, []).append(macro)
    changed = True
    while changed:
        changed = False
        for name, definitions in definitions_of.items():
            if name in found or not all(_decorates(macro, found) for macro in definitions):
                continue
            words = {token.text for macro in definitions for token in macro.body}
            found[name] = frozenset(words & MARKERS).union(*(found[word] for word in words if word in found))
            changed = True
    return found


def _decorates(macro: Macro, known: Mapping[str, frozenset[str]]) -> bool:
    index, body = 0, macro.body
    while index < len(body):
        text = body[index].text
        if text in _SPECIFIERS or text in known or text == '"C"':
            index += 1
            if index < len(body) and body[index].text == "(":
                index = balanced(body, index)
        else:
            return False
    return True


def masked(
    source: SourceText, macros: Mapping[str, Sequence[Macro]], known: Mapping[str, frozenset[str]]
) -> tuple[bytes, list[tuple[int, frozenset[str]]]]:
    """Return the text for the parser, and the markers in the source with their offsets.

    `known` are the decorations among `macros`.
    """
    text = bytearray(source.content)
    for directive in source.directives:
        blank(text, directive.start, directive.end)
    tokens = source.tokens
    for start, end in _unbalanced_branches(source):
        blank(text, start, end)
        tokens = [token for token in tokens if not start <= token.start < end]
    for start, end in _function_bodies(tokens, known):
        blank(text, start, end)
    function_like = {name for name in known if any(macro.parameters is not None for macro in macros[name])}
    found: list[tuple[int, frozenset[str]]] = []
    for start, end, markers in _decorations_in(tokens, known, function_like):
        blank(text, start, end)
        if markers is not None:
            found.append((start, markers))
    return bytes(text), found


def blank(text: bytearray, start: int, end: int) -> None:
    """Replace everything but line ends with spaces."""
    text[start:end] = re.sub(rb"[^\r\n]", b" ", bytes(text[start:end]))


def _decorations_in(
    tokens: Sequence[Token], known: Mapping[str, frozenset[str]], function_like: set[str]
) -> Iterator[tuple[int, int, frozenset[str] | None]]:
    """Yield the extent of each decoration with its arguments, and its markers; None if it can have none."""
    index = 0
    while index < len(tokens):
        token = tokens[index]
        index += 1
        if token.kind != "word" or not (token.text in DECORATION or token.text in known):
            continue
        markers = known.get(token.text, frozenset({token.text}) if token.text in MARKERS else None)
        end = token.end
        takes_arguments = markers is None or token.text in function_like
        if takes_arguments and index < len(tokens) and tokens[index].text == "(":
            index = balanced(tokens, index)
            end = tokens[index - 1].end
        yield token.start, end, markers


def _function_bodies(tokens: Sequence[Token], known: Mapping[str, frozenset[str]]) -> Iterator[tuple[int, int]]:
    """Yield the extents of function bodies: the parser needs nothing of them, and much in them misleads it."""
    heading: list[str] = []
    index = 0
    while index < len(tokens):
        text = tokens[index].text
        after = index + 1
        if text in DECORATION or text in known or text == "alignas":
            if after < len(tokens) and tokens[after].text == "(":
                after = balanced(tokens, after)
        elif text == "(":
            after = balanced(tokens, index)
            heading.append("()")
        elif text == "{":
            if "()" in heading and ("=" not in heading or "operator" in heading):
                after = balanced(tokens, index)
                if tokens[after - 1].text != "}":
                    return
                yield tokens[index].end, tokens[after - 1].start
            heading = []
        elif text in ("}", ";"):
            heading = []
        else:
            heading.append(text)
        index = after


def _unbalanced_branches(source: SourceText) -> Iterator[tuple[int, int]]:
    """Yield all but the first branch of each `#if` that has a branch with unmatched brackets."""
    stack: list[list[tuple[int, int]]] = []
    for directive in source.directives:
        if directive.word.startswith("if"):
            stack.append([(directive.end, directive.end)])
        elif not stack:
            continue
        elif directive.word in ("else", "elif", "endif"):
            stack[-1][-1] = (stack[-1][-1][0], directive.start)
            if directive.word != "endif":
                stack[-1].append((directive.end, directive.end))
                continue
            branches = stack.pop()
            if len(branches) > 1 and any(_balance(source, start, end) for start, end in branches):
                yield from branches[1:]


def _balance(source: SourceText, start: int, end: int) -> int:
    """Return the number of brackets that stay open, or -1 if one is closed that was not opened."""
    depth = 0
    for token in source.tokens_in(start, end):
        depth += (token.text in ("{", "(")) - (token.text in ("}", ")"))
        if depth < 0:
            return depth
    return depth


def macro_calls(
    source: SourceText, macros: Mapping[str, Sequence[Macro]], known: Mapping[str, frozenset[str]]
) -> Iterator[tuple[int, int]]:
    """Yield the extents of function-like macro calls at namespace scope: they stand for definitions."""
    function_like = {
        name
        for name, definitions in macros.items()
        if name not in known and any(macro.parameters is not None for macro in definitions)
    }
    tokens = source.tokens
    scopes: list[bool] = []  # for each open brace, whether it is that of a namespace or of `extern "C"`
    begin = index = 0
    while index < len(tokens):
        after = _call_end(tokens, index, function_like) if index == begin and all(scopes) else None
        if after is not None:
            yield tokens[index].start, tokens[after - 1].end
            begin = index = after
            continue
        text = tokens[index].text
        index += 1
        if text == "{":
            scopes.append(_opens_namespace([token.text for token in tokens[begin : index - 1]]))
        elif text == "}":
            del scopes[-1:]
        elif text != ";":
            continue
        begin = index


def _call_end(tokens: Sequence[Token], index: int, function_like: set[str]) -> int | None:
    """Return the index after a macro call and its semicolon; None if there is none, or it is part of a definition."""
    if tokens[index].text not in function_like or index + 1 >= len(tokens) or tokens[index + 1].text != "(":
        return None
    after = balanced(tokens, index + 1)
    following = tokens[after].text if after < len(tokens) else ""
    if following in ("{", "::", "=", "["):
        return None
    return after + 1 if following == ";" else after


def _opens_namespace(heading: Sequence[str]) -> bool:
    return (
        heading[:1] == ["namespace"]
        or heading[:2] == ["inline", "namespace"]
        or heading in (["extern", '"C"'], ["extern", '"C++"'])
    )
