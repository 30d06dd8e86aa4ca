"""Move attributes from behind the closing bracket of a type to behind its keyword, where NVRTC honours them.

`struct A { char a; int b; } __attribute__((packed));` becomes `struct __attribute__((packed)) A { char a; int b; };`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cuda_wheel.builder.cxx.tokens import balanced
from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.constants import Replacement
from cuda_wheel.builder.hostcode.layout_attributes import BEHIND_BRACKET, type_brackets
from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.macro_bodies import definitions_of

__all__ = ["TypeAttributes", "is_type_attribute_error"]

_ATTRIBUTES = ("__attribute__", "__attribute", "__align__", "__builtin_align__", "__CUDA_ALIGN__")


def is_type_attribute_error(message: str) -> bool:
    """Return whether an error is about an attribute behind the closing bracket of a type."""
    return message == BEHIND_BRACKET


class TypeAttributes:
    """The attributes of a project's types that stand where NVRTC ignores them, and macros that stand for them."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self._files = files
        self._found: dict[str, dict[int, list[Replacement]]] = {}

    def rewrite(self, errors: Iterable[RefusedCode]) -> bool:
        """Move the attributes that errors are about; return False if none is new."""
        asked: dict[str, set[int]] = {}
        for file, line, _, message, _ in errors:
            if is_type_attribute_error(message) and file in self._files:
                asked.setdefault(file, set()).add(line)
        is_new = False
        for file, lines in asked.items():
            blocks = self._files[file]
            tokens = blocks.tokens
            for keyword, _, last in type_brackets(tokens):
                end = self._attributes_end(file, last + 1)
                run = tokens[last + 1 : end]
                known = self._found.setdefault(file, {})
                if not run or blocks.line(run[0].start) not in lines or last in known:
                    continue
                if tokens[keyword].text == "enum" and tokens[keyword + 1].text in ("class", "struct"):
                    keyword += 1
                word, written = tokens[keyword], " ".join(token.text for token in run)
                removed = blocks.content[run[0].start : run[-1].end]
                known[last] = [
                    (word.start, word.end, f"{word.text} {written}".encode(errors="surrogateescape")),
                    (run[0].start, run[-1].end, b"\n" * removed.count(b"\n")),
                ]
                is_new = True
        return is_new

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return what to replace in each file."""
        return {file: [edit for edits in found.values() for edit in edits] for file, found in self._found.items()}

    def _attributes_end(self, file: str, index: int) -> int:
        """Return the index after all attributes, and macros that may stand for some, from an index on."""
        tokens = self._files[file].tokens
        while index < len(tokens) and tokens[index].kind == "word":
            definitions = list(definitions_of(tokens[index].text, self._files))
            is_macro = bool(definitions)
            if not is_macro and tokens[index].text not in _ATTRIBUTES:
                break
            takes_arguments = not is_macro or any(each.has_parameters for each in definitions)
            index += 1
            if takes_arguments and index < len(tokens) and tokens[index].text == "(":
                index = balanced(tokens, index)
        return index
