"""Compute paths in a project, and check that files lie inside it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from cuda_wheel.builder.errors import ConfigError

__all__ = [
    "below",
    "files_below",
    "is_inside",
    "outside_error",
]


def below(path: str, folder: str) -> str | None:
    """Return an absolute path from a folder on, by its words alone; None where it leads to nothing in there."""
    if os.path.splitdrive(path)[0] != os.path.splitdrive(folder)[0]:  # of another one, Windows has no relative path
        return None
    relative = os.path.relpath(path, folder)
    return None if relative.startswith(os.pardir) else relative


def files_below(root: Path, folders: Iterable[str]) -> list[str]:
    """Return the files in folders of the project and all that these hold, project-relative with "/"."""
    paths = (path for folder in folders for path in (root / folder).rglob("*") if path.is_file())
    return sorted({path.relative_to(root).as_posix() for path in paths})


def is_inside(path: str, root: Path) -> bool:
    """Return whether a file lies in the project, wherever links lead to."""
    return os.path.realpath(path).startswith(os.path.realpath(root) + os.sep)


def outside_error(asked: str, path: str) -> ConfigError:
    """Return the error for a header outside the project; `asked` says who includes it."""
    return ConfigError(
        f"{asked} includes {path}, which lies outside the project, so that no sdist would have it: copy it into the "
        "project."
    )
