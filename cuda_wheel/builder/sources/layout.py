"""Get the files of a project's wheel from its build back end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuda_wheel.builder.config.names import WRAPPER
from cuda_wheel.builder.config.pyproject import read_pyproject
from cuda_wheel.builder.errors import ConfigError

__all__ = ["DEVICE_SOURCES", "GROUP", "SBOM", "Layout", "WheelFile", "wheel_layout"]

DEVICE_SOURCES = (".cu", ".cuh")
"""Suffixes of the files that the setting `exclude-sources` keeps out of the wheel."""

SBOM = "cuda-wheel.cdx.json"
"""Name of the wheel's SBOM: a file in CycloneDX format that lists what the wheel is made of. The file is in the folder
`sboms` of the wheel's metadata."""

GROUP = "cuda_wheel.layout"
"""Group of entry points that get a project's layout, one for each supported build back end. Name: that of the back end,
such as "hatchling.build". Value: function of a project's folder that returns the project's `Layout`."""


@dataclass(frozen=True)
class WheelFile:
    """A file that the build back end puts into the wheel."""

    source: Path
    """Path of the file on this machine."""
    destination: str
    """Path of the file in the wheel, with "/"."""


@dataclass(frozen=True)
class Layout:
    """The files of a project's wheel, and its module tables, as its build back end lists them."""

    files: Sequence[WheelFile]
    """Files that are in the project's wheel."""
    modules: Sequence[Mapping[str, Any]] = ()
    """The project's `[[tool.cuda-wheel.module]]` tables, if the build back end reads them from another file than
    pyproject.toml, such as a CMakeLists.txt. They replace the tables in pyproject.toml. Empty if pyproject.toml has the
    tables."""
    note: str = ""
    """What prevents that the wheel gets images, though they can be compiled; "" if nothing does."""


def wheel_layout(root: Path) -> Layout:
    """Return the layout of the project in `root`.

    Raises ConfigError if its back end is not supported or not installed.
    """
    from importlib.metadata import entry_points  # takes 20 ms, which compile on load does not need

    backend = read_pyproject(root).get("build-system", {}).get("build-backend", "setuptools.build_meta")
    backend = backend.partition(":")[0]  # setuptools.build_meta:__legacy__
    found = list(entry_points(group=GROUP))
    for entry in found:
        if entry.name == backend:
            try:
                function: Callable[[Path], Layout] = entry.load()
            except ImportError as error:
                raise ConfigError(
                    f"{root / 'pyproject.toml'} names the build back end {backend}, which must be installed "
                    f"to know what goes into the wheel ({error})."
                ) from error
            return function(root)
    known = ", ".join(sorted(entry.name for entry in found if entry.name != WRAPPER))
    raise ConfigError(
        f"{root / 'pyproject.toml'} names the build back end {backend!r}, whose layout cuda-wheel does not know; "
        f"it knows {known}. {WRAPPER} wraps any other back end: `cuda-wheel init` writes it."
    )
