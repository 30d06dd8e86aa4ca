"""Find the headers that a source may include, without a compiler: for an sdist, which must hold them all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["Header", "Include", "includes", "is_toolkits", "reachable"]


class Include(NamedTuple):
    """One `#include` of a text. `name` is None where a macro gives it; `line` counts from 1."""

    name: str | None
    quoted: bool
    line: int
    conditional: bool
    """Whether it stands between `#if` and `#endif`, so that the compiler may pass over it."""


class Header(NamedTuple):
    """A file that may be included: its absolute path, where that is asked for ("file:line"), and whether the compiler
    may pass over that."""

    path: str
    asked: str
    conditional: bool


# Strings are tokens so that nothing in them is taken for a comment; an include is one so that `<a//b>` is none either.
_TOKENS = re.compile(
    rb"""(?P<comment> /\*.*?(?:\*/|\Z) | //[^\n]*) | (?P<continued> \\[ \t]*\r?\n)
    | \#[ \t]*include[ \t]*<[^>\n]*> | R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
    | "(?:\\.|[^"\\\n])*" | (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*'""",
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(
    rb"^[ \t]*(?:\#|%:)[ \t]*(include(?:_next)?|if|ifdef|ifndef|endif|define)\b[ \t]*([^\r\n]*)", re.MULTILINE
)
_NAME = re.compile(rb'"([^"]*)"|<([^>]*)>')


def includes(text: bytes) -> Iterator[Include]:
    """Return the includes of a source, in order. One in a comment or a string is none; one in `#if 0` is one."""
    plain = _TOKENS.sub(_blanked, text)
    directives = list(_DIRECTIVE.finditer(plain))
    depth = -1 if _is_guard(directives[:2]) else 0
    for directive in directives:
        word = directive[1]
        if word == b"endif":
            depth -= 1
        elif word.startswith(b"if"):
            depth += 1
        elif word.startswith(b"include"):
            named = _NAME.match(directive[2])
            name = None if named is None else os.fsdecode(named[1] if named[1] is not None else named[2])
            line = text.count(b"\n", 0, directive.start(1)) + 1
            yield Include(name, named is not None and named[1] is not None, line, depth > 0)


def _blanked(token: re.Match[bytes]) -> bytes:
    """Return a token with the same length: a comment as white space, anything else on one line."""
    if token["comment"]:
        return re.sub(rb"[^\n]", b" ", token[0])
    return re.sub(rb"\\?[ \t]*\r?\n", lambda end: b" " * len(end[0]), token[0])


def _is_guard(directives: Sequence[re.Match[bytes]]) -> bool:
    return [directive[1] for directive in directives] == [b"ifndef", b"define"] and directives[0][2].split()[
        :1
    ] == directives[1][2].split()[:1]


def reachable(root: Path, source: str, folders: Iterable[str], content: bytes | None = None) -> list[Header]:
    """Return the files that a project-relative source may include, directly or not, by path.

    `folders`, project-relative, are those of headers. What is in none of them is the toolchain's, or missing, and is
    left to the compiler. Where a macro gives a header's name, every file beside the one that asks counts. `content` is
    the source's, where that is not on disk.
    """
    shared = [os.path.join(root, os.path.dirname(source)), *(os.path.join(root, folder) for folder in folders)]
    found: dict[str, Header] = {}
    waiting = [Header(os.path.join(root, source), source, False)]
    while waiting:
        current = waiting.pop()
        known = found.get(current.path)
        if known is not None and known.conditional <= current.conditional:
            continue
        found[current.path] = current
        own = os.path.dirname(current.path)
        try:
            text = content if current.asked == source and content is not None else Path(current.path).read_bytes()
        except OSError:
            continue
        label = os.path.relpath(current.path, root).replace(os.sep, "/")
        for include in includes(text):
            places = [own, *shared] if include.quoted else shared
            if include.name is None:
                paths = [entry.path for entry in os.scandir(own)]
            else:
                paths = [os.path.normpath(os.path.join(place, include.name)) for place in places]
            conditional = current.conditional or include.conditional
            asked = f"{label}:{include.line}"
            waiting += [Header(path, asked, conditional) for path in dict.fromkeys(paths) if os.path.isfile(path)]
    del found[os.path.join(root, source)]
    return sorted(found.values())


def is_toolkits(path: str) -> bool:
    """Return whether a header is one of the CUDA toolkit's or CCCL's, by what lies in the folders above it."""
    marks = ("cuda_runtime_api.h", "cuda/std/version")
    return any((parent / mark).is_file() for parent in Path(path).parents for mark in marks)
