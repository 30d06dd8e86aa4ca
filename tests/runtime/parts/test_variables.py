"""Variables of a module: written, read and passed to kernels. The driver is a stand-in."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cuda_wheel
from cuda_wheel.runtime.errors import ArgumentError, DriverError
from cuda_wheel.runtime.manifest import GlobalInfo
from cuda_wheel.runtime.parts import array_protocols
from tests.support.array_libraries import (
    OTHER,
    OWN,
    Jax,
    Named,
)
from tests.support.driver import Driver
from tests.support.launches import (
    array_interface,
    module_of,
    sent,
    takes,
)

pytestmark = pytest.mark.one_toolchain


# All examples of a test share one stand-in driver; only its record of launches grows.
examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


VARIABLE = GlobalInfo("ns::table", "_ZN2ns5tableE", "global", 16)


@pytest.fixture
def table(driver: Driver) -> cuda_wheel.Global:
    """Return a variable of 16 bytes, 0 to 15, with 8 bytes of other memory after it."""
    driver.memory[b"_ZN2ns5tableE"] = (ctypes.c_uint8 * 24)(*range(24))
    return module_of(variables=(VARIABLE,)).globals["table"]


@examples
@given(st.binary(max_size=24), st.integers(-2, 20))
def test_a_variable_is_written_and_read_within_its_bounds(
    driver: Driver, table: cuda_wheel.Global, data: bytes, offset: int
) -> None:
    memory = driver.memory[b"_ZN2ns5tableE"]
    memory[:] = range(24)
    expected = bytearray(range(24))
    fits = 0 <= offset <= 16 and len(data) + offset <= 16
    into = bytearray(len(data))
    if fits:
        table.write(data, offset=offset)
        expected[offset : offset + len(data)] = data
        table.read(into, offset=offset)
        assert into == data
        assert table.read(offset=offset) == expected[offset:16]
    else:
        for bad in (lambda: table.write(data, offset=offset), lambda: table.read(into, offset=offset)):
            with pytest.raises(ArgumentError, match=r"^ns::table has 16 bytes: \d+( from byte -?\d+ on)? do not fit$"):
                bad()
        assert not any(into)
    assert bytes(memory) == expected


def test_variables_accept_arrays_of_host_and_gpu(driver: Driver, table: cuda_wheel.Global) -> None:
    source = (ctypes.c_float * 2)(1.5, 2.5)
    table.write(array_interface(ctypes.addressof(source), shape=(2, 1)), offset=8, stream=SimpleNamespace(ptr=5))
    table.write(np.array([7, 8], np.int32))
    assert table.read() == np.array([7, 8], np.int32).tobytes() + bytes(source)
    assert table.__cuda_array_interface__["data"] == (table.address, False)
    here = ctypes.addressof(source)
    for shape, strides in (((2,), (4,)), ((1, 2), (99, 4)), ((2, 1), (4, 99)), ((0, 5), (1, 1)), ((), ())):
        table.write(array_interface(here, shape=shape, strides=strides))
    for bad, message in (
        (lambda: table.write(np.zeros((2, 2), np.int16)[:, 0]), "the numpy.ndarray is not contiguous: numpy.ascontig"),
        (lambda: table.write(array_interface(8, shape=(2,), strides=(8,))), "the numba.DeviceArray is not contiguous"),
        (lambda: table.write(np.array([None])), "the numpy.ndarray holds Python objects"),
        (lambda: table.write("text"), "str is not a buffer in host memory"),
        (lambda: table.write(array_interface(8, shape=(5,))), "ns::table has 16 bytes: 20 do not fit"),
        (lambda: table.read(bytes(4)), "ns::table cannot be read into a bytes: it is read-only"),
        (lambda: table.read(np.zeros(4)[::2]), "is not contiguous"),
    ):
        with pytest.raises(ArgumentError, match=message):
            bad()


def test_a_variable_is_an_argument(driver: Driver, table: cuda_wheel.Global) -> None:
    for cpp in ("float*", "const double*", "void*", ""):
        assert sent(driver, takes(cpp), table) == table.address.to_bytes(8, "little")


def test_a_variables_address_needs_a_context(two: Driver) -> None:
    two.context.device = None
    with pytest.raises(DriverError, match="no CUDA context is current"):
        module_of(variables=(VARIABLE,)).globals["table"].address  # noqa: B018


@pytest.fixture
def driver(use: Callable[..., Driver]) -> Driver:
    return use((8, 6))


def test_a_write_without_a_stream_is_complete_when_it_returns(driver: Driver, table: Any) -> None:
    """The stand-in copies when it is told to wait, and no earlier."""
    source = np.arange(16, dtype=np.uint8)
    table.write(source)
    source[:] = 0
    assert bytes(driver.memory[b"_ZN2ns5tableE"][:16]) == bytes(range(16))
    table.write(source, stream=5)
    assert bytes(driver.memory[b"_ZN2ns5tableE"][:16]) == bytes(range(16))


def kept_arrays() -> list[Any]:
    return [array for _, arrays in array_protocols._kept for array in arrays]


def test_a_variable_is_written_with_what_its_source_will_hold(driver: Driver) -> None:
    driver.memory[b"_Z1v"] = (ctypes.c_uint8 * 16)()
    variable = module_of(variables=(GlobalInfo("v", "_Z1v", "global", 16),)).globals["v"]
    content = np.arange(4, dtype=np.float32)
    jax, named = Jax(address=content.ctypes.data), Named()
    variable.write(jax)
    assert jax.asked[-1]["stream"] == 1 and driver.copies == [0]
    assert bytes(driver.memory[b"_Z1v"]) == content.tobytes()
    variable.write(jax, stream=OTHER)
    assert jax.asked[-1]["stream"] == OTHER and len(kept_arrays()) == 1
    driver._pending.clear()
    variable.write(named, stream=OTHER)
    assert driver.joins == [(OTHER, OWN, 0)] and kept_arrays()[-1] is named
