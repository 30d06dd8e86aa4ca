"""Name the class of a constant member: `a.size` as `decltype(a)::size`, where the compiler needs its value.

GCC, nvcc with it, and C++23 accept `constexpr int n = a.size;` for a reference `a` to a class that has the static
constant `size`. NVRTC does not, because the reference has no constant value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.constants import Replacement
from cuda_wheel.builder.hostcode.own_files import RefusedCode

__all__ = ["MemberConstants", "is_constant_error"]

_MEMBER = re.compile(
    rb"([A-Za-z_]\w*(?:\s*(?:\.|->)\s*[A-Za-z_]\w*)*?)\s*(\.|->)\s*([A-Za-z_]\w*)(?!\w|\s*(?:\.|->|::))"
)
"""Matches an object and the last member that is named."""

_TYPE = b"::cuda_wheel_detail::without_reference<decltype(%s)>::type::%s"
"""The preamble declares it."""


def is_constant_error(message: str) -> bool:
    """Return whether an error may be about a member of an object whose value is not constant."""
    return message == "expression must have a constant value"


class MemberConstants:
    """The constant members in a project's files that the compiler does not take for constant."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self._files = files
        self._found: dict[str, dict[int, Replacement]] = {}

    def rewrite(self, errors: Iterable[RefusedCode]) -> bool:
        """Rewrite the members that errors are about; return False if none is new."""
        is_new = False
        for file, line, column, message, _ in errors:
            if not is_constant_error(message) or file not in self._files or column is None:
                continue
            content = self._files[file].content
            offset = self._files[file].offset(line, column)
            found = self._found.setdefault(file, {})
            # The compiler points to the expression's beginning: each time it refuses it, the next member is rewritten.
            for match in _MEMBER.finditer(content, offset, content.find(b";", offset)):
                if match.start() not in found:
                    object_ = b"(%s)" % match[1] if match[2] == b"." else b"*(%s)" % match[1]
                    found[match.start()] = (*match.span(), _TYPE % (object_, match[3]))
                    is_new = True
                    break
        return is_new

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return what to replace in each file."""
        return {file: list(found.values()) for file, found in self._found.items()}
