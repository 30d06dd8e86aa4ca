"""Find the files that hatchling puts into a project's wheel."""

from __future__ import annotations

from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.sources.layout import Layout, WheelFile

__all__ = ["wheel_files", "wheel_layout"]


def wheel_files(root: Path) -> list[WheelFile]:
    """Return the files that hatchling selects for the wheel of the project in `root`, before any build hook runs."""
    try:
        included = list(WheelBuilder(str(root)).recurse_included_files())
    except (ValueError, TypeError, OSError) as error:
        raise ConfigError(f"hatchling cannot determine the files of {root.name}: {error}") from error
    return [WheelFile(Path(file.path), file.distribution_path.replace("\\", "/")) for file in included]


def wheel_layout(root: Path) -> Layout:
    """Return the layout of the project in `root`."""
    return Layout(wheel_files(root))
