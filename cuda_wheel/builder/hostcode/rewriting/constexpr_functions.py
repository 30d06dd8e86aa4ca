"""Mark the `constexpr` functions of the host that device code calls, where `--relaxed_constexpr` crashes NVRTC.

With `__host__ __device__` they are what that option makes of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from cuda_wheel.builder.cxx.tokens import MARKERS, Token
from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.constants import Replacement
from cuda_wheel.builder.hostcode.front_end import CONSTEXPR_CALL
from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.images.variables import unqualified_name

__all__ = ["ConstexprFunctions", "is_constexpr_error"]

_ERROR = re.compile(rf'{CONSTEXPR_CALL}\("([^"]*)"\)')


def is_constexpr_error(message: str) -> bool:
    """Return whether an error is about a call of a `constexpr` host function in device code."""
    return _ERROR.match(message) is not None


def _plain_name(function: str) -> str:
    """Return the last part of a function's name, as `CodeBlock.name` does: "get" of "ns::S<a::b>::get<int>"."""
    return "operator" if re.search(r"\boperator\b", function) else unqualified_name(function).strip()


class ConstexprFunctions:
    """The functions of a project's files that are marked, once an error names them."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self._files = files
        self._names: set[str] = set()

    def rewrite(self, errors: Iterable[RefusedCode]) -> bool:
        """Mark the functions that errors are about; return False if none is new."""
        before = sum(map(len, self.replacements().values()))
        for error in errors:
            if match := _ERROR.match(error.message):
                self._names.add(_plain_name(match[1]))
        return sum(map(len, self.replacements().values())) > before

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return what to replace in each file: nothing, by the markers, before `constexpr`."""
        found: dict[str, list[Replacement]] = {}
        for file, blocks in self._files.items() if self._names else ():
            for token in _unmarked(blocks, self._names):
                found.setdefault(file, []).append((token.start, token.start, b"__host__ __device__ "))
        return found


def _unmarked(blocks: SourceBlocks, names: set[str]) -> Iterator[Token]:
    """Yield the tokens `constexpr` of the functions of these names that have no marker."""
    for block in blocks.definitions:
        if block.is_function and block.name in names and not block.words & MARKERS:
            yield from (token for token in block.heading if token.text == "constexpr")
