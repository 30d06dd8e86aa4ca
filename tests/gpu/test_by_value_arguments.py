"""Arguments by value of PyTorch extensions on the GPU: what a kernel reads of them, compared with PyTorch."""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from tests.gpu.support import Memory
from tests.gpu.test_launch import write_project
from tests.gpu.test_torch_operators import PYTORCHS_OWN_WARNINGS
from tests.support.toolchains import installed_extra

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

pytestmark = pytest.mark.filterwarnings(*PYTORCHS_OWN_WARNINGS)

SOURCE = """
#include <ATen/core/Array.h>
#include <ATen/core/TensorAccessor.h>
#include <ATen/cuda/detail/TensorInfo.cuh>
#include <array>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <cuda/std/array>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void halves(float* out, __half a, c10::Half b, __nv_bfloat16 c, c10::BFloat16 d) {
  out[0] = __half2float(a); out[1] = static_cast<float>(b);
  out[2] = __bfloat162float(c); out[3] = static_cast<float>(d);
}

template <class T, class Out, class In>
__device__ void scale(Out out, In in, T factor) {
  for (int i = threadIdx.x; i < in.size(0); i += blockDim.x)
    for (int j = 0; j < in.size(1); j++) out[i][j] = static_cast<T>(in[i][j] * factor);
}
template <class T>
__global__ void scale_32(at::PackedTensorAccessor32<T, 2, at::RestrictPtrTraits> out,
                         at::PackedTensorAccessor32<const T, 2> in, T factor) { scale<T>(out, in, factor); }
template <class T>
__global__ void scale_64(at::PackedTensorAccessor64<T, 2> out,
                         at::PackedTensorAccessor64<const T, 2, at::RestrictPtrTraits> in, T factor) {
  scale<T>(out, in, factor);
}
#define INSTANCES(T)                                                                                              \\
  template __global__ void scale_32<T>(at::PackedTensorAccessor32<T, 2, at::RestrictPtrTraits>,                   \\
                                       at::PackedTensorAccessor32<const T, 2>, T);                                \\
  template __global__ void scale_64<T>(at::PackedTensorAccessor64<T, 2>,                                          \\
                                       at::PackedTensorAccessor64<const T, 2, at::RestrictPtrTraits>, T);
INSTANCES(float)
INSTANCES(double)
INSTANCES(c10::Half)
INSTANCES(c10::BFloat16)
INSTANCES(int64_t)

template <class T, class I>
__global__ void copy_all(T* out, at::cuda::detail::TensorInfo<const T, I> in, I n) {
  for (I i = threadIdx.x; i < n; i += blockDim.x)
    out[i] = in.data[at::cuda::detail::IndexToOffset<const T, I, -1>::get(i, in)];
}
template __global__ void copy_all<float, unsigned>(float*, at::cuda::detail::TensorInfo<const float, unsigned>, unsigned);
template __global__ void copy_all<float, int64_t>(float*, at::cuda::detail::TensorInfo<const float, int64_t>, int64_t);

__global__ void arrays(double* out, std::array<float, 3> a, cuda::std::array<int, 4> b, at::detail::Array<double, 2> c,
                       std::array<c10::Half, 3> d, std::array<bool, 2> e) {
  int at = 0;
  for (float each : a) out[at++] = each;
  for (int i = 0; i < 4; i++) out[at++] = b[i];
  for (int i = 0; i < 2; i++) out[at++] = c[i];
  for (auto each : d) out[at++] = static_cast<float>(each);
  for (bool each : e) out[at++] = each;
}

__global__ void add_all(float* out, at::detail::Array<const float*, 3> in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = 0;
  for (int k = 0; k < 3; k++) if (in[k] != nullptr) out[i] += in[k][i];
}
__global__ void fill_all(std::array<float*, 2> out, float value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { out[0][i] = value; out[1][i] = -value; }
}

struct PhiloxLike { union { unsigned long long val; long long* ptr; } seed, offset; unsigned long long within; bool captured; };
extern "C" __global__ void state(long long* out, PhiloxLike state) {
  out[0] = state.captured ? *state.seed.ptr : state.seed.val;
  out[1] = state.captured ? *state.offset.ptr + state.within : state.offset.val;
}
"""

DTYPES = {"float": "float32", "double": "float64", "c10::Half": "float16", "c10::BFloat16": "bfloat16", "long": "int64"}
N = 1000


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return the kernels, compiled for this machine's GPU when they are loaded."""
    if installed_extra() is None:
        pytest.skip("no toolchain is installed here")
    root = tmp_path_factory.mktemp("by_value")
    write_project(root / "project", "by_value_demo", {"kernels.cu": SOURCE})
    sys.path.insert(0, str(root / "project"))
    try:
        yield cuda_wheel.load("by_value_demo.kernels")
    finally:
        sys.path.remove(str(root / "project"))


def random(dtype: str, *shape: int) -> Any:
    if dtype.startswith("int"):
        return torch.randint(-100, 100, shape, device="cuda", dtype=getattr(torch, dtype))
    return torch.randn(*shape, device="cuda", dtype=torch.float64).to(getattr(torch, dtype))


def test_numbers_of_16_bits(kernels: Any) -> None:
    out = torch.empty(4, device="cuda")
    for value in (
        1,
        -2.5,
        0.1,
        np.float32(3.14),
        np.float16(0.3),
        float("inf"),
        1 + 2**-11 + 2**-40,
        1 + 2**-8 + 2**-40,
    ):
        kernels["halves"].launch(1, 1, out, value, value, value, value)
        half = float(np.float16(value))
        bfloat = torch.tensor(float(value), dtype=torch.float64).to(torch.bfloat16).item()
        if value == 1 + 2**-8 + 2**-40:  # PyTorch rounds to a float first, which is a tie
            bfloat = 1 + 2**-7
        assert out.tolist() == [half, half, bfloat, bfloat]
    with pytest.raises(cuda_wheel.ArgumentError, match=r"argument 3 \(c10::Half\): 70000 is out of range"):
        kernels["halves"].launch(1, 1, out, 1, 70000, 1, 1)


@pytest.mark.parametrize("scalar", DTYPES)
@pytest.mark.parametrize("width", [32, 64])
def test_tensors_as_accessors(scalar: str, width: int, kernels: Any) -> None:
    kernel, dtype = kernels[f"scale_{width}<{scalar}>"], DTYPES[scalar]
    tensors = [
        random(dtype, 7, 5),
        random(dtype, 5, 7).t(),
        random(dtype, 20, 9)[3::2, ::3],
        random(dtype, 1, 5).expand(6, 5),
        random(dtype, 4, 3, 8).permute(2, 0, 1)[:, 1],
        torch.nn.Parameter(random(dtype, 3, 3), requires_grad=False),
    ]
    for x in tensors:
        out = torch.zeros(x.shape[1], x.shape[0], 2, dtype=x.dtype, device="cuda")[..., 0].t()
        kernel.launch(1, 32, out, x, 2)
        assert torch.equal(out, x * 2)
    bound = kernel.bind(1, 32, torch.empty_like(tensors[0]), tensors[0], 3)
    for x in tensors:
        out = torch.empty_like(x, memory_format=torch.contiguous_format)
        bound(out, x, 3)
        assert torch.equal(out, x * 3)


@pytest.mark.parametrize("index", ["unsigned int", "long"])
def test_tensors_as_tensor_infos(index: str, kernels: Any) -> None:
    kernel = kernels[f"copy_all<float, {index}>"]
    tensors = [
        random("float32", 7),
        random("float32", 5, 7).t(),
        random("float32", 20, 9)[3::2, ::3],
        random("float32", 1, 5).expand(6, 5),
        random("float32", 4, 3, 8, 2).permute(2, 0, 3, 1)[:, 1:],
        random("float32", *[2] * 10).transpose(0, 7),
    ]
    bound = kernel.bind(1, 32, torch.empty(7, device="cuda"), tensors[0], 7)
    for x in tensors:
        for launch in (lambda *given: kernel.launch(1, 32, *given), bound):
            out = torch.empty(x.numel(), device="cuda")
            launch(out, x, x.numel())
            assert torch.equal(out, x.reshape(-1))
    with pytest.raises(cuda_wheel.ArgumentError, match="takes an array of float32, not of float64"):
        kernel.launch(1, 32, tensors[0], tensors[0].double(), 7)


def test_a_bound_tensor_may_be_resized(kernels: Any) -> None:
    x, out = random("float32", 8, 8), torch.zeros(8, 8, device="cuda")
    step = kernels["scale_32<float>"].bind(1, 32, out, x, 2.0)
    step()
    assert torch.equal(out, x * 2)
    x.resize_(64, 3).normal_()
    out.resize_(64, 3).zero_()
    step()
    assert torch.equal(out, x * 2)
    out.data = torch.zeros(3, 64, device="cuda").t()
    step()
    assert torch.equal(out, x * 2)


def test_accessors_on_a_side_stream(kernels: Any) -> None:
    x, out = random("float32", 64, 64), torch.zeros(64, 64, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(20_000_000)
        x.fill_(4)
        kernels["scale_32<float>"].launch(1, 64, out, x, 2.0)
        total = out.sum().item()
    assert total == 8 * 64 * 64


def test_wrong_tensors_are_refused(kernels: Any) -> None:
    kernel, x = kernels["scale_32<float>"], random("float32", 4, 4)
    for wrong, message in (
        (x[0], "takes an array of 2 dimensions, not of 1"),
        (x.double(), "takes an array of float32, not of float64"),
        (x.cpu(), "is a tensor in host memory"),
        (None, "takes an array of 2 dimensions on the GPU"),
        (x.data_ptr(), "takes an array of 2 dimensions on the GPU"),
        (x.as_strided((1, 1), (1 << 31, 1)), "too large for an accessor of 32 bits"),
    ):
        for _ in range(2):
            with pytest.raises(cuda_wheel.ArgumentError, match=message):
                kernel.launch(1, 32, x, wrong, 2.0)
    empty = torch.empty(0, 4, device="cuda")
    kernel.launch(1, 32, empty, empty, 2.0)


def test_an_array_interface_as_an_accessor(kernels: Any) -> None:
    x, out = Memory(np.arange(12, dtype="f4").reshape(3, 4)), Memory(np.zeros((3, 4), "f4"))
    kernels["scale_64<float>"].launch(1, 32, out, x, 0.5)
    assert (out.numpy() == np.arange(12).reshape(3, 4) / 2).all()


def test_cupy_arrays_as_accessors(kernels: Any) -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    x = cupy.arange(60, dtype="f4").reshape(6, 10)[::2, ::-3]
    out = cupy.zeros((4, 3), "f4").T
    for width in (32, 64):
        kernels[f"scale_{width}<float>"].launch(1, 32, out, x, 2.0)
        assert (out == x * 2).all()


def test_sequences_of_numbers(kernels: Any) -> None:
    out = torch.zeros(14, dtype=torch.float64, device="cuda")
    kernels["arrays"].launch(1, 1, out, (1, 2.5, -3), [4, -5, 6, 7], np.array([8, 9.5]), (0.5, 1, 1.5), (True, False))
    assert out.tolist() == [1, 2.5, -3, 4, -5, 6, 7, 8, 9.5, 0.5, 1, 1.5, 1, 0]


def test_sequences_of_tensors(kernels: Any) -> None:
    a, b = random("float32", N), random("float32", N)
    out = torch.zeros(N, device="cuda")
    for first, second, third in itertools.permutations((a, None, b)):
        kernels["add_all"].launch(8, 128, out, (first, second, third), N)
        assert torch.equal(out, a + b)
    bound = kernels["add_all"].bind(8, 128, out, [a, b.data_ptr(), Memory(np.ones(N, "f4"))], N)
    bound()
    torch.testing.assert_close(out, a + b + 1)
    with torch.cuda.stream(torch.cuda.Stream()):  # on the stream of the tensors in the list
        torch.cuda._sleep(20_000_000)
        kernels["fill_all"].launch(8, 128, [a, b], 5.0, N)
        total = (a.sum() - b.sum()).item()
    assert total == 10 * N


def test_an_operator_takes_tensors_as_accessors(kernels: Any) -> None:
    from cuda_wheel.torch import operator as operator_of

    operator = operator_of(
        "by_value_demo::scale",
        kernel=kernels["scale_32<float>"],
        arguments="out, x, factor",
        outputs={"out": "x"},
        grid=1,
        block=32,
        non_contiguous="pass",
    )
    for x in (random("float32", 7, 5), random("float32", 5, 7).t(), random("float32", 3, 4), random("float32", 9, 2)):
        for _ in range(3):
            assert torch.equal(operator(x, 3.0), x * 3)
    assert torch.equal(torch.compile(operator, fullgraph=True)(x, 2.0), x * 2)
    with pytest.raises(cuda_wheel.ArgumentError, match="takes an array of 2 dimensions, not of 1"):
        operator(x[0], 3.0)


class PhiloxCudaState(ctypes.Structure):
    """Source: PyTorch 2.11, ATen/cuda/detail/PhiloxCudaStateRaw.cuh."""

    _fields_ = [
        ("seed", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
        ("offset_intragraph", ctypes.c_uint64),
        ("captured", ctypes.c_bool),
    ]


def test_the_state_of_a_generator(kernels: Any) -> None:
    out = torch.zeros(2, dtype=torch.int64, device="cuda")
    kernels["state"].launch(1, 1, out, PhiloxCudaState(11, 22, 33, False))
    assert out.tolist() == [11, 22]
    seed, offset = torch.tensor([5], device="cuda"), torch.tensor([7], device="cuda")
    kernels["state"].launch(1, 1, out, PhiloxCudaState(seed.data_ptr(), offset.data_ptr(), 100, True))
    assert out.tolist() == [5, 107]
