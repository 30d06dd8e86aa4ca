"""What translates host functions: libclang, with PyTorch's headers and the schemas of its operators."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.migrate.host_functions.aten import AtenTable
from cuda_wheel.migrate.host_functions.clang import Reader, reader
from cuda_wheel.migrate.host_functions.nodes import SourceTree
from cuda_wheel.migrate.host_modules import library_headers, operator_table


@pytest.fixture(scope="session")
def read_source(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str, str], SourceTree]:
    """Return a function that reads a source file without PyTorch's headers, from its name, its text, and the text of
    "stubs.h", which it may include. The text must have no errors. Skips the test without libclang or a C++ compiler."""
    cindex = pytest.importorskip("clang.cindex", reason="needs libclang")
    from cuda_wheel.migrate.host_functions import clang

    def read(name: str, text: str, stubs: str) -> SourceTree:
        folder = tmp_path_factory.mktemp("source")
        root = folder / "project"
        for path, content in ((folder / "include/stubs.h", stubs), (root / name, text)):
            path.parent.mkdir()
            path.write_text(content, encoding="utf-8")
        folders = [str(folder / "include")]
        if "#include <" in stubs:
            try:
                folders += clang._system_folders()
            except ToolchainError as error:
                pytest.skip(str(error))
        options = ["-x", "cuda", "--cuda-host-only", "-nocudainc", "-nocudalib", "-std=c++20", "-w"]
        options += [part for each in folders for part in ("-isystem", each)]
        unit = cindex.Index.create().parse(str(root / name), args=[*options, "-fpch-instantiate-templates"])
        tree = clang._Conversion(cindex, root, name, unit).tree
        assert tree.errors == []
        return tree

    return read


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
