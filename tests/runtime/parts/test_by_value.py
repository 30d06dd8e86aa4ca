"""The bytes that tensors become as packed accessors, and sequences as arrays of fixed length, and what is refused.

The parameters are those of a manifest that NVRTC's output and PyTorch's stand-in headers make.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.execute import PlanRunner
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.plan import make_plan
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import select
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.wheel.loader_copy import _parts_of_variant
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.arrays import argument_type
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.launching import launcher_of
from cuda_wheel.runtime.manifest import Manifest, Parameter
from cuda_wheel.runtime.module import Kernel
from cuda_wheel.runtime.parts.bind import launch_by_address
from cuda_wheel.runtime.parts.by_value import Accessor, accessor_of
from tests.support.array_libraries import OTHER, OWN, Exported, Named, StandInPyTorch, cupy_array, torch_tensor
from tests.support.driver import Driver
from tests.support.launches import array_interface, core_buffer, kernel_of, sent

SOURCE = """
#include <ATen/core/Array.h>
#include <ATen/core/TensorAccessor.h>
#include <array>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <cuda/std/array>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
using torch::headeronly::HeaderOnlyGenericPackedTensorAccessor;

__global__ void numbers(__half a, c10::Half b, at::Half c, __nv_bfloat16 d, c10::BFloat16 e, const at::BFloat16 f) {}
extern "C" __global__ void numbers_of_c(half a, at::Half b, nv_bfloat16 c, const __grid_constant__ at::BFloat16 d) {}

template <class T>
__global__ void accessors(at::PackedTensorAccessor32<T, 2, at::RestrictPtrTraits> a, at::PackedTensorAccessor64<T, 3> b,
                          at::PackedTensorAccessor32<const T, 1> c, HeaderOnlyGenericPackedTensorAccessor<T, 2> d) {}
#define INSTANCE(T) template __global__ void accessors<T>(at::PackedTensorAccessor32<T, 2, at::RestrictPtrTraits>, \\
    at::PackedTensorAccessor64<T, 3>, at::PackedTensorAccessor32<const T, 1>, HeaderOnlyGenericPackedTensorAccessor<T, 2>);
INSTANCE(float)
INSTANCE(c10::BFloat16)
INSTANCE(float2)
extern "C" __global__ void accessors_of_c(at::PackedTensorAccessor32<int64_t, 2> a, at::TensorAccessor<float, 2> b) {}

namespace at::cuda::detail {  // as in ATen/cuda/detail/TensorInfo.cuh, which is read from PyTorch
template <class T, class I> struct TensorInfo { T* data; I sizes[25]; I strides[25]; int dims; };
}
template <class T>
__global__ void infos(at::cuda::detail::TensorInfo<T, int> a, at::cuda::detail::TensorInfo<const T, int64_t> b) {}
template __global__ void infos<float>(at::cuda::detail::TensorInfo<float, int>,
                                      at::cuda::detail::TensorInfo<const float, int64_t>);

__global__ void arrays(std::array<float, 3> a, cuda::std::array<int, 4> b, at::detail::Array<double, 2> c,
                       std::array<c10::Half, 3> d, std::array<c10::BFloat16, 1> e, std::array<bool, 2> f,
                       std::array<char, 2> g, std::array<unsigned long long, 1> h, std::array<float2, 2> i,
                       std::array<std::array<short, 2>, 2> j) {}
extern "C" __global__ void pointers(std::array<const float*, 2> a, at::detail::Array<char*, 3> b,
                                    cuda::std::array<float4*, 1> c) {}
"""


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory, workers: Workers, toolchain: Toolchain) -> Manifest:
    folder = tmp_path_factory.mktemp("values")
    source = folder / "demo" / "k.cu"
    source.parent.mkdir()
    source.write_text(SOURCE)
    config = Config.from_table({"architectures": ["80-virtual"]})
    modules = select(config, folder, [WheelFile(source, "demo/k.cu")])
    (built,) = PlanRunner(
        make_plan(config, modules, folder, toolchain, lambda: []), workers, SilentReporter(), None
    ).run()
    return manifest_of(built.text, "test")


Alone = Callable[[str, str], Kernel]


@pytest.fixture
def alone(manifest: Manifest, driver: Driver) -> Alone:
    """Return a function that returns a kernel with one parameter, which is that of a kernel in the manifest."""

    def make(kernel: str, name: str) -> Kernel:
        return kernel_of(parameter_of(manifest, kernel, name)._replace(offset=0))

    return make


def parameter_of(manifest: Manifest, kernel: str, name: str) -> Parameter:
    (found,) = [
        parameter
        for info in manifest.kernels
        for parameter in info.parameters
        if (info.name, parameter.name) == (kernel, name)
    ]
    return found


def tensor(address: int, sizes: tuple[int, ...], strides: tuple[int, ...], dtype: str = "float32", **more: Any) -> Any:
    found = torch_tensor(address, dtype, **more)
    found.shape, found.stride = sizes, lambda: strides
    return found


def change(one: Any, sizes: tuple[int, ...], strides: tuple[int, ...], device: int = 0) -> Any:
    """Return a tensor with other sizes, strides and GPU, which is of the same class and element type: unlike a new one,
    it meets the generated expression that knows these."""
    one.shape, one.stride, one.get_device = sizes, lambda: strides, lambda: device
    return one


def refusal(kernel: Kernel, value: Any, **more: Any) -> str:
    with pytest.raises(ArgumentError) as caught:
        kernel.launch(1, 1, value, **more)
    return str(caught.value).partition("): ")[2]


# --- numbers of 16 bits ----------------------------------------------------------------------------

HALVES = [("numbers", name) for name in "abc"] + [("numbers_of_c", name) for name in "ab"]
BFLOATS = [("numbers", name) for name in "def"] + [("numbers_of_c", name) for name in "cd"]


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize(("kernel", "name"), HALVES)
def test_a_half_is_a_number(kernel: str, name: str, check: bool, alone: Alone, driver: Driver) -> None:
    half = alone(kernel, name)
    (parameter,) = half.parameters
    assert (argument_type(parameter), parameter.dtype) == ("Real", np.dtype("<f2"))
    # The last two are beside a tie: rounding to a float first would find the tie.
    for value in (1, 1.5, -0.0, 65519.99, np.float32(0.1), np.float16(3), 1 + 2**-11 + 2**-40, 1 + 3 * 2**-11 - 2**-40):
        assert sent(driver, half, value, check=check) == np.float16(value).tobytes()
    assert sent(driver, half, float("inf"), check=check) == b"\0\x7c"
    assert refusal(half, 65520, check=check) == "65520 is out of range"
    assert refusal(half, "1", check=check) == "takes a number, not str"


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize(("kernel", "name"), BFLOATS)
def test_a_bfloat16_is_a_number(kernel: str, name: str, check: bool, alone: Alone, driver: Driver) -> None:
    bfloat = alone(kernel, name)
    (parameter,) = bfloat.parameters
    assert (argument_type(parameter), parameter.dtype) == ("Real", None)
    for value, bits in ((1, 0x3F80), (-2.0, 0xC000), (1 + 2**-8, 0x3F80), (1 + 2**-8 + 2**-40, 0x3F81), (0.1, 0x3DCD)):
        assert sent(driver, bfloat, value, check=check) == struct.pack("<H", bits)
    assert refusal(bfloat, 3.4e38, check=check) == "3.4e+38 is out of range"


@pytest.mark.parametrize(
    ("cpp", "bits"),
    [("cutlass::half_t", 0x3E00), ("cutlass::bfloat16_t", 0x3FC0), ("at::Half", 0x3E00), ("at::BFloat16", 0x3FC0)],
)
def test_numbers_of_16_bits_by_other_names(cpp: str, bits: int, driver: Driver) -> None:
    kernel = kernel_of(Parameter("b8", 0, 2, cpp))
    assert sent(driver, kernel, 1.5) == struct.pack("<H", bits)


# --- accessors -------------------------------------------------------------------------------------


def test_what_the_type_of_an_accessor_says(manifest: Manifest) -> None:
    found = {
        (kernel.name, each.name): accessor_of(each)
        for kernel in manifest.kernels
        for each in kernel.parameters
        if kernel.name.startswith(("accessors", "arrays", "infos"))
    }
    assert found["accessors<float>", "a"] == Accessor("float", 2, "i")
    assert found["accessors<float>", "b"] == Accessor("float", 3, "q")
    assert found["accessors<float>", "c"] == Accessor("const float", 1, "i")
    assert found["accessors<float>", "d"] == Accessor("float", 2, "q")
    assert found["accessors<c10::BFloat16>", "c"] == Accessor("const c10::BFloat16", 1, "i")
    assert found["infos<float>", "a"] == Accessor("float", 0, "i")
    assert found["infos<float>", "b"] == Accessor("const float", 0, "q")
    assert found["accessors_of_c", "a"] == Accessor("long", 2, "i")
    assert found["accessors_of_c", "b"] is None
    assert found["arrays", "a"] is None


@pytest.mark.parametrize(
    ("cpp", "size", "expected"),
    [
        ("at::GenericPackedTensorAccessor<float, 2ul, at::RestrictPtrTraits, int>", 24, Accessor("float", 2, "i")),
        ("at::PackedTensorAccessor64<c10::complex<float>, 1>", 24, Accessor("c10::complex<float>", 1, "q")),
        ("torch::PackedTensorAccessor32<float, 2>", 24, Accessor("float", 2, "i")),
        ("torch::PackedTensorAccessor32<float, 2>", 32, None),
        ("at::cuda::detail::TensorInfo<float, unsigned int>", 216, Accessor("float", 0, "i")),
        ("at::cuda::detail::TensorInfo<float, int>", 24, None),
        ("mine::TensorInfo<float, int>", 216, None),
        ("at::PackedTensorAccessor32<float, N>", 24, None),
        ("at::PackedTensorAccessor32<float, 0>", 8, None),
        ("mine::PackedTensorAccessor32<float, 2>", 24, None),
        ("PackedTensorAccessor32<float, 2>", 24, None),
    ],
)
def test_accessors_by_other_names(cpp: str, size: int, expected: Accessor | None, driver: Driver) -> None:
    parameter = Parameter("b8", 0, size, cpp)
    assert accessor_of(parameter) == expected
    assert sent(driver, kernel_of(parameter), bytes(range(size))) == bytes(range(size))  # also of unknown ones


def info_bytes(index: str, address: int, sizes: tuple[int, ...], strides: tuple[int, ...]) -> bytes:
    """Return the bytes of a `TensorInfo`, as PyTorch's header has its members."""
    rest = [0] * (25 - len(sizes))
    return struct.pack(f"<Q25{index}25{index}i4x", address, *sizes, *rest, *strides, *rest, len(sizes))


@pytest.mark.parametrize(("name", "index"), [("a", "i"), ("b", "q")])
@pytest.mark.parametrize("check", [True, False])
def test_a_tensor_of_any_dimensions_becomes_a_tensor_info(
    name: str, index: str, check: bool, alone: Alone, driver: Driver
) -> None:
    kernel = alone("infos<float>", name)
    one = tensor(0x1000, (3, 5), (1, 40))
    bound = kernel.bind(1, 1, one)
    for sizes, strides in [((3, 5), (1, 40)), ((), ()), ((7,), (0,)), ((2, 3, 4), (100, 1, 7)), ((1,) * 24, (1,) * 24)]:
        change(one, sizes, strides)
        expected = info_bytes(index, 0x1000, sizes, strides)
        assert [sent(driver, kernel, one, check=check) for _ in range(2)] == [expected] * 2
        bound()
        assert driver.launches[-1].arguments == expected
    assert sent(driver, kernel, expected, check=check) == expected
    array = cupy_array(0x1000)
    array.shape, array.strides = (3, 5), (-4, 12)
    assert sent(driver, kernel, array) == info_bytes(index, 0x1000, (3, 5), (-1, 3))


def test_what_a_tensor_info_refuses(alone: Alone, driver: Driver) -> None:
    kernel = alone("infos<float>", "a")
    for value, reason in (
        (tensor(8, (1,) * 25, (1,) * 25), "takes an array of at most 24 dimensions, not of 25"),
        (tensor(8, (3, 5), (5, 1), "float64"), "takes an array of float32, not of float64"),
        (tensor(0, (3, 5), (5, 1)), "is an array without memory"),
        (
            tensor(8, (3, 1 << 30), (1 << 30, 1)),
            f"has the sizes (3, {1 << 30}) and strides ({1 << 30}, 1), which are too large for an accessor of 32 bits",
        ),
        (
            None,
            "takes an array on the GPU, or the bytes of an accessor, not NoneType (takes a struct of 216 bytes, not "
            "NoneType)",
        ),
    ):
        assert refusal(kernel, value) == reason
        kernel.launch(1, 1, tensor(0x1000, (2,), (1,)))  # the next one meets the quick expression
        if hasattr(value, "shape"):
            assert refusal(kernel, value) == reason
    assert sent(driver, alone("infos<float>", "b"), tensor(8, (3, 1 << 30), (1 << 30, 1))) == info_bytes(
        "q", 8, (3, 1 << 30), (1 << 30, 1)
    )


FORMATS = {"a": "<Q4i", "b": "<Q6q", "c": "<Q2i", "d": "<Q4q"}
SIZES = {"a": (3, 5), "b": (2, 3, 5), "c": (7,), "d": (3, 5)}
STRIDES = {"a": (1, 40), "b": (100, 7, 2), "c": (0,), "d": (5, 1)}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(("scalar", "dtype"), [("float", "float32"), ("c10::BFloat16", "bfloat16")])
@pytest.mark.parametrize("check", [True, False])
def test_a_tensor_becomes_an_accessor(
    name: str, scalar: str, dtype: str, check: bool, alone: Alone, driver: Driver
) -> None:
    kernel = alone(f"accessors<{scalar}>", name)
    sizes, strides = SIZES[name], STRIDES[name]
    one = torch_tensor(0x1000, dtype)
    for address in (0x1000, 0x2000, 0x3000):  # the first is read, later ones by the generated expression
        one.data_ptr = lambda address=address: address
        one.shape, one.stride = sizes, lambda: strides
        expected = struct.pack(FORMATS[name], address, *sizes, *strides)
        assert sent(driver, kernel, one, check=check) == expected
    # The same tensor, resized.
    one.shape, one.stride = (1, *sizes[1:]), lambda: strides[::-1]
    assert sent(driver, kernel, one, check=check) == struct.pack(FORMATS[name], 0x3000, *one.shape, *strides[::-1])
    assert kernel.module.manifest.long_size is None


def test_an_expression_of_a_known_tensor_calls_nothing(alone: Alone, driver: Driver) -> None:
    kernel = alone("accessors<float>", "a")
    one = tensor(0x1000, (3, 5), (1, 40))
    kernel.launch(1, 1, one)
    (converter,) = launcher_of(kernel).checked
    converter.clear()  # type: ignore[attr-defined]
    converter._reader_for = None  # type: ignore[attr-defined]
    assert sent(driver, kernel, one) == struct.pack("<Q4i", 0x1000, 3, 5, 1, 40)


def test_a_launch_with_an_accessor_runs_on_pytorchs_stream(
    alone: Alone, driver: Driver, pytorch: StandInPyTorch
) -> None:
    pytorch.local.streams = {0: 0x99}
    alone("accessors<float>", "a").launch(1, 1, tensor(0x1000, (3, 5), (1, 40)))
    assert driver.launches[-1].stream == 0x99


def test_an_empty_tensor_has_no_address(alone: Alone, driver: Driver) -> None:
    kernel = alone("accessors<float>", "a")
    one = tensor(0, (0, 5), (5, 1))
    for _ in range(2):
        assert sent(driver, kernel, one) == struct.pack("<Q4i", 0, 0, 5, 5, 1)
    assert refusal(kernel, change(one, (1, 5), (5, 1))) == "is an array without memory"


def test_a_tensor_may_change_its_element_type(alone: Alone, driver: Driver) -> None:
    kernel, one = alone("accessors<float>", "a"), tensor(8, (3, 5), (5, 1))
    bound = kernel.bind(1, 1, one)
    kernel.launch(1, 1, one)
    one.dtype = torch_tensor(8, "float64").dtype
    assert refusal(kernel, one) == "takes an array of float32, not of float64"
    with pytest.raises(ArgumentError, match="takes an array of float32, not of float64"):
        bound()


def test_arrays_of_other_libraries_become_accessors(alone: Alone, driver: Driver) -> None:
    kernel = alone("accessors<float>", "a")
    array = cupy_array(0x1000)
    array.shape, array.strides = (3, 5), (-4, 12)
    assert sent(driver, kernel, array) == struct.pack("<Q4i", 0x1000, 3, 5, -1, 3)
    assert sent(driver, kernel, array_interface(0x2000, shape=(2, 6))) == struct.pack("<Q4i", 0x2000, 2, 6, 6, 1)
    strided = array_interface(0x2000, shape=(2, 6), strides=(4, 8))
    assert sent(driver, kernel, strided) == struct.pack("<Q4i", 0x2000, 2, 6, 1, 2)
    exported = Exported(shape=(3, 4), offset=8)
    assert sent(driver, kernel, exported)[8:] == struct.pack("<4i", 3, 4, 4, 1)  # type: ignore[index]
    array.strides = (6, 2)
    reason = "has the strides (6, 2) in bytes, which are no multiples of its elements' 4"
    assert refusal(kernel, array) == reason


def test_an_array_that_names_a_stream_is_waited_for_and_waits_if_it_may_be_written(
    manifest: Manifest, driver: Driver
) -> None:
    read, written = (parameter_of(manifest, "accessors<float>", name)._replace(offset=0) for name in "ca")
    array = Named(OWN)
    kernel_of(read).launch(1, 1, array, stream=OTHER)
    assert driver.joins == [(OTHER, OWN, 0)]
    array = array_interface(8, shape=(2, 2), stream=OWN)
    kernel_of(written).launch(1, 1, array, stream=OTHER)
    assert driver.joins[1:] == [(OTHER, OWN, 1), (OWN, OTHER, 2)]
    kernel_of(parameter_of(manifest, "pointers", "b")._replace(offset=0)).launch(
        1, 1, [array_interface(8, "|i1", stream=OWN), None, 0], stream=OTHER
    )
    assert driver.joins[3:] == [(OTHER, OWN, 2), (OWN, OTHER, 3)]


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("a", tensor(8, (3,), (1,)), "takes an array of 2 dimensions, not of 1"),
        ("a", tensor(8, (3, 1, 1), (1, 1, 1)), "takes an array of 2 dimensions, not of 3"),
        ("c", tensor(8, (), ()), "takes an array of 1 dimension, not of 0"),
        ("a", tensor(8, (3, 5), (5, 1), "float64"), "takes an array of float32, not of float64"),
        ("a", tensor(8, (3, 5), (5, 1), device=None), "is a tensor in host memory: .cuda() copies it"),
        ("a", tensor(0, (3, 5), (5, 1)), "is an array without memory"),
        ("a", None, "takes an array of 2 dimensions on the GPU, or the bytes of an accessor, not NoneType (takes a struct "
         "of 24 bytes, not NoneType)"),
        ("a", bytes(23), "takes an array of 2 dimensions on the GPU, or the bytes of an accessor, not bytes (takes a "
         "struct of 24 bytes, not 23 bytes)"),
        ("a", core_buffer(0x1000), None),
    ],
)  # fmt: skip
def test_what_an_accessor_refuses(name: str, value: Any, reason: str | None, alone: Alone, driver: Driver) -> None:
    kernel = alone("accessors<float>", name)
    for _ in range(2):
        found = refusal(kernel, value)
        assert reason is None or found == reason
        kernel.launch(1, 1, tensor(0x1000, SIZES[name], STRIDES[name]))  # the next one meets the quick expression
    assert len(driver.launches) == 2


def test_lazy_tensors_are_refused(alone: Alone) -> None:
    kernel = alone("accessors<float>", "a")
    lazy = tensor(8, (3, 5), (5, 1))
    kernel.launch(1, 1, lazy)
    lazy.is_neg = lambda: True
    assert "lazily negated" in refusal(kernel, lazy)


def test_sizes_and_strides_that_do_not_fit_32_bits(alone: Alone, driver: Driver) -> None:
    narrow, wide = alone("accessors<float>", "a"), alone("accessors<float>", "d")
    one = tensor(8, (3, 5), (5, 1))
    for sizes, strides, fits in (
        (((1 << 31) - 1, 1), (1, 1), True),
        ((1 << 31, 1), (1, 1), False),
        ((1, 1), (1 << 31, 1), False),
        ((2, 1), ((1 << 31) - 1, 1), True),
        ((3, 2), (1 << 30, 1), False),  # an element further than 31 bits away
        ((2, 3), (1, 1 << 30), False),
        ((2, 2), (-1 << 31, 1), True),
        ((2, 2), ((-1 << 31) - 1, 1), False),
    ):
        for _ in range(2):
            narrow.launch(1, 1, change(one, (3, 5), (5, 1)))
            change(one, sizes, strides)
            if fits:
                assert sent(driver, narrow, one) == struct.pack("<Q4i", 8, *sizes, *strides)
            else:
                reason = f"has the sizes {sizes} and strides {strides}, which are too large for an accessor of 32 bits"
                assert refusal(narrow, one) == reason
            assert sent(driver, wide, one) == struct.pack("<Q4q", 8, *sizes, *strides)


def test_a_read_only_array_needs_an_accessor_of_const(alone: Alone, driver: Driver) -> None:
    array = array_interface(0x2000, read_only=True, shape=(2,))
    assert sent(driver, alone("accessors<float>", "c"), array) == struct.pack("<Q2i", 0x2000, 2, 1)
    array = array_interface(0x2000, read_only=True, shape=(2, 2))
    assert refusal(alone("accessors<float>", "a"), array) == "is a read-only array, but the kernel may write to it"


def test_an_accessor_of_vectors_takes_bytes_only(alone: Alone, driver: Driver) -> None:
    kernel = alone("accessors<float2>", "a")
    reason = "is an array, but which element type has elements of the type float2 is not known: pass the bytes of the "
    assert refusal(kernel, tensor(8, (3, 5), (5, 1))) == reason + "accessor"
    assert sent(driver, kernel, bytes(24)) == bytes(24)


def test_the_bytes_of_an_accessor_are_taken(alone: Alone, driver: Driver) -> None:
    kernel = alone("accessors<float>", "a")
    content = struct.pack("<Q4i", 0x1000, 3, 5, 5, 1)
    record = np.zeros((), kernel.parameters[0].dtype)
    record["data_"], record["sizes_"], record["strides_"] = 0x1000, (3, 5), (5, 1)
    for value in (content, bytearray(content), record, np.frombuffer(content, "u1")):
        assert sent(driver, kernel, value) == content


def test_an_accessor_that_is_not_packed_takes_no_array(alone: Alone, driver: Driver) -> None:
    kernel = alone("accessors_of_c", "b")
    assert "Let the kernel take an at::PackedTensorAccessor32" in refusal(kernel, array_interface(8))
    assert sent(driver, kernel, bytes(24)) == bytes(24)


def test_a_bound_launch_reads_sizes_each_time(alone: Alone, driver: Driver) -> None:
    kernel = alone("accessors<float>", "a")
    one = tensor(0x1000, (3, 5), (5, 1))
    bound = kernel.bind(1, 1, one)
    bound()
    assert driver.launches[-1].arguments == struct.pack("<Q4i", 0x1000, 3, 5, 5, 1)
    one.shape, one.stride, one.data_ptr = (2, 5), lambda: (1, 2), lambda: 0x5000
    bound()
    assert driver.launches[-1].arguments == struct.pack("<Q4i", 0x5000, 2, 5, 1, 2)
    bound(bytes(24))
    assert driver.launches[-1].arguments == bytes(24)
    one.shape = (2,)
    with pytest.raises(ArgumentError, match="takes an array of 2 dimensions, not of 1"):
        bound()
    one.shape, one.is_cuda, one.device = (2, 5), False, "cpu"
    with pytest.raises(ArgumentError, match="is a tensor in host memory"):
        bound()
    bound = kernel.bind(1, 1, bytes(24))
    bound(bytes(range(24)))
    assert driver.launches[-1].arguments == bytes(range(24))
    with pytest.raises(ArgumentError, match="not 23 bytes"):
        bound(bytes(23))


def test_an_operators_launch_takes_the_tensor(manifest: Manifest, driver: Driver) -> None:
    accessor = parameter_of(manifest, "accessors<float>", "a")._replace(offset=0)
    kernel = kernel_of(accessor, parameter_of(manifest, "pointers", "a")._replace(offset=24))
    launch, one = launch_by_address(kernel), tensor(0x1000, (3, 5), (5, 1))
    for _ in range(2):
        launch(1, 1, 0x77, one, [one, 0x2000])
        expected = struct.pack("<Q4iQQ", 0x1000, 3, 5, 5, 1, 0x1000, 0x2000)
        assert (driver.launches[-1].stream, driver.launches[-1].arguments) == (0x77, expected)
    with pytest.raises(ArgumentError, match="takes an array of 2 dimensions"):
        launch(1, 1, 0x77, tensor(8, (3,), (1,)), [one, one])


def test_a_tensor_on_another_gpu_is_refused(manifest: Manifest, two: Driver) -> None:
    kernel = kernel_of(parameter_of(manifest, "accessors<float>", "a")._replace(offset=0))
    one, sizes, strides = tensor(0x1000, (3, 5), (5, 1)), (3, 5), (5, 1)
    bound = kernel.bind(1, 1, one)
    for _ in range(2):
        kernel.launch(1, 1, one)
        bound()
        reason = "is an array on GPU 1, but the launch is on GPU 0"
        assert refusal(kernel, change(one, sizes, strides, device=1)) == reason
        with pytest.raises(ArgumentError, match=reason):
            bound()
        change(one, sizes, strides)
    assert len(two.launches) == 4


# --- arrays of fixed length ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("a", (1.5, 2, -3), struct.pack("<3f", 1.5, 2, -3)),
        ("a", [np.float64(0.1), True, np.int8(-2)], struct.pack("<3f", 0.1, 1, -2)),
        ("a", np.array([1, 2, 3]), struct.pack("<3f", 1, 2, 3)),  # by value, not 24 bytes
        ("a", np.array([1, 2, 3], "i4"), struct.pack("<3f", 1, 2, 3)),  # not as the bits of floats
        ("a", b"abcdefghijkl", b"abcdefghijkl"),
        ("b", [1, -1, (1 << 31) - 1, np.int64(4)], struct.pack("<4i", 1, -1, (1 << 31) - 1, 4)),
        ("b", range(4), None),
        ("c", (0.1, 1 << 60), struct.pack("<2d", 0.1, 1 << 60)),
        ("d", (1 + 2**-11 + 2**-40, 1, 2.5), np.array([1 + 2**-10, 1, 2.5], "f2").tobytes()),
        ("d", np.array([1, 2, 2.5], "f2"), np.array([1, 2, 2.5], "f2").tobytes()),
        ("e", [1 + 2**-8 + 2**-40], b"\x81\x3f"),
        ("f", (True, 0), b"\1\0"),
        ("g", (1, np.int8(-1)), b"\1\xff"),
        ("g", np.array([-1, 2], "i1"), b"\xff\2"),
        ("h", [(1 << 64) - 1], b"\xff" * 8),
        ("i", bytes(range(16)), bytes(range(16))),
        ("j", bytes(range(8)), bytes(range(8))),
    ],
)  # fmt: skip
def test_numbers_become_an_array(name: str, value: Any, expected: bytes | None, alone: Alone, driver: Driver) -> None:
    kernel = alone("arrays", name)
    if expected is None:
        refusal(kernel, value)
        return
    for check in (True, False):
        assert sent(driver, kernel, value, check=check) == expected
    kernel.bind(1, 1, value)()
    assert driver.launches[-1].arguments == expected


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("a", (1, 2), "takes 3 numbers, not 2"),
        ("a", (1, "2", 3), "element 1 takes a number, not str"),
        ("a", (1, 1e39, 3), "element 1: 1e+39 is out of range"),
        ("a", 5, "takes 3 numbers, not 1"),
        ("b", (1, 2, 3, 1 << 31), "element 3: 2147483648 is out of range"),
        ("b", (1, 2.0, 3, 4), "element 1 takes an integer, not float"),
        ("b", np.ones(4, "f4"), "element 0 takes an integer, not float"),
        ("d", (1, 2, 65520), "element 2: 65520 is out of range"),
        ("e", (3.4e38,), "element 0: 3.4e+38 is out of range"),
        ("f", (2, True), "element 0 takes True or False, not 2"),
        ("g", (200, 1), "element 0 200 fits an unsigned parameter only, and whether this one is signed is not known: "
         "pass numpy.uint8(200)"),
        ("i", ((1, 2), (3, 4)), "takes a struct of 16 bytes, not tuple"),
    ],
)  # fmt: skip
def test_numbers_that_an_array_refuses(name: str, value: Any, reason: str, alone: Alone) -> None:
    assert refusal(alone("arrays", name), value).startswith(reason)


def test_arrays_become_an_array_of_pointers(alone: Alone, driver: Driver, pytorch: StandInPyTorch) -> None:
    pytorch.local.streams = {0: 0x99}
    a, b = alone("pointers", "a"), alone("pointers", "b")
    one = torch_tensor(0x1000)
    for value in ((one, cupy_array(0x2000)), [array_interface(0x1000), np.uint64(0x2000)], [0x1000, 0x2000]):
        assert sent(driver, a, value, stream=0) == struct.pack("<2Q", 0x1000, 0x2000)
    assert sent(driver, b, (None, one, 7), check=False) == struct.pack("<3Q", 0, 0x1000, 7)
    assert driver.launches[-1].stream == 0x99  # of the tensor in the tuple
    content = np.array([0x1000, 0x2000], "u8")
    assert sent(driver, a, content) == content.tobytes()
    bound = a.bind(1, 1, [one, one])
    bound()
    assert (driver.launches[-1].stream, driver.launches[-1].arguments) == (0x99, struct.pack("<2Q", 0x1000, 0x1000))
    bound([cupy_array(0x3000), 5])
    assert (driver.launches[-1].stream, driver.launches[-1].arguments) == (0, struct.pack("<2Q", 0x3000, 5))


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("a", (0x1000,), "takes 2 arrays, addresses or None, not 1"),
        ("a", (0x1000, torch_tensor(8, "float64")), "element 1 takes an array of float32, not of float64"),
        ("a", (-1, 0), "element 0: -1 is out of range"),
        ("a", (0, 1 << 64), "element 1: 18446744073709551616 is out of range"),
        ("a", (0, 1.5), "element 1 takes an array on the GPU, an address or None, not float"),
        ("c", [8], "element 0 is at 0x8, which is not a multiple of the 16 bytes that its type needs"),
        ("a", torch_tensor(8), "takes a struct of 16 bytes"),
    ],
)
def test_what_an_array_of_pointers_refuses(name: str, value: Any, reason: str, alone: Alone) -> None:
    assert refusal(alone("pointers", name), value).startswith(reason)


# --- structs of PyTorch ----------------------------------------------------------------------------


class PhiloxCudaState(ctypes.Structure):
    """Source: PyTorch 2.11, ATen/cuda/detail/PhiloxCudaStateRaw.cuh."""

    _fields_ = [
        ("seed", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
        ("offset_intragraph", ctypes.c_uint64),
        ("captured", ctypes.c_bool),
    ]


def test_the_state_of_a_generator_is_a_structure_of_ctypes(driver: Driver) -> None:
    kernel = kernel_of(Parameter("b8", 0, 32, "at::PhiloxCudaState"))
    state = PhiloxCudaState(11, 22, 33, True)
    assert sent(driver, kernel, state) == struct.pack("<3Q?7x", 11, 22, 33, True)


def test_a_wheel_has_the_part_where_a_kernel_needs_it(manifest: Manifest) -> None:
    halves = [parameter_of(manifest, "numbers", name) for name in "abc"]
    for kernel in manifest.kernels:
        assert "by-value" in _parts_of_variant(manifest._replace(kernels=(kernel,)))
        plain = kernel._replace(parameters=tuple(halves))
        assert not {"by-value", "structs"} & _parts_of_variant(manifest._replace(kernels=(plain,)))
