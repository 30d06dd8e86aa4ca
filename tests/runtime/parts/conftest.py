"""Fixtures for tests of what is compiled on the user's machine."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture
def forbid_compilers(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that forbids all further compilation."""

    def forbid(*arguments: object, **options: object) -> None:
        raise AssertionError("a compiler was started")

    return lambda: monkeypatch.setattr("cuda_wheel.builder.workers.worker.Worker", forbid)
