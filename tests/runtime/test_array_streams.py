"""Launches wait for arrays that are still computed: streams that arrays name, bound launches, variables and tensor maps.

The driver and the libraries are stand-ins; `tests/gpu/test_array_streams.py` uses the real ones.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.launching import launcher_of
from cuda_wheel.runtime.parts.bind import launch_by_address
from cuda_wheel.runtime.streams import stream_address
from tests.support.array_libraries import (
    ADDRESS,
    OTHER,
    OWN,
    PYTORCH,
    Exported,
    Jax,
    Named,
    StandInPyTorch,
    cupy_array,
    fake,
    torch_tensor,
)
from tests.support.driver import Driver
from tests.support.launches import reads_and_writes, takes

pytestmark = pytest.mark.one_toolchain


# --- the array interface with a stream -------------------------------------------------------------------


def test_a_launch_runs_on_the_stream_that_an_array_names(hopper: Driver) -> None:
    kernel = takes("const float*")
    for array in (Named(), Named(OTHER), Named(None), Named(2), Named(1)):
        for launch in (kernel.launch, lambda _grid, _block, array: kernel.bind(1, 1, array)()):
            launch(1, 1, array)
            assert hopper.launches[-1].stream == (array.stream if array.stream not in (None, 1) else 0)
    assert not hopper.joins


def test_another_stream_waits_for_the_one_that_an_array_names(hopper: Driver) -> None:
    kernel, array = takes("const float*"), Named()
    bound, plain = kernel.bind(1, 1, array, stream=OTHER), kernel.bind(1, 1, 8, stream=OTHER)
    for launch in (lambda: kernel.launch(1, 1, array, stream=OTHER), bound, lambda: plain(array)):
        count = len(hopper.launches)
        launch()
        assert hopper.launches[-1].stream == OTHER and len(hopper.launches) == count + 1
        assert hopper.joins.pop() == (OTHER, OWN, count) and not hopper.joins
    with cuda_wheel.launch_stream(OTHER):
        kernel.launch(1, 1, array)
    assert hopper.joins == [(OTHER, OWN, 3)]
    kernel.launch(1, 1, array, stream=OWN)
    kernel.launch(1, 1, Named(None), stream=OTHER)
    kernel.launch(1, 1, Named(1), stream="default")
    assert len(hopper.joins) == 1
    kernel.launch(1, 1, array, check=False, stream=OTHER)
    assert len(hopper.joins) == 2


def test_the_owner_of_a_written_array_waits_for_the_launch(hopper: Driver) -> None:
    reads_and_writes().launch(1, 1, Named(OWN), Named(OTHER), stream=PYTORCH)
    assert hopper.joins == [(PYTORCH, OWN, 0), (PYTORCH, OTHER, 0), (OTHER, PYTORCH, 1)]


def test_arrays_of_other_libraries_join_pytorchs_stream(hopper: Driver, pytorch: StandInPyTorch) -> None:
    pytorch.local.streams = {0: PYTORCH}
    reads_and_writes().launch(1, 1, Named(OWN), torch_tensor(8))
    reads_and_writes().launch(1, 1, torch_tensor(8), Named(OWN))
    assert [launch.stream for launch in hopper.launches] == [PYTORCH, PYTORCH]
    assert hopper.joins == [(PYTORCH, OWN, 0), (PYTORCH, OWN, 1), (OWN, PYTORCH, 2)]


def test_numbas_arrays_without_a_stream_are_computed_on_its_default_stream(hopper: Driver) -> None:
    array = fake("numba.cuda", "DeviceNDArray", Named)(None)
    takes("const float*").launch(1, 1, array, stream=OTHER)
    assert hopper.joins == [(OTHER, 1, 0)]
    array.stream = 0  # as Numba's default_stream()
    takes("const float*").launch(1, 1, array)
    assert hopper.launches[-1].stream == 0 and len(hopper.joins) == 1


@pytest.mark.parametrize("stream", [0, -1, 1.0, True, "1", 1 << 64])
def test_what_is_no_stream_is_refused(hopper: Driver, stream: Any) -> None:
    for more in ({}, {"stream": OTHER}):
        with pytest.raises(
            ArgumentError, match=r"k, argument 1 \(float\*\): names .* as its stream, but the array int"
        ):
            takes("float*").launch(1, 1, Named(stream), **more)
    assert not hopper.launches


# --- DLPack -----------------------------------------------------------------------------------------------


def test_a_deleted_array_of_jax_is_refused_whatever_it_says_itself(hopper: Driver) -> None:
    class Deleted(Jax):
        def is_deleted(self) -> bool:
            return True

        def __dlpack_device__(self) -> tuple[int, int]:
            raise TypeError("object of type 'NoneType' has no len()")

    with pytest.raises(ArgumentError, match=r"k, argument 1 \(float\*\): is an array that was deleted or donated"):
        takes("float*").launch(1, 1, Deleted())


# --- bound launches, configurations, alignment -----------------------------------------------------------


def test_a_bound_launch_keeps_its_stream(hopper: Driver) -> None:
    class Stream:
        __cuda_stream__ = (0, OTHER)

    for sample in (8, Exported()):
        stream = Stream()
        alive = weakref.ref(stream)
        bound = takes("float*").bind(1, 1, sample, stream=stream)
        del stream
        gc.collect()
        assert alive() is not None
        bound()
        assert hopper.launches[-1].stream == OTHER
        del bound
        gc.collect()
        assert alive() is None


def like(tensor: Any, **members: Any) -> Any:
    """Return another tensor of the same class, with these members."""
    other = type(tensor)()
    other.__dict__.update(tensor.__dict__ | members)
    return other


TENSOR = torch_tensor(8)
COMPLEX = torch_tensor(8, "complex64").dtype


def test_a_bound_launch_takes_other_tensors_of_the_type(hopper: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = takes("float*")
    bound = kernel.bind(1, 1, TENSOR)
    monkeypatch.setattr(launcher_of(kernel), "launch", None)  # the way of those that are not taken so quickly
    for tensor in (TENSOR, like(TENSOR, data_ptr=lambda: 24), TENSOR):
        bound(tensor)
        assert hopper.launches[-1].arguments == tensor.data_ptr().to_bytes(8, "little")


@pytest.mark.parametrize(
    ("cpp", "type_", "size", "sample", "wrong", "message"),
    [
        ("float*", "u64", 8, TENSOR, like(TENSOR, is_neg=lambda: True), "is a lazily negated tensor"),
        ("float*", "u64", 8, TENSOR, like(TENSOR, dtype=COMPLEX), "takes an array of float32, not of complex64"),
        ("float*", "u64", 8, TENSOR, like(TENSOR, data_ptr=lambda: 0), "is a tensor without memory"),
        ("float*", "u64", 8, TENSOR, like(TENSOR, is_cuda=False, device="meta"), "a tensor on the device 'meta'"),
        ("float*", "u64", 8, TENSOR, torch_tensor(16, device=None), "is a tensor in host memory"),
        ("float*", "u64", 8, cupy_array(8), cupy_array(16, "c8"), "takes an array of float32, not of complex64"),
        ("float", "f32", 4, 1.0, np.array([1.0]), "takes a number, not numpy.ndarray"),
        ("float", "f32", 4, 1.0, np.complex64(1j), "takes a number, not numpy.complex64"),
        ("float", "f32", 4, 1.0, np.array(1j), "takes a number, not numpy.complex128"),
        ("float", "f32", 4, 1.0, fake("torch", "Tensor", __float__=lambda _: 1.0, __len__=len)(), "takes a number"),
        ("int", "u32", 4, 1, fake("torch", "Tensor", __index__=lambda _: 1, __len__=len)(), "takes an integer"),
        ("char", "u8", 1, 1, 200, "fits an unsigned parameter only"),
        ("bool", "u8", 1, True, 2, "takes True or False, not 2"),
    ],
)
def test_a_bound_launch_refuses_what_a_launch_refuses(
    hopper: Driver, cpp: str, type_: str, size: int, sample: Any, wrong: Any, message: str
) -> None:
    kernel = takes(cpp, type_, size)
    bound = kernel.bind(1, 1, sample)
    for launch in (bound, lambda value: kernel.launch(1, 1, value)):
        with pytest.raises(ArgumentError, match=message):
            launch(wrong)
    assert not hopper.launches
    bound()


def test_a_bound_tensor_that_was_changed_in_place_is_checked_again(hopper: Driver) -> None:
    tensor = torch_tensor(8)
    bound = takes("float*").bind(1, 1, tensor)
    bound()
    tensor.__dict__.update(torch_tensor(16).__dict__)
    bound()
    assert hopper.launches[-1].arguments == (16).to_bytes(8, "little")
    tensor.__dict__.update(torch_tensor(24, device=None).__dict__)
    with pytest.raises(ArgumentError, match="is a tensor in host memory"):
        bound()


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"grid": 2}, {"grid": 2.0}),
        ({"grid": (2, 3)}, {"grid": (2.0, 3)}),
        ({"grid": (2, 3)}, {"grid": (np.float64(2), 3)}),
        ({"block": 32}, {"block": 32.0}),
        ({"block": (32, 2)}, {"block": (32, 2.0)}),
        ({"shared_memory": 1024}, {"shared_memory": 1024.0}),
        ({"cluster": (2, 1), "grid": 2}, {"cluster": (2.0, 1), "grid": 2}),
        ({"cluster": 2, "grid": 2}, {"cluster": 2.0, "grid": 2}),
        ({"priority": -1}, {"priority": -1.0}),
    ],
)
def test_floats_are_refused_after_equal_integers(hopper: Driver, given: dict[str, Any], wrong: dict[str, Any]) -> None:
    kernel = takes("int", "u32", 4)

    def launch(grid: Any = 1, block: Any = 1, **more: Any) -> None:
        kernel.launch(grid, block, 7, **more)

    launchers = [launch]
    if given.keys() <= {"grid", "block"}:
        by_address = launch_by_address(kernel)
        launchers.append(lambda grid=1, block=1: by_address(grid, block, 0, 7))
    for each in launchers:
        for _ in range(3):
            each(**given)
            with pytest.raises(ArgumentError, match="takes integers"):
                each(**wrong)
    with pytest.raises(ArgumentError, match="takes integers"):
        kernel.bind(wrong.pop("grid", 1), wrong.pop("block", 1), 7, **wrong)


@pytest.mark.parametrize("wrong", [True, False, np.True_, 1.0, "1"])
def test_what_is_no_stream_or_event_is_refused_always(hopper: Driver, wrong: Any) -> None:
    kernel = takes("int", "u32", 4)
    for _ in range(3):
        kernel.launch(1, 1, 7, stream=1)
        kernel.launch(1, 1, 7, stream=0)
        for launch in (kernel.launch, kernel.bind):
            with pytest.raises(ArgumentError, match="stream must be an address"):
                launch(1, 1, 7, stream=wrong)
            with pytest.raises(ArgumentError, match="completion_event must be an event"):
                launch(1, 1, 7, completion_event=wrong)
    with pytest.raises(ArgumentError):
        stream_address(wrong)


@pytest.mark.parametrize("make", [int, cupy_array, torch_tensor, lambda address: Exported(address=address), np.uint64])
def test_pointers_to_vectors_need_aligned_addresses(hopper: Driver, make: Callable[[int], Any]) -> None:
    kernel = takes("const float4*")
    good, wrong = make(ADDRESS + 16), make(ADDRESS + 8)
    bound = kernel.bind(1, 1, good)
    bound()
    launches = [bound, lambda value: kernel.launch(1, 1, value)]
    if make is int:
        launches.append(lambda value: launch_by_address(kernel)(1, 1, 0, value))
    for launch in launches:
        launch(good)
        assert hopper.launches[-1].arguments == (ADDRESS + 16).to_bytes(8, "little")
        with pytest.raises(ArgumentError, match=r"\(const float4\*\): is at 0x\w+8, which is not a multiple of the 16"):
            launch(wrong)
        launch(None)
    kernel.launch(1, 1, wrong, check=False)
    with pytest.raises(ArgumentError, match="not a multiple"):
        kernel.bind(1, 1, wrong)
