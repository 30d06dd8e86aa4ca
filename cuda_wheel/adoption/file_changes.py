"""Changes of a project's files: shown as a diff, or written, all of them or none."""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from cuda_wheel.builder.errors import ConfigError

__all__ = ["FileChange", "diff", "read_text", "relative_path", "write_changes"]


class FileChange(NamedTuple):
    """What a file becomes. Line ends are kept as they are."""

    path: Path
    before: str | None
    """None for a new file."""
    after: str


def read_text(path: Path) -> str | None:
    """Return the text of a file, with its line ends; None if there is no file. Raises ConfigError."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error


def relative_path(path: str | Path, root: Path) -> str:
    """Return a path relative to `root`, with "/"."""
    return os.path.relpath(path, root).replace(os.sep, "/")


def diff(changes: Sequence[FileChange], root: Path) -> str:
    """Return the changes as a unified diff, with paths relative to `root`."""
    lines: list[str] = []
    for change in changes:
        name = relative_path(change.path, root)
        before, after = ((text or "").splitlines(keepends=True) for text in (change.before, change.after))
        old = "/dev/null" if change.before is None else f"a/{name}"
        lines += difflib.unified_diff(before, after, old, f"b/{name}")
        if change.before is None and not after:
            lines += ["--- /dev/null\n", f"+++ b/{name}\n"]  # an empty file, which has no lines to show
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def write_changes(changes: Sequence[FileChange]) -> None:
    """Write all changes, or none: on an error, every file and folder is as before. Raises ConfigError."""
    with ExitStack() as undo:
        for change in changes:
            try:
                _write(change, undo)
            except OSError as error:
                raise ConfigError(f"{change.path} cannot be written: {error.strerror or error}.") from error
        undo.pop_all()


def _write(change: FileChange, undo: ExitStack) -> None:
    """Write one change, and add how to undo it."""
    path = Path(os.path.realpath(change.path))  # a link stays a link
    for folder in reversed([each for each in path.parents if not each.exists()]):
        folder.mkdir()
        undo.callback(folder.rmdir)
    if change.before is None:
        with path.open("xb") as stream:  # fails if another process made the file meanwhile
            undo.callback(path.unlink)
            stream.write(change.after.encode("utf-8"))
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with ExitStack() as incomplete:
        incomplete.callback(temporary.unlink, missing_ok=True)
        temporary.write_bytes(change.after.encode("utf-8"))
        shutil.copymode(path, temporary)
        temporary.replace(path)
        undo.callback(path.write_bytes, change.before.encode("utf-8"))
