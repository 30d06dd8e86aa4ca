"""The project whose sources the tests select."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.package_sources import PACKAGE


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the folder of a project with the sources of PACKAGE, a source and a header outside the package."""
    root = tmp_path / "project"
    for name in [*PACKAGE, "csrc/c.cu", "include/x.h"]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("// nothing\n")
    return root
