"""Rewrite assembly of the host, `asm volatile ("cpuid" : "=a"(x))`, which NVRTC reads in device functions only.

nvcc leaves it to GCC. Nothing of a host function is in an image, but what its operands name may instantiate kernels:
the operands stay, as expressions. Of a macro with assembly, the call is rewritten, and its arguments stay.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cuda_wheel.builder.cxx.tokens import Token
from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.constants import Replacement
from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.macro_bodies import definitions_of

__all__ = ["HostAssembly", "is_assembly_error"]

_ASM = frozenset({"asm", "__asm", "__asm__"})
_VOLATILE = frozenset({"volatile", "__volatile", "__volatile__", "inline", "__inline__", "goto"})
_DEPTH = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def is_assembly_error(message: str) -> bool:
    """Return whether an error may be about assembly in a host function, whose place is then `asm` or a macro."""
    return message in ('expected a "("', 'expected a ")"')


class HostAssembly:
    """The assembly of a project's files that the compiler refuses."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self._files = files
        self._found: dict[str, dict[int, Replacement]] = {}

    def rewrite(self, errors: Iterable[RefusedCode]) -> bool:
        """Rewrite the assembly that errors are about; return False if none is new."""
        is_new = False
        for file, line, column, message, _ in errors:
            if not is_assembly_error(message) or file not in self._files or column is None:
                continue
            blocks = self._files[file]
            index = bisect_left(blocks.tokens, blocks.offset(line, column), key=lambda token: token.start)
            replacement = self._replacement(blocks, index)
            places = self._found.setdefault(file, {})
            if replacement is not None and replacement[0] not in places:
                places[replacement[0]] = replacement
                is_new = True
        return is_new

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return what to replace in each file."""
        return {file: list(places.values()) for file, places in self._found.items()}

    def _replacement(self, blocks: SourceBlocks, index: int) -> Replacement | None:
        """Return what to write in place of the assembly, or of the call of a macro with assembly, at a token.

        The compiler may point to what follows `asm`. None if there is no assembly.
        """
        tokens = blocks.tokens
        first = next((i for i in (index, index - 1) if 0 <= i < len(tokens) and self._is_assembly(tokens[i])), None)
        if first is None:
            return None
        opening = first + 1
        while opening < len(tokens) and tokens[opening].text in _VOLATILE:
            opening += 1
        closing = _closing(tokens, opening)
        if closing is None:
            return None
        inside = tokens[opening + 1 : closing]
        parts = _operands(inside) if tokens[first].text in _ASM else _split(inside, ",")
        texts = [blocks.content[each[0].start : each[-1].end] for each in parts if each]
        kept = b", ".join(b"(void)(" + text + b")" for text in texts) or b"(void)0"
        return tokens[first].start, tokens[closing].end, kept

    def _is_assembly(self, token: Token) -> bool:
        if token.text in _ASM:
            return True
        bodies = (each.body for each in definitions_of(token.text, self._files)) if token.kind == "word" else ()
        return any(word.text in _ASM for body in bodies for word in body)


def _closing(tokens: Sequence[Token], opening: int) -> int | None:
    """Return the index of the bracket that closes the one at an index; None if there is none."""
    depth = 0
    for index in range(opening, len(tokens)):
        depth += _DEPTH.get(tokens[index].text, 0) if tokens[index].kind == "sign" else 0
        if depth <= 0:
            return index if index > opening else None
    return None


def _split(tokens: Sequence[Token], separator: str) -> Iterator[Sequence[Token]]:
    """Yield the parts between separators that are in no bracket."""
    start = depth = 0
    for index, token in enumerate(tokens):
        depth += _DEPTH.get(token.text, 0) if token.kind == "sign" else 0
        if token.text == separator and not depth:
            yield tokens[start:index]
            start = index + 1
    yield tokens[start:]


def _operands(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the expression of each operand: what follows a constraint, in parentheses."""
    for index in range(1, len(tokens)):
        closing = _closing(tokens, index) if tokens[index].text == "(" and tokens[index - 1].kind == "text" else None
        if closing is not None:
            yield tokens[index + 1 : closing]
