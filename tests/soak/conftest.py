"""A fixture with the projects whose builds the tests interrupt."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.soak import builds
from tests.soak.builds import ProjectPair


@pytest.fixture(scope="session")
def known_toolchain() -> None:
    """Let the cache of each test be empty, so that builds are interrupted during the search for the toolchain too."""


@pytest.fixture(autouse=True)
def parallel_jobs(two_workers: None) -> None:
    """Let the builds that the tests interrupt and compare run jobs in parallel."""


@pytest.fixture
def make_projects(extra: str) -> Iterator[Callable[[Path], ProjectPair]]:
    """Return a function that creates the projects in a folder. After a failed test, kill the builds still running."""
    created: list[ProjectPair] = []

    def make(folder: Path) -> ProjectPair:
        created.append(builds.make_projects(folder, extra))
        return created[-1]

    yield make
    for projects in created:
        for pid in projects.running_processes():
            os.kill(pid, signal.SIGKILL)
