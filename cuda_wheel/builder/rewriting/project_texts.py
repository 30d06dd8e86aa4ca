"""Read the texts of a job's project, and write changed ones.

The texts are a source and the headers that it includes, but for those of the toolkit and of this package. PyTorch's own
headers are read like the project's: they name what they use of the stand-ins. A changed header reaches the compiler in
memory, under its project-relative path; each file that includes it is changed to name that path. Line numbers stay the
same.

PyTorch has over a thousand headers for its operators, such as `<ATen/ops/zeros.h>`. Here each is a line in memory that
includes the stand-in for all operators; NVRTC finds it before it searches for files. So is the list of the operators
that a source names: declaring all of them takes longer than compiling a small kernel.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from cuda_wheel.builder.cxx.tokens import Directive
from cuda_wheel.builder.rewriting.blocks import CodeBlock, SourceBlocks
from cuda_wheel.builder.rewriting.constants import Replacement
from cuda_wheel.builder.sources.header_dependencies import is_toolkit_header, visit
from cuda_wheel.builder.toolchain.toolchain import INCLUDE, STAND_INS

__all__ = [
    "LocatedError",
    "Project",
    "RefusedCode",
    "changed_files",
    "definition_at",
    "holds_toolkit",
    "included_name",
    "operator_headers",
    "operator_names_header",
    "project_files",
    "project_texts",
    "some_project_texts",
]


_INCLUDE = re.compile(r'^(?:"([^"]+)"|<([^>]+)>)')


def included_name(directive: Directive) -> tuple[str, bool] | None:
    """Return the name of the header that a directive includes, and whether the name is in quotes.

    None if the directive is not an `#include`, or if a macro gives the name.
    """
    match = _INCLUDE.match(directive.rest) if directive.word == "include" else None
    return None if match is None else (match[1] or match[2], match[1] is not None)


def changed_files(
    files: Mapping[str, SourceBlocks],
    source: str,
    edits: Mapping[str, Iterable[Replacement]],
    find: Callable[[str, bool, str], str | None],
) -> dict[str, bytes]:
    """Return the new text of the source and of each header that changes, by project-relative path.

    `edits` are the replacements, by file. `find` returns the project-relative path of the header of
    `#include "name"` (True) or `<name>` in a file; None if it is no file of the project.
    """
    spans: dict[str, list[Replacement]] = {name: list(each) for name, each in edits.items()}
    spans.setdefault(source, [])
    includes = [
        (name, directive, header)
        for name, blocks in files.items()
        for directive in blocks.directives
        if (header := _header(directive, name, find)) is not None
    ]
    changed = set(spans)
    while new := {name for name, _, header in includes if header in changed} - changed:
        changed |= new
    for name, directive, header in includes:
        if name in changed and header in changed:
            spans.setdefault(name, []).append(
                (directive.start, directive.end, b'#include "' + os.fsencode(header) + b'"')
            )
    return {name: _replaced(files[name].content, edits) for name, edits in spans.items()}


def _header(directive: Directive, name: str, find: Callable[[str, bool, str], str | None]) -> str | None:
    """Return the path of the header that `directive` in the file `name` includes. None if the directive is not an
    `#include`, or if `find` returns None.

    `find`: function of (header's name, whether the name is in quotes, path of the including file). It returns the
    header's path, or None.
    """
    asked = included_name(directive)
    return None if asked is None else find(*asked, name)


def _replaced(content: bytes, edits: Sequence[Replacement]) -> bytes:
    """Return `content` after the replacements in `edits`. A replacement by nothing writes spaces over the old text. The
    line breaks of an old text are kept, so that line numbers stay the same."""
    pieces: list[bytes] = []
    position = 0
    for start, end, new in sorted(edits):
        if start < position:  # inside a span that was replaced as a whole
            continue
        old = content[start:end]
        pieces += [content[position:start], new + b"\n" * old.count(b"\n") if new else re.sub(rb"[^\r\n]", b" ", old)]
        position = end
    return b"".join([*pieces, content[position:]])


_HEADER = "cuda_wheel_detail/pytorch/operator_names.h"
_NAMES = INCLUDE.parent / "pytorch" / _HEADER
_NAMED_ELSEWHERE = (
    "from_blob",
    "index",
    "index_put",
    "max",
    "median",
    "min",
    "nanmedian",
    "svd",
    "tensor",
    "to",
    "where",
)
"""Names of PyTorch operators that are absent from the lists of names in the header operator_names.h: the stand-in
headers declare each of these operators separately."""


_LISTED = re.compile(rb"\bX\((\w+)\)")


@cache
def _lists() -> bytes:
    return _NAMES.read_bytes()


@cache
def operator_headers() -> dict[str, bytes]:
    """Return name in `#include` -> text of the header, for each PyTorch operator; a name is "ATen/ops/zeros.h"."""
    names = {match.decode().removesuffix("_") for match in _LISTED.findall(_lists())}
    return {f"ATen/ops/{name}.h": b"#include <ATen/Functions.h>\n" for name in names.union(_NAMED_ELSEWHERE)}


def operator_names_header(names: Set[bytes]) -> dict[str, bytes]:
    """Return {path: text} of the header that lists PyTorch's operators, with only the operators in `names`."""
    return {_HEADER: _LISTED.sub(lambda each: each[0] if names & {each[1], each[1] + b"_out"} else b"", _lists())}


class LocatedError(NamedTuple):
    """An error of the compiler, and its places in the source and the headers."""

    places: tuple[tuple[str, int, int | None], ...]
    """(file, 1-based line, 1-based column or None) of each place of the error. The error's own place is first. For an
    error in a template, places that instantiate the template follow. Empty if the compiler names no place."""
    message: str
    """Error message of the compiler, without the place of the error."""
    key: tuple[object, ...] = ()
    """Identifies the error: file, line, column and message. The keys of two errors, from different compilations of a
    source, are equal if the errors are the same."""

    @property
    def is_missing_header(self) -> bool:
        """Whether the compiler did not find a header."""
        return self.message.startswith("cannot open source file")


class RefusedCode(NamedTuple):
    """An error of the compiler at one place in the project's files."""

    file: str
    """Path of the file with the error: project-relative, or absolute for a library's header."""
    line: int
    """1-based line of the error in `file`."""
    column: int | None
    """1-based column of the error, in characters; None if it is unknown."""
    message: str
    in_instance: bool = False
    """Whether the error is in an instance of a template. Other instances of the template may compile."""


class Project(NamedTuple):
    """How to read a job's files. Paths are project-relative; those of libraries outside the project are absolute."""

    source: str
    """Project-relative path of the source that the job compiles."""
    blocks: Callable[[str], SourceBlocks]
    """Function of a path that returns the tokens and definitions of the source or of another file of the project. It
    reads a file at the first call only: to find the tokens of a project with large headers takes many seconds."""
    find: Callable[[str, bool, str], str | None]
    """Function of (header's name, whether the name is in quotes, path of the including file). It returns the header's
    path. None if the header is neither in the project nor in a library that `with_library` added."""
    is_own: Callable[[str], bool]
    """Function of a path that returns whether the file is the project's own. False for a file of a library, even if the
    library is in the project's folder."""
    with_library: Callable[[str], Project | None]
    """Function of a header's path. It returns this project extended by all headers of the library that contains the
    header.

    None if no library contains the header, if the project already has the library, or if the library is not rewritten.
    """
    instantiate: tuple[str, ...]
    """C++ expressions that name template instances, such as "scale<float>", from the module's setting `instantiate`."""


def project_files(project: Project) -> dict[str, SourceBlocks]:
    """Return path -> text of the source and of all headers that it includes, directly or not, and that `project.find`
    finds: the project's, and those of the libraries by which the project was extended."""
    files: dict[str, SourceBlocks] = {}
    waiting = [project.source]
    while waiting:
        name = waiting.pop()
        if name in files:
            continue
        files[name] = blocks = project.blocks(name)
        for directive in blocks.directives:
            asked = included_name(directive)
            header = None if asked is None else project.find(*asked, name)
            waiting += [] if header is None else [header]
    return files


def definition_at(files: Mapping[str, SourceBlocks], file: str, line: int, column: int | None) -> CodeBlock | None:
    """Return the definition that contains a place; None if there is none, or if the file is not in `files`."""
    blocks = files.get(file)
    return None if blocks is None else blocks.definition_at(blocks.offset(line, column))


_INCLUDED_NAME = re.compile(rb'^[ \t]*#[ \t]*include(?:_next)?\b[ \t]*(?:[<"]([^>"\n]+)[>"])?', re.MULTILINE)

_LIMIT = 1 << 20
"""Maximum total size in bytes of the texts that are searched for names. Compiling larger texts takes longer than the
search could save, so they are not searched."""


def project_texts(
    text: bytes, source: str, root: str, folders: Sequence[str], limit: int = _LIMIT
) -> list[bytes] | None:
    """Return the text of a source, and the texts of the headers that it includes, directly or not; None if they have
    more than `limit` bytes, or if a macro gives the name of a header.

    `folders` are the include folders in search order; relative ones start from `root`. Every file of a name in any of
    the folders counts, also those that the compiler skips or finds elsewhere first; but not one that has a stand-in,
    which the compiler finds before it.
    """
    texts, is_known = _read(text, source, root, folders, limit)
    return texts if is_known else None


def some_project_texts(text: bytes, source: str, root: str, folders: Sequence[str]) -> list[bytes]:
    """Return the texts of `project_texts`; only some of them if they are too long or a macro gives a header's name."""
    return _read(text, source, root, folders, _LIMIT)[0]


def _read(text: bytes, source: str, root: str, folders: Sequence[str], limit: int) -> tuple[list[bytes], bool]:
    """Return (texts, is complete) of a source and of the headers that it includes, directly or not. The texts are
    incomplete if their total size exceeds `limit` bytes, or if a macro gives a header's name.

    `text`: content of the source.
    `source`: path of the source, relative to `root`.
    `folders`: include folders in search order.
    """
    texts: list[bytes] = []
    is_known = True
    own = [folder for folder in folders if not holds_toolkit(os.path.join(root, folder))]
    after = folders[folders.index(STAND_INS[0]) :] if STAND_INS[0] in folders else ()
    first = [folder for folder in own if folder not in after]

    def included(path: str) -> Iterator[str]:
        nonlocal is_known
        texts.append(Path(path).read_bytes() if texts else text)
        if sum(map(len, texts)) > limit:
            is_known = False
        for name in _INCLUDED_NAME.findall(texts[-1]) if is_known else ():
            if not name:  # a macro gives the header's name
                is_known = False
            header = os.fsdecode(name)
            for folder in dict.fromkeys((os.path.dirname(path), *(first if _has_stand_in(header) else own))):
                place = os.path.normpath(os.path.join(root, folder, header))
                if name and os.path.isfile(place):
                    yield place

    visit([os.path.join(root, source)], included)
    return texts, is_known


@lru_cache(maxsize=4096)
def _has_stand_in(header: str) -> bool:
    """Return whether this package has a stand-in header of this name, such as "cuda_fp16.h" or "ATen/ops/zeros.h"."""
    return header in operator_headers() or any(os.path.isfile(os.path.join(folder, header)) for folder in STAND_INS)


@lru_cache(maxsize=64)
def holds_toolkit(folder: str) -> bool:
    """Return whether a folder holds headers of the toolkit, of CCCL or of this package."""
    marks = ("cuda_fp16.h", "curand_kernel.h", "crt/host_defines.h")
    return (
        folder in (str(INCLUDE), *STAND_INS)
        or is_toolkit_header(os.path.join(folder, "any"))
        or any(os.path.isfile(os.path.join(folder, mark)) for mark in marks)
    )
