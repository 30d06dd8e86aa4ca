"""One generated C++ file of the comparison with nvcc."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

__all__ = ["Case"]


@dataclass(frozen=True)
class Case:
    """A C++ file, its headers, and what it is compiled as.

    Numbers from 1000 to 999999 in the kernels are their "answers": they show which of several definitions the compiler
    used, so every case chooses them so that another answer means another definition.
    """

    name: str
    text: str
    headers: dict[str, str] = field(default_factory=dict)
    standard: str = "c++17"
    corrected: str | None = None
    """For a file whose only mistake is in a host function that device code cannot use: the same file without the
    mistake. nvcc refuses the file; the kernels of the facts are those of this text."""

    @property
    def digest(self) -> str:
        """What identifies the files and how they are compiled; a fact belongs to it."""
        parts = [self.text, self.headers, self.standard, self.corrected]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
