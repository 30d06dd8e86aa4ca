"""What all ways of rewriting have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.constants import Replacement
from cuda_wheel.builder.hostcode.own_files import RefusedCode

__all__ = ["FileEdit", "Rewriter", "around"]

FileEdit = tuple[str, Sequence[Replacement]]
"""A file, and what is replaced in it together."""


class Rewriter(ABC):
    """One way of rewriting what the compiler refuses in a project's files."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self.files = files
        self.found: dict[tuple[str, int], Sequence[Replacement]] = {}
        """What is replaced together, by the file and the offset of the first replacement."""

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
