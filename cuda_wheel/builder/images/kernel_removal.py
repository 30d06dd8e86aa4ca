"""Remove kernels from a PTX text, with the functions and variables that only they use."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

from cuda_wheel.builder.cxx.demangling.signatures import signature
from cuda_wheel.builder.images.ptx_items import items
from cuda_wheel.runtime.launching.instance_names import canonical

__all__ = ["chosen_instances", "matches_instance", "without_kernels"]

_WORD = re.compile(r"[A-Za-z_$%][\w$]*")


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
    everything = list(items(ptx))
    named = [item for item in everything if item.name]
    aliases = (item for item in everything if ptx.startswith(".alias", item.start))
    aliased = {word for item in aliases for word in _WORD.findall(ptx, item.start, item.end)}
    uses: dict[str, set[str]] = {}
    names = {item.name for item in named}
    for item in named:
        words = set(_WORD.findall(ptx, item.start, item.end)) & names
        uses.setdefault(item.name, set()).update(words - {item.name})
    lost = _reached(removed, uses)
    needed = _reached({*(names - lost), *(lost & set(kept_variables)), *(aliased & names)}, uses)
    gone = lost - needed
    parts, at = [], 0
    for item in named:
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
