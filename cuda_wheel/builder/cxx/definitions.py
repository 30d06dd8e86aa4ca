"""Records of a source file and of the definitions in it; `syntax.parse` finds the latter."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from cuda_wheel.builder.cxx.macros import Macro, macro_of
from cuda_wheel.builder.cxx.tokens import Directive, Token, scan

if TYPE_CHECKING:  # an optional dependency, which only mixed sources need
    from tree_sitter import Node

__all__ = ["Item", "SourceText", "read_source"]


@dataclass(frozen=True, eq=False)
class Item:
    """One definition or declaration at namespace or class scope: the unit that is compiled or blanked.

    `start` and `end` are offsets in bytes; those of a template include its heading.
    """

    source: SourceText
    kind: str
    """ "function", "variable", "type", "using", "instantiation", "macro call", "assertion" or "fragment"."""
    names: tuple[str, ...]
    """All names that it declares."""
    start: int
    end: int
    body: int
    """Where the body begins; `end` if it has none."""
    markers: frozenset[str]
    """CUDA's markers before the body, written out or from macros."""
    scope: tuple[str, ...]
    """The namespaces around it; "" is one without a name."""
    owner: str = ""
    """The class that a member belongs to."""
    template: tuple[Node, ...] = ()
    """The template headings around it, outermost first."""
    node: Node | None = None
    members: tuple[Item, ...] = ()

    @property
    def line(self) -> int:
        return self.source.line(self.start)

    @property
    def last_line(self) -> int:
        return self.source.line(max(self.start, self.end - 1))

    @property
    def text(self) -> str:
        return self.source.content[self.start : self.end].decode(errors="surrogateescape")

    @cached_property
    def heading(self) -> frozenset[str]:
        """The words before the body."""
        return frozenset(token.text for token in self.source.tokens_in(self.start, self.body) if token.kind == "word")

    @property
    def tokens(self) -> Sequence[Token]:
        return self.source.tokens_in(self.start, self.end)

    @property
    def defined(self) -> bool:
        return self.body < self.end


@dataclass(frozen=True, eq=False)
class SourceText:
    """A file: its bytes, tokens and directives, and the items, which `syntax.parse` adds."""

    name: str
    content: bytes
    tokens: Sequence[Token]
    directives: Sequence[Directive]
    items: list[Item] = field(default_factory=list)

    @cached_property
    def _line_ends(self) -> list[int]:
        return [match.start() for match in re.finditer(rb"\n", self.content)]

    @cached_property
    def _token_offsets(self) -> list[int]:
        return [token.start for token in self.tokens]

    @cached_property
    def _condition_depths(self) -> list[tuple[int, int]]:
        """The offset of each directive, and how many conditions are open after it, without an include guard."""
        depth = -1 if _has_include_guard(self.directives) else 0
        found = []
        for directive in self.directives:
            depth += directive.word.startswith("if") - (directive.word == "endif")
            found.append((directive.start, depth))
        return found

    def line(self, offset: int) -> int:
        """Return the line of an offset, from 1."""
        return bisect_left(self._line_ends, offset) + 1

    def tokens_in(self, start: int, end: int) -> Sequence[Token]:
        return self.tokens[bisect_left(self._token_offsets, start) : bisect_left(self._token_offsets, end)]

    def is_conditional(self, offset: int) -> bool:
        """Return whether an offset lies between `#if` and `#endif`."""
        index = bisect_right(self._condition_depths, (offset, 1 << 30)) - 1
        return index >= 0 and self._condition_depths[index][1] > 0

    @property
    def macros(self) -> list[Macro]:
        return [macro for directive in self.directives if (macro := macro_of(directive))]


def _has_include_guard(directives: Sequence[Directive]) -> bool:
    if [directive.word for directive in directives[:2]] != ["ifndef", "define"]:
        return False
    tested, defined = (directive.rest.split()[:1] for directive in directives[:2])
    return tested == defined


def read_source(name: str, content: bytes) -> SourceText:
    """Return a file with its tokens and directives, and without items."""
    tokens, directives = scan(content)
    return SourceText(name, content, tokens, directives)
