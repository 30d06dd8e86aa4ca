"""Launches wait for arrays that are still computed, and keep them until they have ended.

The driver and the libraries are stand-ins; `tests/gpu/test_array_streams.py` uses the real ones.
"""

from __future__ import annotations

import ctypes
import gc
import struct
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.runtime import arrays_in_use
from cuda_wheel.runtime.arrays import alignment
from cuda_wheel.runtime.errors import ArgumentError, DriverError
from cuda_wheel.runtime.launching import launcher_of
from cuda_wheel.runtime.manifest import GlobalInfo, Parameter
from cuda_wheel.runtime.parts.bind import launch_by_address
from cuda_wheel.runtime.parts.tensor_maps import TensorMap
from cuda_wheel.runtime.streams import stream_address
from tests.support.array_libraries import StandInPyTorch, cupy_array, fake, torch_tensor
from tests.support.driver import Driver, Result
from tests.support.launches import core_buffer, kernel_of, module_of, takes

pytestmark = pytest.mark.one_toolchain

OWN, OTHER, PYTORCH = 0x100, 0x200, 0x1000
ADDRESS = 0x7F0000001000


@pytest.fixture
def driver(use: Callable[..., Driver]) -> Driver:
    driver = use((9, 0))
    driver.context.device = 0
    return driver


class Exported:
    """An array that is exported by DLPack as `versioned` says, and notes how it was asked for."""

    def __init__(
        self, *, versioned: bool = True, flags: int = 0, version: int = 1, lanes: int = 1, **more: Any
    ) -> None:
        self._name = b"dltensor_versioned" if versioned else b"dltensor"
        self.asked: list[dict[str, Any]] = []
        shape = more.get("shape", (4,))
        self._shape = struct.pack(f"<{len(shape)}q", *shape)
        lengths = ctypes.cast(ctypes.c_char_p(self._shape), ctypes.c_void_p).value
        place, code, bits = more.get("place", 2), more.get("code", 2), more.get("bits", 32)
        content = struct.pack("<IIQQQ", version, 0, 0, 0, flags) if versioned else b""
        head = more.get("address", ADDRESS), place, 0, len(shape), code, bits, lanes
        content += struct.pack("<QiiiBBHQQQ", *head, lengths, 0, more.get("offset", 0))
        self._memory = ctypes.create_string_buffer(content)
        self._place = place

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._place, 0

    def __dlpack__(self, **options: Any) -> Any:
        self.asked.append(options)
        new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(("PyCapsule_New", ctypes.pythonapi))(ctypes.addressof(self._memory), self._name, None)


class Jax(Exported):
    """An array of JAX's, which has an array interface without a stream beside DLPack."""

    waited = 0

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        raise AttributeError("not for all element types")

    def block_until_ready(self) -> None:
        self.waited += 1


class Named:
    """An array with an array interface that names a stream."""

    def __init__(self, stream: Any = OWN) -> None:
        self.stream = stream

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        data = (ADDRESS, False)
        return {"shape": (4,), "typestr": "<f4", "data": data, "version": 3, "stream": self.stream}


def kept_arrays() -> list[Any]:
    return [array for _, arrays in arrays_in_use._kept for array in arrays]


def reads_and_writes() -> Any:
    return kernel_of(Parameter("u64", 0, 8, "const float*"), Parameter("u64", 8, 8, "float*"))


# --- the array interface with a stream -------------------------------------------------------------------


def test_a_launch_runs_on_the_stream_that_an_array_names(driver: Driver) -> None:
    kernel = takes("const float*")
    for array in (Named(), Named(OTHER), Named(None), Named(2), Named(1)):
        for launch in (kernel.launch, lambda _grid, _block, array: kernel.bind(1, 1, array)()):
            launch(1, 1, array)
            assert driver.launches[-1].stream == (array.stream if array.stream not in (None, 1) else 0)
    assert not driver.joins


def test_another_stream_waits_for_the_one_that_an_array_names(driver: Driver) -> None:
    kernel, array = takes("const float*"), Named()
    bound, plain = kernel.bind(1, 1, array, stream=OTHER), kernel.bind(1, 1, 8, stream=OTHER)
    for launch in (lambda: kernel.launch(1, 1, array, stream=OTHER), bound, lambda: plain(array)):
        count = len(driver.launches)
        launch()
        assert driver.launches[-1].stream == OTHER and len(driver.launches) == count + 1
        assert driver.joins.pop() == (OTHER, OWN, count) and not driver.joins
    with cuda_wheel.launch_stream(OTHER):
        kernel.launch(1, 1, array)
    assert driver.joins == [(OTHER, OWN, 3)]
    kernel.launch(1, 1, array, stream=OWN)
    kernel.launch(1, 1, Named(None), stream=OTHER)
    kernel.launch(1, 1, Named(1), stream="default")
    assert len(driver.joins) == 1
    kernel.launch(1, 1, array, check=False, stream=OTHER)
    assert len(driver.joins) == 2


def test_the_owner_of_a_written_array_waits_for_the_launch(driver: Driver) -> None:
    reads_and_writes().launch(1, 1, Named(OWN), Named(OTHER), stream=PYTORCH)
    assert driver.joins == [(PYTORCH, OWN, 0), (PYTORCH, OTHER, 0), (OTHER, PYTORCH, 1)]


def test_arrays_of_other_libraries_join_pytorchs_stream(driver: Driver, pytorch: StandInPyTorch) -> None:
    pytorch.local.streams = {0: PYTORCH}
    reads_and_writes().launch(1, 1, Named(OWN), torch_tensor(8))
    reads_and_writes().launch(1, 1, torch_tensor(8), Named(OWN))
    assert [launch.stream for launch in driver.launches] == [PYTORCH, PYTORCH]
    assert driver.joins == [(PYTORCH, OWN, 0), (PYTORCH, OWN, 1), (OWN, PYTORCH, 2)]


def test_numbas_arrays_without_a_stream_are_computed_on_its_default_stream(driver: Driver) -> None:
    array = fake("numba.cuda", "DeviceNDArray", Named)(None)
    takes("const float*").launch(1, 1, array, stream=OTHER)
    assert driver.joins == [(OTHER, 1, 0)]
    array.stream = 0  # as Numba's default_stream()
    takes("const float*").launch(1, 1, array)
    assert driver.launches[-1].stream == 0 and len(driver.joins) == 1


@pytest.mark.parametrize("stream", [0, -1, 1.0, True, "1", 1 << 64])
def test_what_is_no_stream_is_refused(driver: Driver, stream: Any) -> None:
    for more in ({}, {"stream": OTHER}):
        with pytest.raises(
            ArgumentError, match=r"k, argument 1 \(float\*\): names .* as its stream, but the array int"
        ):
            takes("float*").launch(1, 1, Named(stream), **more)
    assert not driver.launches


# --- DLPack -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Exported, Jax])
def test_the_launchs_stream_is_handed_over(driver: Driver, pytorch: StandInPyTorch, kind: type[Exported]) -> None:
    pytorch.local.streams = {0: PYTORCH}
    kernel, array = reads_and_writes(), kind()
    bound = kernel.bind(1, 1, array, 8, stream=OTHER)
    array.asked.clear()
    array_stream: dict[int, Callable[[], None]] = {
        1: lambda: kernel.launch(1, 1, array, 8),
        OTHER: lambda: kernel.launch(1, 1, array, 8, stream=OTHER),
        PYTORCH: lambda: kernel.launch(1, 1, array, torch_tensor(8)),
        2: lambda: kernel.launch(1, 1, array, 8, stream=2, check=False),
    }
    for stream, launch in [*array_stream.items(), (OTHER, bound), (OTHER, lambda: bound(array))]:
        launch()
        assert array.asked.pop() == {"max_version": (1, 1), "copy": False, "stream": stream} and not array.asked
        assert driver.launches[-1].stream == (stream if stream > 1 else 0)
    assert array.__dict__.get("waited", 0) == (1 if kind is Jax else 0)  # by `bind`, which hands over no stream


@pytest.mark.parametrize("accepted", [{"stream", "max_version"}, {"stream"}])
def test_a_library_with_fewer_arguments(driver: Driver, accepted: set[str]) -> None:
    class Older(Exported):
        def __dlpack__(self, **options: Any) -> Any:
            if options.keys() - accepted:
                raise TypeError("an unexpected argument")
            return super().__dlpack__(**options)

    array = Older()
    takes("float*").launch(1, 1, array, stream=OTHER)
    assert array.asked[-1].keys() == accepted and array.asked[-1]["stream"] == OTHER


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"flags": 2}, "is exported as a copy, not as the memory that it has"),
        ({"flags": 1}, "is a read-only array, but the kernel may write to it"),
        ({"version": 2}, r"is exported by DLPack 2\.0, which is not known here"),
        ({"lanes": 4}, "has vectors of 4 numbers as elements"),
        ({"address": 0}, "is an array without memory"),
        ({"address": 0, "versioned": False, "shape": ()}, "is an array without memory"),
        ({"place": 1}, "is an array in host memory: copy it to the GPU"),
        ({"code": 4, "bits": 16}, "takes an array of float32, not of bfloat16"),
        ({"code": 10, "bits": 8}, "takes an array of float32, not of float8_e4m3fn"),
        ({"code": 14, "bits": 8}, "takes an array of float32, not of float8_e8m0fnu"),
        ({"code": 10, "bits": 4}, "takes an array of float32, not of DLPack's type 10"),
    ],
)
def test_what_a_kernel_cannot_use_is_refused(driver: Driver, form: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=rf"k, argument 1 \(float\*\): {message}$"):
        takes("float*").launch(1, 1, Exported(**form))
    assert not driver.launches and not arrays_in_use._kept


def test_an_empty_array_has_no_memory(driver: Driver) -> None:
    takes("float*").launch(1, 1, Exported(address=0, shape=(3, 0)))
    assert driver.launches[-1].arguments == bytes(8)


def test_an_array_that_dlpack_cannot_express_is_read_by_its_array_interface(driver: Driver) -> None:
    class Records(Named):
        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 0

        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("no records")

    takes("Record*").launch(1, 1, Records(), stream=OTHER)
    assert driver.joins[0] == (OTHER, OWN, 0)


def test_the_reason_why_an_array_cannot_be_exported_is_told(driver: Driver) -> None:
    class Deleted(Jax):
        def __dlpack_device__(self) -> tuple[int, int]:
            raise RuntimeError("Array has been deleted with shape=float32[4].")

    with pytest.raises(ArgumentError, match=r"k, argument 1 \(float\*\): Array has been deleted"):
        takes("float*").launch(1, 1, Deleted())


def test_a_deleted_array_of_jax_is_refused_whatever_it_says_itself(driver: Driver) -> None:
    class Deleted(Jax):
        def is_deleted(self) -> bool:
            return True

        def __dlpack_device__(self) -> tuple[int, int]:
            raise TypeError("object of type 'NoneType' has no len()")

    with pytest.raises(ArgumentError, match=r"k, argument 1 \(float\*\): is an array that was deleted or donated"):
        takes("float*").launch(1, 1, Deleted())


# --- keeping ----------------------------------------------------------------------------------------------


def test_arrays_are_kept_until_the_launch_has_ended(driver: Driver) -> None:
    driver.busy = {0, OWN, OTHER}
    for make, stream in ((Named, OWN), (Exported, 0), (lambda: core_buffer(ADDRESS), 0)):
        array = make()
        alive = weakref.ref(array)
        array.itself = array_is_cyclic = array  # so that the stand-in's own capsule need not refer to it
        takes("float*").launch(1, 1, array)
        (kept,) = kept_arrays()
        assert make is Exported or kept is array
        del array, kept, array_is_cyclic
        gc.collect()
        assert (alive() is not None) == (make is not Exported) and len(arrays_in_use._kept) == 1
        driver.busy.remove(stream)
        gc.collect()  # asks which launches have ended
        assert not arrays_in_use._kept
        gc.collect()
        assert alive() is None
        driver.busy.add(stream)


def test_a_later_launch_releases_what_has_ended(driver: Driver) -> None:
    kernel = takes("float*")
    driver.busy = {OWN}
    for _ in range(3):
        kernel.launch(1, 1, Named(), stream=OWN)
    assert len(kept_arrays()) == 3
    driver.busy.clear()
    kernel.launch(1, 1, Named(), stream=OWN)
    assert len(kept_arrays()) == 1
    for _ in range(3):
        kernel.launch(1, 1, Named(), stream=OWN)
    assert len(driver.events) == 3  # they are used again


def test_only_so_many_launches_are_kept(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays_in_use, "LIMIT", 3)
    driver.busy = {OWN}
    arrays = [Named() for _ in range(5)]
    for array in arrays:
        takes("float*").launch(1, 1, array)
    assert kept_arrays() == arrays[2:] and driver.waits == [OWN, OWN]


def test_nothing_is_kept_of_addresses_and_of_libraries_with_streams_of_their_own(driver: Driver) -> None:
    for array in (8, None, np.uint64(8), torch_tensor(8), cupy_array(8)):
        takes("float*").launch(1, 1, array)
        takes("float*").bind(1, 1, array)()
    assert not arrays_in_use._kept and not driver.events and not driver.joins


def test_nothing_is_kept_of_a_launch_that_fails(driver: Driver) -> None:
    kernel = kernel_of(Parameter("u64", 0, 8, "float*"), Parameter("u32", 8, 4, "int"))
    bound = kernel.bind(1, 1, 8, 1)
    for launch in (lambda: kernel.launch(1, 1, Named(), "x"), lambda: bound(Named(), "x"), lambda: bound(8, "x")):
        with pytest.raises(ArgumentError, match="takes an integer, not str"):
            launch()
    driver.codes = [Result.CUDA_ERROR_ILLEGAL_ADDRESS]
    with pytest.raises(DriverError):
        kernel.launch(1, 1, Named(), 1)
    assert not arrays_in_use._kept
    kernel.launch(1, 1, 8, 1)
    bound()
    assert not arrays_in_use._kept


def test_a_tensor_map_keeps_its_array(driver: Driver) -> None:
    made = TensorMap(bytes(128))
    kernel = kernel_of(Parameter("b8", 0, 128, "CUtensorMap"), Parameter("u32", 128, 4, "int"))
    driver.busy = {0}
    for made.kept_by_launches in (False, True):
        bound = kernel.bind(1, 1, made, 7)
        with pytest.raises(ArgumentError, match="takes an integer"):
            bound(made, "x")
        bound()
        kernel.launch(1, 1, made, 7)
        assert kept_arrays() == [made, made] * made.kept_by_launches


def test_at_exit_the_launches_are_waited_for(driver: Driver) -> None:
    driver.busy = {OWN, OTHER}
    for stream in (OWN, OTHER):
        takes("float*").launch(1, 1, Named(stream))
    arrays_in_use._finish()
    assert driver.waits == [OWN, OTHER] and not arrays_in_use._kept
    gc.callbacks.append(arrays_in_use._after_collection)


# --- graphs -----------------------------------------------------------------------------------------------


def test_a_captured_launch_waits_on_the_host(driver: Driver) -> None:
    """The graph runs later, and the driver refuses to make it wait for work outside of it."""
    driver.capturing = {OTHER}
    array, exported, jax = Named(), Exported(), Jax()
    for each in (array, exported, jax):
        takes("float*").launch(1, 1, each, stream=OTHER)
    assert driver.waits == [OWN] and not driver.joins and not arrays_in_use._kept
    assert exported.asked[0]["stream"] == -1
    assert jax.asked[0]["stream"] is None and jax.waited == 1
    assert driver.context.capture_mode == "global"


# --- variables, tensor maps -----------------------------------------------------------------------------


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


# --- bound launches, configurations, alignment -----------------------------------------------------------


def test_a_bound_launch_keeps_its_stream(driver: Driver) -> None:
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
        assert driver.launches[-1].stream == OTHER
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


def test_a_bound_launch_takes_other_tensors_of_the_type(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = takes("float*")
    bound = kernel.bind(1, 1, TENSOR)
    monkeypatch.setattr(launcher_of(kernel), "launch", None)  # the way of those that are not taken so quickly
    for tensor in (TENSOR, like(TENSOR, data_ptr=lambda: 24), TENSOR):
        bound(tensor)
        assert driver.launches[-1].arguments == tensor.data_ptr().to_bytes(8, "little")


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
    driver: Driver, cpp: str, type_: str, size: int, sample: Any, wrong: Any, message: str
) -> None:
    kernel = takes(cpp, type_, size)
    bound = kernel.bind(1, 1, sample)
    for launch in (bound, lambda value: kernel.launch(1, 1, value)):
        with pytest.raises(ArgumentError, match=message):
            launch(wrong)
    assert not driver.launches
    bound()


def test_a_bound_tensor_that_was_changed_in_place_is_checked_again(driver: Driver) -> None:
    tensor = torch_tensor(8)
    bound = takes("float*").bind(1, 1, tensor)
    bound()
    tensor.__dict__.update(torch_tensor(16).__dict__)
    bound()
    assert driver.launches[-1].arguments == (16).to_bytes(8, "little")
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
def test_floats_are_refused_after_equal_integers(driver: Driver, given: dict[str, Any], wrong: dict[str, Any]) -> None:
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
def test_what_is_no_stream_or_event_is_refused_always(driver: Driver, wrong: Any) -> None:
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


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        ("float4", 16), ("float3", 4), ("float2", 8), ("double2", 16), ("double4", 16), ("double4_32a", 32),
        ("double4_16a", 16), ("uchar4", 4), ("char2", 2), ("short3", 2), ("ushort4", 8), ("ulonglong2", 16),
        ("long2", 16), ("int1", 4), ("__half2", 4), ("at::Half", 1), ("float", 1), ("Pair", 1), ("std::complex<float>", 1),
        ("thrust::complex<double>", 16), ("c10::complex<float>", 8), ("cuda::std::__4::complex<double>", 16),
        ("c10::complex<c10::Half>", 4),
    ],
)  # fmt: skip
def test_the_alignment_of_vectors(element: str, expected: int) -> None:
    assert alignment(element, 8) == expected


@pytest.mark.parametrize("make", [int, cupy_array, torch_tensor, lambda address: Exported(address=address), np.uint64])
def test_pointers_to_vectors_need_aligned_addresses(driver: Driver, make: Callable[[int], Any]) -> None:
    kernel = takes("const float4*")
    good, wrong = make(ADDRESS + 16), make(ADDRESS + 8)
    bound = kernel.bind(1, 1, good)
    bound()
    launches = [bound, lambda value: kernel.launch(1, 1, value)]
    if make is int:
        launches.append(lambda value: launch_by_address(kernel)(1, 1, 0, value))
    for launch in launches:
        launch(good)
        assert driver.launches[-1].arguments == (ADDRESS + 16).to_bytes(8, "little")
        with pytest.raises(ArgumentError, match=r"\(const float4\*\): is at 0x\w+8, which is not a multiple of the 16"):
            launch(wrong)
        launch(None)
    kernel.launch(1, 1, wrong, check=False)
    with pytest.raises(ArgumentError, match="not a multiple"):
        kernel.bind(1, 1, wrong)
