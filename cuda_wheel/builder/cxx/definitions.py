"""A source file as the definitions that it is made of; `cuda_syntax` finds them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from cuda_wheel.builder.cxx.tokens import Directive, Macro, Token, macro_of, scan

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = [
    "Item",
    "SourceText",
    "read_source",
]


@dataclass(frozen=True, eq=False)
class Item:
    """One definition or declaration at namespace or class scope: the unit that is kept or blanked.

    `start` and `end` are byte offsets; those of a template include its heading. `markers` hold what CUDA and the macros
    of the file say before the body, `names` all that it declares.
    """

    source: SourceText
    kind: str
    """ "function", "variable", "type", "using", "instantiation", "macro call", "assertion" or "fragment"."""
    names: tuple[str, ...]
    start: int
    end: int
    body: int
    """Where the body begins; `end` where there is none."""
    markers: frozenset[str]
    scope: tuple[str, ...]
    """Namespaces around it; "" is one without a name."""
    owner: str = ""
    """The class that a member belongs to."""
    template: tuple[Node, ...] = ()
    """The headings of templates around it, outermost first."""
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
    """A file: its bytes, tokens, directives, and the items that `parse` found."""

    name: str
    content: bytes
    tokens: Sequence[Token]
    directives: Sequence[Directive]
    items: list[Item] = field(default_factory=list)

    @cached_property
    def _lines(self) -> list[int]:
        return [match.start() for match in re.finditer(rb"\n", self.content)]

    @cached_property
    def _starts(self) -> list[int]:
        return [token.start for token in self.tokens]

    @cached_property
    def _conditions(self) -> list[tuple[int, int]]:
        depth = -1 if _is_guarded(self.directives) else 0
        found = []
        for directive in self.directives:
            depth += directive.word.startswith("if") - (directive.word == "endif")
            found.append((directive.start, depth))
        return found

    def line(self, offset: int) -> int:
        """Return the line of an offset, from 1."""
        return bisect_left(self._lines, offset) + 1

    def tokens_in(self, start: int, end: int) -> Sequence[Token]:
        return self.tokens[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def is_conditional(self, offset: int) -> bool:
        """Return whether an `#if` decides over what stands there."""
        index = bisect_right(self._conditions, (offset, 1 << 30)) - 1
        return index >= 0 and self._conditions[index][1] > 0

    @property
    def macros(self) -> list[Macro]:
        return [macro for directive in self.directives if (macro := macro_of(directive))]


def _is_guarded(directives: Sequence[Directive]) -> bool:
    return [directive.word for directive in directives[:2]] == ["ifndef", "define"] and directives[0].rest.split()[
        :1
    ] == directives[1].rest.split()[:1]


def read_source(name: str, content: bytes) -> SourceText:
    """Return a file's tokens and directives; its items are for `parse`."""
    tokens, directives = scan(content)
    return SourceText(name, content, tokens, directives)
