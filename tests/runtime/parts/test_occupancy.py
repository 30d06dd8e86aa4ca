"""Attributes and occupancy of kernels. The driver is a stand-in."""

from __future__ import annotations

import pytest

import cuda_wheel
from cuda_wheel.runtime.errors import ArgumentError
from tests.support.driver import Driver
from tests.support.launches import (
    kernel_of,
)

pytestmark = pytest.mark.one_toolchain


def test_attributes_and_occupancy_come_from_the_driver(driver: Driver) -> None:
    kernel = kernel_of()
    assert kernel.attributes == cuda_wheel.Attributes(16, 0, 48 << 10, 0, 0, 1024, (8, 6), (7, 5))
    assert kernel.occupancy((16, 16), 1000) == cuda_wheel.Occupancy(3, 0.5)
    assert kernel.occupancy(250).share == 0.5  # a block of 250 threads takes whole warps
    assert kernel.suggest_block() == 256
    with pytest.raises(ArgumentError, match="a block of 1025 threads is too large: 1024 is the most"):
        kernel.occupancy(1025)
    for bad in (lambda: kernel.occupancy(1, -1), lambda: kernel.suggest_block(-1)):
        with pytest.raises(ArgumentError, match="shared_memory takes integers"):
            bad()
