"""A stand-in for CuPy, and `RawModule` of modules that only a stand-in driver has."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from cuda_wheel.cupy import RawKernel, RawModule, raw_modules
from cuda_wheel.runtime.manifest import GlobalInfo, KernelInfo, Parameter
from cuda_wheel.runtime.module import Kernel, Module
from tests.support.array_libraries import StandInCuPy
from tests.support.driver import Driver, handle_of
from tests.support.launches import module_of

Wheel = Callable[..., RawModule]


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> StandInCuPy:
    """Return the stand-in that is CuPy in this test."""
    module = StandInCuPy()
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.fixture
def driver(use: Callable[..., Driver], cupy: StandInCuPy) -> Driver:
    driver = use((9, 0))
    driver.context.device = 0
    return driver


@pytest.fixture
def wheel(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> Wheel:
    """Return a function that returns a RawModule of a wheel's module, "demo.k", which has these kernels and variables."""

    def make(*infos: KernelInfo, variables: tuple[GlobalInfo, ...] = (), **arguments: Any) -> RawModule:
        def load(name: str, **variant: Any) -> Module:
            assert name == "demo.k"
            module = module_of(*infos, variables=variables)
            monkeypatch.setattr(module, "_kernel", lambda info: Kernel(module, info, handle_of(info.parameters)))
            module._by_name._make = module._kernel
            module.variant_asked = variant  # type: ignore[attr-defined]
            return module

        monkeypatch.setattr(raw_modules, "load", load)
        return RawModule("demo.k", **arguments)

    return make


@pytest.fixture
def takes(wheel: Wheel) -> Callable[..., RawKernel]:
    """Return a function that returns a kernel with one parameter."""

    def make(cpp: str, type_: str = "u64", size: int = 8, **arguments: Any) -> RawKernel:
        return wheel(KernelInfo("k", "k", (Parameter(type_, 0, size, cpp),)), **arguments).get_function("k")

    return make
