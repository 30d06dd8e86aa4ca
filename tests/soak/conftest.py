"""The projects that builds are disturbed in."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.soak import builds
from tests.soak.builds import Bed


@pytest.fixture
def make_bed(extra: str) -> Iterator[Callable[[Path], Bed]]:
    """Return a function that makes the projects in a folder; builds that are left of a test that fails are ended."""
    beds: list[Bed] = []

    def make(folder: Path) -> Bed:
        beds.append(builds.make_bed(folder, extra))
        return beds[-1]

    yield make
    for bed in beds:
        for pid in bed.left():
            os.kill(pid, signal.SIGKILL)
