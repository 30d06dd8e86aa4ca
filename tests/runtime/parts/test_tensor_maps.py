"""Tensor maps: what the driver is asked to encode, what is refused with a reason, and which objects kernels take.

`tests/gpu/test_launch_tensor_maps.py` copies tiles by them.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel.runtime.errors import ArgumentError
from tests.support.array_libraries import fake, torch_tensor
from tests.support.driver import Driver, Result
from tests.support.launches import takes

pytestmark = pytest.mark.one_toolchain

CONTENT = bytes(range(128))


class Names:
    """An enumeration whose members are their names."""

    def __getattr__(self, name: str) -> str:
        return name


class Encoded:
    def __init__(self) -> None:
        self.memory = ctypes.create_string_buffer(CONTENT, 128)

    def getPtr(self) -> int:
        return ctypes.addressof(self.memory)


@pytest.fixture
def driver(use: Callable[..., Driver]) -> Driver:
    """Return a stand-in that keeps the arguments of the last encoding in `asked`."""
    driver = use((9, 0))
    for name in ("DataType", "Interleave", "Swizzle", "L2promotion", "FloatOOBfill"):
        setattr(driver, f"CUtensorMap{name}", Names())
    driver.cuuint64_t = driver.cuuint32_t = int  # type: ignore[attr-defined]

    def encode(*args: Any) -> tuple[Any, ...]:
        driver.asked[:] = args
        return Result.CUDA_SUCCESS, Encoded()

    driver.cuTensorMapEncodeTiled = encode  # type: ignore[attr-defined]
    return driver


def array(
    shape: tuple[int, ...], typestr: str = "<f4", *, strides: Any = None, address: int = 0x1000, **more: Any
) -> Any:
    interface = {"shape": shape, "typestr": typestr, "data": (address, False), "strides": strides, "version": 3} | more
    return SimpleNamespace(__cuda_array_interface__=interface)


def test_the_driver_gets_the_dimensions_from_the_last_to_the_first(driver: Driver) -> None:
    cuda_wheel.tensor_map(array((6, 40, 100)), (2, 8, 16), element_strides=(1, 2, 1), swizzle=64, l2_promotion=128)
    assert driver.asked == [
        "CU_TENSOR_MAP_DATA_TYPE_FLOAT32",
        3,
        0x1000,
        [100, 40, 6],
        [400, 16000],
        [16, 8, 2],
        [1, 2, 1],
        "CU_TENSOR_MAP_INTERLEAVE_NONE",
        "CU_TENSOR_MAP_SWIZZLE_64B",
        "CU_TENSOR_MAP_L2_PROMOTION_L2_128B",
        "CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE",
    ]
    cuda_wheel.tensor_map(
        array((4, 8, 64), "<f2", strides=(8192, 512, 2)), [1, 8, 16], interleave=32, swizzle=32, nan_fill=True
    )
    assert driver.asked[3:6] == [[64, 8, 4], [512, 8192], [16, 8, 1]]
    assert driver.asked[7:9] == ["CU_TENSOR_MAP_INTERLEAVE_32B", "CU_TENSOR_MAP_SWIZZLE_32B"]
    assert driver.asked[10] == "CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA"


def test_the_element_type_is_the_arrays_or_one_of_its_size(driver: Driver) -> None:
    for typestr, expected in (
        ("|u1", "UINT8"),
        ("|b1", "UINT8"),
        ("|i1", "UINT8"),
        ("<i2", "UINT16"),
        ("<i8", "INT64"),
    ):
        cuda_wheel.tensor_map(array((32, 32), typestr), (1, 16))
        assert driver.asked[0] == f"CU_TENSOR_MAP_DATA_TYPE_{expected}"
    cuda_wheel.tensor_map(array((32, 32)), (1, 16), dtype="tfloat32")
    assert driver.asked[0] == "CU_TENSOR_MAP_DATA_TYPE_TFLOAT32"
    tensor = torch_tensor(0x2000, "bfloat16")
    tensor.element_size, tensor.stride, tensor.shape = lambda: 2, lambda: (64, 1), (16, 32)
    made = cuda_wheel.tensor_map(tensor, (4, 32))
    assert driver.asked[:5] == ["CU_TENSOR_MAP_DATA_TYPE_BFLOAT16", 2, 0x2000, [32, 16], [128]]
    assert made == CONTENT and made.array is tensor
    assert repr(made) == "<TensorMap of bfloat16[16, 32], box [4, 32]>"


@pytest.mark.parametrize(
    ("given", "box", "more", "message"),
    [
        (array((4, 4), address=0x1008), (4, 4), {}, "address must be a multiple of 16 bytes, not 0x1008"),
        (array((4, 5)), (4, 4), {}, "strides must be multiples of 16 bytes, not 20: pad the rows"),
        (array((4, 4), strides=(64, 8)), (4, 4), {}, r"last dimension must be contiguous; its strides are \(64, 8\)"),
        (array((4, 8)), (4, 5), {}, "a row of the box must be a multiple of 16 bytes, not 20"),
        (array((4, 64)), (4, 64), {"swizzle": 128}, "may have at most the 128 bytes of swizzle, not 256"),
        (array((4, 64)), (4, 64, 1), {}, "box must have a number for each of the array's 2 dimensions, not 3"),
        (array((4, 512)), (4, 512), {}, "box takes numbers up to 256, not 512"),
        (array((4, 64)), (0, 64), {}, "box takes integers of 1 and more, not 0"),
        (array((4, 64)), 64, {}, "box must be a sequence of numbers, not 64"),
        (array((4, 64)), (4, 4), {"element_strides": (9, 1)}, "element_strides takes numbers up to 8, not 9"),
        (array((4, 64)), (4, 4), {"swizzle": 16}, "swizzle must be one of 0, 32, 64, 128 bytes, not 16"),
        (array((4, 64)), (4, 4), {"interleave": 16}, r"has 3, because of interleave, to 5 dimensions, not 2"),
        (array((2, 4, 64)), (2, 4, 4), {"interleave": 32}, "an interleave of 32 bytes needs a swizzle of 32 bytes"),
        (array((1,) * 5 + (4,)), (1,) * 5 + (4,), {}, "has 1 to 5 dimensions, not 6"),
        (array((0, 4)), (4, 4), {}, r"1 to 2\^32 elements in each dimension; the array's shape is \(0, 4\)"),
        (array((4, 4), "<c8"), (4, 4), {}, "has no elements of type c; it has uint8, "),
        (array((4, 4), ">f4"), (4, 4), {}, "big-endian"),
        (array((4, 4)), (4, 4), {"dtype": "float16"}, "dtype float16 has 2 bytes, the array's float32 has 4"),
        (torch_tensor(0x10, "complex32"), (4, 4), {}, "^a tensor map has no elements of type complex32; it has"),
        (array((4, 4)), (4, 4), {"dtype": "f4"}, "dtype must be one of uint8, .*, not 'f4'"),
        (object(), (4, 4), {}, "takes a PyTorch tensor on the GPU, or an array with __cuda_array_interface__, not object"),
        (torch_tensor(0x10, device=None), (4, 4), {}, "the torch.Tensor is in host memory"),
    ],
)  # fmt: skip
def test_what_cannot_be_encoded_is_explained(given: Any, box: Any, more: Any, message: str, driver: Driver) -> None:
    if hasattr(given, "data_ptr"):
        given.element_size, given.stride, given.shape = lambda: 4, lambda: (4, 1), (4, 4)
    with pytest.raises(ArgumentError, match=message):
        cuda_wheel.tensor_map(given, box, **more)
    assert not driver.asked


def test_a_gpu_without_tma_is_named(use: Callable[..., Driver]) -> None:
    use((8, 9))
    with pytest.raises(ArgumentError, match=r"need a GPU of compute capability 9\.0 or higher; this one has 8\.9"):
        cuda_wheel.tensor_map(array((4, 4)), (4, 4))


def test_kernels_take_ours_and_cuda_cores(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    class ParamHolder:
        """As cuda.core's: an array of pointers to arguments."""

        def __init__(self, arguments: list[Any]) -> None:
            self._pointers = (ctypes.c_void_p * 1)(*(each.encoded.getPtr() for each in arguments))
            self.ptr = ctypes.addressof(self._pointers)

    core = fake("cuda.core._tensor_map", "TensorMapDescriptor")()
    core.encoded = Encoded()
    kernel = takes("CUtensorMap", "b8", 128)
    with pytest.raises(
        ArgumentError,
        match=r"1 \(CUtensorMap\): this version of cuda.core does not give its tensor map .*: use cuda_wheel",
    ):
        monkeypatch.setitem(sys.modules, "cuda.core._kernel_arg_handler", None)
        kernel.launch(1, 1, core)
    monkeypatch.setitem(sys.modules, "cuda.core", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "cuda.core._kernel_arg_handler", SimpleNamespace(ParamHolder=ParamHolder))
    for given in (core, cuda_wheel.tensor_map(array((4, 4)), (4, 4)), CONTENT):
        for launch in (kernel.launch, lambda _grid, _block, given: kernel.bind(1, 1, given)()):
            driver.launches.clear()
            launch(1, 1, given)
            assert driver.launches[0].arguments == CONTENT
    with pytest.raises(ArgumentError, match=r"not an array on the GPU: cuda_wheel.tensor_map\(array, box\) makes"):
        kernel.launch(1, 1, array((4, 4)))
    with pytest.raises(ArgumentError, match="takes a struct of 64 bytes"):
        takes("Other", "b8", 64).launch(1, 1, core)
