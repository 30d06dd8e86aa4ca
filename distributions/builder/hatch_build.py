"""The build hook of cuda-wheel-builder: finds its files at the repository's root, or in the sdist's own folder."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TABLES = "cuda_wheel/builder/headers/tables/"
"""Folder of the tables from which stand-in headers are written; wheels have the headers instead."""

SCRIPT = "scripts/stand_in_headers.py"


class BuilderFiles(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the packages that the table of the hook lists.

    An sdist has them at its root, and all that a wheel is built from, so that both ways give the same wheel.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the stand-in headers, and select the files; an editable install has a path to them instead."""
        root = Path(self.root)
        if not (root / "PKG-INFO").is_file():  # not an unpacked sdist
            root = root.parents[1]
        runpy.run_path(str(root / SCRIPT), run_name="__main__")
        if version == "editable":
            return
        names = [name for package in self.config["packages"] for name in _files(root, package)]
        if self.target_name == "sdist":
            names.append(SCRIPT)
        else:
            names = [name for name in names if not name.startswith(TABLES)]
        build_data["force_include"].update({str(root / name): name for name in names})


def _files(root: Path, package: str) -> Iterator[str]:
    """Yield the paths of a package's files below `root`, with "/", sorted. Raises FileNotFoundError if it has none."""
    found = sorted(path.relative_to(root) for path in (root / package).rglob("*") if path.is_file())
    if not found:
        raise FileNotFoundError(
            f"{root / package}: the package of the table [tool.hatch.build.hooks.custom] has no files"
        )
    for path in found:
        if "__pycache__" not in path.parts and not path.name.startswith("."):
            yield path.as_posix()
