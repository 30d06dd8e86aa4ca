"""Move attributes from behind the closing bracket of a type to behind its keyword, where NVRTC honours them.

`struct A { char a; int b; } __attribute__((packed));` becomes `struct __attribute__((packed)) A { char a; int b; };`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cuda_wheel.builder.cxx.tokens import balanced
from cuda_wheel.builder.hostcode.layout_attributes import BEHIND_BRACKET, type_brackets
from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.macro_bodies import definitions_of
from cuda_wheel.builder.hostcode.rewriting.rewriter import FileEdit, Rewriter

__all__ = ["TypeAttributes"]

_ATTRIBUTES = ("__attribute__", "__attribute", "__align__", "__builtin_align__", "__CUDA_ALIGN__")


class TypeAttributes(Rewriter):
    """The attributes that stand where NVRTC ignores them, and macros that stand for them."""

    @staticmethod
    def is_about(message: str) -> bool:
        return message == BEHIND_BRACKET

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        for file in {error.file for error in errors} & self.files.keys():
            lines = {error.line for error in errors if error.file == file}
            blocks = self.files[file]
            tokens = blocks.tokens
            for keyword, _, last in type_brackets(tokens):
                run = tokens[last + 1 : self._attributes_end(file, last + 1)]
                if not run or blocks.line(run[0].start) not in lines:
                    continue
                if tokens[keyword].text == "enum" and tokens[keyword + 1].text in ("class", "struct"):
                    keyword += 1
                word, written = tokens[keyword], " ".join(token.text for token in run)
                removed = blocks.content[run[0].start : run[-1].end]
                yield (
                    file,
                    [
                        (word.start, word.end, f"{word.text} {written}".encode(errors="surrogateescape")),
                        (run[0].start, run[-1].end, b"\n" * removed.count(b"\n")),
                    ],
                )

    def _attributes_end(self, file: str, index: int) -> int:
        """Return the index after all attributes, and macros that may stand for some, from an index on."""
        tokens = self.files[file].tokens
        while index < len(tokens) and tokens[index].kind == "word":
            definitions = list(definitions_of(tokens[index].text, self.files))
            is_macro = bool(definitions)
            if not is_macro and tokens[index].text not in _ATTRIBUTES:
                break
            takes_arguments = not is_macro or any(each.has_parameters for each in definitions)
            index += 1
            if takes_arguments and index < len(tokens) and tokens[index].text == "(":
                index = balanced(tokens, index)
        return index
