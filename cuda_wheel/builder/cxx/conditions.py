"""Say which lines of a text are inside an `#if` whose condition is false, as far as the text alone tells."""

from __future__ import annotations

import re
from collections.abc import Collection

from cuda_wheel.builder.cxx.tokens import Directive, scan

__all__ = ["FalseBranches"]

_COMPILERS = re.compile(r"__(?!HIP)\w+|(?:CUDA|CUDART|CUB|THRUST|CCCL)_\w*VERSION")
"""Matches macros that the compiler or CUDA's headers may define."""

_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")


class FalseBranches:
    """The lines of a text that the preprocessor leaves out if no macros are defined but those of the text and some
    others. A condition that also depends on values, or on macros of the compiler, counts as true."""

    def __init__(self, text: str, defined: Collection[str]) -> None:
        content = text.encode(errors="surrogateescape")
        _, directives = scan(content)
        names = {re.split(r"\W", each.rest, maxsplit=1)[0] for each in directives if each.word == "define"}
        self._defined = names | set(defined)
        self._lines: list[range] = []
        opened: list[tuple[int, bool, bool]] = []  # the first line, whether it is false, whether one before is true
        for directive in directives:
            line = content.count(b"\n", 0, directive.start) + 1
            if directive.word in ("if", "ifdef", "ifndef"):
                condition = self._condition(directive)
                opened.append((line, condition is False, condition is True))
            elif directive.word in ("elif", "else", "endif") and opened:
                first, is_false, is_decided = opened.pop()
                self._lines += [range(first, line)] if is_false else []
                if directive.word != "endif":
                    condition = self._condition(directive) if directive.word == "elif" else None
                    opened.append((line, is_decided or condition is False, is_decided or condition is True))

    def __contains__(self, line: int) -> bool:
        return any(line in lines for lines in self._lines)

    def _condition(self, directive: Directive) -> bool | None:
        """Return whether a condition is true; None if the text does not tell."""
        if directive.word in ("ifdef", "ifndef"):
            is_defined = self._is_defined(directive.rest.split()[0]) if directive.rest.split() else None
            return is_defined if directive.word == "ifdef" or is_defined is None else not is_defined
        words = _DEFINED.sub(lambda match: f" {self._is_defined(match[1] or match[2])} ", directive.rest)
        words = words.replace("&&", " and ").replace("||", " or ").replace("!", " not ")
        if re.search(r"None|[^\s()\w]", words) or not set(re.findall(r"\w+", words)) <= {
            *("and", "or", "not", "True", "False", "0", "1")
        }:
            return None
        try:
            return bool(eval(words))  # of these words alone
        except SyntaxError:
            return None

    def _is_defined(self, name: str) -> bool | None:
        if name in self._defined:
            return True
        return None if _COMPILERS.fullmatch(name) else False
