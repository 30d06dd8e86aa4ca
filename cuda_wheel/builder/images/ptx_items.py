"""Find what a PTX text declares and defines at its top: functions, variables and other directives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Item", "items"]


class Item(NamedTuple):
    """A declaration or definition at the top of a text; its name is empty if it is neither function nor variable."""

    name: str
    start: int
    end: int
    is_kernel: bool


_MARK = re.compile(r'"(?:\\[^\n]|[^"\\\n])*"?|/\*.*?(?:\*/|\Z)|//[^\n]*|[;{}]', re.DOTALL)
"""A string, a comment, or what may end an item."""

_SPACE = re.compile(r"(?:\s|/\*.*?(?:\*/|\Z)|//[^\n]*)*", re.DOTALL)

_LINE = re.compile(r"\.(?:version|target|address_size|file)\b[^\n]*")
"""A directive that ends with its line."""

_FUNCTION = re.compile(
    r"(?:\.(?:visible|extern|weak)\s+)?\.(?:entry|func)\s*(?:\.noreturn\s*)?(?:\([^()]*\)\s*)?(?:\.noreturn\s*)?([\w$%]+)"
)

_VARIABLE = re.compile(
    r"(?:\.(?:visible|extern|weak|common)\s+)?\.(?:global|const|shared)\b[^=;{]*?([\w$%]+)\s*(?:\[[^=;{]*)?(?=[=;])"
)


def items(ptx: str) -> Iterator[Item]:
    """Yield what a text declares and defines, in its order."""
    at = _SPACE.match(ptx).end()  # type: ignore[union-attr]  # it matches everywhere
    while at < len(ptx):
        line = _LINE.match(ptx, at)
        function = _FUNCTION.match(ptx, at)
        variable = _VARIABLE.match(ptx, at)
        end = line.end() if line else _end(ptx, at, ends_with_brace=variable is None)
        name = (function or variable)[1] if function or variable else ""  # type: ignore[index]
        yield Item(name, at, end, function is not None and ".entry" in function[0])
        at = _SPACE.match(ptx, end).end()  # type: ignore[union-attr]


def _end(ptx: str, start: int, ends_with_brace: bool) -> int:
    """Return the end of the item that begins at `start`: a semicolon, or the brace that closes a body."""
    depth = 0
    for mark in _MARK.finditer(ptx, start):
        if mark[0] == "{":
            depth += 1
        elif mark[0] == "}":
            depth -= 1
            if depth <= 0 and ends_with_brace:
                return mark.end()
        elif mark[0] == ";" and not depth:
            return mark.end()
    return len(ptx)
