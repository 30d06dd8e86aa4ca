"""Rewrite macros that stand for a pragma, `#define UNROLL #pragma unroll`, with the operator `_Pragma`.

nvcc preprocesses a text before it compiles it, and then finds a pragma in the middle of a line. NVRTC does both at
once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.constants import Replacement
from cuda_wheel.builder.hostcode.own_files import RefusedCode

__all__ = ["PragmaMacros", "is_pragma_error"]

_DEFINITION = re.compile(r"([A-Za-z_]\w*)\s+#\s*pragma\s+(.+)", re.DOTALL)
"""Matches what follows `#define`. In a macro with parameters, "#" would make a string."""


def is_pragma_error(message: str) -> bool:
    """Return whether an error may be about a macro that stands for a pragma."""
    return message == '"#" not expected here'


class PragmaMacros:
    """The macros of a project's files that stand for a pragma. All are rewritten when the compiler refuses one."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self._files = files
        self._found: dict[str, list[Replacement]] = {}

    def rewrite(self, errors: Iterable[RefusedCode]) -> bool:
        """Rewrite the macros if an error may be about them; return False if there are
        none, or no more."""
        if self._found or not any(is_pragma_error(error.message) for error in errors):
            return False
        for file, blocks in self._files.items():
            for directive in blocks.directives:
                match = _DEFINITION.fullmatch(directive.rest.strip()) if directive.word == "define" else None
                if match:
                    pragma = " ".join(match[2].split()).replace("\\", "\\\\").replace('"', '\\"')
                    text = f'#define {match[1]} _Pragma("{pragma}")'.encode()
                    self._found.setdefault(file, []).append((directive.start, directive.end, text))
        return bool(self._found)

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return what to replace in each file."""
        return self._found
