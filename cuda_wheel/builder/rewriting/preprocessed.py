"""What a function's body may instantiate, found in the text of a translation unit after its preprocessing.

The preprocessor has included all headers and expanded all macros, so that each marker of device code stands there as
`__attribute__((device))`, whoever wrote it. The text is read by its brackets and words, and more is found than the
compiler would find: an entity may reach all that its declaration names.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from cuda_wheel.builder.cxx.tokens import Token, balanced, before_template_arguments, scan, words
from cuda_wheel.builder.rewriting.blocks import CodeBlock, definitions, parameters

__all__ = [
    "NOT_HOST",
    "Segment",
    "TranslationUnit",
    "marker",
    "marks_device_code",
    "segments",
    "template_arguments_end",
]


_DEVICE = frozenset({"device", "global", "constant", "managed", "shared"})
"""The arguments of `__attribute__` that mark device code and device variables."""

NOT_HOST = frozenset({"template", "auto", "constexpr", "consteval", "try"})
"""Words of a heading with which other code may see more of a function than its type, or by which it is more."""

_EVERYTHING = "*"

_IMPLICIT = frozenset({"begin", "end", "get", "tuple_size", "tuple_element", "await_transform"})
"""Names that the language itself uses, with none in the text."""

_KEYWORDS = (
    "__attribute__ alignas asm __asm__ decltype noexcept throw explicit requires sizeof static_assert if void bool "
    "char short int long float double signed unsigned auto const volatile constexpr static inline extern virtual "
    "typename class struct union enum public protected private default delete final override using typedef friend"
)
_NO_NAMES = frozenset(_KEYWORDS.split())
"""Words that are no names, before brackets too."""

_AFTER_NAMES = ("(", "[", "{", "=", ";", ",", ":", "final", "")


def marker(kind: str, number: int) -> str:
    """Return the identifier that is put at the "begin" or "end" of the body of this number."""
    return f"cuda_wheel_{kind}_of_body_{number}"


@dataclass(frozen=True, eq=False)
class _ScopeDeclaration:
    """A declaration at namespace scope; a class is one, with all its members."""

    block: CodeBlock
    is_own: bool
    """Whether it is in a file of the project."""

    @cached_property
    def attributes(self) -> frozenset[str]:
        return _attributes(self.block.tokens)

    @cached_property
    def is_instantiated(self) -> bool:
        """Whether it is compiled only where something uses it, so that a use may decide which kernels there are.

        All other functions are compiled whether they are used or not.
        """
        return not {"template", "inline"}.isdisjoint(self.words)

    @cached_property
    def words(self) -> frozenset[str]:
        return words(self.block.tokens)

    @property
    def is_class(self) -> bool:
        return bool(self.block.words & {"class", "struct", "union"}) and not self.block.body

    @property
    def is_device_code(self) -> bool:
        """Whether it is a kernel, or a device variable of the project's, that only a use brings into the image."""
        if not self.is_instantiated or self.attributes.isdisjoint(_DEVICE):
            return False
        return "global" in self.attributes or (self.is_own and not self.is_class and not self.block.is_function)

    @property
    def reachable(self) -> Sequence[Token]:
        """The tokens of all that a use of it may instantiate."""
        heading = self.block.tokens[: len(self.block.tokens) - len(self.block.body)]
        if self.block.body and not {"template", "auto"} & words(heading):
            return heading  # the body of a function that is no template is compiled anyway
        return self.block.tokens

    @cached_property
    def is_fixed(self) -> bool:
        """Whether it is a template whose first use decides what an instance is."""
        return "template" in self.words and (
            not self.block.is_function or not {"constexpr", "consteval", "auto"}.isdisjoint(self.words)
        )

    @cached_property
    def calls(self) -> frozenset[str]:
        """The names of unqualified calls in it."""
        tokens = self.block.tokens
        return frozenset(tokens[index].text for index, is_call in _mentions(tokens) if is_call)

    @cached_property
    def friends(self) -> frozenset[str]:
        """The names of functions that an instance declares as friends."""
        if not {"template", "friend"} <= self.words:
            return frozenset()
        tokens = self.block.tokens
        found = set()
        for index, token in enumerate(tokens):
            if token.text == "friend":
                ends = (i for i in range(index, len(tokens)) if tokens[i].text in ("(", ";", "{"))
                found.add(tokens[next(ends, index) - 1].text)
        return frozenset(found)

    @property
    def is_forward(self) -> bool:
        """Whether it may declare what another declaration defines."""
        return not self.block.body and all(token.text != "{" for token in self.block.tokens)

    @cached_property
    def names(self) -> frozenset[str]:
        """All names that it may declare; "*" if it may be used without a name."""
        return frozenset(self._names())

    def _names(self) -> Iterator[str]:
        tokens = self._declarators()
        if not tokens:
            yield _EVERYTHING
        index, is_value = 0, False
        while index < len(tokens):
            text, kind = tokens[index].text, tokens[index].kind
            before = tokens[index - 1].text if index else ""
            after = tokens[index + 1].text if index + 1 < len(tokens) else ""
            if text == "operator":
                yield _qualifier(tokens, index) or _EVERYTHING
                return
            if text in ("(", "[", "{"):
                end = balanced(tokens, index)
                if (text == "(" and after in ("*", "&", "::")) or before == "auto" or "enum" in self.block.words:
                    yield from words(tokens[index:end])
                index = end
                continue
            if text == "<" and (end := template_arguments_end(tokens, index) or 0):
                index = end
                continue
            is_name = after in _AFTER_NAMES or _is_specialised(tokens, index + 1)
            if kind == "word" and text not in _NO_NAMES and is_name and (not is_value or before in (",", "*", "&")):
                yield _EVERYTHING if text in _IMPLICIT else text
                yield _qualifier(tokens, index) or text
            is_value = is_value or text == "="
            index += 1

    def _declarators(self) -> Sequence[Token]:
        """Return the tokens that declare names: without what a function returns after its parameters, and without the
        bases and the members of a class."""
        heading = self.block.heading
        start = parameters(heading)
        if start is not None:
            return heading[: balanced(heading, start)]
        texts = [token.text for token in heading]
        if not self.is_class or "{" not in texts:
            return heading
        brace = texts.index("{")
        name_end = texts.index(":") if ":" in texts[:brace] else brace
        return [*heading[: name_end + 1], *heading[balanced(heading, brace) :]]


class Segment(NamedTuple):
    """A part of a preprocessed text that comes from one file."""

    start: int
    """In bytes, as `end` is."""
    end: int
    file: str
    """As the compiler names it: relative for a file of the project."""
    line: int
    """The line of its start."""


_LINE = re.compile(rb'^#line (\d{1,9}) "((?:[^"\\\n]|\\.)*)"\n', re.MULTILINE)


def segments(text: bytes) -> list[Segment]:
    """Return the parts of a preprocessed text, in order."""
    marks = list(_LINE.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    files = [os.fsdecode(mark[2]).replace("\\\\", "\\") for mark in marks]
    return [Segment(mark.end(), end, file, int(mark[1])) for mark, end, file in zip(marks, ends, files, strict=False)]


def _with_places(blocks: Iterable[CodeBlock], text: bytes) -> Iterator[_ScopeDeclaration]:
    """Yield the definitions of a text as declarations that say whether a file of the project has them."""
    parts = segments(text)
    starts = [part.start for part in parts]
    for block in blocks:
        at = bisect_right(starts, block.start)
        file = parts[at - 1].file if at else ""
        yield _ScopeDeclaration(block, not file.startswith(("/", "__nv_")) and file[1:2] != ":")


class TranslationUnit:
    """The declarations of a preprocessed text, and the bodies between `marker`s in it."""

    def __init__(self, text: bytes) -> None:
        self._tokens, _ = scan(text)
        blocks = definitions(self._tokens, into_classes=False)
        self._declarations = list(_with_places(blocks, text))
        self.kernels: dict[str, bool] = {}
        """The kernels and device variables that only a use brings into the image, by name: whether it is a template."""
        self.variables: set[str] = set()
        """Those names that are variables."""
        for each in self._declarations:
            if each.is_device_code:
                for name in each.names:
                    self.kernels[name] = self.kernels.get(name, False) or "template" in each.words
                    self.variables |= set() if "global" in each.attributes else {name}

    def body(self, number: int) -> tuple[CodeBlock | None, Sequence[Token]]:
        """Return the definition with the body of this number, and the body's tokens without brackets and markers.

        None if it is not the body of one function at namespace scope.
        """
        ends = [
            [i for i, token in enumerate(self._tokens) if token.text == marker(kind, number)]
            for kind in ("begin", "end")
        ]
        if [len(each) for each in ends] != [1, 1]:
            return None, ()
        (begin,), (end,) = ends
        inside = self._tokens[begin].start
        around = next((each.block for each in self._declarations if each.block.start <= inside < each.block.end), None)
        if around is None or not around.body or around.body[0].start != self._tokens[begin - 1].start:
            return None, ()
        if around.body[-1].start != self._tokens[end + 1].start:
            return None, ()
        return around, self._tokens[begin + 1 : end]

    @cached_property
    def instantiating(self) -> dict[str, int]:
        """The names by whose use a kernel or a device variable may be instantiated, those of `kernels` among them, and
        the offset of the first declaration of each."""
        mentions: dict[str, list[tuple[_ScopeDeclaration, bool]]] = {}
        first: dict[str, int] = {}
        for each in self._declarations:
            for index, is_call in _mentions(each.reachable):
                mentions.setdefault(each.reachable[index].text, []).append((each, is_call))
            for name in each.names if each.is_forward else ():
                first.setdefault(name, each.block.start)
        found: dict[str, int] = {}
        waiting = [each for each in self._declarations if each.is_device_code]
        while waiting:
            user = waiting.pop()
            for name in user.names:
                at = user.block.start
                if not user.is_device_code:  # each declaration of a kernel is marked
                    at = min(at, first.get(name, at))
                if at < found.get(name, at + 1):
                    found[name] = at
                    uses = mentions.get(name, ())
                    waiting += [each for each, is_call in uses if self._may_mean(name, at, each.block.start, is_call)]
        return found

    def later_meaning(self, block: CodeBlock, body: Sequence[Token]) -> str | None:
        """Return a name on which templates may depend that a function uses first, and that is declared after it or by
        such a template; None if there is none.

        A class template is instantiated where it is used first, once: whether a class is complete there and which
        functions are declared there may decide what device code gets later.
        """
        earlier = [each for each in self._declarations if each.block.start < block.start]
        later = [each for each in self._declarations if each.block.start > block.start]
        known = frozenset().union(*(each.words for each in earlier))
        classes = {name for each in later if each.is_class and not each.is_forward for name in each.names} & known
        functions = {name for each in later if not each.is_class for name in each.names} & known
        tests = {each: name for each in earlier if each.is_fixed for name in functions & each.calls}
        asked = Counter(name for each in self._declarations if each.is_fixed for name in each.calls)
        tests |= {each: name for each in earlier for name in each.friends if asked[name] > (name in each.calls)}
        if not classes and not tests:
            return None
        by_name: dict[str, list[_ScopeDeclaration]] = {}
        for each in earlier:
            for name in each.names:
                by_name.setdefault(name, []).append(each)
        seen: set[str] = set()
        waiting = [_EVERYTHING, *words(body), *words(block.heading)]
        while waiting:
            word = waiting.pop()
            if word in seen:
                continue
            seen.add(word)
            if word in classes:
                return word
            for each in by_name.get(word, ()):
                if each in tests:
                    return tests[each]
                waiting += words(each.reachable) - seen
        return None

    def _may_mean(self, name: str, declared: int, used: int, is_call: bool) -> bool:
        """Return whether a use of a name at an offset may mean what is declared at another.

        What is declared later is found only by the arguments of an unqualified call in a template, and a kernel is not
        called.
        """
        return used > declared or (is_call and name not in self.kernels)

    def instantiating_names(self, tokens: Sequence[Token]) -> Iterator[int]:
        """Yield the index of each name in tokens by whose use a kernel or a device variable may be instantiated."""
        for index, is_call in _mentions(tokens):
            text, start = tokens[index].text, tokens[index].start
            declared = self.instantiating.get(text)
            if declared is not None and self._may_mean(text, declared, start, is_call):
                yield index


def _mentions(tokens: Sequence[Token]) -> Iterator[tuple[int, bool]]:
    """Yield the index of each word that is not the name of a member after an object, and whether it may be an
    unqualified call."""
    before = ""
    for index, token in enumerate(tokens):
        if token.kind == "word" and before not in (".", "->"):
            is_call = before != "::" and index + 1 < len(tokens) and tokens[index + 1].text == "("
            yield index, is_call
        before = token.text


def marks_device_code(tokens: Sequence[Token]) -> bool:
    """Return whether a marker of device code is among tokens."""
    return not _attributes(tokens).isdisjoint(_DEVICE)


def _attributes(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the arguments of all `__attribute__((...))`, without underscores around them."""
    found: set[str] = set()
    for index, token in enumerate(tokens):
        if token.text in ("__attribute__", "__declspec"):
            found |= {each.strip("_") for each in words(tokens[index + 1 : balanced(tokens, index + 1)])}
    return frozenset(found)


def _qualifier(tokens: Sequence[Token], index: int) -> str:
    """Return the class or namespace in `class::name` or `class<...>::name` for the index of the name; else empty."""
    index -= 1
    if index >= 0 and tokens[index].text == "~":
        index -= 1
    if index < 1 or tokens[index].text != "::":
        return ""
    index = before_template_arguments(tokens, index)
    return tokens[index].text if index >= 0 and tokens[index].kind == "word" else ""


def _is_specialised(tokens: Sequence[Token], index: int) -> bool:
    """Return whether template arguments from an index on are those of a specialisation: `name<...>(`."""
    if index >= len(tokens) or tokens[index].text != "<":
        return False
    end = template_arguments_end(tokens, index)
    return end is None or end == len(tokens) or tokens[end].text in ("(", "{", ":", ";", "=", "[", "final")


def template_arguments_end(tokens: Sequence[Token], index: int) -> int | None:
    """Return the index after the bracket that closes the `<` at an index; None if there is none, or none closes it."""
    if index >= len(tokens) or tokens[index].text != "<":
        return None
    depth = 0
    while index < len(tokens):
        text = tokens[index].text
        if text in ("(", "{", "["):
            index = balanced(tokens, index)
            continue
        depth += {"<": 1, "<<<": 3, ">": -1, ">>>": -3}.get(text, 0)
        index += 1
        if depth <= 0:
            return index if depth == 0 else None
    return None
