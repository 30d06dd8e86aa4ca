"""A fixture that makes the stand-in driver the one in use."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from cuda_wheel.runtime import driver as driver_module
from cuda_wheel.runtime import registry
from tests.support.driver import Driver, Result


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Driver]:
    """Return a function that makes a stand-in driver the one in use, with nothing loaded."""

    def use(*capabilities: tuple[int, int], version: int = 13000, **faults: Result) -> Driver:
        import cuda.bindings

        driver = Driver(*capabilities, version=version, **faults)
        monkeypatch.setitem(sys.modules, "cuda.bindings.driver", driver)  # type: ignore[arg-type]
        monkeypatch.setattr(cuda.bindings, "driver", driver, raising=False)
        monkeypatch.setattr(driver_module, "_bindings", None)
        monkeypatch.setattr(registry, "modules", {})
        return driver

    return use
