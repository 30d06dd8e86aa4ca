"""The plugin for setuptools, which imports this module in every environment with cuda-wheel: it imports little."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from setuptools import Distribution

__all__ = ["finalize_distribution"]


def finalize_distribution(distribution: Distribution) -> None:
    """Add the command `build_cuda` to the build of a project that has a table `[tool.cuda-wheel]`."""
    if _has_table(Path("pyproject.toml")):
        from cuda_wheel.runtime.errors import CudaWheelError

        try:
            from setuptools_cuda.build_cuda import add_to
        except CudaWheelError as error:  # cuda-wheel-builder is of another version than cuda-wheel
            raise SystemExit(f"cuda-wheel: {error}") from None
        add_to(distribution)


def _has_table(pyproject: Path) -> bool:
    try:
        content = pyproject.read_bytes()
    except OSError:
        return False
    if b"cuda-wheel" not in content:  # nearly every project: do not parse the file
        return False
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        # The second spelling is wrong; `build_cuda` reports it as an error.
        return bool({"cuda-wheel", "cuda_wheel"} & set(tomllib.loads(content.decode()).get("tool", {})))
    except ValueError:  # setuptools reports it
        return False
