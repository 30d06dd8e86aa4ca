"""The saxpy package as files in unusual places, and a program that loads its kernel with the stand-in driver."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from cuda_wheel import VENDORED_PACKAGE
from cuda_wheel.builder.wheel.loader_copy import copied_files
from cuda_wheel.runtime.errors import PARTS
from tests.support.wheels import contents

SAXPY = "saxpy_demo.kernels.saxpy"
FATBIN = "saxpy_demo/kernels/saxpy.fatbin"
ODD_NAMES = [
    "with space",
    "quote's",
    'double"quote',
    "100%",
    "%s%20",
    "a#b",
    "a;b",
    "a&b$HOME",
    "-rf",
    "~",
    "[x]*?",
    "{brace}",
    "back\\slash",
    "new\nline",
    "Käse-日本語-🧀",
    "e\u0301",  # decomposed
    os.fsdecode(b"\xff\xfe"),  # not valid text in any encoding
    "/".join(["d" * 100] * 6),  # 600 characters
]
"""Names that a folder may have on some systems."""

STAND_IN = """
import sys, types
from tests.support.driver import Driver
driver = sys.modules["cuda.bindings.driver"] = Driver((8, 6))
sys.modules["cuda.bindings"] = types.SimpleNamespace(driver=driver)
sys.modules["cuda"] = types.SimpleNamespace(bindings=sys.modules["cuda.bindings"])
"""
LOAD = f"""
for loader in (cuda_wheel, _cuda_wheel):
    print(len(loader.load({SAXPY!r})), kernels.saxpy.handle, loader.attach("saxpy_demo.kernels")[2])
"""
LOADED = "1 48879 ['saxpy']\n" * 2


def with_loader(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel of saxpy with the copy of the loader that `loader = "vendor"` adds."""
    copies = {f"saxpy_demo/{VENDORED_PACKAGE}/{name}": content for name, content in copied_files(PARTS).items()}
    return contents(wheel) | copies


def unpack(files: Mapping[str, bytes], folder: Path) -> Path:
    """Write files into a folder and return it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def make_folder(folder: Path) -> Path:
    """Create a folder; skip the test if the file system rejects its name."""
    try:
        folder.mkdir(parents=True)
    except (OSError, ValueError) as error:
        pytest.skip(f"no folder of such a name here: {error}")
    return folder
