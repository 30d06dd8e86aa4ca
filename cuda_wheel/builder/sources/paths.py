"""Compute paths in a project and check that files lie inside it; find the folders of libraries outside the project."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from cuda_wheel.builder.config.names import TABLE
from cuda_wheel.builder.errors import ConfigError

__all__ = [
    "UNPRINTABLE",
    "below",
    "files_below",
    "is_inside",
    "is_installed_toolkit",
    "leads_out",
    "outside_error",
    "shown",
    "system_folders",
]


UNPRINTABLE = re.compile("[\0-\x1f\x7f\ud800-\udfff]")
"""Matches control characters and surrogates. A surrogate in a file name stands for a non-UTF-8 byte."""


def below(path: str, folder: str) -> str | None:
    """Return the relative path from a folder to an absolute path in it, without following links; None if the path is
    not in the folder."""
    if os.path.splitdrive(path)[0] != os.path.splitdrive(folder)[0]:  # Windows has no relative path between drives
        return None
    relative = os.path.relpath(path, folder)
    return None if relative.startswith(os.pardir) else relative


def files_below(root: Path, folders: Iterable[str]) -> list[str]:
    """Return all files in folders of the project and in their subfolders, project-relative with "/"."""
    paths = (path for folder in folders for path in (root / folder).rglob("*") if path.is_file())
    return sorted({path.relative_to(root).as_posix() for path in paths})


def is_inside(path: str, root: Path) -> bool:
    """Return whether a file lies in the project after links are followed."""
    return os.path.realpath(path).startswith(os.path.realpath(root) + os.sep)


def leads_out(path: Path, root: Path) -> bool:
    """Return whether a path, after links are followed, is neither the project's folder nor in it."""
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


_TOOLKIT = re.compile(r"(?:.*/)?cuda(?:-[\d.]+|/v[\d.]+)?(?:/targets/[\w-]+)?/include(?:/cccl)?/*", re.IGNORECASE)
"""Matches the usual path of a CUDA toolkit's headers, such as "/usr/local/cuda-12.9/targets/x86_64-linux/include"."""


def is_installed_toolkit(root: Path, folder: str) -> bool:
    """Return whether a folder that a project names is the `include` folder of a CUDA toolkit, outside the project.

    It is if it contains the toolkit's headers, or if its path is usual for them: on another machine it may contain
    them.
    """
    path = root / folder
    if not leads_out(path, root):
        return False
    marks = ("cuda_runtime_api.h", "cuda/std/version")
    return any((path / mark).is_file() for mark in marks) or _TOOLKIT.fullmatch(path.as_posix()) is not None


def outside_error(included_at: str, path: str) -> ConfigError:
    """Return the error for a header outside the project with this path; `included_at` is the place of the `#include`,
    "file:line"."""
    return ConfigError(
        f"{included_at} includes {path}, which lies outside the project, so that no sdist would have it: copy it into "
        "the project; or, if it is a library's, name the library's folder in system-include-dirs."
    )


def shown(path: str) -> str:
    """Return a path for messages: quoted if it contains unprintable characters."""
    return repr(path) if UNPRINTABLE.search(path) else path


_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})", re.ASCII)


def system_folders(root: Path, written: Iterable[str], environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the absolute folders that `system-include-dirs` of a project in `root` names, in their order, each once.

    Folders of CUDA toolkits are left out: the toolchain's headers are used in their place. Raises ConfigError for a
    variable that is not set and for a folder that does not exist, that belongs to the project or contains it.
    """
    folders: dict[str, None] = {}
    for each in written:
        where = f"{TABLE}.system-include-dirs: {each}"
        folder = os.path.normpath(os.path.join(root, _expanded(each, where, environ)))
        if not os.path.isdir(folder):
            shown = "" if folder == os.path.normpath(each) else f" ({folder})"
            raise ConfigError(f"{where}: there is no such folder{shown}.")
        if Path(os.path.realpath(root)).is_relative_to(os.path.realpath(folder)):
            raise ConfigError(f"{where}: the folder contains the project ({folder}): name the library's own folder.")
        if not os.path.isabs(each) and "$" not in each and not leads_out(root / each, root):
            raise ConfigError(f"{where}: the folder lies in the project: name it in include-dirs.")
        if not is_installed_toolkit(root, folder):
            folders[folder] = None
    return tuple(folders)


def _expanded(text: str, where: str, environ: Mapping[str, str]) -> str:
    """Return `text` with each `$NAME` and `${NAME}` replaced by the value of that environment variable in `environ`.
    Raises ConfigError if a variable is empty or not set. `where`, the name of the setting, begins the error message:
    "tool.cuda-wheel.system-include-dirs: $LIB/include: the environment variable LIB is not set. ..."."""

    def value(match: re.Match[str]) -> str:
        variable = match[1] or match[2]
        if not environ.get(variable):
            raise ConfigError(
                f"{where}: the environment variable {variable} is not set. Set it to the folder of the library, which "
                "builds of the project need."
            )
        return environ[variable]

    return _VARIABLE.sub(value, text)
