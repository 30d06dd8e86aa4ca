"""The base class of all rewriters, and the functions that they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cuda_wheel.builder.cxx.tokens import Directive, Token, balanced, scan
from cuda_wheel.builder.rewriting.blocks import SourceBlocks
from cuda_wheel.builder.rewriting.constants import Replacement
from cuda_wheel.builder.rewriting.project_texts import RefusedCode

__all__ = ["FileEdit", "MacroDefinition", "Rewriter", "around", "definitions_of", "macro_tokens"]


FileEdit = tuple[str, Sequence[Replacement]]
"""(path of a file, the replacements that make one change in that file). Example: a text to insert before an operand,
and one to insert after it."""


class Rewriter(ABC):
    """Replaces one kind of code that NVRTC refuses and nvcc accepts, in a project's files."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self.files = files
        self.found: dict[tuple[str, int], Sequence[Replacement]] = {}
        """(path of a file, byte offset of the change's first replacement) -> all replacements of this change."""

    @staticmethod
    @abstractmethod
    def is_about(message: str) -> bool:
        """Return whether an error message may be about code that this rewriter replaces."""

    @abstractmethod
    def edits(self, errors: Sequence[RefusedCode]) -> Iterable[FileEdit]:
        """Yield the replacements for errors whose messages `is_about` accepts.

        `rewrite` adds each to `found` before it takes the next one.
        """

    def rewrite(self, errors: Iterable[RefusedCode]) -> bool:
        """Add the replacements for errors to `found`; return False if there is no new one."""
        own = [error for error in errors if self.is_about(error.message)]
        known = len(self.found)
        for file, replacements in self.edits(own) if own else ():
            self.found.setdefault((file, replacements[0][0]), replacements)
        return len(self.found) > known

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return path -> all replacements found so far."""
        by_file: dict[str, list[Replacement]] = {}
        for (file, _), replacements in self.found.items():
            by_file.setdefault(file, []).extend(replacements)
        return by_file

    def token_at(self, error: RefusedCode) -> tuple[SourceBlocks, int] | None:
        """Return the file that an error is in, and the index of the token at the error; None if the column is unknown,
        or if no token is there."""
        blocks = self.files.get(error.file)
        if blocks is None or error.column is None:
            return None
        index = blocks.token_at(blocks.offset(error.line, error.column))
        return (blocks, index) if index < len(blocks.tokens) else None


def around(start: int, end: int, before: bytes, after: bytes = b")") -> list[Replacement]:
    """Return the replacements that insert `before` and `after` around the text between two byte offsets."""
    return [(start, start, before), (end, end, after)]


class MacroDefinition(NamedTuple):
    """One definition of a macro; a macro may have one for each branch of an `#if`."""

    file: str
    body: Sequence[Token]
    """Tokens of the macro's replacement text."""
    has_parameters: bool
    """Whether the macro has a list of parameters, even an empty one: `#define NAME(...)`."""


def macro_tokens(blocks: SourceBlocks, directive: Directive) -> Sequence[Token]:
    """Return the tokens of a `#define`, beginning with `define` and the macro's name; none for another directive."""
    if directive.word != "define":
        return ()
    text = blocks.content[directive.start : directive.end].replace(b"#", b" ", 1)
    return [token._replace(start=token.start + directive.start) for token in scan(text)[0]]


def definitions_of(name: str, files: Mapping[str, SourceBlocks]) -> Iterator[MacroDefinition]:
    """Yield all definitions of the macro `name` in a project's files."""
    for file, blocks in files.items():
        for directive in blocks.directives:
            if not directive.rest.startswith(name):
                continue
            tokens = macro_tokens(blocks, directive)
            if len(tokens) > 1 and tokens[1].text == name:
                has_parameters = len(tokens) > 2 and tokens[2].text == "(" and tokens[1].end == tokens[2].start
                yield MacroDefinition(file, tokens[balanced(tokens, 2) if has_parameters else 2 :], has_parameters)
