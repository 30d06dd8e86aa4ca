"""Say which tokens the preprocessor may join to other identifiers in a program (`a ## b`). Pure.

The answer is never too small: where macros are used in a way that this does not follow, it has all tokens.
"""

import re
from collections.abc import Iterator, Sequence

__all__ = ["can_be_joined", "pasted_tokens", "spliced"]

_SPLICE = re.compile(rb"\\\r?\n")
"""Joins two lines."""

_TRIGRAPH_SPLICE = re.compile(rb"\?\?/\r?\n")
"""Joins two lines up to C++14, and not later."""

_DEFINITION = re.compile(
    rb"^[ \t]*(?:#|%:|\?\?=)[ \t]*define[ \t]+(\w+)([^\n]*)|(?:-D[ \t]*|define-macro[= ])(\w+)=(\S*)", re.MULTILINE
)
"""A definition in a text, or in a compiler's options."""

_PASTE = re.compile(rb"##|%:%:|\?\?=")
"""The operator that joins two tokens, in its spellings. The last also begins a directive."""

_CCCL = re.compile(rb"_?CCCL_(?!META_UNROLL_LIMIT)\w*")
"""Macros of CCCL, some of which join tokens; but for the one that every compilation with host code defines as a number.
No other header of the toolkit has such macros that a program would use."""

_LOCATION = b"__location__"
"""NVRTC's macro that joins two underscores, its argument and two underscores."""

_TOKEN = re.compile(rb"\w+")

_FOLLOWING = re.compile(rb"\s*([(),])")

_PARENTHESIS = re.compile(rb"[()]")

_LONGEST_CALL = 20_000
"""Bytes of a macro's arguments that are read."""


def spliced(text: bytes) -> Iterator[bytes]:
    """Yield a text as the preprocessor may read it, with lines joined that end in a backslash or its trigraph."""
    joined = _SPLICE.sub(b"", text)
    yield joined
    if b"??/" in joined:
        yield _TRIGRAPH_SPLICE.sub(b"", joined)


def pasted_tokens(texts: Sequence[bytes]) -> set[bytes]:
    """Return the identifiers and numbers that macros in these texts may join to other tokens.

    `texts` are a program's own sources, headers and options, each as `spliced` yields it. The tokens are those in the
    bodies of macros that join tokens, in bodies of macros that these or their arguments name, and in their arguments.
    """
    bodies: dict[bytes, list[bytes]] = {}
    for text in texts:
        for name, body, option, value in _DEFINITION.findall(text):
            bodies.setdefault(name or option, []).append(body or value)
    words = {name: {word for body in each for word in _TOKEN.findall(body)} for name, each in bodies.items()}
    pasting = {name for name, each in bodies.items() if any(map(_PASTE.search, each))} | {_LOCATION}
    pasting |= {match for text in texts for match in _CCCL.findall(text)}
    while more := {name for name, each in words.items() if name not in pasting and each & pasting}:
        pasting |= more
    tokens = {word for name in pasting for word in words.get(name, ())}
    for text in texts:
        for name, arguments in _calls(_DEFINITION.sub(b"", text), pasting):
            if arguments is None and any(body.startswith(b"(") for body in bodies.get(name, [b"("])):
                # A macro that takes arguments, and whose name is an argument of another, for example.
                return {word for each in texts for word in _TOKEN.findall(each)} | {b"_", b"__"}
            tokens.update(_TOKEN.findall(arguments or b""))
    while more := {word for name in tokens & words.keys() for word in words[name]} - tokens:
        tokens |= more
    return tokens | ({b"_", b"__"} if pasting - bodies.keys() else set())


def _calls(text: bytes, names: set[bytes]) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield the name and the arguments of each use of these macros; None for a name that is an argument itself."""
    for match in _TOKEN.finditer(text):
        if match[0] in names:
            following = _FOLLOWING.match(text, match.end())
            if following is not None:
                yield match[0], _until_closing(text, following.end()) if following[1] == b"(" else None


def _until_closing(text: bytes, start: int) -> bytes | None:
    depth = 1
    for match in _PARENTHESIS.finditer(text, start, start + _LONGEST_CALL):
        depth += 1 if match[0] == b"(" else -1
        if not depth:
            return text[start : match.start()]
    return None


def can_be_joined(word: bytes, tokens: set[bytes]) -> bool:
    """Return whether a word is a sequence of tokens, each used any number of times."""
    ends = [0]
    for end in range(1, len(word) + 1):
        if any(word[start:end] in tokens for start in ends):
            ends.append(end)
    return ends[-1] == len(word)
