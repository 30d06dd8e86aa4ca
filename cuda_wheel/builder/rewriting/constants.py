"""Rewrite constants with dynamic initializers, which NVRTC takes for device variables.

NVRTC makes every constant at namespace scope a device variable, and these have no dynamic initializers. For nvcc, as
for GCC, `const float b = -a;` is a constant if `a` is one; for NVRTC it is one if both are `constexpr`. A constant that
cannot be `constexpr` becomes a reference to a temporary, which is the same for all host code that uses it, but for
`decltype`: a constant that may be named there stays as it is, and the compiler's error.

Markers such as `__device__` decide which definitions are host code (`ProjectCode`). Macros of libraries are not
expanded, so this may be wrong; the compiler then reports an error in the rewritten text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, takewhile
from typing import NamedTuple

from cuda_wheel.builder.cxx.tokens import MARKERS, Token, before_template_arguments, macro_of, words
from cuda_wheel.builder.rewriting.blocks import CodeBlock, SourceBlocks

__all__ = ["DEVICE_WORDS", "Constants", "ProjectCode", "Replacement", "is_initializer_error", "project_code"]


DEVICE_WORDS = (MARKERS - {"__host__"}) | {"constexpr", "consteval"}
"""Words that mark a function or variable as usable by device code, such as `__device__` and `constexpr`."""


class ProjectCode(NamedTuple):
    """The functions and macros of a source and of the project's headers that it includes."""

    device_words: frozenset[str]
    """Words that mark device code: markers such as `__device__`, and the macros that expand to such a marker."""
    kernels: frozenset[str]
    """Unqualified names of kernels, i.e. of definitions marked `__global__` directly or by a macro."""
    functions: frozenset[str]
    """Unqualified names that are declared as functions only. A name that is also declared as a variable, type or macro
    is not included."""

    def is_host(self, definition: CodeBlock) -> bool:
        """Return whether no marker of device code is in the heading of a definition."""
        return not definition.words & self.device_words

    def launched_functions(self, tokens: Sequence[Token]) -> Iterator[tuple[Token, str]]:
        """Yield (`<<<` token, function's name) for each launch of a function that is not a kernel.

        nvcc refuses such a launch; NVRTC generates nothing for it. A name that any of the tokens assign to is skipped:
        it may be a pointer to a kernel.
        """
        local = {token.text for token, after in pairwise(tokens) if after.text == "="}
        for index, token in enumerate(tokens):
            name = _launched(tokens, index) if token.text == "<<<" else ""
            if name not in local and name in self.functions and name not in self.kernels:
                yield token, name


def _launched(tokens: Sequence[Token], index: int) -> str:
    """Return the name of the function before the `<<<` at `index`, without qualifier and template arguments: "scale"
    for `ns::scale<float><<<`. Return "" if no name is before the `<<<`, as in `(*f)<<<`."""
    index = before_template_arguments(tokens, index)
    return tokens[index].text if index >= 0 and tokens[index].kind == "word" else ""


def project_code(files: Iterable[SourceBlocks]) -> ProjectCode:
    """Return the functions and macros of all these files together."""
    files = list(files)
    macros = [macro for file in files for directive in file.directives if (macro := macro_of(directive))]
    device_words, global_words = set(DEVICE_WORDS), {"__global__"}
    for known in (device_words, global_words):
        while new := {macro.name for macro in macros if words(macro.body) & known} - known:
            known |= new
    kernels: set[str] = set()
    functions: set[str] = set()
    others = {macro.name for macro in macros}
    for definition in (each for file in files for each in file.definitions):
        (functions if definition.is_function else others).add(definition.name)
        if definition.words & global_words:
            kernels.add(definition.name)
    return ProjectCode(frozenset(device_words), frozenset(kernels), frozenset(functions - others))


Replacement = tuple[int, int, bytes]
"""(start, end, new text): the new text replaces the text of a file between the byte offsets `start` and `end`."""

_SPECIFIERS = frozenset({"static", "inline", "extern"})

_ARITHMETIC = frozenset(
    ("bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "size_t", "std", "::")
)


def is_initializer_error(message: str) -> bool:
    """Return whether an error message may be about a constant with a dynamic initializer."""
    return message.startswith("dynamic initialization is not supported for a")


class Constants:
    """The constants of a project's files, and the rewriting of those that NVRTC refuses."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self._files = files
        self._constexpr: dict[CodeBlock, str] = {}
        """Definition of a constant -> path of its file, for each constant that is to be written as `constexpr`."""
        self._references: dict[CodeBlock, str] = {}
        """Definition of a constant -> path of its file, for each constant that is to be written as a reference: `const
        float& b`."""
        self._refused: set[CodeBlock] = set()
        """Definitions of constants that the compiler refused with their original text, i.e. without `constexpr`."""
        self._kept: dict[CodeBlock, set[str]] = {}
        """Definition of a constant that the compiler refused as `constexpr` -> the compiler's error messages about it.
        These constants are not made `constexpr` again."""

    # Few sources have errors about constants, and a project's headers may have millions of tokens.
    @cached_property
    def _code(self) -> ProjectCode:
        """The functions and macros of the files."""
        return project_code(self._files.values())

    @cached_property
    def _deduced(self) -> frozenset[str]:
        """Names whose constants must not become references."""
        return _deduced_words(self._files.values())

    @cached_property
    def _named(self) -> dict[str, list[tuple[str, CodeBlock]]]:
        """Declared name -> list of (path of a file, definition in that file). Only definitions of host constants that
        can be written as `constexpr` are included."""
        named: dict[str, list[tuple[str, CodeBlock]]] = {}
        for file, blocks in self._files.items():
            for block in blocks.definitions:
                if self._code.is_host(block) and _may_be_constexpr(block):
                    for name in block.names:
                        named.setdefault(name, []).append((file, block))
        return named

    def rewrite(self, file: str, line: int, column: int | None, message: str) -> bool:
        """Rewrite the constant that an error is about; return False if it is not about a host constant, or if the
        constant cannot be rewritten."""
        blocks = self._files.get(file)
        if blocks is None:
            return False
        if not is_initializer_error(message):
            return self._undo_constexpr(file, blocks, line, message)
        around = blocks.definition_at(blocks.offset(line, column))
        if around in self._constexpr:  # by an error about another variable of the same declaration
            return True
        if around is None or not self._code.is_host(around) or around in self._references:
            return False
        self._refused.add(around)
        if around in self._kept or not _may_be_constexpr(around):
            return self._make_reference(file, around)
        self._make_constexpr(file, around)
        return True

    def _undo_constexpr(self, file: str, blocks: SourceBlocks, line: int, message: str) -> bool:
        """Take back the `constexpr` of a constant in the 1-based `line` of `file`, where the compiler reports
        the error `message`.

        The constant gets its original text again. If the compiler refused that text before, the constant becomes a
        reference. Return whether the error may be gone with the changes made so far. This is False if no constant in
        the line was made `constexpr`, or if nothing is left to try.

        `blocks` are the tokens and definitions of `file`.
        """
        # Columns do not identify the constant: `constexpr` is longer than `const` and shifts the rest of the line.
        for block, where in self._constexpr.items():
            if where == file and _is_at(block, blocks, line):
                del self._constexpr[block]
                self._kept[block] = {message}
                return block not in self._refused or self._make_reference(file, block)
        # An earlier error undid the `constexpr`. One compilation may print several messages about one constant.
        for block in blocks.definitions:
            if block in self._kept and message not in self._kept[block] and _is_at(block, blocks, line):
                self._kept[block].add(message)
                return True
        return False

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return path -> replacements for all rewritten constants."""
        found: dict[str, list[Replacement]] = {}
        for block, file in self._constexpr.items():
            found.setdefault(file, []).extend(
                (token.start, token.end, b"constexpr") for token in block.tokens if token.text == "const"
            )
        for block, file in self._references.items():
            found.setdefault(file, []).extend(_as_reference(block) or ())
        return found

    def _make_constexpr(self, file: str, block: CodeBlock) -> None:
        """Mark a host constant to be written as `constexpr`, and also each host constant that its initializer names."""
        self._constexpr[block] = file
        for name in words(block.tokens) - block.names:
            for where, other in self._named.get(name, ()):
                if other not in self._constexpr and other not in self._references and other not in self._kept:
                    self._make_constexpr(where, other)

    def _make_reference(self, file: str, block: CodeBlock) -> bool:
        """Mark a constant to be written as a reference, `const float& b`, and return True.

        Return False, and change nothing, if `_as_reference` returns None or a `decltype` of the constant would change.
        `file` is the path of the constant's file.
        """
        if _as_reference(block) is None or block.names & self._deduced:
            return False
        self._references[block] = file
        return True


def _deduced_words(files: Iterable[SourceBlocks]) -> frozenset[str]:
    """Return the names whose constants must not become references, because `decltype(name)` would be another type.

    A name is returned if it is the whole operand of a `decltype`: `limit` in `decltype(ns::limit)`, but not in
    `decltype(limit + 1)`. All words of a definition are returned if the definition contains `decltype(auto)`, or a
    macro that expands to a `decltype`.
    """
    blocks = list(files)
    macros = [macro for each in blocks for macro in filter(None, map(macro_of, each.directives))]
    deducing: set[str] = set()
    while new := {macro.name for macro in macros if words(macro.body) & (deducing | {"decltype"})} - deducing:
        deducing |= new
    found: set[str] = set()
    for definition in (each for file in blocks for each in file.definitions):
        operands = list(_operands_of_decltype(definition.tokens))
        if words(definition.tokens) & deducing or "auto" in operands:
            found |= words(definition.tokens)
        found.update(operands)
    return frozenset(found)


def _operands_of_decltype(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the last word of the operand of each `decltype` whose operand is only a name: "limit" for
    `decltype(ns::limit)`."""
    for index, token in enumerate(tokens):
        if token.text != "decltype":
            continue
        operand = list(takewhile(lambda each: each.kind == "word" or each.text == "::", tokens[index + 2 :]))
        end = index + 2 + len(operand)
        if operand and end < len(tokens) and tokens[end].text == ")":
            yield operand[-1].text


def _is_at(block: CodeBlock, blocks: SourceBlocks, line: int) -> bool:
    """Return whether the 1-based `line` belongs to the definition `block`, which is in the file `blocks`."""
    return blocks.line(block.start) <= line <= blocks.line(block.end - 1)


def _may_be_constexpr(block: CodeBlock) -> bool:
    """Return whether a definition outside of a class has the form `const TYPE name = VALUE;` and can be a number.

    VALUE contains no brace, bracket or string. If VALUE contains a call, TYPE must be arithmetic.
    True: `const float b = -a;` and `const int n = f();`. False: `const T n = f();`.
    """
    texts = [token.text for token in block.tokens]
    if block.in_class or block.body or texts.count("const") != 1 or "=" not in texts:
        return False
    equals = texts.index("=")
    if not _is_plain(block.tokens[:equals]):
        return False
    value = block.tokens[equals:]
    if any(token.text in "{}[]" or token.kind == "text" for token in value):
        return False
    calls = any(one.kind == "word" and after.text == "(" for one, after in pairwise(value))
    return not calls or set(texts[: equals - 1]) <= _ARITHMETIC | _SPECIFIERS | {"const"}


def _is_plain(heading: Sequence[Token]) -> bool:
    """Return whether the tokens before the "=" of a definition are only words and `::`, with `const` among them and
    without `template`, `volatile`, `using`, `typedef` and `constexpr`."""
    if not all(token.kind == "word" or token.text == "::" for token in heading):
        return False
    named = words(heading)
    return "const" in named and named.isdisjoint(("template", "volatile", "using", "typedef", "constexpr"))


def _as_reference(block: CodeBlock) -> list[Replacement] | None:
    """Return the replacements that turn a constant into a reference: `const float b = f();` into
    `const float& b = f();`.

    An array only loses its `const`. The definition of a static member outside its class is removed. None if the block
    defines a template, or does not define a constant.
    """
    tokens = block.tokens
    texts = [token.text for token in tokens]
    end = _name_end(block)
    if end is None or "const" not in texts or texts[0] == "template":
        return None
    name = tokens[end - 1]
    if texts[end - 2] == "::":  # the definition of a member, which the class declares
        return [(block.start, block.end, b"")]
    if texts[end] == "[":  # a reference would need the bounds
        return [(token.start, token.end, b"") for token in tokens[:end] if token.text == "const"]
    gap = 1 if tokens[end - 2].end < name.start else 0  # a space makes room, so that columns stay the same
    edits = [(name.start - gap, name.start, b"&")]
    if texts[end] != "=":
        type_ = " ".join(text for text in texts[: end - 1] if text not in _SPECIFIERS | {"const"})
        edits.append((name.end, name.end, f" = {type_}".encode(errors="surrogateescape")))
    return edits


def _name_end(block: CodeBlock) -> int | None:
    """Return the index, in the block's tokens, of the token after the first variable's name: the "=", "(", "{" or "["
    that begins its initializer or array bounds. None if there is no such token."""
    tokens = block.tokens
    end = next((index for index, token in enumerate(tokens) if token.text in ("=", "(", "{", "[") and index > 0), None)
    return None if end is None or tokens[end - 1].kind != "word" else end
