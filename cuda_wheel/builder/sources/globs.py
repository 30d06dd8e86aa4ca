"""Resolve the paths and globs of `[tool.cuda-wheel]` to files of the project."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.sources.paths import UNPRINTABLE, leads_out

__all__ = ["expanded", "is_glob", "matching_files", "project_path"]


def expanded(patterns: Iterable[str], where: str, root: Path) -> tuple[str, ...]:
    """Return the files that a list of paths and globs names, in order; those of each glob sorted."""
    paths: list[str] = []
    for pattern in patterns:
        plain = project_path(pattern, where, root)
        if is_glob(plain, root):
            paths += [project_path(path, where, root) for path in matching_files(pattern, where, root)]
        else:
            paths.append(plain)
    return tuple(paths)


def is_glob(path: str, root: Path) -> bool:
    """Return whether a path is a glob, and not the name of a file."""
    return any(character in path for character in "*?[") and not (root / path).exists()


def matching_files(pattern: str, where: str, root: Path) -> list[str]:
    """Return the project's files that match a glob, project-relative and sorted; ConfigError if there are none."""
    try:
        # From Python 3.13 on, it is the same as "*".
        if any("**" in part and part != "**" for part in PurePosixPath(pattern).parts):
            raise ValueError('"**" can only be an entire path component')
        matches = sorted(path.relative_to(root).as_posix() for path in root.glob(pattern) if path.is_file())
    except (ValueError, IndexError, NotImplementedError) as error:
        raise ConfigError(f"{where}: {pattern!r} is not a pattern of files such as 'src/**/*.cu': {error}.") from error
    if not matches:
        raise ConfigError(f"{where}: {pattern!r} matches no file in {root.name}.")
    return matches


def project_path(path: str, where: str, root: Path) -> str:
    """Return a project-relative path in its shortest form; ConfigError if it leads out of the project."""
    if UNPRINTABLE.search(path):
        raise ConfigError(f"{where}: {path!r} contains characters that a file name must not have: rename the file.")
    plain = PurePosixPath(path.replace("\\", "/"))
    if plain.is_absolute() or Path(path).is_absolute() or ".." in plain.parts or leads_out(root / plain, root):
        raise ConfigError(
            f"{where}: {path} lies outside the project. Copy it into the project, so that its sdist has it too."
        )
    return str(plain)
