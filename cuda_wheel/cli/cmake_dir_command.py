"""`cuda-wheel cmake-dir`: print the folder of the CMake module CudaWheel."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no arguments."""


def run(options: argparse.Namespace) -> int:
    """Print the folder that contains CudaWheel.cmake, with "/" on every platform."""
    print((Path(__file__).parents[1] / "cmake").as_posix())
    return 0
