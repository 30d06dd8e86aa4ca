"""Folders that the first test process fills and all processes of a parallel run share."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.manifest_schema import check_built_manifests

__all__ = ["Share"]

Share = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def share(tmp_path_factory: pytest.TempPathFactory) -> Share:
    """Return a function that returns the folder of a name, which a function filled once. Do not write to it."""
    root = tmp_path_factory.getbasetemp()
    if sys.platform != "win32" and "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent

    def shared(name: str, fill: Callable[[Path], object]) -> Path:
        folder, complete = root / f"shared-{name}", root / f"shared-{name}.complete"
        with open(root / f"shared-{name}.lock", "w") as lock:
            if sys.platform != "win32":
                import fcntl  # inside: Windows does not have it

                fcntl.flock(lock, fcntl.LOCK_EX)
            if not complete.exists():
                shutil.rmtree(folder, ignore_errors=True)  # another test failed to fill it
                folder.mkdir()
                fill(folder)
                check_built_manifests(folder)
                complete.touch()
        return folder

    return shared
