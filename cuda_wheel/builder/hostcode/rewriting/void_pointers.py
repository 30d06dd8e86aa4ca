"""Rewrite arithmetic on `void*`, `p + 4`, as that on `char*`: with GCC and nvcc, `void` has the size 1.

A cast before the pointer takes nothing but a `void*`. The result is a `char*`, which converts to `void*`; where it
cannot stand for one, the compiler's own error stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.constants import Replacement

__all__ = ["VoidPointers", "is_void_pointer_error"]

_CAST = b"(::cuda_wheel_detail::void_pointer)"
"""The preamble declares it."""

_OPERAND = re.compile(rb"[A-Za-z_(*]")


def is_void_pointer_error(message: str) -> bool:
    """Return whether an error may be about arithmetic on `void*`, whose place is then the pointer."""
    return message == "expression must be a pointer to a complete object type"


class VoidPointers:
    """The pointers of a project's files that the compiler refuses in arithmetic."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self._files = files
        self._found: dict[str, set[int]] = {}

    def rewrite(self, errors: Iterable[tuple[str, int, int | None, str]]) -> bool:
        """Rewrite the pointers that errors (file, line, column, message) are about; return False if none is new."""
        is_new = False
        for file, line, column, message in errors:
            if is_void_pointer_error(message) and file in self._files and column is not None:
                offset = self._files[file].offset(line, column)
                places = self._found.setdefault(file, set())
                if offset not in places and _OPERAND.match(self._files[file].content, offset):
                    places.add(offset)
                    is_new = True
        return is_new

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return what to insert in each file."""
        return {file: [(place, place, _CAST) for place in sorted(places)] for file, places in self._found.items()}
