"""Expand macros that name headers: `#include NAME(x)`.

Which definitions of a macro hold is unknown, because conditions are not evaluated. So the result contains the
expansions by each of them, and those that leave the macro as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from cuda_wheel.builder.sources.includes import HEADER_NAME, TEST, Definition, IncludeScan, header_name, until_closing

__all__ = ["Definitions", "definitions_in", "named_headers", "tested_headers"]

Definitions = Mapping[str, Iterable[Definition]]

_WORD = re.compile(r"[A-Za-z_]\w*|[^A-Za-z_]+")

_PARAMETER = re.compile(r"(?<!#)#\s*(\w+)|\b([A-Za-z_]\w*)")

_MAX_WORK = 500_000
"""Maximum number of characters to write while one spelling is expanded; beyond it, the result is unknown."""

_MAX_SPELLING = 4096
"""Maximum number of characters of a spelling; the expansion of a longer one is unknown."""


def definitions_in(scans: Iterable[IncludeScan], options: Iterable[str]) -> dict[str, set[Definition]]:
    """Return the macros that texts and options define, by name. An option is "NAME", "NAME=BODY" or "NAME(X)=BODY"."""
    definitions: dict[str, set[Definition]] = {}
    for option in options:
        head, equals, body = option.partition("=")
        name, parenthesis, parameters = head.partition("(")
        listed = tuple(map(str.strip, parameters.rstrip(") ").split(","))) if parenthesis else None
        definitions.setdefault(name.strip(), set()).add(Definition(listed, body if equals else "1"))
    for scan in scans:
        for name, definition in scan.definitions:
            definitions.setdefault(name, set()).add(definition)
    return definitions


def named_headers(spelling: str, definitions: Definitions) -> set[tuple[str, bool]] | None:
    """Return the header names that a spelling may expand to, and whether each is quoted; None if that is unknown."""
    names = set()
    try:
        texts = _Expansion(definitions).expand(spelling) if len(spelling) <= _MAX_SPELLING else set()
    except (LookupError, RecursionError):
        return None
    for text in map(str.strip, texts):
        name = HEADER_NAME.fullmatch(text)
        if name:
            names.add((header_name(name) or "", name[1] is not None))
        elif re.split(r"\W", text, maxsplit=1)[0] not in definitions:
            return None
    return names or None


def tested_headers(condition: str, definitions: Definitions) -> set[tuple[str, bool]] | None:
    """Return the headers that a condition may test for, as `named_headers` does; None if they are unknown."""
    names = set()
    try:
        texts = _Expansion(definitions).expand(condition) if len(condition) <= _MAX_SPELLING else None
    except (LookupError, RecursionError):
        texts = None
    for text in texts or ():
        for test in TEST.finditer(text):
            operand = until_closing(text, test.end()).strip()
            if name := HEADER_NAME.fullmatch(operand):
                names.add((header_name(name) or "", name[1] is not None))
            elif re.split(r"\W", operand, maxsplit=1)[0] not in definitions:
                return None
    return None if texts is None else names


class _Expansion:
    """The expansions of one text. Its methods raise LookupError if they are too many or a call does not fit."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._work = 0

    def _count_work(self, characters: int) -> None:
        self._work += characters
        if self._work > _MAX_WORK:
            raise LookupError

    def expand(self, text: str, active: frozenset[str] = frozenset()) -> set[str]:
        """Return the possible expansions of a text, without expanding the macros in `active`."""
        results = {""}
        position = 0
        while position < len(text):
            token = _WORD.match(text, position)
            assert token is not None
            name, position = token[0], token.end()
            if name in self._definitions and name not in active:
                self._count_work(len(text) - position)
                alternatives, position = self._call(name, text, position, active | {name})
            else:
                alternatives = {name}
            self._count_work(
                len(results) * sum(map(len, alternatives)) + len(alternatives) * sum(map(len, results)),
            )
            results = {before + alternative for before in results for alternative in alternatives}
        return results

    def _call(self, name: str, text: str, position: int, active: frozenset[str]) -> tuple[set[str], int]:
        """Return the possible expansions of the macro whose name ends at `position`, and where its arguments end."""
        arguments, end = _arguments(text, position)
        written = text[position:end]
        alternatives = {name}
        for macro in self._definitions[name]:
            if macro.parameters is None:
                alternatives |= {body + written for body in self._body(macro, (), active)}
            elif end > position:
                alternatives |= self._body(macro, arguments, active)
        # The name alone stands for the call that is left as it is, whichever definition produced it.
        return {each + (written if each == name else "") for each in alternatives}, end

    def _body(self, macro: Definition, arguments: Sequence[str], active: frozenset[str]) -> set[str]:
        """Return the possible expansions of a macro's body with these arguments."""
        parameters = macro.parameters or ()
        if len(parameters) != len(arguments):
            raise LookupError
        written = dict(zip(parameters, arguments, strict=True))
        results = set()
        for expanded in product(*({each, *self.expand(each, active)} for each in arguments)):
            values = dict(zip(parameters, expanded, strict=True))
            self._count_work(100 + len(macro.body) * (1 + max(map(len, (*expanded, *arguments)), default=0)))

            def substitute(place: re.Match[str], values: dict[str, str] = values) -> str:
                return f'"{written[place[1]]}"' if place[1] in written else values.get(place[2], place[0])

            results |= self.expand(re.sub(r"\s*##\s*", "", _PARAMETER.sub(substitute, macro.body)), active)
        return results


def _arguments(text: str, position: int) -> tuple[list[str], int]:
    """Return the arguments in the parentheses at a position of a text, and where they end; `position` without any."""
    opening = re.compile(r"\s*\(").match(text, position)
    if opening is None:
        return [], position
    arguments, depth, start = [], 1, opening.end()
    for end in range(start, len(text)):
        character = text[end]
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0 or (depth == 1 and character == ","):
            arguments.append(text[start:end].strip())
            start = end + 1
        if depth == 0:
            return arguments, end + 1
    return [], position
