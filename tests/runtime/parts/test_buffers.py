"""Memory of arrays on the host and on the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cuda_wheel.runtime.arguments import (
    is_array,
    type_name,
)
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.parts.buffers import device_bytes, host_bytes
from tests.support.array_libraries import fake
from tests.support.launches import array_interface

pytestmark = pytest.mark.one_toolchain


DATES = np.zeros(1, "M8[s]")  # 8 bytes that have no buffer


def released() -> memoryview:
    view = memoryview(bytes(8))
    view.release()
    return view


@pytest.mark.parametrize("name", ["__len__", "__cuda_array_interface__", "__dlpack__"])
def test_each_of_three_members_makes_an_array(name: str) -> None:
    array = fake("a", "Array", **{name: None})
    assert is_array(array) and is_array(fake("b", "Derived", array))
    assert not is_array(fake("a", "Number", __index__=None, __dlpack_device__=None))


def test_the_memory_of_an_array_on_the_gpu() -> None:
    assert device_bytes(array_interface(shape=(2, 3))) == (8, 24)
    assert device_bytes(array_interface(shape=(2, 3), strides=(12, 4))) == (8, 24)
    assert device_bytes(array_interface(shape=(0,), address=None)) == (0, 0)
    with pytest.raises(ArgumentError, match=r"^the numba\.DeviceArray is not contiguous$"):
        device_bytes(array_interface(shape=(2, 3), strides=(4, 8)))
    with pytest.raises(ValueError, match=r"shorter|longer"):
        device_bytes(array_interface(shape=(2, 3), strides=(4,)))


@pytest.mark.parametrize("data", [DATES, released(), object(), 5])
def test_what_is_no_buffer(data: Any) -> None:
    pattern = rf"^{type_name(type(data))} is not a buffer in host memory \(.+\)$"
    with pytest.raises(ArgumentError, match=pattern):
        host_bytes(data)
