"""Mark the `constexpr` functions of the host that device code calls, where `--relaxed_constexpr` crashes NVRTC.

With `__host__ __device__` they are what that option makes of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cuda_wheel.builder.cxx.tokens import MARKERS, Token
from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.front_end import CONSTEXPR_CALL
from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.rewriter import FileEdit, Rewriter
from cuda_wheel.builder.images.variables import unqualified_name

__all__ = ["ConstexprFunctions"]

_ERROR = re.compile(rf'{CONSTEXPR_CALL}\("([^"]*)"\)')


class ConstexprFunctions(Rewriter):
    """The functions of the names that errors are about."""

    @staticmethod
    def is_about(message: str) -> bool:
        return _ERROR.match(message) is not None

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        names = {_plain_name(match[1]) for error in errors if (match := _ERROR.match(error.message))}
        for file, blocks in self.files.items():
            for token in _unmarked(blocks, names):
                yield file, [(token.start, token.start, b"__host__ __device__ ")]


def _plain_name(function: str) -> str:
    """Return the last part of a function's name, as `CodeBlock.name` does: "get" of "ns::S<a::b>::get<int>"."""
    return "operator" if re.search(r"\boperator\b", function) else unqualified_name(function).strip()


def _unmarked(blocks: SourceBlocks, names: set[str]) -> Iterator[Token]:
    """Yield the tokens `constexpr` of the functions of these names that have no marker."""
    for block in blocks.definitions:
        if block.is_function and block.name in names and not block.words & MARKERS:
            yield from (token for token in block.heading if token.text == "constexpr")
