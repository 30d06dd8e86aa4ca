"""Make constants of a class `constexpr` where NVRTC asks for it: `static const float half = 0.5f;`.

GCC and nvcc accept the initializer of such a member if its type is no integer; standard C++ asks for `constexpr`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cuda_wheel.builder.hostcode.own_files import RefusedCode, definition_at
from cuda_wheel.builder.hostcode.rewriting.rewriter import FileEdit, Rewriter

__all__ = ["ClassConstants"]

_ERROR = re.compile(r'a member of type "const (?:float|double|long double)" cannot have an in-class initializer')


class ClassConstants(Rewriter):
    """The constants of classes, of floating-point types."""

    @staticmethod
    def is_about(message: str) -> bool:
        return _ERROR.fullmatch(message) is not None

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        for error in errors:
            member = definition_at(self.files, error.file, error.line, error.column)
            for token in member.tokens if member is not None and member.in_class else ():
                if token.text == "const":
                    yield error.file, [(token.start, token.end, b"constexpr")]
