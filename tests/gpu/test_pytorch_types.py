"""Kernels with PyTorch's types, compiled with the stand-in headers, compute what PyTorch's own kernels compute."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuda_wheel

torch = pytest.importorskip("torch")

PYPROJECT = """
[project]
name = "pytorch-types"
version = "1"
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[tool.cuda-wheel]
defines = { __CUDA_NO_HALF_OPERATORS__ = "", __CUDA_NO_HALF_CONVERSIONS__ = "", __CUDA_NO_HALF2_OPERATORS__ = "" }
[[tool.cuda-wheel.module]]
name = "pytorch_types.kernels"
sources = ["pytorch_types/kernels.cu"]
"""

SOURCE = """
#include <ATen/AccumulateType.h>
#include <ATen/core/PhiloxRNGEngine.h>
#include <ATen/core/TensorAccessor.h>
#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/NumericLimits.cuh>
#include <ATen/cuda/PhiloxUtils.cuh>
#include <ATen/cuda/detail/KernelUtils.h>
#include <ATen/cuda/detail/TensorInfo.cuh>
#include <ATen/native/cuda/KernelUtils.cuh>
#include <ATen/native/cuda/block_reduce.cuh>
#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Float8_e4m3fnuz.h>
#include <c10/util/Float8_e5m2.h>
#include <c10/util/Float8_e5m2fnuz.h>
#include <c10/util/TypeCast.h>
#include <c10/util/complex.h>
#include <c10/util/generic_math.h>

template <class T>
__global__ void arithmetic(T* sum, T* difference, T* product, T* quotient, T* negative, const T* a, const T* b, int n) {
  CUDA_KERNEL_LOOP(i, n) {
    sum[i] = a[i] + b[i];
    difference[i] = a[i] - b[i];
    product[i] = a[i] * b[i];
    quotient[i] = a[i] / b[i];
    negative[i] = -a[i];
  }
}
template <class To, class From> __global__ void convert(To* to, const From* from, int n) {
  CUDA_KERNEL_LOOP(i, n) to[i] = c10::convert<To>(from[i]);
}
template <class T> __global__ void functions(T* exp, T* log, T* root, T* tanh, T* power, const T* a, const T* b, int n) {
  CUDA_KERNEL_LOOP(i, n) {
    exp[i] = std::exp(a[i]);
    log[i] = std::log(a[i]);
    root[i] = std::sqrt(a[i]);
    tanh[i] = std::tanh(a[i]);
    power[i] = std::pow(a[i], b[i]);
  }
}
template <class T>
__global__ void weigh(at::PackedTensorAccessor32<T, 3, at::RestrictPtrTraits> out, const at::PackedTensorAccessor64<T, 3> a,
                      const at::PackedTensorAccessor32<int64_t, 1> by) {
  for (int i = 0; i < out.size(0); i++)
    for (int j = threadIdx.y; j < out.size(1); j += blockDim.y)
      for (int k = threadIdx.x; k < out.size(2); k += blockDim.x) {
        auto row = out[i][j];
        row[k] = a[i][j][k] * static_cast<T>(by[j]);
      }
}
template <class T> __global__ void gather(T* out, const at::cuda::detail::TensorInfo<T, int> a, int n) {
  CUDA_KERNEL_LOOP(i, n) out[i] = a.data[at::cuda::detail::IndexToOffset<T, int, -1>::get(i, a)];
}
template <class T> __global__ void add_at(T* out, T* fast, const int64_t* index, const T* values, int size, int n) {
  CUDA_KERNEL_LOOP(i, n) {
    gpuAtomicAdd(out + index[i], values[i]);
    at::native::fastAtomicAdd(fast, (int)index[i], size, values[i], true);
  }
}
template <class T> __global__ void extremes(T* most, T* least, const T* values, int n) {
  CUDA_KERNEL_LOOP(i, n) {
    gpuAtomicMax(most, values[i]);
    gpuAtomicMin(least, values[i]);
  }
}
template <class T> __global__ void limits(T* out) {
  out[0] = at::numeric_limits<T>::lowest();
  out[1] = at::numeric_limits<T>::max();
  out[2] = at::numeric_limits<T>::lower_bound();
  out[3] = std::numeric_limits<T>::epsilon();
  out[4] = std::numeric_limits<T>::min();
}
template <class T> __global__ void total(T* out, const T* values, int n) {
  __shared__ at::acc_type<T, true> shared[32];
  at::acc_type<T, true> sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += static_cast<at::acc_type<T, true>>(values[i]);
  sum = at::native::cuda_utils::BlockReduceSum(sum, shared);
  if (threadIdx.x == 0) *out = sum;
}
template <class T> __global__ void floors(T* quotient, T* remainder, const T* a, const T* b, int n) {
  CUDA_KERNEL_LOOP(i, n) {
    quotient[i] = c10::div_floor_floating(a[i], b[i]);
    remainder[i] = c10::div_mod(a[i], b[i]);
  }
}
__global__ void random_bits(int* out, uint64_t seed, uint64_t subsequence, uint64_t offset) {
  at::Philox4_32 engine(seed, subsequence, offset);
  for (int i = 0; i < 8; i++) out[i] = engine();
}
__global__ void unpack(int64_t* out, at::PhiloxCudaState state) {
  auto [seed, offset] = at::cuda::philox::unpack(state);
  out[0] = seed;
  out[1] = offset;
}

template <class T> void launch_real() {
  arithmetic<T><<<1, 1>>>(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 0);
  add_at<T><<<1, 1>>>(nullptr, nullptr, nullptr, nullptr, 0, 0);
  extremes<T><<<1, 1>>>(nullptr, nullptr, nullptr, 0);
  limits<T><<<1, 1>>>(nullptr);
  total<T><<<1, 1>>>(nullptr, nullptr, 0);
  convert<T, double><<<1, 1>>>(nullptr, nullptr, 0);
}
template <class T> void launch_float8() {
  convert<T, float><<<1, 1>>>(nullptr, nullptr, 0);
  convert<float, T><<<1, 1>>>(nullptr, nullptr, 0);
}
template <class T> void launch_complex() {
  arithmetic<T><<<1, 1>>>(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 0);
  functions<T><<<1, 1>>>(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 0);
}
template <class T> void launch_strided(at::PackedTensorAccessor32<T, 3, at::RestrictPtrTraits> out,
                                       at::PackedTensorAccessor64<T, 3> a, at::PackedTensorAccessor32<int64_t, 1> by,
                                       at::cuda::detail::TensorInfo<T, int> info) {
  weigh<T><<<1, 1>>>(out, a, by);
  gather<T><<<1, 1>>>(nullptr, info, 0);
}
template void launch_real<c10::Half>();
template void launch_real<c10::BFloat16>();
template void launch_real<float>();
template void launch_real<double>();
template void launch_float8<c10::Float8_e4m3fn>();
template void launch_float8<c10::Float8_e4m3fnuz>();
template void launch_float8<c10::Float8_e5m2>();
template void launch_float8<c10::Float8_e5m2fnuz>();
template void launch_complex<c10::complex<float>>();
template void launch_complex<c10::complex<double>>();
template void launch_strided<float>(at::PackedTensorAccessor32<float, 3, at::RestrictPtrTraits>,
                                    at::PackedTensorAccessor64<float, 3>, at::PackedTensorAccessor32<int64_t, 1>,
                                    at::cuda::detail::TensorInfo<float, int>);
template void launch_strided<c10::Half>(at::PackedTensorAccessor32<c10::Half, 3, at::RestrictPtrTraits>,
                                        at::PackedTensorAccessor64<c10::Half, 3>,
                                        at::PackedTensorAccessor32<int64_t, 1>,
                                        at::cuda::detail::TensorInfo<c10::Half, int>);
void launch() {
  convert<uint8_t, c10::Half><<<1, 1>>>(nullptr, nullptr, 0);
  convert<bool, c10::complex<float>><<<1, 1>>>(nullptr, nullptr, 0);
  convert<c10::BFloat16, c10::Half><<<1, 1>>>(nullptr, nullptr, 0);
  add_at<int64_t><<<1, 1>>>(nullptr, nullptr, nullptr, nullptr, 0, 0);
  add_at<int16_t><<<1, 1>>>(nullptr, nullptr, nullptr, nullptr, 0, 0);
  add_at<int8_t><<<1, 1>>>(nullptr, nullptr, nullptr, nullptr, 0, 0);
  add_at<uint8_t><<<1, 1>>>(nullptr, nullptr, nullptr, nullptr, 0, 0);
  extremes<int64_t><<<1, 1>>>(nullptr, nullptr, nullptr, 0);
  extremes<int8_t><<<1, 1>>>(nullptr, nullptr, nullptr, 0);
  floors<float><<<1, 1>>>(nullptr, nullptr, nullptr, nullptr, 0);
  floors<double><<<1, 1>>>(nullptr, nullptr, nullptr, nullptr, 0);
}
"""

REAL = {"c10::Half": "float16", "c10::BFloat16": "bfloat16", "float": "float32", "double": "float64"}
INTEGERS = {"long": "int64", "short": "int16", "signed char": "int8", "unsigned char": "uint8"}
COMPLEX = {"c10::complex<float>": "complex64", "c10::complex<double>": "complex128"}
FLOAT8 = ("Float8_e4m3fn", "Float8_e4m3fnuz", "Float8_e5m2", "Float8_e5m2fnuz")
N = 4096


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the kernels, compiled for this machine's GPU when they are loaded."""
    root = tmp_path_factory.mktemp("types")
    (root / "pytorch_types").mkdir()
    (root / "pyproject.toml").write_text(PYPROJECT)
    Path(root, "pytorch_types", "__init__.py").touch()
    Path(root, "pytorch_types", "kernels.cu").write_text(SOURCE)
    sys.path.insert(0, str(root))
    try:
        yield cuda_wheel.load("pytorch_types.kernels")
    finally:
        sys.path.remove(str(root))


def run(kernel: cuda_wheel.Kernel, *arguments: Any, grid: Any = 8, block: Any = 128) -> None:
    torch.cuda.synchronize()
    kernel.launch(grid, block, *arguments)
    torch.cuda.synchronize()


def random(dtype: Any, *shape: int, seed: int = 7) -> Any:
    generator = torch.Generator("cuda").manual_seed(seed)
    wide = {torch.complex64: torch.complex64, torch.complex128: torch.complex128}.get(dtype, torch.float64)
    return torch.randn(*(shape or (N,)), device="cuda", dtype=wide, generator=generator).to(dtype)


def whole(dtype: Any, low: int, high: int, seed: int = 7) -> Any:
    """Return whole numbers, whose sums every type holds exactly."""
    generator = torch.Generator("cuda").manual_seed(seed)
    return torch.randint(low, high, (N,), device="cuda", generator=generator).to(dtype)


def same(found: Any, expected: Any) -> bool:
    """Return whether two tensors have the same bits; any two NaN count as the same."""
    if found.is_complex():
        found, expected = torch.view_as_real(found), torch.view_as_real(expected)
    both_nan = (found != found) & (expected != expected)
    return bool((both_nan | ((found == expected) & (torch.signbit(found) == torch.signbit(expected)))).all())


@pytest.mark.parametrize(("scalar", "dtype"), REAL.items())
def test_arithmetic(scalar: str, dtype: str, kernels: Any) -> None:
    kind = getattr(torch, dtype)
    a, b = random(kind), random(kind, seed=8)
    special = torch.tensor([0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-7, 6e4], device="cuda").to(kind)
    a[:49], b[:49] = special.repeat(7), special.repeat_interleave(7)
    out = [torch.empty_like(a) for _ in range(5)]
    run(kernels[f"arithmetic<{scalar}>"], *out, a, b, N)
    for found, expected in zip(out, (a + b, a - b, a * b, a / b, -a), strict=True):
        assert same(found, expected)


@pytest.mark.parametrize(("scalar", "dtype"), COMPLEX.items())
def test_complex_arithmetic(scalar: str, dtype: str, kernels: Any) -> None:
    a, b = random(getattr(torch, dtype)), random(getattr(torch, dtype), seed=8)
    out = [torch.empty_like(a) for _ in range(5)]
    run(kernels[f"arithmetic<{scalar}>"], *out, a, b, N)
    assert same(out[0], a + b)
    assert same(out[1], a - b)
    assert same(out[4], -a)
    torch.testing.assert_close(out[2], a * b)  # PyTorch's kernel may contract other products and sums
    torch.testing.assert_close(out[3], a / b)


@pytest.mark.parametrize(("scalar", "dtype"), COMPLEX.items())
def test_complex_functions(scalar: str, dtype: str, kernels: Any) -> None:
    a, b = random(getattr(torch, dtype)), random(getattr(torch, dtype), seed=8)
    out = [torch.empty_like(a) for _ in range(5)]
    run(kernels[f"functions<{scalar}>"], *out, a, b, N)
    expected = (torch.exp(a), torch.log(a), torch.sqrt(a), torch.tanh(a), torch.pow(a, b))
    accuracy = 1e-4 if dtype == "complex64" else 1e-10  # PyTorch has other algorithms for some of them
    for found, each in zip(out, expected, strict=True):
        torch.testing.assert_close(found, each, rtol=accuracy, atol=accuracy)


@pytest.mark.parametrize(("scalar", "dtype"), REAL.items())
def test_conversion_from_double(scalar: str, dtype: str, kernels: Any) -> None:
    wide = random(torch.float64) * 10.0 ** torch.arange(N, device="cuda").remainder(12).sub(8).double()
    out = torch.empty(N, dtype=getattr(torch, dtype), device="cuda")
    run(kernels[f"convert<{scalar}, double>"], out, wide, N)
    assert same(out, wide.to(out.dtype))


@pytest.mark.parametrize("name", FLOAT8)
def test_conversion_of_eight_bits(name: str, kernels: Any) -> None:
    kind = getattr(torch, name.lower())
    every = torch.arange(256, device="cuda").to(torch.uint8)
    wide = torch.empty(256, device="cuda")
    run(kernels[f"convert<float, c10::{name}>"], wide, every, 256)
    assert same(wide, every.view(kind).float())
    # Every 8-bit number, the points halfway between neighbours, and beside these.
    numbers = wide[wide == wide].unique()
    halves = (numbers[1:] + numbers[:-1]) / 2
    infinity = torch.full_like(halves, float("inf"))
    values = torch.cat([numbers, halves, torch.nextafter(halves, infinity), torch.nextafter(halves, -infinity)])
    values = torch.cat([values, random(torch.float32) * 500, torch.tensor([1e30, -1e30], device="cuda")]).contiguous()
    narrow = torch.empty(len(values), dtype=torch.uint8, device="cuda")
    run(kernels[f"convert<c10::{name}, float>"], narrow, values, len(values))
    assert torch.equal(narrow, values.to(kind).view(torch.uint8))


def test_other_conversions(kernels: Any) -> None:
    half = random(torch.float16) * 50
    for scalar, dtype in (("unsigned char", torch.uint8), ("c10::BFloat16", torch.bfloat16)):
        out = torch.empty(N, dtype=dtype, device="cuda")
        run(kernels[f"convert<{scalar}, c10::Half>"], out, half, N)
        assert torch.equal(out, half.to(dtype))
    numbers = whole(torch.float32, 0, 2) + 1j * whole(torch.float32, 0, 2, seed=8)
    flags = torch.empty(N, dtype=torch.bool, device="cuda")
    run(kernels["convert<bool, c10::complex<float>>"], flags, numbers, N)
    assert torch.equal(flags, numbers.to(torch.bool))


def accessor(tensor: Any, integer: Any) -> bytes:
    words = np.array([*tensor.shape, *tensor.stride()], integer)
    return np.uint64(tensor.data_ptr()).tobytes() + words.tobytes()


@pytest.mark.parametrize(("scalar", "dtype"), [("float", torch.float32), ("c10::Half", torch.float16)])
def test_accessors_of_strided_tensors(scalar: str, dtype: Any, kernels: Any) -> None:
    a = random(dtype, 7, 5, 6).permute(2, 0, 1)[::2]
    out = torch.zeros(7, 3, 10, dtype=dtype, device="cuda").transpose(0, 1)[:, :, ::2]
    by = torch.arange(14, device="cuda")[::2]
    arguments = accessor(out, np.int32), accessor(a, np.int64), accessor(by, np.int32)
    run(kernels[f"weigh<{scalar}>"], *arguments, grid=1, block=(4, 4))
    assert torch.equal(out, a * by[None, :, None].to(dtype))
    flat = torch.empty(a.numel(), dtype=dtype, device="cuda")
    record = np.zeros((), np.dtype([("data", "u8"), ("sizes", "i4", 25), ("strides", "i4", 25), ("dims", "i4")], True))
    record["data"], record["dims"] = a.data_ptr(), 3
    record["sizes"][:3], record["strides"][:3] = a.shape, a.stride()
    run(kernels[f"gather<{scalar}>"], flat, record.tobytes(), a.numel())
    assert torch.equal(flat.view(a.shape), a)


@pytest.mark.parametrize(("scalar", "dtype"), [*REAL.items(), *INTEGERS.items()])
def test_atomic_sums(scalar: str, dtype: str, kernels: Any) -> None:
    kind, size = getattr(torch, dtype), 601
    values, index = whole(kind, 0, 4), whole(torch.int64, 0, size, seed=8)
    out, fast = torch.zeros(2, size, dtype=kind, device="cuda")
    run(kernels[f"add_at<{scalar}>"], out, fast, index, values, size, N)
    expected = torch.zeros(size, dtype=kind, device="cuda").index_add(0, index, values)
    assert torch.equal(out, expected)
    assert torch.equal(fast, expected)


@pytest.mark.parametrize(("scalar", "dtype"), [*REAL.items(), ("long", "int64"), ("signed char", "int8")])
def test_atomic_extremes(scalar: str, dtype: str, kernels: Any) -> None:
    kind = getattr(torch, dtype)
    values = whole(kind, -100, 100)
    most, least = values[:1].clone(), values[:1].clone()
    run(kernels[f"extremes<{scalar}>"], most, least, values, N)
    assert (most.item(), least.item()) == (values.max().item(), values.min().item())
    if kind.is_floating_point:
        values[N // 2] = float("nan")
        run(kernels[f"extremes<{scalar}>"], most, least, values, N)
        assert most.isnan().all()
        assert least.isnan().all()


@pytest.mark.parametrize(("scalar", "dtype"), REAL.items())
def test_limits(scalar: str, dtype: str, kernels: Any) -> None:
    out = torch.empty(5, dtype=getattr(torch, dtype), device="cuda")
    run(kernels[f"limits<{scalar}>"], out, grid=1, block=1)
    info = torch.finfo(out.dtype)
    assert out.tolist() == [info.min, info.max, float("-inf"), info.eps, info.tiny]


@pytest.mark.parametrize(("scalar", "dtype"), REAL.items())
def test_sums_over_a_block(scalar: str, dtype: str, kernels: Any) -> None:
    values = whole(getattr(torch, dtype), 0, 2)
    out = torch.empty(1, dtype=values.dtype, device="cuda")
    run(kernels[f"total<{scalar}>"], out, values, N, grid=1, block=256)
    assert out.item() == values.double().sum().to(values.dtype).item()


@pytest.mark.parametrize(("scalar", "dtype"), [("float", torch.float32), ("double", torch.float64)])
def test_division_that_rounds_down(scalar: str, dtype: Any, kernels: Any) -> None:
    a, b = random(dtype) * 20, random(dtype, seed=8)
    a[:3], b[:3] = torch.tensor([1.0, -1.0, 0.0], device="cuda"), 0
    a[3:100], b[3:100] = a[3:100].round(), b[3:100].round()
    quotient, remainder = torch.empty_like(a), torch.empty_like(a)
    run(kernels[f"floors<{scalar}>"], quotient, remainder, a, b, N)
    assert same(quotient, torch.div(a, b, rounding_mode="floor"))
    torch.testing.assert_close(remainder, torch.remainder(a, b), rtol=0, atol=0, equal_nan=True)


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Return the next four numbers of Philox 4x32 with 10 rounds."""
    for number in range(10):
        if number:
            key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        high = [second >> 32 ^ counter[1] ^ key[0], first >> 32 ^ counter[3] ^ key[1]]
        counter = [high[0], second & 0xFFFFFFFF, high[1], first & 0xFFFFFFFF]
    return counter


def test_random_bits(kernels: Any) -> None:
    assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]  # Random123's known answer
    for seed, subsequence, offset in (
        (0, 0, 0),
        (2**64 - 1, 2**63, 5),
        (67280421310721, 3, 2**32 - 1),
        (1, 2, 2**64 - 1),
    ):
        out = torch.zeros(8, dtype=torch.int32, device="cuda")
        run(kernels["random_bits"], out, seed, subsequence, offset, grid=1, block=1)
        start = (subsequence << 64) + offset
        counters = [[(start + step) >> shift & 0xFFFFFFFF for shift in (0, 32, 64, 96)] for step in (0, 1)]
        key = [seed & 0xFFFFFFFF, seed >> 32]
        expected = [number for counter in counters for number in philox(counter, key)]
        assert [number & 0xFFFFFFFF for number in out.tolist()] == expected


def test_state_of_a_generator(kernels: Any) -> None:
    out = torch.zeros(2, dtype=torch.int64, device="cuda")
    record = np.dtype([("seed", "u8"), ("offset", "u8"), ("within", "u8"), ("captured", "?")], True)
    plain = np.array((11, 22, 33, False), record)
    run(kernels["unpack"], out, plain.tobytes(), grid=1, block=1)
    assert out.tolist() == [11, 22]
    seed, offset = torch.tensor([5], device="cuda"), torch.tensor([7], device="cuda")
    captured = np.array((seed.data_ptr(), offset.data_ptr(), 100, True), record)
    run(kernels["unpack"], out, captured.tobytes(), grid=1, block=1)
    assert out.tolist() == [5, 107]
