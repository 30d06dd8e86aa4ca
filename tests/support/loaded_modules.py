"""Let a test start with no module loaded, and without what is known of the driver."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from cuda_wheel.runtime import driver
from cuda_wheel.runtime.module import forget
from cuda_wheel.runtime.parts import tuned_tables as choices


def forget_all() -> None:
    """Start with an empty registry of loaded modules; they stay loaded for those who hold them."""
    forget(lambda module: True)


def reset_driver(bindings: Any = None) -> None:
    """Forget the driver and any fork; or use `bindings`, which stand for `cuda.bindings.driver`."""
    driver._State.bindings = bindings
    driver._State.forked = False


def forget_loaded_modules() -> None:
    """Start with an empty registry of loaded modules, and no table of tuned choices."""
    forget_all()
    choices.forget()


def forget_package(name: str) -> None:
    """Let Python import a package again, from where it is now."""
    for each in [each for each in sys.modules if each.partition(".")[0] == name]:
        del sys.modules[each]
    importlib.invalidate_caches()


@pytest.fixture(autouse=True)
def no_package_of_another_test() -> Iterator[None]:
    """Forget the packages of a test after it: many tests build one of the same name."""
    yield
    for name in ("demo", "saxpy_demo"):
        forget_package(name)


@pytest.fixture
def nothing_loaded() -> None:
    """Start the test with an empty registry of loaded modules."""
    forget_loaded_modules()
