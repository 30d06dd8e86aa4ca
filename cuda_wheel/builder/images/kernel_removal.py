"""Remove kernels from a PTX text, with the functions and variables that only they use."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from cuda_wheel.builder.cxx.demangling.signatures import signature
from cuda_wheel.runtime.launching.instance_names import canonical

__all__ = ["chosen_instances", "matches_instance", "without_kernels"]


def chosen_instances(symbols: Collection[str], patterns: Sequence[str], named: Collection[str]) -> list[str]:
    """Return the kernels to keep, by symbol: those that are no instances of a template or are in `named`, and the
    instances that a glob matches. Of several globs that match one, the last counts; "!" excludes."""
    start = all(pattern.startswith("!") for pattern in patterns)

    def is_kept(symbol: str) -> bool:
        if symbol in named or "<" not in signature(symbol).name:
            return True
        last = next((each for each in reversed(patterns) if matches_instance(symbol, each.removeprefix("!"))), None)
        return start if last is None else not last.startswith("!")

    return [symbol for symbol in symbols if is_kept(symbol)]


def matches_instance(symbol: str, pattern: str) -> bool:
    """Return whether a glob matches a kernel's symbol or name, in any spelling: "*<half*" matches "k<c10::Half>"."""
    name = signature(symbol).name
    return fnmatchcase(symbol, pattern) or any(
        fnmatchcase(canonical(name, same_layout), canonical(pattern, same_layout)) for same_layout in (False, True)
    )


def without_kernels(ptx: str, removed: Collection[str], kept_variables: Collection[str] = ()) -> str:
    """Return a PTX text without these kernels, and without the functions and variables that only they use.

    `kept_variables` are kept, used or not.
    """
    everything = list(_items(ptx))
    items = [item for item in everything if item.name]
    aliases = (item for item in everything if ptx.startswith(".alias", item.start))
    aliased = {word for item in aliases for word in _WORD.findall(ptx, item.start, item.end)}
    uses: dict[str, set[str]] = {}
    names = {item.name for item in items}
    for item in items:
        words = set(_WORD.findall(ptx, item.start, item.end)) & names
        uses.setdefault(item.name, set()).update(words - {item.name})
    lost = _reached(removed, uses)
    needed = _reached({*(names - lost), *(lost & set(kept_variables)), *(aliased & names)}, uses)
    gone = lost - needed
    parts, at = [], 0
    for item in items:
        if item.name in gone:
            parts.append(ptx[at : item.start])
            at = item.end + (ptx[item.end : item.end + 1] == "\n")
    return "".join([*parts, ptx[at:]])


def _reached(starts: Collection[str], uses: dict[str, set[str]]) -> set[str]:
    """Return these names and all that they use, directly or not."""
    reached: set[str] = set()
    waiting = list(starts)
    while waiting:
        name = waiting.pop()
        if name in uses and name not in reached:
            reached.add(name)
            waiting += uses[name]
    return reached


class _Item(NamedTuple):
    """A declaration or definition at the top of a text; its name is empty if it is neither function nor variable."""

    name: str
    start: int
    end: int


_WORD = re.compile(r"[A-Za-z_$%][\w$]*")

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


def _items(ptx: str) -> Iterator[_Item]:
    """Yield what a text declares and defines, in its order."""
    at = _SPACE.match(ptx).end()  # type: ignore[union-attr]  # it matches everywhere
    while at < len(ptx):
        line = _LINE.match(ptx, at)
        function = _FUNCTION.match(ptx, at)
        variable = _VARIABLE.match(ptx, at)
        end = line.end() if line else _end(ptx, at, ends_with_brace=variable is None)
        name = (function or variable)[1] if function or variable else ""  # type: ignore[index]
        yield _Item(name, at, end)
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
