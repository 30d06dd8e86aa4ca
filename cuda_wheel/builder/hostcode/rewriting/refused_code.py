"""What the rewriters know of an error of the compiler."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["RefusedCode"]


class RefusedCode(NamedTuple):
    """An error, at a place in one of the project's files."""

    file: str
    line: int
    column: int | None
    """In characters, from 1."""
    message: str
    in_instance: bool = False
    """Whether it is about one instance of a template: another instance may compile."""
