"""What a build says of the libraries that a module's sources include, and of folders that it does not need."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from cuda_wheel.builder.config.settings import TABLE
from cuda_wheel.builder.toolchain.records import STAND_INS, Toolchain
from cuda_wheel.builder.toolchain.taken_files import other_libraries

__all__ = ["library_notes", "unneeded_folders"]

_LAUNCHERS = {
    str(PurePath(STAND_INS[0], "thrust", "detail", "cuda_wheel", "algorithms.h")): "Thrust's",
    str(PurePath(STAND_INS[0], "cub", "device", "cuda_wheel_launcher.h")): "CUB's",
}
"""The stand-in headers of functions that launch kernels of their library, and the library."""

_NAMES = tuple(os.path.basename(path) for path in _LAUNCHERS)


def library_notes(toolchain: Toolchain, versions: dict[str, str], headers: Sequence[str] | None) -> list[str]:
    """Return the lines for a module.

    `versions` are those in its manifest; `headers` are the absolute paths of all files that it includes, or None if
    they are not known.
    """
    used = other_libraries(toolchain, versions)
    lines = [f"with {', '.join(used)}"] if used else []
    named = (path for path in headers or () if path.endswith(_NAMES))  # few are, and a PurePath takes long
    included = {str(PurePath(path)) for path in named}
    owners = [name for path, name in _LAUNCHERS.items() if path in included]
    if owners:
        lines.append(
            f"not in the image: {' and '.join(owners)} own kernels, which their functions for host code launch"
        )
    return lines


def unneeded_folders(toolchain: Toolchain, folders: Iterable[str]) -> list[str]:
    """Return a line for each folder of a CUDA toolkit in `include-dirs`, which says what is used in its place."""
    used = next((each for each in toolchain.headers if each.name == "cudart"), None)
    place = f" from {used.folder}" if used else ""
    return [
        f"{TABLE}.include-dirs: {folder} is a folder of a CUDA toolkit. It is not needed, and not used: the headers of "
        f"CUDA are those of {toolchain.name}{place}. Leave it out."
        for folder in folders
    ]
