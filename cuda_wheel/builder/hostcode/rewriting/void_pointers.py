"""Rewrite arithmetic on `void*`, `p + 4`, as that on `char*`: with GCC and nvcc, `void` has the size 1.

A cast before the pointer takes nothing but a `void*`. The result is a `char*`, which converts to `void*`; where it
cannot stand for one, the compiler's own error stays. The compiler does not point into a macro: all its operands that
may be such a pointer go through a function that changes nothing but a `void*`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cuda_wheel.builder.cxx.tokens import Token
from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.macro_bodies import definitions_of
from cuda_wheel.builder.hostcode.rewriting.rewriter import FileEdit, Rewriter, around

__all__ = ["VoidPointers"]

_CAST = b"(::cuda_wheel_detail::void_pointer)"
_VARIABLE_CAST = b"(::cuda_wheel_detail::void_variable)"
"""The preamble declares them: of a pointer, and of a variable that the operator changes."""

_IN_MACRO = (b"::cuda_wheel_detail::bytes(", b")")
"""What stands around an operand in a macro. The preamble declares it."""

_OPERAND = re.compile(rb"[A-Za-z_(*]")
_ASSIGNMENT = re.compile(rb"[\w.>\[\]-]*?\s*[+-]=")
"""Matches the rest of a variable, and the operator that changes it."""


class VoidPointers(Rewriter):
    """The pointers in arithmetic that the compiler refuses."""

    @staticmethod
    def is_about(message: str) -> bool:
        return message == "expression must be a pointer to a complete object type"

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        macros: list[str] = []
        for error in errors:
            if error.file not in self.files or error.column is None:
                continue
            blocks = self.files[error.file]
            offset = blocks.offset(error.line, error.column)
            index = blocks.token_at(offset)
            name = blocks.tokens[index].text if index < len(blocks.tokens) else ""
            if any(True for _ in definitions_of(name, self.files)):
                macros.append(name)
            elif _OPERAND.match(blocks.content, offset):
                cast = _VARIABLE_CAST if _ASSIGNMENT.match(blocks.content, offset) else _CAST
                yield error.file, [(offset, offset, cast)]
        yield from self._in_macros(macros)

    def _in_macros(self, names: list[str]) -> Iterator[FileEdit]:
        """Yield the operands in macros, and in the macros that they use."""
        waiting, seen = list(names), set()
        while waiting:
            name = waiting.pop()
            for definition in definitions_of(name, self.files) if name not in seen else ():
                waiting += [token.text for token in definition.body if token.kind == "word"]
                for start, end in _operands(definition.body):
                    yield definition.file, around(start, end, _IN_MACRO[0], _IN_MACRO[1])
            seen.add(name)


def _operands(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield the span of each name or expression in parentheses before a `+` or `-`, `+=`, `-=`."""
    for index in range(1, len(tokens)):
        before = tokens[index - 1]
        if tokens[index].text not in ("+", "-") or (tokens[index].start == before.end and before.text in ("+", "-")):
            continue
        if before.text == ")":
            opening = index - 1
            depth = 1
            while opening > 0 and depth:
                opening -= 1
                depth += (tokens[opening].text == ")") - (tokens[opening].text == "(")
            is_call = opening > 0 and (tokens[opening - 1].kind == "word" or tokens[opening - 1].text in (">", "]"))
            if not is_call:
                yield tokens[opening].start, before.end
        elif before.kind == "word" and (index < 2 or tokens[index - 2].text not in ("#", "##", ".", "->", "::")):
            yield before.start, before.end
