"""The examples of the gallery run from their wheels; each compares its results with NumPy or CuPy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.processes import run
from tests.support.projects import GALLERY, ROOT

PICTURES = ROOT / "docs/gallery"

PREPARE = """
import runpy, sys, warnings
import numpy
if not hasattr(numpy, "row_stack"):  # Numba 0.68 uses it, and NumPy 2.4 removed it
    numpy.row_stack = numpy.vstack
warnings.simplefilter("ignore")  # Numba warns that NumPy is too new
"""


@pytest.mark.parametrize("example", GALLERY)
def test_the_examples_run(
    example: str, example_wheel: Callable[[str], Path], install: Callable[[Path], Path], tmp_path: Path
) -> None:
    library = "numba.cuda" if example == "numba_plugin" else "cupy"
    found = run(sys.executable, "-c", f"{PREPARE}import {library}")
    if found.returncode:
        pytest.skip(f"{library} cannot be imported: {found.stdout}")
    install(example_wheel(example))
    package = GALLERY[example]
    committed, picture = PICTURES / f"{package}.svg", tmp_path / "picture.svg"
    program = f"{PREPARE}runpy.run_module('{package}', run_name='__main__', alter_sys=True)"
    result = run(sys.executable, "-c", program, *(["--picture", picture] if committed.exists() else []))
    print(result.stdout)
    assert result.returncode == 0, result.stdout
    if committed.exists():
        drawn = titles(picture)
        assert drawn == titles(committed) or example == "multi_gpu"  # whose title has the number of GPUs
        assert drawn and picture.stat().st_size < 60_000


def titles(picture: Path) -> list[str | None]:
    """Return the titles of a picture's panels."""
    return [each.text for each in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")]
