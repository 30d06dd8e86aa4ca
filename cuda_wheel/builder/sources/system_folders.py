"""Find the folders of libraries outside the project that `system-include-dirs` names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from cuda_wheel.builder.config.settings import TABLE
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.sources.paths import is_installed_toolkit, leads_out

__all__ = ["system_folders"]

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
    def value(match: re.Match[str]) -> str:
        variable = match[1] or match[2]
        if not environ.get(variable):
            raise ConfigError(
                f"{where}: the environment variable {variable} is not set. Set it to the folder of the library, which "
                "builds of the project need."
            )
        return environ[variable]

    return _VARIABLE.sub(value, text)
