"""The project whose builds the tests report."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.traces import FILES, TABLE


@pytest.fixture
def project(make_project) -> Path:
    """Return the folder of a project with linked and independent modules."""
    return make_project(TABLE, **FILES)
