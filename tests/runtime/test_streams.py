"""The stream on which launches and copies run: the argument's, the block's, or the current one of the arrays' library.

The driver, PyTorch and CuPy are stand-ins; `tests/gpu/test_streams.py` uses the real ones.
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
import threading
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.runtime import launching as launcher
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.manifest import GlobalInfo, Parameter
from cuda_wheel.runtime.module import Kernel
from tests.support.array_libraries import StandInCuPy, StandInPyTorch, cupy_array, fake, torch_tensor
from tests.support.driver import Driver
from tests.support.launches import ByDLPack, array_interface, core_buffer, kernel_of, module_of

pytestmark = pytest.mark.one_toolchain

PYTORCH, CUPY, OTHER = 0x1000, 0x2000, 0x3000


@pytest.fixture
def driver(use: Callable[..., Driver]) -> Driver:
    return use((8, 6))


@pytest.fixture
def side(pytorch: StandInPyTorch, cupy: StandInCuPy) -> None:
    """Make a stream current in PyTorch, and another one in CuPy."""
    pytorch.local.streams = {0: PYTORCH, 1: PYTORCH + 0x100}
    cupy.local.stream = CUPY


def pointers(count: int) -> Kernel:
    """Return a kernel with a number between pointers, so that not every argument may be an array."""
    number = Parameter("u32", 8 * count, 4, "int")
    return kernel_of(*(Parameter("u64", 8 * index, 8, "float*") for index in range(count)), number)


def stream_of(driver: Driver, *arrays: Any, **more: Any) -> int:
    """Launch a kernel twice with these arrays, and return the stream that the driver gets."""
    kernel = pointers(len(arrays))
    for _ in range(2):
        kernel.launch(1, 1, *arrays, 7, **more)
    first, second = driver.launches[-2:]
    assert first.stream == second.stream and first.config == second.config  # in the same slot
    assert first.arguments is not None and first.arguments[-4:] == (7).to_bytes(4, "little")
    return second.stream


# --- without an argument `stream` -----------------------------------------------------------------------


def test_the_current_stream_is_that_of_the_arrays_library(driver: Driver, side: None) -> None:
    assert stream_of(driver, torch_tensor(8)) == PYTORCH
    assert stream_of(driver, cupy_array(8)) == CUPY
    tensor, array = torch_tensor(8), cupy_array(8)
    for others in ([0x8], [None], [np.uint64(8)], [core_buffer(8)], [ByDLPack(8)], [module_variable(driver)]):
        assert stream_of(driver, *others) == 0
        assert stream_of(driver, *others, tensor, *others, tensor) == PYTORCH
        assert stream_of(driver, array, *others) == CUPY
    parameter = fake("torch.nn.parameter", "Parameter", type(tensor))()
    parameter.__dict__.update(tensor.__dict__)
    assert stream_of(driver, parameter, tensor) == PYTORCH
    assert stream_of(driver, torch_tensor(8, device=None, pinned=True)) == PYTORCH
    assert stream_of(driver, tensor, check=False) == PYTORCH


def module_variable(driver: Driver) -> cuda_wheel.Global:
    driver.memory[b"_Z1v"] = (ctypes.c_uint8 * 8)()
    return module_of(variables=(GlobalInfo("v", "_Z1v", "global", 8),)).globals["v"]


def test_it_is_looked_up_at_each_launch(driver: Driver, pytorch: StandInPyTorch, cupy: StandInCuPy) -> None:
    kernel, tensor, array = pointers(1), torch_tensor(8), cupy_array(8)
    for stream in (0, PYTORCH, OTHER, 0):
        pytorch.local.streams, cupy.local.stream = {0: stream}, stream + 1
        kernel.launch(1, 1, tensor, 1)
        kernel.launch(1, 1, array, 1)
        kernel.launch(1, 1, 8, 1)
        assert [launch.stream for launch in driver.launches[-3:]] == [stream, stream + 1, 0]


def test_a_kernel_without_arrays_runs_on_the_default_stream(driver: Driver, side: None) -> None:
    kernel_of().launch(1, 1)
    kernel_of(Parameter("u32", 0, 4, "int")).launch(1, 1, 5)
    assert [launch.stream for launch in driver.launches] == [0, 0]


def test_a_parameter_of_unknown_type_may_be_an_array(driver: Driver, side: None) -> None:
    kernel_of(Parameter("u64", 0, 8, "")).launch(1, 1, torch_tensor(8))
    assert driver.launches[-1].stream == PYTORCH


def test_pytorchs_public_function_serves_where_the_private_one_is_missing(
    driver: Driver, side: None, pytorch: StandInPyTorch
) -> None:
    del pytorch._C._cuda_getCurrentRawStream
    assert stream_of(driver, torch_tensor(8)) == PYTORCH


def test_with_several_gpus_it_is_the_stream_of_the_launchs_gpu(use: Callable[..., Driver], side: None) -> None:
    driver = use((8, 6), (9, 0))
    for device in (1, 0):
        driver.context.device = device
        assert stream_of(driver, torch_tensor(8, device=device)) == PYTORCH + 0x100 * device
        count = len(driver.launches)
        for _ in range(2):
            with pytest.raises(ArgumentError, match=f"an array on GPU {1 - device}, but the launch is on GPU {device}"):
                pointers(1).launch(1, 1, torch_tensor(8, device=1 - device), 7)
        assert len(driver.launches) == count
    driver.context.device = None  # the GPU of the launch is not known without a context
    assert stream_of(driver, torch_tensor(8)) == PYTORCH


def test_each_thread_has_its_own(driver: Driver, side: None, pytorch: StandInPyTorch) -> None:
    kernel, tensor = pointers(1), torch_tensor(8)
    kernel.launch(1, 1, tensor, 0)

    def work(number: int) -> None:
        pytorch.local.streams = {0: OTHER + number}
        with cuda_wheel.launch_stream(OTHER + 100 + number) if number % 2 else cuda_wheel.launch_stream(None):
            for _ in range(20):
                kernel.launch(1, 1, tensor, number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(driver.launches) == 121
    for launch in driver.launches[1:]:
        number = int.from_bytes((launch.arguments or b"")[-4:], "little")
        assert launch.stream == OTHER + number + 100 * (number % 2)


@pytest.mark.parametrize(("setting", "variable", "expected"), [(0, "", 0), (1, "", 2), (0, "1", 2), (None, "", 0)])
def test_numbas_default_stream(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, setting: int | None, variable: str, expected: int
) -> None:
    numba = ModuleType("numba")
    if setting is not None:
        numba.config = SimpleNamespace(CUDA_PER_THREAD_DEFAULT_STREAM=setting)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "numba", numba)
    monkeypatch.setenv("CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM", variable)
    assert stream_of(driver, array_interface(8)) == expected


# --- two libraries ----------------------------------------------------------------------------------------


def test_arrays_of_two_libraries_with_different_streams_are_refused(
    driver: Driver, side: None, pytorch: StandInPyTorch, cupy: StandInCuPy
) -> None:
    kernel, arrays = pointers(2), (torch_tensor(8), cupy_array(8))
    message = (
        r"^k: the arrays are of libraries with different current streams: PyTorch's is 0x1000 and CuPy's is 0x2000\. "
        r"Choose one by the argument stream or cuda_wheel\.launch_stream, or make one stream current in all of them$"
    )
    for _ in range(2):
        with pytest.raises(ArgumentError, match=message):
            kernel.launch(1, 1, *arrays, 7)
    cupy.local.stream = 0
    with pytest.raises(ArgumentError, match="CuPy's is the default stream and PyTorch's is 0x1000"):
        kernel.launch(1, 1, *arrays[::-1], 7)
    assert not driver.launches
    kernel.launch(1, 1, *arrays, 7, stream=OTHER)
    with cuda_wheel.launch_stream(OTHER):
        kernel.launch(1, 1, *arrays, 7)
    pytorch.local.streams, cupy.local.stream = {}, 1  # the two addresses of the default stream
    kernel.launch(1, 1, *arrays, 7)
    pytorch.local.streams, cupy.local.stream = {0: OTHER}, OTHER
    kernel.launch(1, 1, *arrays, 7)
    assert [launch.stream for launch in driver.launches] == [OTHER, OTHER, 0, OTHER]


def test_a_wrong_array_is_reported_before_the_streams(driver: Driver, side: None) -> None:
    with pytest.raises(ArgumentError, match=r"argument 2 \(float\*\): takes an array of float32, not of float64"):
        pointers(2).launch(1, 1, torch_tensor(8), cupy_array(8, "f8"), 7)


# --- with an argument, or in a block ----------------------------------------------------------------------


def test_the_argument_counts_most_then_the_innermost_block(driver: Driver, side: None) -> None:
    tensor = torch_tensor(8)
    for default in ("default", 0):
        assert stream_of(driver, tensor, stream=default) == 0
    assert stream_of(driver, tensor, stream=SimpleNamespace(ptr=OTHER)) == OTHER
    with cuda_wheel.launch_stream(SimpleNamespace(cuda_stream=OTHER)):
        assert stream_of(driver, tensor) == stream_of(driver) == OTHER
        assert stream_of(driver, tensor, stream="default") == 0
        with cuda_wheel.launch_stream("default"):
            assert stream_of(driver, tensor) == 0
        with cuda_wheel.launch_stream(None):
            assert stream_of(driver, tensor) == PYTORCH and stream_of(driver) == 0
        assert stream_of(driver, tensor) == OTHER
    assert stream_of(driver, tensor) == PYTORCH
    with pytest.raises(ZeroDivisionError), cuda_wheel.launch_stream(OTHER):
        1 / 0  # noqa: B018
    assert stream_of(driver, tensor) == PYTORCH


@pytest.mark.parametrize("stream", ["Default", 5.0, object(), -1, 1 << 64])
def test_a_block_refuses_what_is_no_stream(driver: Driver, stream: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^stream must be an address"), cuda_wheel.launch_stream(stream):
        raise AssertionError
    assert stream_of(driver) == 0


def test_each_task_has_its_own_block(driver: Driver) -> None:
    kernel = pointers(0)

    async def work(number: int) -> None:
        with cuda_wheel.launch_stream(number):
            for _ in range(5):
                await asyncio.sleep(0)
                kernel.launch(1, 1, number)

    async def all_tasks() -> None:
        await asyncio.gather(*(work(number) for number in range(5, 10)))
        kernel.launch(1, 1, 0)

    asyncio.run(all_tasks())
    assert len(driver.launches) == 26
    assert all(launch.arguments == launch.stream.to_bytes(4, "little") for launch in driver.launches)


def test_streams_need_no_slots_of_their_own(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher.Launcher, "POOLS", 10)
    kernel = pointers(0)
    for stream in range(100, 200):
        kernel.launch(1, 1, 7, stream=stream)
    assert len({launch.config for launch in driver.launches}) == 1
    assert [launch.stream for launch in driver.launches] == [*range(100, 200)]
    kernel.launch(1, 1, 7)
    assert driver.launches[-1].stream == 0  # and not the last one
    with pytest.raises(ArgumentError, match=r"^stream must be an address, not -1$"):
        kernel.launch(1, 1, 7, stream=-1)


# --- copies of variables ----------------------------------------------------------------------------------


@pytest.fixture
def variable(driver: Driver) -> cuda_wheel.Global:
    return module_variable(driver)


def gpu_tensor(array: np.ndarray[Any, Any]) -> Any:
    tensor = torch_tensor(array.ctypes.data)
    tensor.__cuda_array_interface__ = array_interface(
        array.ctypes.data, array.dtype.str, shape=array.shape
    ).__cuda_array_interface__
    return tensor


def test_a_variable_is_written_on_the_current_stream_of_the_arrays_library(
    driver: Driver, side: None, variable: cuda_wheel.Global
) -> None:
    data = np.arange(8, dtype=np.uint8)
    variable.write(gpu_tensor(data))
    assert (driver.copies, driver.waits) == ([PYTORCH], [PYTORCH])
    assert bytes(driver.memory[b"_Z1v"]) == data.tobytes()
    variable.write(data)
    variable.write(array_interface(data.ctypes.data, "|u1", shape=(8,)))
    assert (driver.copies[1:], driver.waits[1:]) == ([0, 0], [0, 0])
    with cuda_wheel.launch_stream(OTHER):
        variable.write(gpu_tensor(data))
        variable.write(data)
    assert (driver.copies[3:], driver.waits[3:]) == ([OTHER, OTHER], [OTHER, OTHER])
    variable.write(gpu_tensor(data), stream="default")
    assert driver.copies[5:] == [0] and len(driver.waits) == 5  # the caller waits


def test_a_copy_becomes_a_part_of_the_graph_that_is_captured(
    driver: Driver, side: None, variable: cuda_wheel.Global
) -> None:
    driver.capturing.add(PYTORCH)
    variable.write(gpu_tensor(np.zeros(8, np.uint8)))
    assert (driver.copies, driver.waits) == ([PYTORCH], [])


def test_with_several_gpus_a_copy_is_on_the_current_gpus_stream(use: Callable[..., Driver], side: None) -> None:
    driver = use((8, 6), (9, 0))
    driver.context.device = 1
    module_variable(driver).write(gpu_tensor(np.zeros(8, np.uint8)))
    assert driver.copies == driver.waits == [PYTORCH + 0x100]


def test_a_variable_is_read_on_the_stream_that_is_chosen(driver: Driver, variable: cuda_wheel.Global) -> None:
    driver.memory[b"_Z1v"][:] = range(8)
    expected = bytes(range(8))
    assert variable.read() == variable.read(stream=SimpleNamespace(ptr=OTHER)) == expected
    with cuda_wheel.launch_stream(CUPY):
        assert variable.read() == expected
        assert variable.read(stream="default") == expected
    assert driver.copies == driver.waits == [0, OTHER, CUPY, 0]
