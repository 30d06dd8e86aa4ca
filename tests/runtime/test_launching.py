"""The configurations of launches, their slots in memory, and the errors of the driver.

The driver is a stand-in that reads its arguments as the CUDA Driver API documents them; `tests/gpu/test_launch.py` runs
real kernels.
"""

from __future__ import annotations

import ctypes
import importlib
import itertools
import random
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from cuda_wheel.builder.wheel.loader_copy import copied_files
from cuda_wheel.builder.wheel.outputs import write
from cuda_wheel.runtime import launching as launcher
from cuda_wheel.runtime.errors import PARTS, ArgumentError, DriverError
from cuda_wheel.runtime.module import Kernel
from tests.support.driver import Driver, Result, handle_of
from tests.support.launches import (
    Box,
    kernel_of,
    module_of,
    reads_and_writes,
    sent,
    takes,
)

pytestmark = pytest.mark.one_toolchain

# All examples of a test share one stand-in driver; only its record of launches grows.
examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


# --- configuration -----------------------------------------------------------------------------------


def test_streams_of_every_library(driver: Driver) -> None:
    class CUstream:
        def __int__(self) -> int:
            return 0x1000

    streams: list[Any] = [
        0x1000,
        np.uint64(0x1000),
        CUstream(),
        SimpleNamespace(ptr=0x1000),  # CuPy
        SimpleNamespace(cuda_stream=0x1000),  # PyTorch
        SimpleNamespace(handle=ctypes.c_void_p(0x1000)),  # Numba
        SimpleNamespace(__cuda_stream__=lambda: (0, 0x1000), ptr=7),  # cuda.core
        SimpleNamespace(__cuda_stream__=(0, 0x1000)),  # the older form of the protocol
        SimpleNamespace(__cuda_stream__=lambda: (0, CUstream())),
    ]
    kernel = kernel_of()
    for stream in streams * 2:
        kernel.launch(1, 1, stream=stream)
        assert driver.launches[-1].stream == 0x1000
    for default in (None, 0, "default", SimpleNamespace(ptr=0), SimpleNamespace(handle=ctypes.c_void_p(None))):
        kernel.launch(1, 1, stream=default)
        assert driver.launches[-1].stream == 0
    kernel.launch(1, 1, stream=(1 << 64) - 1)
    assert driver.launches[-1].stream == (1 << 64) - 1


def test_a_mutable_number_is_read_at_each_launch(driver: Driver) -> None:
    kernel, box = kernel_of(), Box(3)
    for number in (3, 4, 5):
        box.number = number
        kernel.launch(box, (box, box), shared_memory=box, cluster=(box, 1))  # type: ignore[arg-type]
        kernel.launch((1, box), box, shared_memory=box)  # type: ignore[arg-type]
        first, second = driver.launches[-2:]
        assert (first.grid, first.block, first.shared_memory) == ((number, 1, 1), (number, number, 1), number)
        assert (second.grid, second.block, second.shared_memory) == ((1, number, 1), (number, 1, 1), number)
    count = len(kernel.launch.__globals__["pools"])
    for _ in range(50):
        kernel.launch(Box(3), 1)  # type: ignore[arg-type]
    assert len(kernel.launch.__globals__["pools"]) <= count + 2


# --- slots -------------------------------------------------------------------------------------------


def test_a_launch_reuses_the_slot_of_the_last(driver: Driver) -> None:
    kernel = takes("int", "u32", 4)
    for number in range(10):
        for grid in (3, (3,), (3, 1), (3, 1, 1), [3], np.int32(3)):
            for stream in (None, 0):
                kernel.launch(grid, 64, number, stream=stream)
                assert driver.launches[-1].arguments == number.to_bytes(4, "little")
    assert len({launch.config for launch in driver.launches}) == 1
    assert {launch[:4] for launch in driver.launches} == {((3, 1, 1), (64, 1, 1), 0, 0)}


def test_each_launch_has_its_own_configuration(use: Callable[..., Driver]) -> None:
    driver, kernel = use((9, 0)), takes("int", "u32", 4)
    launches: list[tuple[Any, Any, dict[str, Any]]] = [
        (grid, block, more)
        for grid in (4, (4,), (4, 2))
        for block in (32, (32, 2), 33)
        for more in (
            {},
            {"shared_memory": 64},
            {"cooperative": True},
            {"priority": -1},
            {"programmatic": True, "shared_memory": 64},
            {"cluster": 2},
            {"cluster": (2, 2)},
        )
        if more.get("cluster") != (2, 2) or grid == (4, 2)
    ]
    found = {}
    for (grid, block, more), again in itertools.product(launches, range(2)):
        kernel.launch(grid, block, again, **more)
        sizes = [(*size, 1, 1)[:3] if isinstance(size, tuple) else (size, 1, 1) for size in (grid, block)]
        expected = {name: int(value) for name, value in more.items() if name not in ("shared_memory", "cluster")}
        if "cluster" in more:
            expected["cluster"] = (2, 1, 1) if more["cluster"] == 2 else (2, 2, 1)
        assert driver.launches[-1][:5] == (*sizes, more.get("shared_memory", 0), 0, expected)
        found[(str(grid), str(block), str(more))] = driver.launches[-1].config
    prepared = kernel.launch.__globals__["prepare"]
    kernel.launch.__globals__["prepare"] = None  # no further configuration is prepared
    for grid, block, more in random.Random(0).choices(launches, k=500):
        kernel.launch(grid, block, 1, **more)
        assert driver.launches[-1].config == found[(str(grid), str(block), str(more))]
    kernel.launch.__globals__["prepare"] = prepared


def test_concurrent_launches_have_separate_slots(driver: Driver) -> None:
    count, rounds = 8, 20
    kernel = takes("int", "u32", 4)
    kernel.launch(1, 1, 0)
    barrier = threading.Barrier(count)
    driver.meanwhile = barrier.wait
    driver.launches.clear()

    def work(number: int) -> None:
        for round_ in range(rounds):
            kernel.launch(1, 1, number * 1000 + round_)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(driver.launches) == count * rounds
    numbers = sorted(int.from_bytes(launch.arguments or b"", "little") for launch in driver.launches)
    assert numbers == sorted(number * 1000 + round_ for number in range(count) for round_ in range(rounds))
    assert len({launch.config for launch in driver.launches}) == count


def test_several_threads_may_launch_a_kernel_first(driver: Driver) -> None:
    kernel = takes("int", "u32", 4)
    barrier = threading.Barrier(8)

    def work(number: int) -> None:
        barrier.wait()
        kernel.launch(1 + number % 2, 1, number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int.from_bytes(launch.arguments or b"", "little") for launch in driver.launches) == [*range(8)]


def test_a_kernels_launch_is_the_generated_function_also_before_the_first_launch(driver: Driver) -> None:
    kernel = reads_and_writes()
    launch = kernel.launch
    launch(1, 32, 1, 2)
    kernel.launch(1, 32, 1, 2)
    assert len(driver.launches) == 2 and kernel.launch is launch
    assert launch.__doc__ == Kernel.launch.__doc__


def test_an_argument_may_launch_the_same_kernel(driver: Driver) -> None:
    kernel = takes("double", "f64", 8)

    class Nested:
        def __float__(self) -> float:
            kernel.launch(1, 1, 1.0)
            return 2.0

    kernel.launch(1, 1, Nested())
    assert [launch.arguments for launch in driver.launches] == [struct.pack("<d", 1.0), struct.pack("<d", 2.0)]


def test_the_number_of_remembered_configurations_is_bounded(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher.Launcher, "POOLS", 10)
    kernel = kernel_of()
    for grid in range(1, 200):
        kernel.launch(grid, 1)
        kernel.launch((grid, 1), np.int32(1))
        assert len(kernel.launch.__globals__["pools"]) < 50
    assert [launch.grid[0] for launch in driver.launches] == [grid for grid in range(1, 200) for _ in "12"]


def test_a_copy_of_the_loader_launches_by_itself(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write({f"copy_of_cuda_wheel/{name}": content for name, content in copied_files(PARTS).items()}, tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    copy = importlib.import_module("copy_of_cuda_wheel")
    records = importlib.import_module("copy_of_cuda_wheel.manifest")
    info = records.KernelInfo("k", "_Z1k", (records.Parameter("u32", 0, 4, "int"),))
    kernel = copy.Kernel(module_of(), info, handle_of(info.parameters))
    kernel.launch(1, 1, 5)
    assert driver.launches[-1].arguments == struct.pack("<i", 5)
    with pytest.raises(copy.ArgumentError, match="takes an integer, not str"):
        kernel.launch(1, 1, "5")


def test_a_wrong_argument_leaks_no_slot(driver: Driver) -> None:
    kernel = takes("int", "u32", 4)
    kernel.launch(1, 1, 5)
    for _ in range(100):
        with pytest.raises(ArgumentError):
            kernel.launch(1, 1, "5")
    kernel.launch(1, 1, 6)
    assert max(map(len, kernel.launch.__globals__["pools"].values())) == 1


# --- errors of the driver -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([12345], "^launching k: the driver returned error 12345$"),
        ([Result.CUDA_ERROR_INVALID_CLUSTER_SIZE], "CUDA_ERROR_INVALID_CLUSTER_SIZE"),
        (
            [Result.CUDA_ERROR_ILLEGAL_ADDRESS],
            r"^launching k: the driver returned CUDA_ERROR_ILLEGAL_ADDRESS \(700\): because\. A kernel that was launched "
            "earlier, by any library, failed with this error",
        ),
        ([Result.CUDA_ERROR_INVALID_VALUE], r"CUDA_ERROR_INVALID_VALUE \(1\)"),
        ([Result.CUDA_ERROR_INVALID_CONTEXT, Result.CUDA_ERROR_OUT_OF_MEMORY], r"CUDA_ERROR_OUT_OF_MEMORY \(2\)"),
    ],
)
def test_a_launch_error_of_the_driver_is_reported(driver: Driver, codes: list[int], message: str) -> None:
    kernel = kernel_of()
    driver.codes = [*codes]
    with pytest.raises(DriverError, match=message):
        kernel.launch(1, 1)
    assert len(driver.launches) == len(codes)
    kernel.launch(1, 1)


def test_launches_with_and_without_checks_alternate(driver: Driver) -> None:
    kernel = takes("unsigned char", "u8", 1)
    for _ in range(3):
        assert sent(driver, kernel, 256 + 5, check=False) == b"\5"
        with pytest.raises(ArgumentError, match=r"\(unsigned char\): 261 is out of range"):
            kernel.launch(1, 1, 256 + 5)
        assert sent(driver, kernel, 6) == b"\6"
