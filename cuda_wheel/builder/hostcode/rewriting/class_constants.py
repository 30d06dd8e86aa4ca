"""Write static constants of classes as NVRTC asks for them.

`static const float half = 0.5f;` becomes `constexpr`. GCC and nvcc accept the initializer of such a member if its type
is no integer; standard C++ asks for `constexpr`.

`a.size` becomes `decltype(a)::size` where the compiler needs its value. GCC, nvcc with it, and C++23 accept
`constexpr int n = a.size;` for a reference `a` to a class that has the static constant `size`. NVRTC does not, because
the reference has no constant value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cuda_wheel.builder.hostcode.own_files import RefusedCode, definition_at
from cuda_wheel.builder.hostcode.rewriting.rewriter import FileEdit, Rewriter

__all__ = ["ClassConstants", "MemberConstants"]

_ERROR = re.compile(r'a member of type "const (?:float|double|long double)" cannot have an in-class initializer')

_MEMBER = re.compile(
    rb"([A-Za-z_]\w*(?:\s*(?:\.|->)\s*[A-Za-z_]\w*)*?)\s*(\.|->)\s*([A-Za-z_]\w*)(?!\w|\s*(?:\.|->|::))"
)
"""Matches an object and the last member that is named."""

_TYPE = b"::cuda_wheel_detail::without_reference<decltype(%s)>::type::%s"
"""The preamble declares it."""


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


class MemberConstants(Rewriter):
    """The members of an object that the compiler does not take for constant."""

    @staticmethod
    def is_about(message: str) -> bool:
        return message == "expression must have a constant value"

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        for error in errors:
            if error.file not in self.files or error.column is None:
                continue
            content = self.files[error.file].content
            offset = self.files[error.file].offset(error.line, error.column)
            # The compiler points to the expression's beginning: each time it refuses it, the next member is rewritten.
            for match in _MEMBER.finditer(content, offset, content.find(b";", offset)):
                if (error.file, match.start()) not in self.found:
                    object_ = b"(%s)" % match[1] if match[2] == b"." else b"*(%s)" % match[1]
                    yield error.file, [(*match.span(), _TYPE % (object_, match[3]))]
                    break
