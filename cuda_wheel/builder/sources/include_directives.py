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
    """One `#include`, or one `__has_include`, in a text."""

    name: str | None
    """Name of the header as written; None if a macro gives the name."""
    quoted: bool
    """Whether the name is in quotes ("a.h") and not in angle brackets (<a.h>). False if `name` is None."""
    line: int
    """1-based line of the directive in the text."""
    conditional: bool
    """Whether the directive is inside an `#if`, so that the compiler may skip it. The `#if` of an include guard does
    not count. Always True for a `__has_include`."""
    spelling: str = ""
    """Text that stands in place of the header's name, such as "HEADER(x)". The compiler expands the macros in it to get
    the name. Empty if `name` is not None."""
    is_test: bool = False
    """Whether this is a `__has_include`, and not an `#include`."""


class Definition(NamedTuple):
    """One `#define`, without the macro's name."""

    parameters: tuple[str, ...] | None
    """Names of the macro's parameters. None for a macro without parentheses, as in `#define N 1`."""
    body: str
    """Replacement text of the macro."""


class IncludeScan(NamedTuple):
    """The includes and the macro definitions of a text."""

    includes: tuple[Include, ...]
    """Each `#include` and `__has_include`, in order."""
    definitions: tuple[tuple[str, Definition], ...]
    """(macro's name, definition) of each `#define`, in order."""
    conditions: tuple[str, ...] = ()
    """Text after each `#if` and `#elif`, in order. A macro in such a text may expand to a `__has_include`."""
    guard: str | None = None
    """Name of the include guard's macro; None if the text as a whole is not in an include guard."""


# NVRTC requires the backslash to be the last character of its line; other compilers allow spaces after it.
_SPLICE = re.compile(rb"\\\r?\n")
"""Matches a line splice: a backslash at the end of a line, and the line break after it. The compiler joins such a line
to the next one."""

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
"""Directive -> number to add to the count of open conditions, i.e. of `#if`s without their `#endif`."""


def includes(text: bytes) -> Iterator[Include]:
    """Yield the includes of a text, in order; those in comments and strings are skipped, those in `#if 0` are not."""
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
    """Return the include of an `#include` directive in the 1-based `line`. `rest` is the text after the word `include`;
    `conditional` is whether the directive is inside an `#if`."""
    match = HEADER_NAME.match(rest)
    if match is None:
        return Include(None, False, line, conditional, rest.strip())
    return Include(header_name(match), match[1] is not None, line, conditional)


def _tests(rest: str, line: int, parameters: Sequence[str]) -> Iterator[Include]:
    """Yield an include for each header that a directive may test for with `__has_include`. First come the header names
    ("a.h" or <a.h>) anywhere in the directive, then the other operands of `__has_include`.

    `rest`: text after the directive's name.
    `parameters`: for a `#define`, the names of the macro's parameters, else (). An operand with such a name is skipped.
    """
    # A macro may pass a header name on to `__has_include`, so each name in the directive counts.
    for match in _LITERAL.finditer(rest):
        yield Include(header_name(match), match[1] is not None, line, True, "", True)
    test = TEST.search(rest)
    while test:
        operand = until_closing(rest, test.end())
        yield from _test(operand.strip(), line, parameters)
        test = TEST.search(rest, test.end() + len(operand))


def _test(operand: str, line: int, parameters: Sequence[str]) -> Iterator[Include]:
    """Yield the include for the test `__has_include(operand)`. Yield nothing in two cases.

    Either `operand` matches `_LITERAL`: then `_tests` has yielded the include. Or `operand` is not a header name, and
    contains one of `parameters`, the names of a macro's parameters.
    """
    if literal := HEADER_NAME.fullmatch(operand):
        if not _LITERAL.fullmatch(operand):  # `<` is also an operator, so not every name is a literal
            yield Include(header_name(literal), literal[1] is not None, line, True, "", True)
    # The header of an operand with a parameter is known only where the macro is used.
    elif not any(word in parameters for word in re.findall(r"\w+", operand)):
        yield Include(None, False, line, True, operand, True)


def until_closing(text: str, start: int) -> str:
    """Return the text from `start` to the parenthesis that closes the one before `start`, or to the end of the text."""
    depth = 1
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[start:at]
    return text[start:]


def header_name(match: re.Match[str]) -> str | None:
    """Return the header's name from a match of `HEADER_NAME`, in quotes or in angle brackets; None if it has none."""
    return match[1] if match[1] is not None else match[2]


def _unspliced(text: bytes) -> bytes:
    """Return a text without line splices (backslashes at the ends of lines). Spliced lines become one line. Empty lines
    follow it, so that later lines keep their numbers. Example: two empty lines follow a line that was spliced from
    three."""
    parts: list[bytes] = []
    position = owed = 0
    for splice in _SPLICE.finditer(text):
        owed = _append(parts, text[position : splice.start()], owed) + 1
        position = splice.end()
    _append(parts, text[position:], owed)
    return b"".join(parts)


def _append(parts: list[bytes], part: bytes, owed: int) -> int:
    """Append `part`, a part of a text, to the list `parts`. Insert `owed` empty lines after the first line of `part`,
    and return 0.

    If `part` contains no line break, insert no empty line, and return `owed` for the next part.
    """
    line, newline, rest = part.partition(b"\n")
    parts += [line, newline * (1 + owed), rest]
    return 0 if newline else owed


def _blanked(token: re.Match[bytes]) -> bytes:
    """Return the text that replaces one token, a match of `_TOKENS`. It has as many line breaks as the token. A comment
    becomes white space. In any other token, such as a string, the line breaks move to the end."""
    if token["comment"]:
        return re.sub(rb"[^\n]", b" ", token[0])
    lines = token[0].count(b"\n")
    return token[0].replace(b"\n", b" ") + b"\n" * lines if lines else token[0]


def _include_guard(directives: Sequence[re.Match[bytes]]) -> str | None:
    """Return the name of the macro of a text's include guard (`#ifndef NAME`, `#define NAME`, ..., `#endif`). None if
    the text has no include guard, or has directives outside it. `directives`: all matches of `_DIRECTIVE` in the text,
    in order."""
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
