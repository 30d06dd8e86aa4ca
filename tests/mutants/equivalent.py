"""The mutants that no test can kill, because the changed code does the same, each with the reason.

They are named by the line that changes, since mutmut's numbers change with the code around it.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["EQUIVALENT", "Equivalent"]


class Equivalent(NamedTuple):
    """A line of a file, what a mutant makes of it, and why that does not matter."""

    file: str
    line: str
    mutant: str
    reason: str


EQUIVALENT: tuple[Equivalent, ...] = ()
