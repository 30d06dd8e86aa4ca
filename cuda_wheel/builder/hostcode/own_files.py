"""The files of a job's project as a compilation reads them, and the compiler's errors in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from cuda_wheel.builder.hostcode.blocks import CodeBlock, SourceBlocks
from cuda_wheel.builder.hostcode.edits import included_name

__all__ = ["LocatedError", "Project", "RefusedCode", "definition_at", "project_files"]


class LocatedError(NamedTuple):
    """An error of the compiler. `places` are the project's files and lines with columns where it is, the innermost
    first: for an error in a library's template, where the project uses that."""

    places: tuple[tuple[str, int, int | None], ...]
    message: str
    key: tuple[object, ...] = ()
    """Equal for the same error of different results."""

    @property
    def is_missing_header(self) -> bool:
        """Whether the compiler did not find a header."""
        return self.message.startswith("cannot open source file")


class RefusedCode(NamedTuple):
    """An error, at a place in one of the project's files."""

    file: str
    line: int
    column: int | None
    """In characters, from 1."""
    message: str
    in_instance: bool = False
    """Whether it is about one instance of a template: another instance may compile."""


class Project(NamedTuple):
    """How to read a job's files. Paths are project-relative; those of libraries outside the project are absolute."""

    source: str
    text: bytes
    read: Callable[[str], bytes]
    """Returns the content of one of the project's files."""
    find: Callable[[str, bool, str], str | None]
    """Returns the path of the header of `#include "name"` (True) or `<name>` in a file; None if it is not its own."""
    is_own: Callable[[str], bool]
    """Returns whether a path is that of a file of the project, and not of a library in its folder."""
    with_library: Callable[[str], Project | None]
    """Returns this project extended by the headers of the library that contains a path. None if the project has them
    already, if no library contains the path, or if the headers of that library are not rewritten."""
    instantiate: tuple[str, ...]

    def content(self, file: str) -> bytes:
        """Return the content of a file, which may be the source."""
        return self.text if file == self.source else self.read(file)


def project_files(project: Project) -> dict[str, SourceBlocks]:
    """Return the source and the headers that it includes, directly or not, by path: the project's, and those of its
    libraries that count as the project's."""
    files: dict[str, SourceBlocks] = {}
    waiting = [project.source]
    while waiting:
        name = waiting.pop()
        if name in files:
            continue
        files[name] = blocks = SourceBlocks(project.content(name))
        for directive in blocks.directives:
            asked = included_name(directive)
            header = None if asked is None else project.find(*asked, name)
            waiting += [] if header is None else [header]
    return files


def definition_at(files: Mapping[str, SourceBlocks], file: str, line: int, column: int | None) -> CodeBlock | None:
    """Return the definition around a place; None if there is none, or if the file is not among these."""
    blocks = files.get(file)
    return None if blocks is None else blocks.definition_at(blocks.offset(line, column))
