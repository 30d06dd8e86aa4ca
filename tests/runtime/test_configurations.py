"""Grids, blocks, attributes and occupancy of kernels. The driver is a stand-in that reads its arguments as the CUDA Driver API documents them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.manifest import Parameter
from tests.support.driver import Driver, Result
from tests.support.launches import (
    Colour,
    configured,
    kernel_of,
)

pytestmark = pytest.mark.one_toolchain


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (5, (5, 1, 1)),
        ((5,), (5, 1, 1)),
        ([2, 3], (2, 3, 1)),
        ((2, 3, 4), (2, 3, 4)),
        (np.int64(7), (7, 1, 1)),
        ((np.int32(2), np.uint8(3)), (2, 3, 1)),
        (np.array([2, 3, 4]), (2, 3, 4)),
        (True, (1, 1, 1)),
        (Colour.BLUE, (100, 1, 1)),
        (range(1, 4), (1, 2, 3)),
        (np.array(6), (6, 1, 1)),
        ((np.array(6), 2), (6, 2, 1)),
    ],
)
def test_sizes_in_every_form(driver: Driver, given: Any, expected: tuple[int, int, int]) -> None:
    for _ in range(2):
        assert configured(driver, given, 1)[:2] == (expected, (1, 1, 1))
        assert configured(driver, 1, given)[:2] == ((1, 1, 1), expected)


def test_sizes_of_one_kernel_in_turn(driver: Driver) -> None:
    kernel = kernel_of()
    sizes: list[Any] = [[2, 3], 2, (2,), (2, 3), [2], np.array([2, 3, 4]), (2, 3, 4), range(2, 4), (2, 1), np.array(2)]
    for grid in sizes * 2:
        kernel.launch(grid, 1)
        given = list(grid) if np.ndim(grid) else [int(grid)]
        assert driver.launches[-1].grid == (*given, 1, 1)[:3]


def test_the_largest_grid(driver: Driver) -> None:
    largest = ((1 << 31) - 1, 65535, 65535)
    assert configured(driver, largest, (1, 16, 64))[:2] == (largest, (1, 16, 64))


@pytest.mark.parametrize(
    ("more", "attributes"),
    [
        ({}, {}),
        ({"cooperative": True}, {"cooperative": 1}),
        ({"cluster": 2}, {"cluster": (2, 1, 1)}),
        ({"cluster": (2, 2, 1)}, {"cluster": (2, 2, 1)}),
        ({"cluster": [1, 2], "cooperative": 1}, {"cooperative": 1, "cluster": (1, 2, 1)}),
    ],
)
def test_attributes(driver: Driver, more: dict[str, Any], attributes: dict[str, Any]) -> None:
    for parameters in ((), (Parameter("u8", 0, 1, "char"),), (Parameter("b8", 0, 4001, "Large"),)):
        arguments = [b"x" * parameter.size if parameter.size > 1 else 5 for parameter in parameters]
        kernel = kernel_of(*parameters)
        kernel.launch((8, 2), 1, *arguments, **more)
        launch = driver.launches[-1]
        assert (launch.attributes, launch.kernel) == (attributes, kernel.handle)
        assert launch.arguments == (None if not parameters else b"\5" if arguments == [5] else arguments[0])


STREAM = 'stream must be an address, "default", or have __cuda_stream__'


@pytest.mark.parametrize(
    ("grid", "block", "more", "message"),
    [
        (0, 1, {}, "grid takes integers of 1 and more, not 0"),
        (-1, 1, {}, "grid takes integers of 1 and more, not -1"),
        ((), 1, {}, r"grid must be one to three numbers, not \(\)"),
        ((1, 2, 3, 4), 1, {}, "grid must be one to three numbers"),
        (None, 1, {}, "grid takes integers, not None"),
        (1, 1.5, {}, "block takes integers, not 1.5"),
        (1, "32", {}, "block takes integers"),
        (1, 2048, {}, r"a block of \(2048, 1, 1\) is too large: the maximum is \(1024, 1024, 64\)"),
        (1, (32, 33), {}, "a block of 1056 threads is too large: 1024 is the most"),
        ((1, 65536), 1, {}, r"a grid of \(1, 65536, 1\) is too large"),
        (1, 1, {"shared_memory": -1}, "shared_memory takes integers of 0 and more, not -1"),
        (1, 1, {"shared_memory": 1.0}, "shared_memory takes integers"),
        (1, 1, {"shared_memory": 100 << 10}, r"k: 102400 bytes of shared memory are too much: this GPU has 101376"),
        (5, 1, {"cluster": 2}, r"the grid \(5, 1, 1\) is not a multiple of the cluster \(2, 1, 1\)"),
        (5, 1, {"cluster": 0}, "cluster takes integers of 1 and more, not 0"),
        (5, 1, {"stream": "Default"}, STREAM),
        (5, 1, {"stream": object()}, STREAM),
        (5, 1, {"stream": "5"}, STREAM),
        (5, 1, {"stream": 5.0}, STREAM),
        (5, 1, {"stream": np.float32(5)}, STREAM),
        (
            5,
            1,
            {"stream": SimpleNamespace(__cuda_stream__=lambda: 5)},
            STREAM,
        ),
        (5, 1, {"stream": -1}, "stream must be an address, not -1"),
        (5, 1, {"stream": 1 << 64}, "stream must be an address, not 18446744073709551616"),
        (1 << 31, 1, {}, "grid: 2147483648 is too large"),
        ((10**5000,), 1, {}, "grid: this int is too large"),
        (1, 1, {"shared_memory": 1 << 32}, "shared_memory: 4294967296 is too large"),
    ],
)
def test_a_wrong_configuration(driver: Driver, grid: Any, block: Any, more: dict[str, Any], message: str) -> None:
    kernel = kernel_of()
    for _ in range(2):
        with pytest.raises(ArgumentError, match=message) as caught:
            kernel.launch(grid, block, **more)
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert not driver.launches


def test_large_shared_memory_is_opted_in_on_each_gpu(two: Driver) -> None:
    kernel = kernel_of()
    kernel.launch(1, 1, shared_memory=40 << 10)
    assert two.attributes[0]["MAX_DYNAMIC_SHARED_SIZE_BYTES"] == 48 << 10
    kernel.launch(1, 1, shared_memory=64 << 10)
    assert [two.attributes[gpu]["MAX_DYNAMIC_SHARED_SIZE_BYTES"] >> 10 for gpu in (0, 1)] == [99, 48]
    two.context.device = 1
    two.codes = [Result.CUDA_ERROR_INVALID_VALUE]
    kernel.launch(1, 1, shared_memory=64 << 10)
    assert [two.attributes[gpu]["MAX_DYNAMIC_SHARED_SIZE_BYTES"] >> 10 for gpu in (0, 1)] == [99, 99]
    assert [launch.shared_memory >> 10 for launch in two.launches] == [40, 64, 64, 64]


def test_shared_memory_in_addition_to_what_the_kernel_declares(driver: Driver) -> None:
    driver.attributes[0]["SHARED_SIZE_BYTES"] = 1 << 10
    kernel_of().launch(1, 1, shared_memory=98 << 10)
    with pytest.raises(ArgumentError, match="this GPU has 100352 per block beside the kernel's own 1024 bytes"):
        kernel_of().launch(1, 1, shared_memory=99 << 10)


def test_clusters_of_more_than_eight_blocks_are_opted_in(driver: Driver) -> None:
    configured(driver, 16, 1, cluster=8)
    assert driver.attributes[0]["NON_PORTABLE_CLUSTER_SIZE_ALLOWED"] == 0
    configured(driver, 16, 1, cluster=16)
    assert driver.attributes[0]["NON_PORTABLE_CLUSTER_SIZE_ALLOWED"] == 1


def test_clusters_of_more_than_eight_blocks_are_opted_in_on_each_gpu(two: Driver) -> None:
    kernel = kernel_of()
    kernel.launch(16, 1, cluster=16)
    two.context.device = 1
    two.codes = [Result.CUDA_ERROR_INVALID_CLUSTER_SIZE]
    kernel.launch(16, 1, cluster=16)
    assert [two.attributes[gpu]["NON_PORTABLE_CLUSTER_SIZE_ALLOWED"] for gpu in (0, 1)] == [1, 1]
    assert len(two.launches) == 3
