"""A fixture that replaces the driver with the stand-in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest

from cuda_wheel.runtime.parts import array_protocols
from tests.support.driver import Driver, Result
from tests.support.loaded_modules import forget_loaded_modules, reset_driver


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Driver]]:
    """Return a function that replaces the driver with a new stand-in and starts with no module loaded."""

    def use(*capabilities: tuple[int, int], version: int = 13000, **faults: Result) -> Driver:
        import cuda.bindings

        driver = Driver(*capabilities, version=version, **faults)
        monkeypatch.setitem(sys.modules, "cuda.bindings.driver", driver)  # type: ignore[arg-type]
        monkeypatch.setattr(cuda.bindings, "driver", driver, raising=False)
        forget()
        return driver

    def forget() -> None:
        reset_driver()
        forget_loaded_modules()
        array_protocols._kept.clear()
        array_protocols._free_events.clear()

    yield use
    forget()
