"""Ask a project's build back end which files go into its wheel, and where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from cuda_wheel.build.config import read_pyproject
from cuda_wheel.build.errors import ConfigError

__all__ = ["DEVICE_SOURCES", "GROUP", "WheelFile", "wheel_files"]

DEVICE_SOURCES = (".cu", ".cuh")
"""How the files are called that `exclude-sources` keeps out of the wheel."""

GROUP = "cuda_wheel.layout"
"""Entry points that map the name of a build back end to a function as `wheel_files`."""


@dataclass(frozen=True)
class WheelFile:
    """A file that the back end puts into the wheel. `destination` is its path there, with "/"."""

    source: Path
    destination: str


def wheel_files(root: Path) -> list[WheelFile]:
    """Return the files of the wheel of the project in `root`, as its build back end lays them out.

    Raises ConfigError where that back end is not supported or not installed.
    """
    backend = read_pyproject(root).get("build-system", {}).get("build-backend", "setuptools.build_meta")
    found = list(entry_points(group=GROUP))
    for entry in found:
        if entry.name == backend:
            try:
                function: Callable[[Path], list[WheelFile]] = entry.load()
            except ImportError as error:
                raise ConfigError(
                    f"{root / 'pyproject.toml'} names the build back end {backend}, which must be installed "
                    f"to know what goes into the wheel ({error})."
                ) from error
            return function(root)
    known = ", ".join(sorted(entry.name for entry in found))
    raise ConfigError(
        f"{root / 'pyproject.toml'} names the build back end {backend!r}, whose layout cuda-wheel does not know; "
        f"it knows {known}."
    )
