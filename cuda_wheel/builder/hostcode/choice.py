"""Select the definitions of a file to compile: by the names that device code uses, then by the compiler's errors."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from cuda_wheel.builder.cxx.definitions import Item
from cuda_wheel.builder.cxx.header_names import PRE_INCLUDED_HEADERS, STANDARD_HEADERS
from cuda_wheel.builder.cxx.tokens import words
from cuda_wheel.builder.hostcode.unit import TranslationUnit, is_device, is_host_member, is_sacred, launches

__all__ = ["WORD", "Choice", "learn"]

_NAMESPACES = frozenset({"std", "cuda", "cooperative_groups", "nvcuda", "cg"})


@dataclass
class Choice:
    """The selection of items to compile, and the facts learned from the compiler's errors."""

    unit: TranslationUnit
    names: frozenset[str]
    """Additional names that are needed: those in the name expressions."""
    restored: set[Item] = field(default_factory=set)
    refused: dict[Item, str] = field(default_factory=dict)
    """Items that the compiler rejected, each with its error message."""
    constants: set[Item] = field(default_factory=set)
    """Constants to declare constexpr. Without it, each is a device variable, which has no value at compile time."""
    lines: set[tuple[str, int]] = field(default_factory=set)
    """Files and lines of `#error` directives to blank: a macro of the host compiler would have excluded them."""
    headers: set[str] = field(default_factory=set)
    """Toolchain headers that reject NVRTC with an `#error`."""
    includes: dict[str, None] = field(default_factory=dict)
    """Standard headers that other, missing headers would have included."""

    def learned(self) -> int:
        """Return the number of facts learned, not counting rejected items. The number only grows."""
        kinds = (self.restored, self.constants, self.lines, self.headers, self.includes)
        return sum(len(kind) for kind in kinds)

    def kept(self) -> set[Item]:
        """Return the items to compile; members are separate elements."""
        unit = self.unit
        by_name: dict[str, list[Item]] = {}
        for item in unit.items:
            for name in item.names:
                by_name.setdefault(name, []).append(item)
        kept: set[Item] = set()
        waiting = [item for item in unit.items if self._is_root(item)]
        names = set(self.names)
        while waiting or names:
            for name in unit.expanded(names):
                waiting += [item for item in by_name.get(name, ()) if self._may_keep(item)]
            names = set()
            while waiting:
                item = waiting.pop()
                if item in kept or item in self.refused:
                    continue
                kept.add(item)
                waiting += [member for member in item.members if self._keeps_member(member)]
                names |= self._uses(item)
        return kept

    def _is_root(self, item: Item) -> bool:
        if item in self.refused:
            return False
        if item in self.restored or is_sacred(item, self.unit):
            return not item.owner or item in self.restored or not self.is_inner(item)
        if item.kind == "function" and "__device__" in item.markers and item.names[0].startswith("operator"):
            return not self.is_inner(item)  # its uses do not contain its name
        if item.kind == "type":
            return any(is_device(member) for member in item.members) and not self.is_inner(item)
        if item.kind == "using" and "namespace" in item.heading:
            return bool(set(item.names) & (self._namespaces | _NAMESPACES))
        return item.kind in ("assertion", "fragment") and not self.is_inner(item)

    @cached_property
    def _inner(self) -> set[Item]:
        return {member for item in self.unit.items for member in item.members}

    def is_inner(self, item: Item) -> bool:
        """Return whether an item is a member of another one."""
        return item in self._inner

    @cached_property
    def _namespaces(self) -> set[str]:
        return {part for item in self.unit.items if not item.owner for part in item.scope}

    def _may_keep(self, item: Item) -> bool:
        """Return whether a use of its name suffices to keep an item."""
        if self.is_inner(item):
            return False
        if item.kind == "function":
            if "__device__" not in item.markers and ("__host__" in item.markers or launches(item)):
                return False
            return not item.owner or bool(item.markers)
        if item.kind == "variable":
            return bool(item.members) or bool(item.heading & {"const", "constexpr"}) or bool(item.markers)
        return item.kind in ("type", "using")

    def _keeps_member(self, member: Item) -> bool:
        return member in self.restored or not is_host_member(member, self.unit)

    def _uses(self, item: Item) -> frozenset[str]:
        """Return the names that an item uses, except names of members, which follow `.` or `->`."""
        inside = [(member.start, member.end) for member in item.members]
        tokens = [token for token in item.tokens if not any(start <= token.start < end for start, end in inside)]
        found = set()
        for index, token in enumerate(tokens):
            if token.kind == "word" and not (index and tokens[index - 1].text in (".", "->")):
                found.add(token.text)
        return frozenset(found)


_ERROR = re.compile(
    r"^(?P<file>\S.*?)\((?P<line>\d+)\): (?:catastrophic )?error(?: #\S+)?: (?P<message>.*)", re.MULTILINE
)

_QUOTED = re.compile(r'"([^"]*)"')

_OPERATOR = re.compile(r'no operator "([^"]+)" matches')

WORD = re.compile(r"operator\s*[^\s\w]+|[A-Za-z_$][\w$]*")


def learn(choice: Choice, log: str) -> bool:
    """Learn from a compiler's log which definitions are needed. Return whether the log contains anything new."""
    kept = choice.kept()
    complaints = [(match["file"], int(match["line"]), match["message"]) for match in _ERROR.finditer(log)]
    restorable: dict[str, list[Item]] = {}
    for item in choice.unit.items:
        if item not in kept and item not in choice.refused and _may_return(item):
            said = item.names or tuple(words(item.tokens))
            for name in said:
                restorable.setdefault(name, []).append(item)
    before = choice.learned()
    refused: dict[Item, str] = {}
    for file, line, message in complaints:
        culprit = _innermost(choice, kept, file, line)
        if (
            culprit is not None
            and culprit.kind in ("assertion", "fragment", "using")
            and not is_sacred(culprit, choice.unit)
        ):
            refused.setdefault(culprit, message)
            continue
        header = STANDARD_HEADERS.get(match[1]) if (match := _NO_MEMBER.search(message)) else None
        header = header or (PRE_INCLUDED_HEADERS.get(match[1]) if (match := _UNDEFINED.search(message)) else None)
        missing = [re.sub(r"\s", "", word) for quoted in _QUOTED.findall(message) for word in WORD.findall(quoted)]
        missing += [f"operator{sign}" for sign in _OPERATOR.findall(message)]
        returning = {item for name in missing for item in restorable.get(name, ())}
        if message.startswith("#error"):
            if file in choice.unit.sources:
                choice.lines.add((file, line))
            else:
                choice.headers.add(file)
        elif header is not None:
            choice.includes[header] = None
        elif "dynamic initialization" in message and culprit is not None and culprit.kind == "variable":
            choice.constants.add(culprit)
        elif "must have a constant value" in message and culprit in choice.constants:
            used = words(culprit.tokens)
            choice.constants |= {
                item for item in kept if item.kind == "variable" and not item.markers and used.intersection(item.names)
            }
        elif returning:
            choice.restored |= returning
        elif culprit is not None and not is_sacred(culprit, choice.unit):
            refused.setdefault(culprit, message)
    if before != choice.learned():
        return True  # these rejections may be consequences of the missing definitions
    choice.refused.update(refused)
    return bool(refused)


def _may_return(item: Item) -> bool:
    """Return whether an item can be restored as device code, that is, whether it is not for the host only."""
    if "__host__" in item.markers and "__device__" not in item.markers:
        return False
    if item.kind == "variable":
        return bool(item.heading & {"const", "constexpr"})
    return item.names != ("main",)


def _innermost(choice: Choice, kept: set[Item], file: str, line: int) -> Item | None:
    around = [
        item
        for item in kept
        if item.source.name == file
        and item.line <= line <= item.last_line
        and item.source.name not in choice.unit.verbatim
    ]
    # Without one of its fields, types or virtual functions, a class would have another layout: reject the whole class
    # or nothing of it. Members of an anonymous union have no owner.
    whole = [item for item in around if not choice.is_inner(item) or _leaves_layout(item)]
    return min(whole, key=lambda item: item.end - item.start, default=None)


def _leaves_layout(member: Item) -> bool:
    """Return whether a class has the same layout without one of its members."""
    return "friend" in member.heading or (member.kind == "function" and "virtual" not in member.heading)


_NO_MEMBER = re.compile(r'namespace "(?:std|cuda::std::\w+)" has no member(?: class)? "(\w+)"')

_UNDEFINED = re.compile(r'identifier "(\w+)" is undefined')
