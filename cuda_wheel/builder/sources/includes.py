"""Find the headers that a source may include, without a compiler: for an sdist, which must hold them all, and for the
cache where the compiler does not list them.

A text is read once, from its beginning to its end, without regard to conditions. So more is found than a compiler
opens, and never less; where only a compiler could tell, that is told.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "Header",
    "Include",
    "Reach",
    "includes",
    "is_toolkits",
    "reachable",
    "read_at_most",
    "searched",
]


class Include(NamedTuple):
    """One `#include` of a text, or the question of a condition whether there is such a header. `name` is None where
    macros give it, `spelling` what they make it of; `line` counts from 1."""

    name: str | None
    quoted: bool
    line: int
    conditional: bool
    """Whether it stands between `#if` and `#endif`, so that the compiler may pass over it."""
    spelling: str = ""
    asked: bool = False
    """Whether it is such a question."""


class Macro(NamedTuple):
    """One `#define`. `parameters` are None where it takes none."""

    parameters: tuple[str, ...] | None
    body: str


class Header(NamedTuple):
    """A file that may be included: its absolute path, where that is asked for ("file:line"), and whether the compiler
    may pass over that."""

    path: str
    asked: str
    conditional: bool


class Reach(NamedTuple):
    """The headers that a source may include, by path. `certain` is whether there can be no others, for all names that
    macros give are known."""

    headers: list[Header]
    certain: bool


# --- one text ---------------------------------------------------------------------------------------

_SPLICE = re.compile(rb"\\\r?\n")
"""What makes two lines one. NVRTC wants the backslash to be the last, where other compilers allow spaces after it."""


# Strings are tokens so that nothing in them is taken for a comment; an include is one so that `<a//b>` is none either,
# and a number so that the marks between its digits begin no character. What is not closed ends with its line or the
# text: so each character is looked at once.
_TOKENS = re.compile(
    rb"""(?P<comment> /\*.*?(?:\*/|\Z) | //[^\n]*)
    | \#[ \t]*include(?:_next)?[ \t]*<[^>\n]*>?
    | (?<![\w"'])(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)"|\Z)
    | "(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])*'? | (?<!\w)\.?[0-9](?:'?\w|\.)*""",
    re.VERBOSE | re.DOTALL,
)


_DIRECTIVE = re.compile(
    rb"^[ \t\v\f]*(?:\#|%:)[ \t\v\f]*(include(?:_next)?|if|ifdef|ifndef|elif|endif|define)\b[ \t\v\f]*([^\r\n]*)",
    re.MULTILINE,
)


_NAME = re.compile(r'"([^"]*)"|<([^>]*)>')


_ASKED = re.compile(r'"([^"]+)"|<([\w./+-]+)>|__has_include(?:_next)?[ \t]*\([ \t]*(\w+(?:\([^)]*\)?)?)')


_DEFINITION = re.compile(r"(\w+)(?:\(([^)]*)\))?\s*(.*?)\s*", re.DOTALL)


def includes(text: bytes) -> Iterator[Include]:
    """Return the includes of a source, in order. One in a comment or a string is none; one in `#if 0` is one."""
    yield from _scanned(text)[0]


Scan = tuple[tuple[Include, ...], tuple[tuple[str, Macro], ...]]


def _scanned(text: bytes) -> Scan:
    """Return the includes of a text, and what it defines."""
    plain = _TOKENS.sub(_blanked, _spliced(text))
    directives = list(_DIRECTIVE.finditer(plain))
    depth = -1 if _is_guard(directives[:2]) else 0
    found: list[Include] = []
    macros = []
    line, counted = 1, 0
    for directive in directives:
        line, counted = line + plain.count(b"\n", counted, directive.start(1)), directive.start(1)
        word, rest = directive[1], os.fsdecode(directive[2])
        parameters: tuple[str, ...] | None = ()
        if word == b"define":
            definition = _DEFINITION.fullmatch(rest)
            if definition:
                parameters = None if definition[2] is None else tuple(map(str.strip, definition[2].split(",")))
                macros.append((definition[1], Macro(parameters, definition[3])))
        elif word == b"endif":
            depth -= 1
        elif word.startswith(b"include"):
            name = _NAME.match(rest)
            if name:
                found.append(Include(_either(name), name[1] is not None, line, depth > 0))
            else:
                found.append(Include(None, False, line, depth > 0, rest.strip()))
        elif word != b"elif":
            depth += 1
        if word in (b"if", b"elif") or b"has_include" in directive[2]:
            for name in _ASKED.finditer(rest):
                if name[3] not in (parameters or ()):
                    found.append(Include(_either(name), name[1] is not None, line, True, name[3] or "", True))
    return tuple(found), tuple(macros)


def _either(name: re.Match[str]) -> str | None:
    return name[1] if name[1] is not None else name[2]


def _spliced(text: bytes) -> bytes:
    """Return a text with the lines made one that a backslash splits, and as many empty ones after them."""
    parts: list[bytes] = []
    at = owed = 0
    for splice in _SPLICE.finditer(text):
        owed = _append(parts, text[at : splice.start()], owed) + 1
        at = splice.end()
    _append(parts, text[at:], owed)
    return b"".join(parts)


def _append(parts: list[bytes], part: bytes, owed: int) -> int:
    line, newline, rest = part.partition(b"\n")
    parts += [line, newline * (1 + owed), rest]
    return 0 if newline else owed


def _blanked(token: re.Match[bytes]) -> bytes:
    """Return a token with as many lines: a comment as white space, anything else on one line."""
    if token["comment"]:
        return re.sub(rb"[^\n]", b" ", token[0])
    lines = token[0].count(b"\n")
    return token[0].replace(b"\n", b" ") + b"\n" * lines if lines else token[0]


def _is_guard(directives: Sequence[re.Match[bytes]]) -> bool:
    return [directive[1] for directive in directives] == [b"ifndef", b"define"] and directives[0][2].split()[
        :1
    ] == directives[1][2].split()[:1]


# --- names that macros give ---------------------------------------------------------------------------

Macros = Mapping[str, Iterable[Macro]]


_WORD = re.compile(r"[A-Za-z_]\w*|[^A-Za-z_]+")


_PARAMETER = re.compile(r"(?<!#)#\s*(\w+)|\b([A-Za-z_]\w*)")


_MOST = 500_000
"""How many characters may be written on the way from one spelling to names, before that counts as not to be told."""


_LONGEST = 4096
"""How many characters a spelling may have, and a path, before that counts as not to be told."""


def _named(spelling: str, macros: Macros) -> set[tuple[str, bool]] | None:
    """Return the names that a spelling may come to, each with whether it is quoted, whichever of the definitions of
    each macro hold, or none; None where that cannot be told."""
    names = set()
    try:
        texts = _Expansion(macros).of(spelling) if len(spelling) <= _LONGEST else set()
    except (LookupError, RecursionError):
        return None
    for text in map(str.strip, texts):
        name = _NAME.fullmatch(text)
        if name:
            names.add((_either(name) or "", name[1] is not None))
        elif re.split(r"\W", text, maxsplit=1)[0] not in macros:
            return None
    return names or None


class _Expansion:
    """What macros may make of one text. All methods raise LookupError where that is too much, or no macro's use."""

    def __init__(self, macros: Macros) -> None:
        self._macros = macros
        self._written = 0

    def _count(self, characters: int) -> None:
        self._written += characters
        if self._written > _MOST:
            raise LookupError

    def of(self, text: str, active: frozenset[str] = frozenset()) -> set[str]:
        """Return what a text may become, the macros in `active` apart."""
        made = {""}
        at = 0
        while at < len(text):
            token = _WORD.match(text, at)
            assert token is not None
            name, at = token[0], token.end()
            ways = {name}
            if name in self._macros and name not in active:
                self._count(len(text) - at)
                arguments, end = _arguments(text, at)
                for macro in self._macros[name]:
                    if macro.parameters is None:
                        ways |= {way + text[at:end] for way in self._body(macro, (), active | {name})}
                    elif end > at:
                        ways |= self._body(macro, arguments, active | {name})
                ways = {way + (text[at:end] if way == name else "") for way in ways}
                at = end
            self._count(len(made) * sum(map(len, ways)) + len(ways) * sum(map(len, made)))
            made = {before + way for before in made for way in ways}
        return made

    def _body(self, macro: Macro, arguments: Sequence[str], active: frozenset[str]) -> set[str]:
        """Return what a macro may stand for with these arguments."""
        parameters = macro.parameters or ()
        if len(parameters) != len(arguments):
            raise LookupError
        ways = set()
        for chosen in product(*({each, *self.of(each, active)} for each in arguments)):
            words, raw = (dict(zip(parameters, its, strict=True)) for its in (chosen, arguments))
            self._count(100 + len(macro.body) * (1 + max(map(len, (*chosen, *arguments)), default=0)))

            def put(place: re.Match[str], words: dict[str, str] = words, raw: dict[str, str] = raw) -> str:
                return f'"{raw[place[1]]}"' if place[1] in raw else words.get(place[2], place[0])

            ways |= self.of(re.sub(r"\s*##\s*", "", _PARAMETER.sub(put, macro.body)), active)
        return ways


def _arguments(text: str, at: int) -> tuple[list[str], int]:
    """Return the arguments in parentheses at a place of a text, and where they end: there, if there are none."""
    opened = re.compile(r"\s*\(").match(text, at)
    if opened is None:
        return [], at
    arguments, depth, start = [], 1, opened.end()
    for end in range(start, len(text)):
        character = text[end]
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0 or (depth == 1 and character == ","):
            arguments.append(text[start:end].strip())
            start = end + 1
        if depth == 0:
            return arguments, end + 1
    return [], at


# --- one source ---------------------------------------------------------------------------------------


def searched(root: str, source: str, folders: Iterable[str]) -> list[str]:
    """Return the absolute folders that a project-relative source's includes are looked for in, its own first."""
    return list(
        dict.fromkeys(os.path.normpath(os.path.join(root, each)) for each in (os.path.dirname(source), *folders))
    )


def reachable(
    root: Path, source: str, folders: Iterable[str], text: bytes | None = None, defines: Iterable[str] = ()
) -> Reach:
    """Return the files that a project-relative source may include, directly or not.

    `folders` are those of headers, project-relative or absolute; what is in none of them is missing, or the
    toolchain's, and is left to the compiler. `text` is the source's, if not as it is on disk, and `defines` are macros
    from outside ("NAME=VALUE"). Where a macro gives a header's name and nobody can tell it, every file beside the one
    that asks counts.
    """
    own, shared = os.path.join(root, source), searched(str(root), source, folders)
    find = cache(lambda name, beside: _files(name, [beside, *shared] if beside else shared))
    macros: dict[str, set[Macro]] = {}
    for name, _, body in (define.partition("=") for define in defines):
        macros.setdefault(name, set()).add(Macro(None, body))
    found: dict[str, Header] = {}
    computed: dict[tuple[Header, Include], set[tuple[str, bool]] | None] = {}
    waiting = [Header(own, source, False)]

    def follow(current: Header, include: Include, paths: Iterable[str]) -> None:
        asked = f"{os.path.relpath(current.path, root)}:{include.line}".replace(os.sep, "/")
        conditional = current.conditional or include.conditional
        for path in paths:
            known = found.get(path)
            if known is None or known.conditional > conditional:
                found[path] = Header(path, asked, conditional)
                waiting.append(found[path])

    while waiting:
        while waiting:
            current = waiting.pop()
            beside = os.path.dirname(current.path)
            mine = text is not None and current.path == own
            its, definitions = _scanned(text or b"") if mine else _scanned_file(current.path)
            for defined, macro in definitions:
                macros.setdefault(defined, set()).add(macro)
            for include in its:
                if include.name is None:
                    computed[current, include] = set()
                else:
                    follow(current, include, find(include.name, beside if include.quoted else ""))
        # What a macro stands for, any file may say, also one that was found last.
        for current, include in computed:
            names = computed[current, include] = _named(include.spelling, macros)
            beside = os.path.dirname(current.path)
            if names is None:
                follow(current, include, (entry.path for entry in os.scandir(beside) if entry.is_file()))
            for name, quoted in sorted(names or ()):
                follow(current, include, find(name, beside if quoted else ""))
    found.pop(own, None)
    return Reach(sorted(found.values()), None not in computed.values())


_FOLDER = re.compile(r"(?:--include-path|-I)=?(.*)")


_MACRO = re.compile(r"(?:--define-macro|-D)=?(.*)")


_FILE = re.compile(r"--?(?:include|pre-include|pch|use-pch|create-pch)(?!-path)")
"""Options of NVRTC that have it search folders, define macros and read files. Source: NVRTC, "Supported Compile
Options"."""


def read_at_most(root: str, source: str, text: bytes, options: Sequence[str]) -> list[str] | None:
    """Return the absolute paths of all files that NVRTC may read beside a source's text, with these options; None where
    nobody can tell."""
    if any(map(_FILE.match, options)):
        return None
    folders, defines = (
        [
            match[1] or following
            for option, following in zip(options, [*options[1:], ""], strict=True)
            if (match := kind.fullmatch(option))
        ]
        for kind in (_FOLDER, _MACRO)
    )
    reach = reachable(Path(root), source, folders, text, defines)
    paths = [header.path for header in reach.headers]
    known = tuple(f"{folder}{os.sep}" for folder in (root, *searched(root, source, folders)))
    # What lies elsewhere may be for other compilers alone, and is an error if it is not.
    return paths if reach.certain and all(path.startswith(known) for path in paths) else None


def _files(name: str, places: Iterable[str]) -> list[str]:
    paths = dict.fromkeys(os.path.normpath(os.path.join(place, name)) for place in places)
    return [path for path in paths if os.path.isfile(path)]


def _scanned_file(path: str) -> Scan:
    try:
        status = os.stat(path)
        return _scanned_version(path, status.st_mtime_ns, status.st_size)
    except OSError:
        return (), ()


@lru_cache(maxsize=4096)  # sources have most of their headers in common
def _scanned_version(path: str, changed: int, size: int) -> Scan:
    return _scanned(Path(path).read_bytes())


def is_toolkits(path: str) -> bool:
    """Return whether a header is one of the CUDA toolkit's or CCCL's, by what lies in the folders above it."""
    marks = ("cuda_runtime_api.h", "cuda/std/version")
    return any((parent / mark).is_file() for parent in Path(path).parents for mark in marks)
