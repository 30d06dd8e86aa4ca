"""The words of CUDA C++: tokens, directives and macros of a text, and what macros stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

__all__ = [
    "DECORATION",
    "MARKERS",
    "Directive",
    "Macro",
    "Token",
    "balanced",
    "expand",
    "macro_of",
    "scan",
    "words",
]


MARKERS = frozenset(
    {"__global__", "__device__", "__host__", "__constant__", "__managed__", "__shared__", "__grid_constant__"}
)
"""What CUDA marks a definition with."""


DECORATION = MARKERS | {
    *(
        "__forceinline__",
        "__noinline__",
        "__inline__",
        "__inline",
        "__restrict__",
        "__restrict",
        "restrict",
        "__align__",
    ),
    *("__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__block_size__", "__attribute__", "__declspec"),
    *("__tile__", "__nv_pure__"),
}
"""Words, some with arguments, that the grammar need not see."""


# What is not closed ends with its line or the text: so each character is looked at once.
_TOKEN = re.compile(
    rb"""(?P<comment> /\*.*?(?:\*/|\Z) | //(?:\\\r?\n|[^\n])* )
    | (?P<directive> (?m:^)[ \t]*\#(?: /\*.*?(?:\*/|\Z) | //(?:\\\r?\n|[^\n])* | \\\r?\n | [^\n] )* )
    | (?P<text> (?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)"|\Z)
        | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*"? | (?:u8|[uUL])?'(?:\\.|[^'\\\n])*'? )
    | (?P<word> [A-Za-z_$\x80-\xff][\w$\x80-\xff]* )
    | (?P<number> \.?\d(?:[eEpP][+-]|'?[\w.])* )
    | (?P<sign> ::|->|<<<|>>>|\#\#|[^\s] )""",
    re.VERBOSE | re.DOTALL,
)


_SPENT = "spent"
"""The kind of a word that is a macro's name, and stays: it came up in what that macro stands for."""


_DEFINE = re.compile(r"define[ \t]+([\w$]+)(\([^)]*\))?(.*)", re.DOTALL)


class Token(NamedTuple):
    """A word, number, sign or text (string) of a source, and where it begins, in bytes."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text.encode(errors="surrogateescape"))


class Directive(NamedTuple):
    """A line such as `#if X`, with those that continue it: `word` is "if", `rest` what follows without comments."""

    word: str
    rest: str
    start: int
    end: int


class Macro(NamedTuple):
    """A `#define`: its parameters (None where it takes none) and what it stands for."""

    name: str
    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]


def scan(content: bytes) -> tuple[list[Token], list[Directive]]:
    """Return a text's tokens and directives, in order; comments are neither."""
    tokens: list[Token] = []
    directives: list[Directive] = []
    for match in _TOKEN.finditer(content):
        kind = match.lastgroup or ""
        if kind == "mark":
            kind = "text"
        if kind == "comment":
            continue
        text = match[0].decode(errors="surrogateescape")
        if kind != "directive":
            tokens.append(Token(kind, text, match.start()))
            continue
        plain = re.sub(r"/\*.*?(?:\*/|\Z)|//[^\n]*", " ", re.sub(r"\\\r?\n", " ", text), flags=re.DOTALL).strip()
        line = plain[1:].lstrip()
        word = re.split(r"[^A-Za-z_]", line, maxsplit=1)[0]
        directives.append(Directive(word, line[len(word) :].strip(), match.start(), match.end()))
    return tokens, directives


def words(tokens: Iterable[Token]) -> frozenset[str]:
    """Return the identifiers among tokens."""
    return frozenset(token.text for token in tokens if token.kind == "word")


def macro_of(directive: Directive) -> Macro | None:
    if directive.word != "define":
        return None
    match = _DEFINE.match("define " + directive.rest)
    if match is None:
        return None
    parameters = None if match[2] is None else tuple(part.strip() for part in match[2][1:-1].split(",") if part.strip())
    return Macro(match[1], parameters, tuple(scan(match[3].strip().lstrip("#").encode(errors="surrogateescape"))[0]))


def balanced(tokens: Sequence[Token], index: int) -> int:
    """Return the index after the bracket that closes the one at `index`; that of the end where none does."""
    depth = 0
    for position in range(index, len(tokens)):
        if tokens[position].text in ("(", "{", "["):
            depth += 1
        elif tokens[position].text in (")", "}", "]"):
            depth -= 1
            if depth == 0:
                return position + 1
    return len(tokens)


MOST = 1_000_000
"""How many words are read at most to tell what tokens stand for."""


def expand(
    tokens: Sequence[Token], macros: Mapping[str, Sequence[Macro]], hidden: frozenset[str] = frozenset()
) -> Iterator[tuple[str, int]]:
    """Yield the words that tokens stand for, macros expanded, each with the offset of what it came from.

    Raises OverflowError where more than MOST are read on the way.
    """
    return ((token.text, token.start) for token in _expanded(tokens, macros, hidden, iter(range(MOST))))


def _expanded(
    tokens: Sequence[Token], macros: Mapping[str, Sequence[Macro]], hidden: frozenset[str], left: Iterator[int]
) -> Iterator[Token]:
    index = 0
    while index < len(tokens):
        _count(left)
        token = tokens[index]
        index += 1
        macro = macros[token.text][-1] if token.text in macros and token.kind != _SPENT else None
        if macro is None or token.text in hidden or len(hidden) > 24:
            yield token if macro is None else token._replace(kind=_SPENT)
            continue
        arguments: dict[str, list[Token]] = {}
        if macro.parameters is not None:
            if index >= len(tokens) or tokens[index].text != "(":
                yield token
                continue
            after = balanced(tokens, index)
            arguments = _arguments(macro.parameters, tokens[index + 1 : after - 1])
            index = after
        # As the preprocessor: what an argument stands for is told before, and without regard to, the macro around it.
        told = {name: list(_expanded(given, macros, hidden, left)) for name, given in arguments.items()}
        body = _substituted(macro.body, arguments, told, token.start, left)
        yield from _expanded(body, macros, hidden | {token.text}, left)


def _count(left: Iterator[int]) -> None:
    if next(left, None) is None:
        raise OverflowError


def _arguments(parameters: Sequence[str], tokens: Sequence[Token]) -> dict[str, list[Token]]:
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in "([{") - (token.text in ")]}")
        if token.text == "," and depth == 0 and (len(parts) < len(parameters) or "..." not in parameters[-1:]):
            parts.append([])
        else:
            parts[-1].append(token)
    names = ["__VA_ARGS__" if name == "..." else name.removesuffix("...") for name in parameters]
    return {name: (parts[index] if index < len(parts) else []) for index, name in enumerate(names)}


def _substituted(
    body: Sequence[Token],
    arguments: Mapping[str, list[Token]],
    told: Mapping[str, list[Token]],
    start: int,
    left: Iterator[int],
) -> list[Token]:
    """Return a macro's body for arguments: as they are given beside `##`, else what they stand for."""
    result: list[Token] = []
    paste = False
    for index, token in enumerate(body):
        if token.text == "##":
            paste = True
            continue
        as_given = paste or any(following.text == "##" for following in body[index + 1 : index + 2])
        pieces = (arguments if as_given else told).get(token.text, [token])
        for piece in pieces:
            _count(left)
            moved = piece._replace(start=start)
            if paste and result:
                moved = moved._replace(text=result.pop().text + piece.text)
            result.append(moved)
            paste = False
    return result
