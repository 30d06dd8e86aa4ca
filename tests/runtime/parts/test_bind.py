"""What `Kernel.bind` returns: what it passes to the driver, when it takes the way of `launch`, and its stream."""

from __future__ import annotations

import gc
import struct
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.runtime.errors import ArgumentError, DriverError
from cuda_wheel.runtime.launching import launcher_of
from cuda_wheel.runtime.parts.bind import launch_by_address, launch_on_streams_of
from tests.support.array_libraries import StandInCuPy, StandInPyTorch, cupy_array, torch_tensor
from tests.support.driver import Driver, Result
from tests.support.launches import kernel_of, saxpy, takes

pytestmark = pytest.mark.one_toolchain

X, Y = 0x1000, 0x2000


@pytest.fixture
def driver(use: Callable[..., Driver]) -> Driver:
    return use((9, 0))


def numbers(driver: Driver) -> tuple[Any, ...]:
    return struct.unpack("<f4xQQi", driver.launches[-1].arguments or b"")


def test_nothing_is_launched_before_the_call(driver: Driver) -> None:
    bound = saxpy().bind((3, 2), 64, 2.0, X, Y, 7, stream=0x99, shared_memory=16, cluster=(3, 1))
    assert not driver.launches
    bound()
    (launch,) = driver.launches
    assert launch[:5] == ((3, 2, 1), (64, 1, 1), 16, 0x99, {"cluster": (3, 1, 1)})
    assert numbers(driver) == (2, X, Y, 7)


def test_arguments_that_a_call_leaves_out_are_those_of_bind(driver: Driver) -> None:
    bound = saxpy().bind(1, 1, 2.0, X, Y, 7)
    for args, expected in (
        ((), (2, X, Y, 7)),
        ((3.5,), (3.5, X, Y, 7)),
        ((3, Y, X), (3, Y, X, 7)),
        ((0.5, X, X, -1), (0.5, X, X, -1)),
        ((), (2, X, Y, 7)),
    ):
        bound(*args)
        assert numbers(driver) == expected
    with pytest.raises(TypeError, match="positional arguments but 5 were given"):
        bound(1, 2, 3, 4, 5)


@pytest.mark.parametrize("make", [int, cupy_array, torch_tensor, lambda address: np.uint64(address)])
def test_a_call_takes_all_kinds_of_addresses_whatever_was_bound(make: Callable[[int], Any], driver: Driver) -> None:
    bound = saxpy().bind(1, 1, 2.0, make(X), make(Y), 7)
    for other in (make, int, cupy_array, torch_tensor, np.uint64, make):
        bound(np.float32(1.5), other(Y), other(X), np.int32(9))
        assert numbers(driver) == (1.5, Y, X, 9)
    bound(1.0, None, None)
    assert numbers(driver) == (1, 0, 0, 7)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("2.0", X, Y, 7), r"k, argument 1 \(float\): takes a number, not str"),
        ((2.0, X, [Y], 7), r"k, argument 3 \(float\*\): takes an array on the GPU, an address or None, not list"),
        ((2.0, X, Y, 1 << 31), r"k, argument 4 \(int\): 2147483648 is out of range"),
        ((2.0, X, Y, 1.5), r"k, argument 4 \(int\): takes an integer, not float"),
        ((2.0, X, cupy_array(Y, "f8"), 1), r"argument 3 .*: takes an array of float32, not of float64"),
    ],
)
def test_a_wrong_argument_is_refused_by_bind_and_by_the_call(args: Any, message: str, driver: Driver) -> None:
    kernel = saxpy()
    bound = kernel.bind(1, 1, 2.0, X, Y, 7)
    for _ in range(5):
        for launch in (bound, lambda *args: kernel.bind(1, 1, *args)):
            with pytest.raises(ArgumentError, match=message) as caught:
                launch(*args)
            assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert not driver.launches
    for _ in range(3):
        bound()
    assert {len(slots) for slots in launcher_of(kernel)._pools.values()} <= {0, 1}
    assert len({launch.config for launch in driver.launches}) == 1


def test_bind_checks_what_launch_checks_before_the_first_launch(driver: Driver) -> None:
    with pytest.raises(ArgumentError, match=r"k takes 4 arguments, \(float, const float\*, float\*, int\), but got 3"):
        saxpy().bind(1, 1, 2.0, X, Y)
    with pytest.raises(ArgumentError, match="is too large: the maximum is"):
        saxpy().bind(1, 2048, 2.0, X, Y, 7)
    with pytest.raises(ArgumentError, match="stream must be an address"):
        saxpy().bind(1, 1, 2.0, X, Y, 7, stream="side")
    with pytest.raises(TypeError, match="a launch has no argument 'check'"):
        saxpy().bind(1, 1, 2.0, X, Y, 7, check=False)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("cpp", "type_", "size", "first", "second", "expected"),
    [
        ("bool", "u8", 1, True, False, b"\0"),
        ("__nv_bfloat16", "b16", 2, 1.0, 2.0, b"\x00\x40"),
        ("__nv_bfloat16", "b16", 2, 1, 2, b"\x00\x40"),
        ("__half", "b16", 2, 1.0, 2.0, struct.pack("<e", 2.0)),
        ("float2", "b8", 8, (1, 2), (3, 4), struct.pack("<2f", 3, 4)),
        ("Pair", "b8", 8, b"12345678", bytearray(b"abcdefgh"), b"abcdefgh"),
        ("", "u32", 4, 1, np.int32(-1), b"\xff" * 4),
        ("", "u64", 8, X, cupy_array(Y), struct.pack("<Q", Y)),
        ("", "b32", 4, 1, 1.5, struct.pack("<f", 1.5)),
    ],
)
def test_every_kind_of_parameter(
    cpp: str, type_: str, size: int, first: Any, second: Any, expected: bytes, driver: Driver
) -> None:
    bound = takes(cpp, type_, size).bind(1, 1, first)
    for _ in range(2):
        bound(second)
        assert driver.launches[-1].arguments == expected
    if cpp == "bool":
        with pytest.raises(ArgumentError, match="takes True or False, not 'yes'"):
            bound("yes")


def test_a_kernel_without_parameters(driver: Driver) -> None:
    bound = kernel_of().bind(2, 3)
    bound()
    bound()
    assert [launch.arguments for launch in driver.launches] == [None, None]
    with pytest.raises(TypeError):
        bound(1)


def test_calls_follow_the_current_stream_of_the_arrays(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    torch, cupy = StandInPyTorch(), StandInCuPy()
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    tensors = saxpy().bind(1, 1, 2.0, torch_tensor(X), Y, 7)
    arrays = saxpy().bind(1, 1, 2.0, cupy_array(X), cupy_array(Y), 7)
    plain = saxpy().bind(1, 1, 2.0, X, Y, 7)
    fixed = saxpy().bind(1, 1, 2.0, torch_tensor(X), Y, 7, stream="default")

    def streams() -> list[int]:
        for bound in (tensors, arrays, plain, fixed):
            bound()
        return [launch.stream for launch in driver.launches[-4:]]

    assert streams() == [0, 0, 0, 0]
    torch.local.streams, cupy.local.stream = {0: 0x70}, 0xC0
    assert streams() == [0x70, 0xC0, 0, 0]
    with cuda_wheel.launch_stream(0x33):
        assert streams() == [0x33, 0x33, 0x33, 0]
    assert streams() == [0x70, 0xC0, 0, 0]  # the slots remember no stream
    tensors(2.0, X)  # of no library now: the rule of `launch` holds only where the types differ
    both = saxpy().bind(1, 1, 2.0, torch_tensor(X), cupy_array(Y), 7)
    with pytest.raises(
        ArgumentError, match="libraries with different current streams: PyTorch's is 0x70 and CuPy's is"
    ):
        both()


@pytest.fixture
def two(use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch) -> Driver:
    """Return a driver with two GPUs of which the second is current, and PyTorch with a stream on each."""
    driver = use((9, 0), (9, 0))
    driver.context.device = 1
    torch = StandInPyTorch()
    torch.local.streams = {0: 0x70, 1: 0x71}
    monkeypatch.setitem(sys.modules, "torch", torch)
    return driver


def test_with_several_gpus_the_stream_is_that_of_the_current_one(two: Driver) -> None:
    kernel = saxpy()
    bound = kernel.bind(1, 1, 2.0, torch_tensor(X, device=1), Y, 7)
    bound()
    assert two.launches[-1].stream == 0x71
    with pytest.raises(ArgumentError, match="is an array on GPU 0, but the launch is on GPU 1"):
        kernel.bind(1, 1, 2.0, torch_tensor(X), Y, 7)


def test_without_a_context_that_of_the_arrays_gpu_becomes_current(two: Driver) -> None:
    tensor = torch_tensor(X, device=1)
    tensor.__dlpack_device__ = lambda: (2, 1)
    kernel = saxpy()
    bound = kernel.bind(1, 1, 2.0, tensor, Y, 7)
    on_default_stream = kernel.bind(1, 1, 2.0, tensor, Y, 7, stream="default")
    two.context.device = None
    bound()
    assert (two.context.device, two.launches[-1].stream) == (1, 0x71)
    two.context.device = None
    two.codes = [Result.CUDA_ERROR_INVALID_CONTEXT]
    on_default_stream()
    assert two.context.device == 1 and len(two.launches) == 3
    two.context.device, two.codes = None, [Result.CUDA_ERROR_INVALID_CONTEXT]
    with pytest.raises(DriverError, match="there are several GPUs: choose one"):
        kernel.bind(1, 1, 2.0, X, Y, 7)()


def test_concurrent_calls_have_separate_slots(driver: Driver) -> None:
    bound = takes("int", "u32", 4).bind(1, 1, 0)
    barrier = threading.Barrier(4)
    driver.meanwhile = barrier.wait

    def work(number: int) -> None:
        for round_ in range(10):
            bound(number * 100 + round_)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = sorted(int.from_bytes(launch.arguments or b"", "little") for launch in driver.launches)
    assert found == [number * 100 + round_ for number in range(4) for round_ in range(10)]
    assert len({launch.config for launch in driver.launches}) == 4


def test_the_arguments_are_kept_alive(driver: Driver) -> None:
    array = cupy_array(X)
    alive = weakref.ref(array)
    bound = takes("float*").bind(1, 1, array)
    del array
    gc.collect()
    assert alive() is not None
    bound()
    assert driver.launches[-1].arguments == X.to_bytes(8, "little")
    del bound
    gc.collect()
    assert alive() is None


def test_errors_of_the_driver(driver: Driver) -> None:
    kernel = kernel_of()
    bound = kernel.bind(1, 1)
    driver.codes = [Result.CUDA_ERROR_INVALID_CONTEXT]
    bound()
    assert driver.context.device == 0 and len(driver.launches) == 2
    driver.codes = [Result.CUDA_ERROR_ILLEGAL_ADDRESS]
    with pytest.raises(DriverError, match="launching k: the driver returned CUDA_ERROR_ILLEGAL_ADDRESS"):
        bound()
    kernel.module.unload()
    with pytest.raises(DriverError, match="was unloaded"):
        bound()


def test_a_tensor_is_no_address_where_an_address_was_bound(driver: Driver) -> None:
    """struct would write the number that a tensor of one element holds."""

    class OneElement:
        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            return {"shape": (1,), "typestr": "<f4", "data": (Y, False), "version": 3}

        def __index__(self) -> int:
            return 5

    bound = takes("float*").bind(1, 1, X)
    bound(OneElement())
    assert driver.launches[-1].arguments == Y.to_bytes(8, "little")


# --- by address: for operators -------------------------------------------------------------------------


def test_addresses_are_launched_without_the_checks_of_arrays(driver: Driver) -> None:
    kernel = saxpy()
    launch = launch_by_address(kernel)
    for grid, block, stream, args in (
        (2, 64, 5, (2.0, X, Y, 7)),
        (2, 64, 0, (2, Y, X, -7)),
        ((3, 1), 32, 5, (np.float32(0.5), X, X, np.int32(9))),
        ([2, 1], (64,), 5, (2.0, X, None, 7)),  # converted by `launch`
    ):
        launch(grid, block, stream, *args)
        found = driver.launches[-1]
        sizes = [tuple(each) if isinstance(each, (tuple, list)) else (each,) for each in (grid, block)]
        assert found[:2] == tuple((*each, 1, 1)[:3] for each in sizes) and found.stream == stream
        assert numbers(driver) == tuple(each or 0 for each in args)
    for args, message in (
        ((2.0, X, "Y", 7), r"argument 3 \(float\*\): takes an array on the GPU, an address or None, not str"),
        ((2.0, X, Y, 1 << 31), r"argument 4 \(int\): 2147483648 is out of range"),
        ((2.0, -1, Y, 1), r"argument 2 .*: -1 is out of range"),
    ):
        with pytest.raises(ArgumentError, match=message):
            launch(2, 64, 5, *args)
    kernel.launch(2, 64, 2.0, X, Y, 7)
    assert driver.launches[-1].stream == 0  # in a slot that both use
    assert {len(slots) for slots in launcher_of(kernel)._pools.values()} == {1}


# --- on the current stream of a library: for functions of PyTorch ----------------------------------------


def test_a_launch_without_blocks_only_checks_its_arguments(driver: Driver) -> None:
    def has_blocks(grid: Any) -> bool:
        return 0 not in (grid if isinstance(grid, tuple) else (grid,))

    launch = launch_on_streams_of(saxpy(), lambda device: 5, has_blocks)
    launch(2, 64, 2.0, X, Y, 7)
    assert driver.launches[-1].stream == 5 and numbers(driver) == (2, X, Y, 7)
    empty = torch_tensor(0, "float32")
    empty.shape = (0,)
    for grid in (0, (2, 0), (0, 1, 1)):
        launch(grid, 64, 2.0, X, None, 7)
        launch(grid, 64, 2.0, empty, empty, 0)
    for args, message in (
        ((2.0, X, Y, 1 << 31), r"argument 4 \(int\): 2147483648 is out of range"),
        ((2.0, torch_tensor(X, "float64"), Y, 7), "argument 2 .*: takes an array of float32, not of float64"),
        ((2.0, X), "takes 4 arguments, .* but got 2"),
        ((2.0, X, Y, 7, 8), "takes 4 arguments, .* but got 5"),
    ):
        for grid in (0, (1, 0)):
            with pytest.raises(ArgumentError, match=message):
                launch(grid, 64, *args)
    assert len(driver.launches) == 1
