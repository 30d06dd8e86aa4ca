"""Scan a text for its `#include` lines and macro definitions, without a compiler.

The text is read once, from beginning to end, and conditions are not evaluated. So the scan finds more includes than a
compiler follows, and never fewer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = [
    "HEADER_NAME",
    "TEST",
    "Definition",
    "Include",
    "IncludeScan",
    "header_name",
    "includes",
    "scan_includes",
    "until_closing",
]


class Include(NamedTuple):
    """One `#include` of a text, or one `__has_include` that tests for a header."""

    name: str | None
    """Name of the header as written; None if macros give it."""
    quoted: bool
    """Whether the name is written "name" and not <name>."""
    line: int
    """1-based line of the directive."""
    conditional: bool
    """Whether the directive is between `#if` and `#endif`, so that the compiler may skip it."""
    spelling: str = ""
    """Text that macros expand to a name."""
    is_test: bool = False
    """Whether it is a `__has_include`."""


class Definition(NamedTuple):
    """One `#define`. `parameters` are None for an object-like macro."""

    parameters: tuple[str, ...] | None
    body: str


class IncludeScan(NamedTuple):
    """The includes of a text, and the macros that it defines, by name."""

    includes: tuple[Include, ...]
    definitions: tuple[tuple[str, Definition], ...]
    conditions: tuple[str, ...] = ()
    """Conditions of `#if` and `#elif`, in which a macro may test for a header."""
    guard: str | None = None
    """Macro of the include guard around the whole text; None if there is none."""


_SPLICE = re.compile(rb"\\\r?\n")
"""Matches a line splice. NVRTC requires the backslash to be the last character; other compilers allow spaces after
it."""

# Strings are matched so that nothing in them is taken for a comment, includes so that `<a//b>` is not either, and
# numbers so that the digit separators in them begin no character literal. An unclosed token ends with its line or the
# text, so that each character is read once.
_TOKENS = re.compile(
    rb"""(?P<comment> /\*.*?(?:\*/|\Z) | //[^\n]*)
    | \#[ \t]*include(?:_next)?[ \t]*<[^>\n]*>?
    | (?<![\w"'])(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)"|\Z)
    | "(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])*'? | (?<!\w)\.?[0-9](?:'?\w|\.)*""",
    re.VERBOSE | re.DOTALL,
)

_DIRECTIVE = re.compile(
    rb"^[ \t\v\f]*(?:\#|%:)[ \t\v\f]*(include(?:_next)?|if|ifdef|ifndef|elif|else|endif|define)\b[ \t\v\f]*([^\r\n]*)",
    re.MULTILINE,
)

HEADER_NAME = re.compile(r'"([^"]*)"|<([^>]*)>')

_LITERAL = re.compile(r'"([^"]+)"|<([\w./+-]+)>')

TEST = re.compile(r"__has_include(?:_next)?[ \t]*\(")

_DEFINITION = re.compile(r"(\w+)(?:\(([^)]*)\))?\s*(.*?)\s*", re.DOTALL)

_DEPTHS = {b"if": 1, b"ifdef": 1, b"ifndef": 1, b"endif": -1}
"""Directive -> change of the number of open conditions."""


def includes(text: bytes) -> Iterator[Include]:
    """Yield the includes of a text, in order: none in comments and strings, but those in `#if 0`."""
    yield from scan_includes(text).includes


def scan_includes(text: bytes) -> IncludeScan:
    """Return the includes of a text and the macros that it defines."""
    plain = _TOKENS.sub(_blanked, _unspliced(text))
    directives = list(_DIRECTIVE.finditer(plain))
    guard = _include_guard(directives)
    depth = 0 if guard is None else -1
    found: list[Include] = []
    definitions: list[tuple[str, Definition]] = []
    conditions: list[str] = []
    line, counted = 1, 0
    for directive in directives:
        line, counted = line + plain.count(b"\n", counted, directive.start(1)), directive.start(1)
        word, rest = directive[1], os.fsdecode(directive[2])
        depth += _DEPTHS.get(word, 0)
        parameters: Sequence[str] = ()
        if word == b"define":
            if definition := _DEFINITION.fullmatch(rest):
                name, macro = _definition(definition)
                definitions.append((name, macro))
                parameters = [{"...": "__VA_ARGS__"}.get(each, each) for each in macro.parameters or ()]
        elif word.startswith(b"include"):
            found.append(_include(rest, line, depth > 0))
        if word in (b"if", b"elif") or b"has_include" in directive[2]:
            found += _tests(rest, line, parameters)
        if word in (b"if", b"elif"):
            conditions.append(rest)
    return IncludeScan(tuple(found), tuple(definitions), tuple(conditions), guard)


def _definition(match: re.Match[str]) -> tuple[str, Definition]:
    parameters = None if match[2] is None else tuple(map(str.strip, match[2].split(",")))
    return match[1], Definition(parameters, match[3])


def _include(rest: str, line: int, conditional: bool) -> Include:
    """Return the include of a directive; `rest` is the text after the directive's name."""
    match = HEADER_NAME.match(rest)
    if match is None:
        return Include(None, False, line, conditional, rest.strip())
    return Include(header_name(match), match[1] is not None, line, conditional)


def _tests(rest: str, line: int, parameters: Sequence[str]) -> Iterator[Include]:
    """Yield the headers that a directive tests for, except those named by its macro's parameters, which are tested
    where the macro is used."""
    for match in _LITERAL.finditer(rest):
        yield Include(header_name(match), match[1] is not None, line, True, "", True)
    test = TEST.search(rest)
    while test:
        operand = until_closing(rest, test.end())
        yield from _test(operand.strip(), line, parameters)
        test = TEST.search(rest, test.end() + len(operand))


def _test(operand: str, line: int, parameters: Sequence[str]) -> Iterator[Include]:
    """Yield the header that a `__has_include` tests for, unless its operand is a literal or depends on a macro's
    parameter."""
    if literal := HEADER_NAME.fullmatch(operand):
        if not _LITERAL.fullmatch(operand):  # `<` is also an operator, so not every name is a literal
            yield Include(header_name(literal), literal[1] is not None, line, True, "", True)
    elif not any(word in parameters for word in re.findall(r"\w+", operand)):
        yield Include(None, False, line, True, operand, True)


def until_closing(text: str, start: int) -> str:
    """Return a text from `start` to the parenthesis that closes the one before it."""
    depth = 1
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[start:at]
    return text[start:]


def header_name(match: re.Match[str]) -> str | None:
    """Return the name from a match whose first two groups are a quoted and an angled one; None if neither matched."""
    return match[1] if match[1] is not None else match[2]


def _unspliced(text: bytes) -> bytes:
    """Return a text without line splices. As many empty lines follow a joined line, so that line numbers stay the
    same."""
    parts: list[bytes] = []
    position = owed = 0
    for splice in _SPLICE.finditer(text):
        owed = _append(parts, text[position : splice.start()], owed) + 1
        position = splice.end()
    _append(parts, text[position:], owed)
    return b"".join(parts)


def _append(parts: list[bytes], part: bytes, owed: int) -> int:
    """Append a part of a text with `owed` empty lines after its first line; return the number of empty lines still to
    add."""
    line, newline, rest = part.partition(b"\n")
    parts += [line, newline * (1 + owed), rest]
    return 0 if newline else owed


def _blanked(token: re.Match[bytes]) -> bytes:
    """Return a token with the same number of lines: a comment as white space, any other token on its first line."""
    if token["comment"]:
        return re.sub(rb"[^\n]", b" ", token[0])
    lines = token[0].count(b"\n")
    return token[0].replace(b"\n", b" ") + b"\n" * lines if lines else token[0]


def _include_guard(directives: Sequence[re.Match[bytes]]) -> str | None:
    """Return the macro of the include guard around all directives; None if there is none."""
    if [directive[1] for directive in directives[:2]] != [b"ifndef", b"define"]:
        return None
    tested, defined = (directive[2].split()[:1] for directive in directives[:2])
    depth = 0
    for index, directive in enumerate(directives, 1):
        depth += _DEPTHS.get(directive[1], 0)
        is_end = depth == 0 or (depth == 1 and directive[1] in (b"elif", b"else"))
        if is_end and index < len(directives):
            return None
    return os.fsdecode(tested[0]) if tested == defined and tested else None
