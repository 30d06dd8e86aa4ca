"""The macros that a project's files define, as tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from cuda_wheel.builder.cxx.tokens import Directive, Token, balanced, scan
from cuda_wheel.builder.hostcode.blocks import SourceBlocks

__all__ = ["MacroDefinition", "definitions_of", "macro_tokens"]


class MacroDefinition(NamedTuple):
    """One definition of a macro; a macro may have one for each branch of an `#if`."""

    file: str
    body: Sequence[Token]
    has_parameters: bool


def macro_tokens(blocks: SourceBlocks, directive: Directive) -> Sequence[Token]:
    """Return the tokens of `define NAME ...`; none of another directive."""
    if directive.word != "define":
        return ()
    text = blocks.content[directive.start : directive.end].replace(b"#", b" ", 1)
    return [token._replace(start=token.start + directive.start) for token in scan(text)[0]]


def definitions_of(name: str, files: Mapping[str, SourceBlocks]) -> Iterator[MacroDefinition]:
    """Yield the definitions of a macro in a project's files."""
    for file, blocks in files.items():
        for directive in blocks.directives:
            if not directive.rest.startswith(name):
                continue
            tokens = macro_tokens(blocks, directive)
            if len(tokens) > 1 and tokens[1].text == name:
                has_parameters = len(tokens) > 2 and tokens[2].text == "(" and tokens[1].end == tokens[2].start
                yield MacroDefinition(file, tokens[balanced(tokens, 2) if has_parameters else 2 :], has_parameters)
