"""Resolve the paths and globs of `[tool.cuda-wheel]` to files of the project."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.sources.paths import UNPRINTABLE, leads_out

__all__ = ["EXCLUDED", "expanded", "is_glob", "literal_paths", "matching_files", "project_path"]

EXCLUDED = "!"
"""How a pattern begins whose files are taken out of those that the patterns before it name."""


def expanded(patterns: Iterable[str], where: str, root: Path, start: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the files of `start` and those that a list of paths and globs names, in order; those of each glob sorted.

    A pattern that begins with "!" takes its files out again; of several patterns that match a file, the last counts.
    """
    paths = list(start)
    for pattern in patterns:
        positive = pattern.removeprefix(EXCLUDED)
        plain = project_path(positive, where, root)
        found = [plain]
        if is_glob(plain, root):
            found = [project_path(path, where, root) for path in matching_files(positive, where, root)]
        if pattern == positive:
            paths += found
        else:
            _check_excluded(found, pattern, where, root)
            paths = [path for path in paths if path not in found]
    return tuple(paths)


def literal_paths(patterns: Iterable[str], root: Path) -> set[str]:
    """Return the project-relative paths in a list that are no globs and exclude nothing: what a person named."""
    plain = (str(PurePosixPath(pattern.replace("\\", "/"))) for pattern in patterns if not pattern.startswith(EXCLUDED))
    return {path for path in plain if not is_glob(path, root)}


def _check_excluded(found: Iterable[str], pattern: str, where: str, root: Path) -> None:
    """Raise ConfigError if a pattern excludes a file that does not exist: it is misspelt, or the file was renamed."""
    missing = next((path for path in found if not (root / path).is_file()), None)
    if missing is not None:
        raise ConfigError(f"{where}: {pattern!r} excludes no file: there is no file {missing}.")


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
