"""Write the keyword that NVRTC asks for: `typename Base::Part<N>` as `typename Base::template Part<N>`.

Where `Base` depends on a parameter of a template, GCC takes `Part` for a template, as C++23 does, and nvcc does with
GCC. NVRTC has no GNU mode.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from cuda_wheel.builder.cxx.tokens import Token
from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.constants import Replacement
from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.macro_bodies import macro_tokens

__all__ = ["TemplateNames", "is_template_name_error"]

_ERROR = re.compile(r'template parameter ".*::(\w+)(?: \[with .*\])?" may not have a template argument list')


def is_template_name_error(message: str) -> bool:
    """Return whether an error is about a name that NVRTC does not take for a template."""
    return _ERROR.fullmatch(message) is not None


class TemplateNames:
    """The names of a project's files that NVRTC does not take for templates, once an error names them."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self._files = files
        self._names: set[str] = set()

    def rewrite(self, errors: Iterable[RefusedCode]) -> bool:
        """Rewrite the names that errors are about; return False if none is new."""
        known = len(self._names)
        self._names |= {match[1] for error in errors if (match := _ERROR.fullmatch(error.message))}
        return len(self._names) > known

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return what to replace in each file: nothing, by the keyword, before each name."""
        found: dict[str, list[Replacement]] = {}
        for file, blocks in self._files.items() if self._names else ():
            for tokens in (blocks.tokens, *(macro_tokens(blocks, each) for each in blocks.directives)):
                for token in _names_of_templates(tokens, self._names):
                    found.setdefault(file, []).append((token.start, token.start, b"template "))
        return found


def _names_of_templates(tokens: Sequence[Token], names: set[str]) -> Iterator[Token]:
    """Yield the tokens of `names` in `typename ...::NAME<`."""
    for index in range(2, len(tokens) - 1):
        if tokens[index].text in names and tokens[index + 1].text == "<" and tokens[index - 1].text == "::":
            start = _start_of_name(tokens, index)
            if start and tokens[start - 1].text == "typename":
                yield tokens[index]


def _start_of_name(tokens: Sequence[Token], index: int) -> int:
    """Return where the qualified name begins whose last part is at `index`: `a` of `a::b<c>::d`."""
    while index > 1 and tokens[index - 1].text == "::":
        index -= 2
        depth = 0
        while index > 0 and (depth or tokens[index].text in (">", ">>")):
            depth += {">": 1, ">>": 2, "<": -1}.get(tokens[index].text, 0)
            index -= 1
    return index
