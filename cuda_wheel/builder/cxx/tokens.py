"""Split CUDA C++ into tokens and preprocessor directives.

Also read the macros that a text defines, and find the lines inside an `#if` whose condition is false, as far as the
text alone shows.

`sources.header_dependencies` reads macros that name headers without this module, because spaces count in header names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

__all__ = [
    "ANGLES",
    "DECORATION",
    "MARKERS",
    "Directive",
    "FalseBranches",
    "Macro",
    "Token",
    "balanced",
    "before_template_arguments",
    "end_of_argument",
    "macro_of",
    "scan",
    "template_arguments_end",
    "words",
]


MARKERS = frozenset(
    {
        "__global__",
        "__tile_global__",
        "__device__",
        "__host__",
        "__constant__",
        "__managed__",
        "__shared__",
        "__grid_constant__",
    }
)
"""Words with which CUDA C++ marks a function, variable or parameter, such as `__global__` and `__shared__`."""

DECORATION = MARKERS | {
    *("__forceinline__", "__noinline__", "__inline__", "__inline", "__restrict__", "__restrict", "restrict"),
    *("__align__", "__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__block_size__", "__attribute__"),
    *("__declspec", "__tile__", "__nv_pure__"),
}
"""Words that do not change which function or variable a declaration declares: `__device__`, `__forceinline__`,
`__launch_bounds__` and so on. Some of the words take arguments in parentheses."""

# An unclosed string or comment ends with its line or the text, so that each character is read once. The most frequent
# kinds come first: a word, unless it may be the prefix of a string, and a sign of one character.
_TOKEN = re.compile(
    r"""(?P<word> [A-Za-z_$\x80-\xff][\w$\x80-\xff]*(?![\w$\x80-\xff"']) )
    | (?P<sign> [;,(){}=&*\[\]] )
    | (?P<comment> /\*.*?(?:\*/|\Z) | //(?:\\\r?\n|[^\n])* )
    | (?P<directive> (?m:^)[ \t]*\#(?: /\*.*?(?:\*/|\Z) | //(?:\\\r?\n|[^\n])* | \\\r?\n | [^\n] )* )
    | (?P<text> (?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)"|\Z)
        | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*"? | (?:u8|[uUL])?'(?:\\.|[^'\\\n])*'? )
    | (?P<other_word> [A-Za-z_$\x80-\xff][\w$\x80-\xff]* )
    | (?P<number> \.?\d(?:[eEpP][+-]|'?[\w.])* )
    | (?P<other_sign> ::|->|<<<|>>>|\#\#|[^\s] )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
"""Matches one token or comment of a text in which each character is a byte of the source."""

_KINDS = {"other_word": "word", "other_sign": "sign", "mark": "text"}


class Token(NamedTuple):
    """A token of a source: its kind ("word", "number", "sign" or "text", a string), and its offset in bytes."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text.encode(errors="surrogateescape"))


class Directive(NamedTuple):
    """A line such as `#if X`, with its continuation lines: `word` is "if", `rest` is what follows, without comments."""

    word: str
    rest: str
    start: int
    end: int


def scan(content: bytes) -> tuple[list[Token], list[Directive]]:
    """Return the tokens and the directives of a text, in order, without its comments."""
    tokens: list[Token] = []
    directives: list[Directive] = []
    is_ascii = content.isascii()
    for match in _TOKEN.finditer(content.decode("latin-1")):
        kind = match.lastgroup or ""
        kind = _KINDS.get(kind, kind)
        if kind == "comment":
            continue
        text = match[0] if is_ascii else match[0].encode("latin-1").decode(errors="surrogateescape")
        if kind == "directive":
            word, rest = _word_and_rest(text)
            directives.append(Directive(word, rest, match.start(), match.end()))
        else:
            tokens.append(_new_tuple(Token, (kind, text, match.start())))
    return tokens, directives


_new_tuple = tuple.__new__
"""Faster than a call of the class, for millions of tokens."""


def _word_and_rest(directive: str) -> tuple[str, str]:
    unspliced = re.sub(r"\\\r?\n", " ", directive)
    line = re.sub(r"/\*.*?(?:\*/|\Z)|//[^\n]*", " ", unspliced, flags=re.DOTALL).strip()[1:].lstrip()
    word = re.split(r"[^A-Za-z_]", line, maxsplit=1)[0]
    return word, line[len(word) :].strip()


def words(tokens: Iterable[Token]) -> frozenset[str]:
    """Return the identifiers and keywords among tokens."""
    return frozenset(token.text for token in tokens if token.kind == "word")


def balanced(tokens: Sequence[Token], index: int) -> int:
    """Return the index after the bracket that closes the one at `index`; the number of tokens if none does."""
    depth = 0
    for position in range(index, len(tokens)):
        if tokens[position].text in ("(", "{", "["):
            depth += 1
        elif tokens[position].text in (")", "}", "]"):
            depth -= 1
            if depth == 0:
                return position + 1
    return len(tokens)


def end_of_argument(tokens: Sequence[Token], index: int) -> int:
    """Return the index of the comma, semicolon or bracket that ends the expression at `index`; the number of tokens if
    none does. Commas of template arguments end it too, as they do in macros."""
    while index < len(tokens) and tokens[index].text not in (",", ";", ")", "]", "}"):
        index = balanced(tokens, index) if tokens[index].text in ("(", "{", "[") else index + 1
    return index


ANGLES = {"<": 1, ">": -1, "<<<": 3, ">>>": -3}
"""Angle bracket as a token -> change of the nesting depth of template arguments: "<" -> 1, ">>>" -> -3."""


def template_arguments_end(tokens: Sequence[Token], index: int) -> int | None:
    """Return the index after the bracket that closes the `<` at an index; None if the token there is no `<`, or if no
    bracket closes it."""
    if index >= len(tokens) or tokens[index].text != "<":
        return None
    depth = 0
    while index < len(tokens):
        text = tokens[index].text
        if text in ("(", "{", "["):
            index = balanced(tokens, index)
            continue
        depth += ANGLES.get(text, 0)
        index += 1
        if depth <= 0:
            return index if depth == 0 else None
    return None


def before_template_arguments(tokens: Sequence[Token], index: int) -> int:
    """Return the index of the token before the template arguments that end before `index`, or before `index` itself
    where there are none; -1 if there is no such token."""
    index -= 1
    depth = 0
    while index >= 0 and (depth or tokens[index].text in (">", ">>>")):
        depth -= ANGLES.get(tokens[index].text, 0)
        index -= 1
    return index


class Macro(NamedTuple):
    """A `#define`. `parameters` are None for an object-like macro."""

    name: str
    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]


_DEFINE = re.compile(r"define[ \t]+([\w$]+)(\([^)]*\))?(.*)", re.DOTALL)


def macro_of(directive: Directive) -> Macro | None:
    """Return the macro that a directive defines; None if it defines none."""
    if directive.word != "define":
        return None
    match = _DEFINE.match("define " + directive.rest)
    if match is None:
        return None
    parameters = None if match[2] is None else tuple(part.strip() for part in match[2][1:-1].split(",") if part.strip())
    return Macro(match[1], parameters, tuple(scan(match[3].strip().lstrip("#").encode(errors="surrogateescape"))[0]))


_COMPILERS = re.compile(r"__(?!HIP)\w+|(?:CUDA|CUDART|CUB|THRUST|CCCL)_\w*VERSION")
"""Matches the name of a macro that the compiler or CUDA's headers may define. A source can use such a macro without
defining it, so that the source does not tell whether the macro is defined."""

_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")


class FalseBranches:
    """The 1-based lines that the preprocessor skips in a text, as a set for the operator `in`, if only the text's own
    macros and those in `defined` are defined.

    A condition that depends on the values of macros, or on macros of the compiler, counts as true.
    """

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
        """Return whether the condition of an `#if`, `#ifdef`, `#ifndef` or `#elif` is true. Return None if the
        condition depends on the value of a macro, or on a macro that the compiler may define."""
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
