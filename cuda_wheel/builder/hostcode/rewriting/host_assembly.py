"""Rewrite assembly of the host, `asm volatile ("cpuid" : "=a"(x))`, which NVRTC reads in device functions only.

nvcc leaves it to GCC. Nothing of a host function is in an image, but what its operands name may instantiate kernels:
the operands stay, as expressions. Of a macro with assembly, the call is rewritten, and its arguments stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cuda_wheel.builder.cxx.tokens import Token, balanced, end_of_argument
from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.constants import Replacement
from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.macro_bodies import definitions_of
from cuda_wheel.builder.hostcode.rewriting.rewriter import FileEdit, Rewriter

__all__ = ["HostAssembly"]

_ASM = frozenset({"asm", "__asm", "__asm__"})
_VOLATILE = frozenset({"volatile", "__volatile", "__volatile__", "inline", "__inline__", "goto"})


class HostAssembly(Rewriter):
    """Assembly, and uses of macros with assembly."""

    @staticmethod
    def is_about(message: str) -> bool:
        return message in ('expected a "("', 'expected a ")"')

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        for error in errors:
            place = self.token_at(error)
            replacement = None if place is None else self._replacement(*place)
            if replacement is not None:
                yield error.file, [replacement]

    def _replacement(self, blocks: SourceBlocks, index: int) -> Replacement | None:
        """Return what to write in place of the assembly, or of the use of a macro with assembly, at a token.

        The compiler may point to what follows `asm`. None if there is no assembly.
        """
        tokens = blocks.tokens
        first = next((i for i in (index, index - 1) if i >= 0 and self._is_assembly(tokens[i])), None)
        if first is None:
            return None
        opening = first + 1
        while opening < len(tokens) and tokens[opening].text in _VOLATILE:
            opening += 1
        end = balanced(tokens, opening)
        if opening == len(tokens) or tokens[opening].text != "(" or tokens[end - 1].text != ")":
            return None
        inside = tokens[opening + 1 : end - 1]
        parts = _operands(inside) if tokens[first].text in _ASM else _arguments(inside)
        texts = [blocks.content[each[0].start : each[-1].end] for each in parts if each]
        kept = b", ".join(b"(void)(" + text + b")" for text in texts) or b"(void)0"
        return tokens[first].start, tokens[end - 1].end, kept

    def _is_assembly(self, token: Token) -> bool:
        if token.text in _ASM:
            return True
        bodies = (each.body for each in definitions_of(token.text, self.files)) if token.kind == "word" else ()
        return any(word.text in _ASM for body in bodies for word in body)


def _arguments(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the arguments of a macro."""
    start = 0
    while start < len(tokens):
        end = end_of_argument(tokens, start)
        yield tokens[start:end]
        start = end + 1


def _operands(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the expression of each operand: what follows a constraint, in parentheses."""
    for index in range(1, len(tokens)):
        if tokens[index].text == "(" and tokens[index - 1].kind == "text":
            yield tokens[index + 1 : balanced(tokens, index) - 1]
