"""Rewrite arithmetic on `void*`, `p + 4`, as that on `char*`: with GCC and nvcc, `void` has the size 1.

A cast before the pointer takes nothing but a `void*`. The result is a `char*`, which converts to `void*`; where it
cannot stand for one, the compiler's own error stays. The compiler does not point into a macro: all its operands that
may be such a pointer go through a function that changes nothing but a `void*`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cuda_wheel.builder.cxx.tokens import Token
from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.constants import Replacement
from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.macro_bodies import definitions_of

__all__ = ["VoidPointers", "is_void_pointer_error"]

_CAST = b"(::cuda_wheel_detail::void_pointer)"
_VARIABLE_CAST = b"(::cuda_wheel_detail::void_variable)"
"""The preamble declares them: of a pointer, and of a variable that the operator changes."""

_IN_MACRO = (b"::cuda_wheel_detail::bytes(", b")")
"""What stands around an operand in a macro. The preamble declares it."""

_OPERAND = re.compile(rb"[A-Za-z_(*]")
_ASSIGNMENT = re.compile(rb"[\w.>\[\]-]*?\s*[+-]=")
"""Matches the rest of a variable, and the operator that changes it."""


def is_void_pointer_error(message: str) -> bool:
    """Return whether an error may be about arithmetic on `void*`, whose place is then the pointer."""
    return message == "expression must be a pointer to a complete object type"


class VoidPointers:
    """The pointers of a project's files that the compiler refuses in arithmetic."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self._files = files
        self._found: dict[str, set[int]] = {}
        self._macros: set[str] = set()

    def rewrite(self, errors: Iterable[RefusedCode]) -> bool:
        """Rewrite the pointers that errors are about; return False if none is new."""
        is_new = False
        for file, line, column, message, _ in errors:
            if not is_void_pointer_error(message) or file not in self._files or column is None:
                continue
            blocks = self._files[file]
            offset = blocks.offset(line, column)
            index = bisect_left(blocks.tokens, offset, key=lambda token: token.start)
            name = blocks.tokens[index].text if index < len(blocks.tokens) else ""
            places = self._found.setdefault(file, set())
            if any(True for _ in definitions_of(name, self._files)):
                is_new = is_new or name not in self._macros
                self._macros.add(name)
            elif offset not in places and _OPERAND.match(blocks.content, offset):
                places.add(offset)
                is_new = True
        return is_new

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return what to insert in each file."""
        found = {
            file: [
                (place, place, _VARIABLE_CAST if _ASSIGNMENT.match(self._files[file].content, place) else _CAST)
                for place in sorted(places)
            ]
            for file, places in self._found.items()
        }
        waiting, seen = list(self._macros), set()
        while waiting:
            name = waiting.pop()
            for definition in definitions_of(name, self._files) if name not in seen else ():
                waiting += [token.text for token in definition.body if token.kind == "word"]
                for start, end in _operands(definition.body):
                    edits = found.setdefault(definition.file, [])
                    edits += [(start, start, _IN_MACRO[0]), (end, end, _IN_MACRO[1])]
            seen.add(name)
        return found


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
