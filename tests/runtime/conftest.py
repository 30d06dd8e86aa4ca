"""Fixtures for the tests of the runtime, whose arrays are of classes that imitate those of libraries."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from tests.support.array_libraries import StandInCuPy, StandInPyTorch
from tests.support.driver import Driver


@pytest.fixture(autouse=True)
def pytorch(monkeypatch: pytest.MonkeyPatch) -> StandInPyTorch:
    """Return the stand-in that is PyTorch in this test."""
    module = StandInPyTorch()
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


@pytest.fixture(autouse=True)
def cupy(monkeypatch: pytest.MonkeyPatch) -> StandInCuPy:
    """Return the stand-in that is CuPy in this test."""
    module = StandInCuPy()
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.fixture(autouse=True)
def _no_package_of_another_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the package `demo` of an earlier test, and after this one its own: many tests build one of that name."""
    monkeypatch.delitem(sys.modules, "demo", raising=False)


@pytest.fixture
def driver(use: Callable[..., Driver]) -> Driver:
    return use((8, 6))


@pytest.fixture
def two(use: Callable[..., Driver]) -> Driver:
    """Return a driver with two GPUs; the first is current."""
    driver = use((8, 6), (9, 0))
    driver.context.device = 0
    return driver
