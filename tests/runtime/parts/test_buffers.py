"""Buffers in host memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cuda_wheel.runtime.arguments import (
    is_array,
    type_name,
)
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.parts.buffers import host_bytes
from tests.support.array_libraries import fake

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


@pytest.mark.parametrize("data", [DATES, released(), object(), 5])
def test_what_is_no_buffer(data: Any) -> None:
    pattern = rf"^{type_name(type(data))} is not a buffer in host memory \(.+\)$"
    with pytest.raises(ArgumentError, match=pattern):
        host_bytes(data)
