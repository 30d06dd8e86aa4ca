"""The tests of the toolchain search for it in each build."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def known_toolchain() -> None:
    """Let the cache of each test be empty."""
