"""Write the keyword that NVRTC asks for: `typename Base::Part<N>` as `typename Base::template Part<N>`.

Where `Base` depends on a parameter of a template, GCC takes `Part` for a template, as C++23 does, and nvcc does with
GCC. NVRTC has no GNU mode.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cuda_wheel.builder.cxx.tokens import Token, before_template_arguments
from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.macro_bodies import macro_tokens
from cuda_wheel.builder.hostcode.rewriting.rewriter import FileEdit, Rewriter

__all__ = ["TemplateNames"]

_ERROR = re.compile(r'template parameter ".*::(\w+)(?: \[with .*\])?" may not have a template argument list')


class TemplateNames(Rewriter):
    """The names that errors are about, wherever they follow `typename`."""

    @staticmethod
    def is_about(message: str) -> bool:
        return _ERROR.fullmatch(message) is not None

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        names = {match[1] for error in errors if (match := _ERROR.fullmatch(error.message))}
        for file, blocks in self.files.items():
            for tokens in (blocks.tokens, *(macro_tokens(blocks, each) for each in blocks.directives)):
                for token in _names_of_templates(tokens, names):
                    yield file, [(token.start, token.start, b"template ")]


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
        index = max(0, before_template_arguments(tokens, index - 1))
    return index
