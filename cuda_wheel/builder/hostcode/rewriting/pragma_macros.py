"""Rewrite macros that stand for a pragma, `#define UNROLL #pragma unroll`, with the operator `_Pragma`.

nvcc preprocesses a text before it compiles it, and then finds a pragma in the middle of a line. NVRTC does both at
once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.rewriter import FileEdit, Rewriter

__all__ = ["PragmaMacros"]

_DEFINITION = re.compile(r"([A-Za-z_]\w*)\s+#\s*pragma\s+(.+)", re.DOTALL)
"""Matches what follows `#define`. In a macro with parameters, "#" would make a string."""


class PragmaMacros(Rewriter):
    """The macros that stand for a pragma. All are rewritten when the compiler refuses one."""

    @staticmethod
    def is_about(message: str) -> bool:
        return message == '"#" not expected here'

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        for file, blocks in self.files.items():
            for directive in blocks.directives:
                match = _DEFINITION.fullmatch(directive.rest.strip()) if directive.word == "define" else None
                if match:
                    pragma = " ".join(match[2].split()).replace("\\", "\\\\").replace('"', '\\"')
                    text = f'#define {match[1]} _Pragma("{pragma}")'.encode()
                    yield file, [(directive.start, directive.end, text)]
