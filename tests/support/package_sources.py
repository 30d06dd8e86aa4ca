"""A package with two sources, and the modules that a build selects from it; the fixture `root` writes its files."""

from __future__ import annotations

from pathlib import Path

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import select

__all__ = ["PACKAGE", "names"]

PACKAGE = ["src/pkg/__init__.py", "src/pkg/kernels/__init__.py", "src/pkg/kernels/a.cu", "src/pkg/kernels/b.cu"]


def names(root: Path, table: dict | None = None) -> dict[str, str]:
    """Return the first source of each module that a table of settings selects, by the module's name."""
    files = [WheelFile(root / name, name.removeprefix("src/")) for name in PACKAGE]
    return {module.name: module.paths[0] for module in select(Config.from_table(table or {}), root, files)}
