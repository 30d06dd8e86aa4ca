"""Launches keep the arrays of their arguments until they have ended."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from cuda_wheel.runtime.errors import ArgumentError, DriverError
from cuda_wheel.runtime.manifest import Parameter
from cuda_wheel.runtime.parts import array_protocols
from cuda_wheel.runtime.parts.tensor_maps import TensorMap
from tests.support.array_libraries import (
    ADDRESS,
    OTHER,
    OWN,
    Exported,
    Jax,
    Named,
    cupy_array,
    torch_tensor,
)
from tests.support.driver import Driver, Result
from tests.support.launches import core_buffer, kernel_of, takes

pytestmark = pytest.mark.one_toolchain


def kept_arrays() -> list[Any]:
    return [array for _, arrays in array_protocols._kept for array in arrays]


def test_arrays_are_kept_until_the_launch_has_ended(hopper: Driver) -> None:
    hopper.busy = {0, OWN, OTHER}
    for make, stream in ((Named, OWN), (Exported, 0), (lambda: core_buffer(ADDRESS), 0)):
        array = make()
        alive = weakref.ref(array)
        array.itself = array_is_cyclic = array  # so that the stand-in's own capsule need not refer to it
        takes("float*").launch(1, 1, array)
        (kept,) = kept_arrays()
        assert make is Exported or kept is array
        del array, kept, array_is_cyclic
        gc.collect()
        assert (alive() is not None) == (make is not Exported) and len(array_protocols._kept) == 1
        hopper.busy.remove(stream)
        gc.collect()  # asks which launches have ended
        assert not array_protocols._kept
        gc.collect()
        assert alive() is None
        hopper.busy.add(stream)


def test_a_later_launch_releases_what_has_ended(hopper: Driver) -> None:
    kernel = takes("float*")
    hopper.busy = {OWN}
    for _ in range(3):
        kernel.launch(1, 1, Named(), stream=OWN)
    assert len(kept_arrays()) == 3
    hopper.busy.clear()
    kernel.launch(1, 1, Named(), stream=OWN)
    assert len(kept_arrays()) == 1
    for _ in range(3):
        kernel.launch(1, 1, Named(), stream=OWN)
    assert len(hopper.events) == 3  # they are used again


def test_only_so_many_launches_are_kept(hopper: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_protocols, "LIMIT", 3)
    hopper.busy = {OWN}
    arrays = [Named() for _ in range(5)]
    for array in arrays:
        takes("float*").launch(1, 1, array)
    assert kept_arrays() == arrays[2:] and hopper.waits == [OWN, OWN]


def test_nothing_is_kept_of_addresses_and_of_libraries_with_streams_of_their_own(hopper: Driver) -> None:
    for array in (8, None, np.uint64(8), torch_tensor(8), cupy_array(8)):
        takes("float*").launch(1, 1, array)
        takes("float*").bind(1, 1, array)()
    assert not array_protocols._kept and not hopper.events and not hopper.joins


def test_nothing_is_kept_of_a_launch_that_fails(hopper: Driver) -> None:
    kernel = kernel_of(Parameter("u64", 0, 8, "float*"), Parameter("u32", 8, 4, "int"))
    bound = kernel.bind(1, 1, 8, 1)
    for launch in (lambda: kernel.launch(1, 1, Named(), "x"), lambda: bound(Named(), "x"), lambda: bound(8, "x")):
        with pytest.raises(ArgumentError, match="takes an integer, not str"):
            launch()
    hopper.codes = [Result.CUDA_ERROR_ILLEGAL_ADDRESS]
    with pytest.raises(DriverError):
        kernel.launch(1, 1, Named(), 1)
    assert not array_protocols._kept
    kernel.launch(1, 1, 8, 1)
    bound()
    assert not array_protocols._kept


def test_a_tensor_map_keeps_its_array(hopper: Driver) -> None:
    made = TensorMap(bytes(128))
    kernel = kernel_of(Parameter("b8", 0, 128, "CUtensorMap"), Parameter("u32", 128, 4, "int"))
    hopper.busy = {0}
    for made.kept_by_launches in (False, True):
        bound = kernel.bind(1, 1, made, 7)
        with pytest.raises(ArgumentError, match="takes an integer"):
            bound(made, "x")
        bound()
        kernel.launch(1, 1, made, 7)
        assert kept_arrays() == [made, made] * made.kept_by_launches


def test_at_exit_the_launches_are_waited_for(hopper: Driver) -> None:
    hopper.busy = {OWN, OTHER}
    for stream in (OWN, OTHER):
        takes("float*").launch(1, 1, Named(stream))
    array_protocols._finish()
    assert hopper.waits == [OWN, OTHER] and not array_protocols._kept
    gc.callbacks.append(array_protocols._after_collection)


def test_at_exit_the_thread_that_releases_arrays_is_waited_for(hopper: Driver) -> None:
    hopper.busy = {OWN}
    takes("float*").launch(1, 1, Named(OWN))
    finishing = threading.Thread(target=array_protocols._finish)
    with array_protocols._releasing:
        finishing.start()
        finishing.join(0.05)
        assert array_protocols._kept
    finishing.join()
    assert hopper.waits == [OWN] and not array_protocols._kept
    gc.callbacks.append(array_protocols._after_collection)


def test_threads_that_keep_the_first_array_at_the_same_time_register_once(monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[object] = []
    monkeypatch.setattr(array_protocols, "_started", [])
    monkeypatch.setattr(array_protocols.gc, "callbacks", registered)
    monkeypatch.setattr(array_protocols.atexit, "register", registered.append)
    for _ in range(2):  # as by two threads of which neither saw the other one start
        array_protocols._start()
    assert registered == [array_protocols._after_collection, array_protocols._finish]


def test_a_captured_launch_waits_on_the_host(hopper: Driver) -> None:
    """The graph runs later, and the driver refuses to make it wait for work outside of it."""
    hopper.capturing = {OTHER}
    array, exported, jax = Named(), Exported(), Jax()
    for each in (array, exported, jax):
        takes("float*").launch(1, 1, each, stream=OTHER)
    assert hopper.waits == [OWN] and not hopper.joins and not array_protocols._kept
    assert exported.asked[0]["stream"] == -1
    assert jax.asked[0]["stream"] is None and jax.waited == 1
    assert hopper.context.capture_mode == "global"
