"""Find the headers that a source may include, directly or not, without a compiler.

An sdist must contain them all, and the cache needs them where the compiler does not list the headers that it reads.
More are found than a compiler opens, and never fewer; what only a compiler could determine is reported as uncertain.

Macros that name headers are expanded: `#include NAME(x)`. Which definitions of a macro hold is unknown, because
conditions are not evaluated, so the result contains the expansions by each of them, and those that leave the macro as
it is. A `.cu` file that another source includes is a header, and no module of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple, TypeVar

from cuda_wheel.builder.config.compiler_options import macro_definitions
from cuda_wheel.builder.sources.include_directives import (
    HEADER_NAME,
    TEST,
    Definition,
    Include,
    IncludeScan,
    header_name,
    includes,
    scan_includes,
    until_closing,
)

__all__ = [
    "Definitions",
    "IncludedFile",
    "Reach",
    "definitions_in",
    "header_bytes",
    "is_toolkit_header",
    "named_headers",
    "opaque_options",
    "option_folders",
    "pre_includes",
    "reachable",
    "reached",
    "read_at_most",
    "scanned_file",
    "search_folders",
    "sources_included_by_others",
    "tested_headers",
    "visit",
]


Definitions = Mapping[str, Iterable[Definition]]
"""Name of a macro -> all definitions of the macro in texts and options. Which one the compiler uses is unknown, because
conditions such as `#if` are not evaluated."""

_WORD = re.compile(r"[A-Za-z_]\w*|[^A-Za-z_]+")

_PARAMETER = re.compile(r"(?<!#)#\s*(\w+)|\b([A-Za-z_]\w*)")

_MAX_WORK = 500_000
"""Maximum number of characters to write while the macros in one text are expanded. If there would be more, the
expansion counts as unknown."""

_MAX_SPELLING = 4096
"""Maximum number of characters of a text whose macros are expanded, such as the text after `#include`. The expansion of
a longer text counts as unknown."""


def definitions_in(scans: Iterable[IncludeScan], options: Iterable[str]) -> dict[str, set[Definition]]:
    """Return name -> definitions of the macros that texts and options define.

    An option is "NAME", "NAME=BODY" or "NAME(X)=BODY".
    """
    definitions: dict[str, set[Definition]] = {}
    for option in options:
        head, equals, body = option.partition("=")
        name, parenthesis, parameters = head.partition("(")
        listed = tuple(map(str.strip, parameters.rstrip(") ").split(","))) if parenthesis else None
        definitions.setdefault(name.strip(), set()).add(Definition(listed, body if equals else "1"))
    for scan in scans:
        for name, definition in scan.definitions:
            definitions.setdefault(name, set()).add(definition)
    return definitions


def named_headers(spelling: str, definitions: Definitions) -> set[tuple[str, bool]] | None:
    """Return the headers that the text after `#include` may expand to, as (name, whether it is in quotes); None if
    they are unknown."""
    names = set()
    try:
        texts = _Expansion(definitions).expand(spelling) if len(spelling) <= _MAX_SPELLING else set()
    except (LookupError, RecursionError):
        return None
    for text in map(str.strip, texts):
        name = HEADER_NAME.fullmatch(text)
        if name:
            names.add((header_name(name) or "", name[1] is not None))
        elif re.split(r"\W", text, maxsplit=1)[0] not in definitions:
            return None
    return names or None


def tested_headers(condition: str, definitions: Definitions) -> set[tuple[str, bool]] | None:
    """Return the headers that the condition of an `#if` may test for with `__has_include`, as (name, whether it is in
    quotes); None if they are unknown."""
    names = set()
    try:
        texts = _Expansion(definitions).expand(condition) if len(condition) <= _MAX_SPELLING else None
    except (LookupError, RecursionError):
        texts = None
    for text in texts or ():
        for test in TEST.finditer(text):
            operand = until_closing(text, test.end()).strip()
            if name := HEADER_NAME.fullmatch(operand):
                names.add((header_name(name) or "", name[1] is not None))
            elif re.split(r"\W", operand, maxsplit=1)[0] not in definitions:
                return None
    return None if texts is None else names


class _Expansion:
    """The expansion of the macros in one text, by each definition of each macro.

    The methods raise LookupError if the expansions are too long, or if a call has another number of arguments than the
    macro.
    """

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._work = 0

    def _count_work(self, characters: int) -> None:
        """Add `characters`, a number of characters to be written, to the work of this expansion; raise LookupError if
        the work is then more than `_MAX_WORK`."""
        self._work += characters
        if self._work > _MAX_WORK:
            raise LookupError

    def expand(self, text: str, active: frozenset[str] = frozenset()) -> set[str]:
        """Return the possible expansions of a text, without expanding the macros in `active`."""
        results = {""}
        position = 0
        while position < len(text):
            token = _WORD.match(text, position)
            assert token is not None
            name, position = token[0], token.end()
            if name in self._definitions and name not in active:
                self._count_work(len(text) - position)
                alternatives, position = self._call(name, text, position, active | {name})
            else:
                alternatives = {name}
            self._count_work(
                len(results) * sum(map(len, alternatives)) + len(alternatives) * sum(map(len, results)),
            )
            results = {before + alternative for before in results for alternative in alternatives}
        return results

    def _call(self, name: str, text: str, position: int, active: frozenset[str]) -> tuple[set[str], int]:
        """Return (possible expansions, end) of one use of the macro `name` in `text`.

        `position`: index in `text` after the name.
        `end`: index after the closing parenthesis of the arguments; without arguments, `position`.
        `active`: names of the macros that are being expanded, including `name`. They are not expanded again.
        """
        arguments, end = _arguments(text, position)
        written = text[position:end]
        alternatives = {name}
        for macro in self._definitions[name]:
            if macro.parameters is None:
                alternatives |= {body + written for body in self._body(macro, (), active)}
            elif end > position:
                alternatives |= self._body(macro, arguments, active)
        # The name alone stands for the call that is left as it is, whichever definition produced it.
        return {each + (written if each == name else "") for each in alternatives}, end

    def _body(self, macro: Definition, arguments: Sequence[str], active: frozenset[str]) -> set[str]:
        """Return the possible expansions of the body of `macro`, with `arguments` in place of its parameters. `active`
        are the names of the macros that are being expanded; they are not expanded again."""
        parameters = macro.parameters or ()
        if len(parameters) != len(arguments):
            raise LookupError
        written = dict(zip(parameters, arguments, strict=True))
        results = set()
        for expanded in product(*({each, *self.expand(each, active)} for each in arguments)):
            values = dict(zip(parameters, expanded, strict=True))
            self._count_work(100 + len(macro.body) * (1 + max(map(len, (*expanded, *arguments)), default=0)))

            def substitute(place: re.Match[str], values: dict[str, str] = values) -> str:
                return f'"{written[place[1]]}"' if place[1] in written else values.get(place[2], place[0])

            results |= self.expand(re.sub(r"\s*##\s*", "", _PARAMETER.sub(substitute, macro.body)), active)
        return results


def _arguments(text: str, position: int) -> tuple[list[str], int]:
    """Return the arguments of a macro from the parentheses at `position` in `text`, and the position after the closing
    parenthesis: (["a", "f(b)"], 8) for "(a,f(b))" at 0. ([], `position`) if no parentheses are there."""
    opening = re.compile(r"\s*\(").match(text, position)
    if opening is None:
        return [], position
    arguments, depth, start = [], 1, opening.end()
    for end in range(start, len(text)):
        character = text[end]
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0 or (depth == 1 and character == ","):
            arguments.append(text[start:end].strip())
            start = end + 1
        if depth == 0:
            return arguments, end + 1
    return [], position


T = TypeVar("T", bound=Hashable)


def visit(starts: Iterable[T], included: Callable[[T], Iterable[T]]) -> list[T]:
    """Visit files and all that they include, directly or not, each once; return them in the order of the visits.

    `included` returns the files that a file includes; it is called when the file is visited.
    """
    visited: dict[T, None] = {}
    waiting = list(starts)
    while waiting:
        current = waiting.pop()
        if current not in visited:
            visited[current] = None
            waiting += included(current)
    return list(visited)


# --- all headers of a source ------------------------------------------------------------------------


class IncludedFile(NamedTuple):
    """A file that a source may include."""

    path: str
    """Absolute path of the file."""
    included_at: str
    """Place of the `#include` that names the file, as "file:line"."""
    conditional: bool
    """Whether the compiler may skip the `#include`, because it is inside an `#if`, or because the file that contains it
    is itself included only inside an `#if`."""


class Reach(NamedTuple):
    """The headers that a source may include."""

    headers: list[IncludedFile]
    """Headers that the source may include, directly or not, sorted by path."""
    certain: bool
    """Whether `headers` is certainly complete. False if a macro gives a header's name and the macro's expansion is
    unknown."""


def search_folders(root: str, source: str, folders: Iterable[str]) -> list[str]:
    """Return the absolute folders in which the includes of a source are searched: the source's own folder, then
    `folders`. The source and relative folders are relative to `root`."""
    return list(
        dict.fromkeys(os.path.normpath(os.path.join(root, each)) for each in (os.path.dirname(source), *folders))
    )


def reachable(
    root: Path, source: str, folders: Iterable[str], text: bytes | None = None, defines: Iterable[str] = ()
) -> Reach:
    """Return the files that a project-relative source may include, directly or not.

    `folders` are the include folders, project-relative or absolute. A header in none of them is missing or the
    toolchain's, and left to the compiler. `text` is the source's content if it differs from the file, and `defines` are
    macros from options ("NAME=VALUE"). If a macro gives a header's name and its expansion is unknown, every file in the
    folder of the including file counts.
    """
    search = _HeaderSearch(root, source, folders, text, defines)
    waiting = [IncludedFile(search.source_path, source, False)]
    while waiting:
        visit(waiting, search.included)
        waiting = list(search.included_by_macros())
    search.found.pop(search.source_path, None)
    return Reach(sorted(search.found.values()), search.is_certain)


class _HeaderSearch:
    """The state of one search for the headers of a source, by `reachable`."""

    def __init__(
        self, root: Path, source: str, folders: Iterable[str], text: bytes | None, defines: Iterable[str]
    ) -> None:
        self.source_path = os.path.join(root, source)
        self.found: dict[str, IncludedFile] = {}
        self.is_certain = True
        self._root = root
        self._text = text
        self._folders = search_folders(str(root), source, folders)
        self._definitions = definitions_in((), defines)
        self._macro_includes: dict[tuple[IncludedFile, Include], None] = {}
        self._paths: dict[tuple[str, str], list[str]] = {}

    def included(self, current: IncludedFile) -> Iterator[IncludedFile]:
        """Yield the files that a file includes by name; keep its macros, and its includes by macros, for later."""
        if self._text is not None and current.path == self.source_path:
            scan = scan_includes(self._text)
        else:
            scan = scanned_file(current.path)
        for name, definition in scan.definitions:
            self._definitions.setdefault(name, set()).add(definition)
        for include in scan.includes:
            if include.name is None:
                self._macro_includes[current, include] = None
            else:
                yield from self._new(current, include, self._find(include.name, current, include.quoted))

    def included_by_macros(self) -> Iterator[IncludedFile]:
        """Yield the files that are included by macros and were not found yet.

        Call this until nothing is yielded: the files found last may define such macros too.
        """
        self.is_certain = True
        for current, include in self._macro_includes:
            names = named_headers(include.spelling, self._definitions)
            if names is None:
                self.is_certain = False
                folder = os.path.dirname(current.path)
                yield from self._new(current, include, (entry.path for entry in os.scandir(folder) if entry.is_file()))
            for name, quoted in sorted(names or ()):
                yield from self._new(current, include, self._find(name, current, quoted))

    def _new(self, current: IncludedFile, include: Include, paths: Iterable[str]) -> Iterator[IncludedFile]:
        """Add the new files of `paths` to `found`, and yield them. `include` is in the file `current`, and may read the
        files `paths`. A file is new if it is not in `found`, or if this is its first unconditional include."""
        conditional = current.conditional or include.conditional
        for path in paths:
            known = self.found.get(path)
            if known is None or known.conditional > conditional:
                place = f"{os.path.relpath(current.path, self._root)}:{include.line}".replace(os.sep, "/")
                self.found[path] = IncludedFile(path, place, conditional)
                yield self.found[path]

    def _find(self, name: str, current: IncludedFile, quoted: bool) -> list[str]:
        """Return the paths of all existing files that an include of the header `name` may find, in search order.
        `current` is the including file. Its folder comes first if the name is in quotes (`quoted`)."""
        own = os.path.dirname(current.path) if quoted else ""
        if (name, own) not in self._paths:
            places = [own, *self._folders] if own else self._folders
            paths = dict.fromkeys(os.path.normpath(os.path.join(place, name)) for place in places)
            self._paths[name, own] = [path for path in paths if os.path.isfile(path)]
        return self._paths[name, own]


def scanned_file(path: str) -> IncludeScan:
    """Return the scan of a file; an empty one if it cannot be read."""
    try:
        status = os.stat(path)
        return _scanned_version(path, status.st_mtime_ns, status.st_size)
    except OSError:
        return IncludeScan((), ())


@lru_cache(maxsize=4096)  # sources have most of their headers in common
def _scanned_version(path: str, changed: int, size: int) -> IncludeScan:
    """Return the scan of the file at `path`. The file's `changed` (time of last change) and `size` are only keys for
    the cache: a file that has changed is scanned again."""
    return scan_includes(Path(path).read_bytes())


# --- the headers of a compilation -------------------------------------------------------------------

# Options of NVRTC that add include folders and read files. Source: NVRTC, "Supported Compile Options".
_FOLDER_OPTION = re.compile(r"(?:--include-path|-I)=?(.*)")

_PRE_INCLUDE_OPTION = re.compile(r"(?:--pre-include|-include)=?(.*)")

_FILE_OPTION = re.compile(r"--?(?:include|pre-include|pch|use-pch|create-pch)(?!-path)")

_OPAQUE_OPTION = re.compile(r"--?(?:[\w-]*pch[\w-]*|X?cudafe[\w-]*|X?cicc[\w-]*)(?:=(.*))?", re.IGNORECASE)
"""Matches an option that reads precompiled headers, or that passes any option to a compiler inside NVRTC, such as
`-Xcudafe`. Group 1 is the value after "="; None if there is no "="."""

_HARMLESS_VALUE = re.compile(
    r"--?(?:diag_\w+|display_error_number|no_warnings|extended-lambda|relaxed_constexpr)(?:=.*)?"
)
"""Matches a value of `-Xcudafe` that does not make the compiler read a file: "--diag_suppress=20012". Users may set
such values (see `config.compiler_options`)."""


def option_folders(options: Sequence[str]) -> list[str]:
    """Return the include folders in the compiler's options, in their order: absolute, or relative to the project."""
    return _option_values(_FOLDER_OPTION, options)


def pre_includes(options: Sequence[str]) -> list[str]:
    """Return the names of the headers that the compiler's options include before a source."""
    return _option_values(_PRE_INCLUDE_OPTION, options)


def opaque_options(options: Sequence[str]) -> list[str]:
    """Return the options with which the compiler may read files that cannot be determined from the options and texts:
    options for precompiled headers, and options that are passed to a compiler inside NVRTC."""
    values = zip(options, [*options[1:], ""], strict=False)
    matches = ((option, _OPAQUE_OPTION.fullmatch(option), following) for option, following in values)
    return [
        option
        for option, match, following in matches
        if match and not _HARMLESS_VALUE.fullmatch(following if match[1] is None else match[1])
    ]


def read_at_most(root: str, source: str, text: bytes, options: Sequence[str]) -> list[str] | None:
    """Return the absolute paths of all headers that NVRTC may read for a source with this text and these options.

    None if they are unknown.
    """
    if any(map(_FILE_OPTION.match, options)):
        return None
    folders = option_folders(options)
    reach = reachable(Path(root), source, folders, text, macro_definitions(options))
    paths = [header.path for header in reach.headers]
    known = tuple(f"{folder}{os.sep}" for folder in (root, *search_folders(root, source, folders)))
    # A header elsewhere may be for other compilers only; if it is not, NVRTC fails.
    return paths if reach.certain and all(path.startswith(known) for path in paths) else None


def _option_values(option: re.Pattern[str], options: Sequence[str]) -> list[str]:
    """Return all values of one option in `options`. `option` matches the argument that names the option. The value is
    group 1 of the match (`-Ifolder`), or the next argument if group 1 is empty (`-I`, `folder`)."""
    values = []
    for index, argument in enumerate(options):
        if match := option.fullmatch(argument):
            values.append(match[1] or "".join(options[index + 1 : index + 2]))
    return values


# --- estimates --------------------------------------------------------------------------------------

_INCLUDE_LINE = re.compile(rb'^[ \t]*#[ \t]*include(?:_next)?[ \t]*[<"]([^>"\n]+)', re.MULTILINE)


def header_bytes(text: bytes, root: str, folders: Sequence[str], limit: int) -> int:
    """Return an estimate of the total size in bytes of the headers that a text includes, at most `limit`.

    It is quick: an include is what begins a line as one, even in a comment, and the first file of that name counts.
    """
    sizes: dict[str, int] = {}

    def included(path: str) -> Iterator[str]:
        if sum(sizes.values()) >= limit:
            return
        own = os.path.dirname(path) or root
        for name in map(os.fsdecode, _INCLUDE_LINE.findall(Path(path).read_bytes() if path else text)):
            places = (os.path.join(root, folder, name) for folder in (own, *folders))
            found = next((place for place in places if place != path and os.path.isfile(place)), None)  # #include_next
            if found is not None and found not in sizes:
                sizes[found] = os.path.getsize(found)
                yield found

    visit([""], included)  # "" is the text itself
    return min(sum(sizes.values()), limit)


def is_toolkit_header(path: str) -> bool:
    """Return whether a header belongs to the CUDA toolkit or CCCL: a folder above it contains a well-known header of
    theirs."""
    marks = ("cuda_runtime_api.h", "cuda/std/version")
    return any((parent / mark).is_file() for parent in Path(path).parents for mark in marks)


_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_SOURCE = re.compile(rb'\.cu[>"]')


def sources_included_by_others(
    root: Path, sources: Mapping[str, Sequence[str]], note: Callable[[str], object]
) -> dict[str, str]:
    """Return included source -> including source, for each source that another one includes, directly or through
    headers. Of several that include it, the first by name counts.

    `sources` maps project-relative paths to their include folders. `note` gets each path where a header was looked
    for, existing or not. Of sources that include each other, the first by name counts as not included.
    """
    found = {source: set(reached(root, source, folders, note)) & sources.keys() for source, folders in sources.items()}
    others_of = {source: others - {source} for source, others in found.items()}
    everything = set().union(*others_of.values())
    tops = [source for source in sorted(sources) if source not in everything]
    covered = set(tops).union(*(others_of[source] for source in tops))
    for source in sorted(sources):  # what is left includes each other
        if source not in covered:
            tops.append(source)
            covered |= {source, *others_of[source]}
    includers = {other: source for source in sorted(others_of, reverse=True) for other in others_of[source]}
    return {other: source for other, source in sorted(includers.items()) if other not in tops}


def reached(root: Path, source: str, folders: Sequence[str], note: Callable[[str], object]) -> Iterator[str]:
    """Yield the project-relative path of a source and of each file of the project that it includes, directly or not.

    `note` gets each project-relative path where a header was looked for, existing or not.
    """

    def is_file(path: str) -> bool:
        note(path)
        return (root / path).is_file()

    def included(path: str) -> Iterator[str]:
        try:
            text = (root / path).read_bytes() if (root / path).is_file() else b""
        except OSError:  # reading the source raises the error
            text = b""
        names = list(map(os.fsdecode, _INCLUDE.findall(text)))
        if _SOURCE.search(text):  # rare; and only what is no comment may turn a source into a header
            certain = {each.name for each in includes(text) if not each.is_test}
            names = [name for name in names if not name.endswith(".cu") or name in certain]
        for name in names:
            places = (os.path.normpath(os.path.join(folder, name)) for folder in (os.path.dirname(path), *folders))
            found = next((place for place in places if not os.path.isabs(place) and is_file(place)), None)
            if found is not None:
                yield found.replace(os.sep, "/")

    yield from visit([source], included)
