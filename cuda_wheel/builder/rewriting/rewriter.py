"""What all ways of rewriting have in common."""

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
"""Path of a file, and the replacements in it that belong together."""


class Rewriter(ABC):
    """One way of rewriting what the compiler refuses in a project's files."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self.files = files
        self.found: dict[tuple[str, int], Sequence[Replacement]] = {}
        """(path, byte offset of the first replacement) -> replacements that belong together."""

    @staticmethod
    @abstractmethod
    def is_about(message: str) -> bool:
        """Return whether an error may be about what is rewritten in this way."""

    @abstractmethod
    def edits(self, errors: Sequence[RefusedCode]) -> Iterable[FileEdit]:
        """Yield what to replace for errors that `is_about` accepts; each is in `found` before the next is asked for."""

    def rewrite(self, errors: Iterable[RefusedCode]) -> bool:
        """Rewrite what errors are about; return False if nothing is new."""
        own = [error for error in errors if self.is_about(error.message)]
        known = len(self.found)
        for file, replacements in self.edits(own) if own else ():
            self.found.setdefault((file, replacements[0][0]), replacements)
        return len(self.found) > known

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return what to replace in each file."""
        by_file: dict[str, list[Replacement]] = {}
        for (file, _), replacements in self.found.items():
            by_file.setdefault(file, []).extend(replacements)
        return by_file

    def token_at(self, error: RefusedCode) -> tuple[SourceBlocks, int] | None:
        """Return the file of an error and the index of the token that it points to; None if it points to none."""
        blocks = self.files.get(error.file)
        if blocks is None or error.column is None:
            return None
        index = blocks.token_at(blocks.offset(error.line, error.column))
        return (blocks, index) if index < len(blocks.tokens) else None


def around(start: int, end: int, before: bytes, after: bytes = b")") -> list[Replacement]:
    """Return the replacements that write a text before and one after a span."""
    return [(start, start, before), (end, end, after)]


class MacroDefinition(NamedTuple):
    """One definition of a macro; a macro may have one for each branch of an `#if`."""

    file: str
    body: Sequence[Token]
    has_parameters: bool


def macro_tokens(blocks: SourceBlocks, directive: Directive) -> Sequence[Token]:
    """Return the tokens of `define NAME ...`; none of another directive."""
    if directive.word != "define":
        return ()
    text = blocks.content[directive.start : directive.end].replace(b"#", b" ", 1)
    return [token._replace(start=token.start + directive.start) for token in scan(text)[0]]


def definitions_of(name: str, files: Mapping[str, SourceBlocks]) -> Iterator[MacroDefinition]:
    """Yield the definitions of a macro in a project's files."""
    for file, blocks in files.items():
        for directive in blocks.directives:
            if not directive.rest.startswith(name):
                continue
            tokens = macro_tokens(blocks, directive)
            if len(tokens) > 1 and tokens[1].text == name:
                has_parameters = len(tokens) > 2 and tokens[2].text == "(" and tokens[1].end == tokens[2].start
                yield MacroDefinition(file, tokens[balanced(tokens, 2) if has_parameters else 2 :], has_parameters)
