"""The kernels and variables of a module, by name. The driver is a stand-in."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import cuda_wheel
from cuda_wheel.runtime import driver as driver_module
from cuda_wheel.runtime import manifest as manifest_module
from cuda_wheel.runtime import module
from cuda_wheel.runtime.errors import ArgumentError, DriverError
from cuda_wheel.runtime.manifest import KernelInfo, Parameter
from tests.support.array_libraries import cupy_array
from tests.support.driver import Driver, Result
from tests.support.launches import (
    ByDLPack,
    kernel_of,
    module_of,
    takes,
)

pytestmark = pytest.mark.one_toolchain

# All examples of a test share one stand-in driver; only its record of launches grows.
examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


NAMES = {
    "scale": "_Z5scale",
    "ns::blur": "_ZN2ns4blur",
    "a::twin": "_ZN1a4twin",
    "b::twin": "_ZN1b4twin",
    "copy<float, 16>": "_Z4copyIf",
    "ns::scale<ns::Pair, 2>": "_ZN2ns5scaleI",
    "(anonymous namespace)::hidden": "_ZN12_GLOBAL__N_16hidden",
    "plain": "plain",
    "same": "_Z4samei",
}


@pytest.fixture
def named(driver: Driver) -> module.Module:
    return module_of(*(KernelInfo(*each, ()) for each in NAMES.items()), KernelInfo("same", "_Z4samef", ()))


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        *NAMES.items(),
        ("blur", "_ZN2ns4blur"),
        ("ns :: blur", "_ZN2ns4blur"),
        ("copy<float,16>", "_Z4copyIf"),
        (" copy < float , 16 > ", "_Z4copyIf"),
        ("scale<ns::Pair,2>", "_ZN2ns5scaleI"),
        ("hidden", "_ZN12_GLOBAL__N_16hidden"),
    ],
)
def test_names_in_every_spelling(named: module.Module, name: str, symbol: str) -> None:
    if name == "same":
        name = symbol
    assert named[name].symbol == symbol and named[symbol].symbol == symbol
    assert named[name] is named[symbol]
    assert name in named


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("same", "^a.b has several kernels 'same'; use the symbol instead: _Z4samei, _Z4samef$"),
        ("twin", "^a.b has several kernels 'twin'; use the symbol instead: _ZN1a4twin, _ZN1b4twin$"),
        ("scales", "^a.b has no kernel 'scales'; did you mean scale"),
        ("copy<float, 32>", "did you mean copy<float, 16>"),
        ("", "^a.b has no kernel ''"),
        (5, "^a.b: the name of a kernel must be a string, not 5$"),
        (None, "^a.b: the name of a kernel must be a string, not None$"),
    ],
)
def test_unknown_names_are_reported(named: module.Module, name: Any, message: str) -> None:
    with pytest.raises(cuda_wheel.UnknownKernelError, match=message):
        named[name]
    assert name not in named
    assert named.get(name) is None


def test_a_module_lists_its_kernels_and_variables(named: module.Module) -> None:
    assert len(named) == 10 and named.kernels == tuple(named)
    assert [*named][-2:] == ["_Z4samei", "_Z4samef"]
    assert repr(named) == "<Module a.b: 10 kernels, cubin sm_80, native>"
    assert repr(named["blur"]) == "<Kernel 'ns::blur' of a.b: ()>"
    assert repr(module_of(variables=(VARIABLE,)).globals) == "<1 variables of a.b: ns::table>"
    with pytest.raises(cuda_wheel.UnknownGlobalError, match=r"^a\.b has no variable 'x'; it has no variables$"):
        named.globals["x"]


VARIABLE = manifest_module.GlobalInfo("ns::table", "_ZN2ns5tableE", "global", 16)


@pytest.fixture
def table(driver: Driver) -> cuda_wheel.Global:
    """Return a variable of 16 bytes, 0 to 15, with 8 bytes of other memory after it."""
    driver.memory[b"_ZN2ns5tableE"] = (ctypes.c_uint8 * 24)(*range(24))
    return module_of(variables=(VARIABLE,)).globals["table"]


def test_without_a_context_an_array_says_on_which_gpu_to_launch(two: Driver) -> None:
    kernel = kernel_of(Parameter("u64", 0, 8, "float*"), Parameter("u64", 8, 8, "float*"))
    there = ByDLPack(8, device=1)
    for args in ((0, there), (there, there), (there, None)):
        two.context.device = None
        kernel.launch(1, 1, *args)
        assert two.context.device == 1 and two.launches[-1].kernel == kernel.handle
    two.context.device = None
    with pytest.raises(ArgumentError, match="is an array on GPU 0, but the launch is on GPU 1"):
        kernel.launch(1, 1, there, ByDLPack(8, device=0))


def test_only_arrays_need_the_number_of_the_current_gpu(two: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kernel_of(Parameter("u64", 0, 8, "float*"), Parameter("u64", 8, 8, ""), Parameter("u32", 16, 4, "int"))
    bound = kernel.bind(1, 1, 8, 16, 1)
    there = cupy_array(8, device=1)
    kernel.launch(1, 1, 8, 16, 1)
    monkeypatch.setitem(two._answers, "cuCtxGetDevice", (Result.CUDA_ERROR_ILLEGAL_ADDRESS, None))
    kernel.launch(1, 1, 8, 16, 1)
    kernel.launch(1, 1, 8, 16, 1, stream=5)
    bound()
    bound(16, 8)
    assert len(two.launches) == 5
    for launch in (bound, lambda *args: kernel.launch(1, 1, *args)):
        for args in ((there, 8, 1), (8, there, 1)):
            with pytest.raises(DriverError, match="getting the current GPU"):
                launch(*args)


def test_a_driver_error_is_not_a_wrong_argument(two: Driver, table: cuda_wheel.Global) -> None:
    # The fixture `table` replaced the driver of `two` by one with one GPU: make it one with two.
    kernel = takes("float*")
    kernel.launch(1, 1, 0)
    driver_module.cuda_driver().context.device = None
    count = driver_module.cuda_driver()._answers["cuDeviceGetCount"]
    driver_module.cuda_driver()._answers["cuDeviceGetCount"] = (*count[:1], 2)
    with pytest.raises(DriverError, match="no CUDA context is current in this thread"):
        kernel.launch(1, 1, table)
