"""What translates host functions: libclang, with PyTorch's headers and the schemas of its operators."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.migrate.host_functions.aten import AtenTable
from cuda_wheel.migrate.host_functions.clang import Reader, reader
from cuda_wheel.migrate.host_modules import library_headers, operator_table


@pytest.fixture(scope="session")
def torch_folder(torch_headers: Path) -> Path:
    """Return the folder of PyTorch; skip the test if nothing can translate host functions with its headers."""
    if find_spec("clang") is None:
        pytest.skip("libclang is not installed")
    if sys.platform != "linux" or shutil.which(os.environ.get("CXX", "g++")) is None:
        pytest.skip("libclang reads PyTorch's headers with those of g++ on Linux")
    return torch_headers.parent


@pytest.fixture(scope="session")
def translator(torch_folder: Path, toolchain: Toolchain) -> Iterator[tuple[Reader, AtenTable]]:
    """Return what reads source files, which takes some 20 s to make, and PyTorch's operators."""
    with reader(library_headers(torch_folder, toolchain)) as made:
        yield made, operator_table(torch_folder)
