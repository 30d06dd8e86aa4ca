"""Texts that a Python file reads from files of its project, found without running it.

A program that reads its CUDA C++ by `open`, `pathlib`, `importlib.resources`, `pkgutil` or `pkg_resources` gives the
path of a source. The file is read here, so that its text is known, and the text keeps the path.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

__all__ = ["OWN_PACKAGE", "READS", "FileText", "OpenFile", "file_function", "file_method", "lines_of"]

OWN_PACKAGE = "__main__"
"""What stands for the name of the file's own module or package: the value of `__name__`. Its resources are in the
file's folder."""

READS = frozenset({"open", "read_text", "read_bytes", "read_binary", "open_text", "open_binary", "get_data"}) | {
    "resource_string",
    "resource_stream",
}
"""Names of functions and methods that read a file."""

_LARGEST = 1 << 20
"""The largest file that is read, in bytes."""


class FileText(str):
    """The whole text of a file. Text that is composed of it is a plain string."""

    path: str
    """Absolute path of the file."""

    __slots__ = ("path",)

    @classmethod
    def of(cls, path: str) -> FileText:
        """Return the text of a file. Raises OSError, or ValueError if it is too large, no file or no UTF-8 text."""
        status = os.stat(path)
        if not os.path.isfile(path) or status.st_size > _LARGEST:
            raise ValueError(path)
        return _file_text(path, status.st_mtime_ns)


@lru_cache(maxsize=32)  # a loop may read a file thousands of times
def _file_text(path: str, changed: int) -> FileText:
    """Return the text of a file. `changed` is when it was changed last, for the cache."""
    text = FileText(Path(path).read_text(encoding="utf-8"))
    text.path = os.path.abspath(path)
    return text


class OpenFile:
    """A file that is opened for reading."""

    def __init__(self, path: str) -> None:
        self.path = path


def file_function(function: str, arguments: Sequence[Any], keywords: Mapping[str, Any], folder: str) -> Any:
    """Return what a function gives that opens, reads or finds a file: a text, an OpenFile or a Path; None for other
    functions, and for a file that cannot be read.

    `folder` is that of the Python file. A relative path is looked for there, then in each folder above, up to that of
    the project.
    """
    name = function.rpartition(".")[2]
    if name == "open" and arguments:
        return _opened(arguments[0], arguments[1:2] or [keywords.get("mode", "r")], folder)
    if name == "files" and len(arguments) < 2:
        found = _package_folder(arguments[0] if arguments else OWN_PACKAGE, folder)
        return None if found is None else Path(found)
    if name == "as_file" and arguments and isinstance(arguments[0], Path):
        return arguments[0]
    if len(arguments) < 2 or not all(isinstance(each, str) for each in arguments[:2]):
        return None
    # Functions of (package, name of a resource): of importlib.resources, pkgutil and pkg_resources.
    package = _package_folder(arguments[0], folder)
    path = None if package is None else os.path.join(package, *arguments[1:])
    if name in ("read_text", "read_binary", "get_data", "resource_string"):
        return path and _text(path, folder)
    if name in ("open_text", "open_binary", "resource_stream"):
        return path and OpenFile(path)
    if function.endswith("resources.path"):
        return path and Path(path)
    return path if name == "resource_filename" else None


def file_method(owner: Any, name: str, arguments: Sequence[Any], folder: str) -> Any:
    """Return the result of a method of a text, open file or path that keeps or reads a file's text; None for others."""
    if isinstance(owner, FileText):
        return owner if name in ("decode", "encode") else None
    if isinstance(owner, OpenFile):
        if name == "readlines" and not arguments:
            return lines_of(owner, folder)
        return _text(owner.path, folder) if name == "read" and not arguments else None
    if not isinstance(owner, Path):
        return None
    if name in ("read_text", "read_bytes"):
        return _text(str(owner), folder)
    if name == "open":
        return _opened(owner, arguments[:1] or ["r"], folder)
    return getattr(owner, name)(*arguments) if name in ("joinpath", "with_name", "with_suffix") else None


def lines_of(file: OpenFile, folder: str) -> list[str] | None:
    """Return the lines of an open file, with their ends; None if it cannot be read."""
    text = _text(file.path, folder)
    return None if text is None else text.splitlines(keepends=True)


def _opened(path: Any, mode: Sequence[Any], folder: str) -> OpenFile | None:
    is_read = isinstance(mode[0], str) and set(mode[0]) <= set("rbt")
    return OpenFile(os.fspath(path)) if is_read and isinstance(path, (str, os.PathLike)) else None


def _text(path: str, folder: str) -> FileText | None:
    """Return the text of the file that a program means by a path; None if there is none."""
    for place in _places(folder):
        try:
            return FileText.of(os.path.join(place, path))
        except (OSError, ValueError):
            continue
    return None


@lru_cache(maxsize=32)
def _places(folder: str) -> tuple[str, ...]:
    """Return a folder and those above it, up to the one of the project; the folder alone outside of projects."""
    above = [Path(folder), *Path(folder).parents]
    roots = [place for place in above if any((place / name).is_file() for name in ("pyproject.toml", "setup.py"))]
    return tuple(map(str, above[: above.index(roots[0]) + 1] if roots else above[:1]))


def _package_folder(package: Any, folder: str) -> str | None:
    """Return the folder of a package by its dotted name; None if it is not a folder of the project."""
    if not isinstance(package, str):
        return None
    first, _, rest = package.partition(".")
    if first == OWN_PACKAGE:
        return os.path.join(folder, *rest.split("."))
    parts = package.split(".")
    places = (os.path.join(place, above, *parts) for place in _places(folder) for above in ("", "src"))
    return next(filter(os.path.isdir, places), None)
