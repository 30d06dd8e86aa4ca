"""Name the class of a constant member: `a.size` as `decltype(a)::size`, where the compiler needs its value.

GCC, nvcc with it, and C++23 accept `constexpr int n = a.size;` for a reference `a` to a class that has the static
constant `size`. NVRTC does not, because the reference has no constant value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.rewriter import FileEdit, Rewriter

__all__ = ["MemberConstants"]

_MEMBER = re.compile(
    rb"([A-Za-z_]\w*(?:\s*(?:\.|->)\s*[A-Za-z_]\w*)*?)\s*(\.|->)\s*([A-Za-z_]\w*)(?!\w|\s*(?:\.|->|::))"
)
"""Matches an object and the last member that is named."""

_TYPE = b"::cuda_wheel_detail::without_reference<decltype(%s)>::type::%s"
"""The preamble declares it."""


class MemberConstants(Rewriter):
    """The constant members that the compiler does not take for constant."""

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
