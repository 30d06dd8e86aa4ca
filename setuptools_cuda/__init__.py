"""setuptools' side of cuda-wheel. setuptools imports this in every environment that has it: kept to the entry point."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from setuptools import Distribution

__all__ = ["finalize_distribution"]


def finalize_distribution(distribution: Distribution) -> None:
    """Add the command `build_cuda` to the build of a project with a table `[tool.cuda-wheel]`, and to no other's."""
    if _has_table(Path("pyproject.toml")):
        from setuptools_cuda.build_command import add_to

        add_to(distribution)


def _has_table(pyproject: Path) -> bool:
    try:
        content = pyproject.read_bytes()
    except OSError:
        return False
    if b"cuda-wheel" not in content:  # nearly every project: not even worth a parser
        return False
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        # The second one is misspelt, which its owner wants to be told.
        return bool({"cuda-wheel", "cuda_wheel"} & set(tomllib.loads(content.decode()).get("tool", {})))
    except ValueError:  # setuptools will say so itself
        return False
