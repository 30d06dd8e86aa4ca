"""The stand-ins for PyTorch's types have PyTorch's sizes, constants and names.

The facts are in tables. Tests compile them against the stand-ins; other tests read the same facts in PyTorch's own
headers, if it is installed, or CUDA_WHEEL_TEST_TORCH_HEADERS names the folder `include` of a wheel.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.jobs import Compiled

Compile = Callable[..., Compiled]

LAYOUTS = {
    "c10::Half": (2, 2),
    "c10::BFloat16": (2, 2),
    "c10::Float8_e4m3fn": (1, 1),
    "c10::Float8_e4m3fnuz": (1, 1),
    "c10::Float8_e5m2": (1, 1),
    "c10::Float8_e5m2fnuz": (1, 1),
    "c10::Float8_e8m0fnu": (1, 1),
    "c10::Float4_e2m1fn_x2": (1, 1),
    "c10::complex<float>": (8, 8),
    "c10::complex<double>": (16, 16),
    "c10::complex<c10::Half>": (4, 4),
    "c10::qint8": (1, 1),
    "c10::quint8": (1, 1),
    "c10::qint32": (4, 4),
    "c10::quint4x2": (1, 1),
    "c10::quint2x4": (1, 1),
    "c10::bits1x8": (1, 1),
    "c10::bits8": (1, 1),
    "c10::bits16": (2, 2),
    "at::PackedTensorAccessor32<float, 3>": (32, 8),
    "at::PackedTensorAccessor32<c10::Half, 1>": (16, 8),
    "at::PackedTensorAccessor64<float, 2, at::RestrictPtrTraits>": (40, 8),
    "at::TensorAccessor<float, 2>": (24, 8),
    "at::philox_engine": (44, 4),
    "at::PhiloxCudaState": (32, 8),
    "at::cuda::detail::IntDivider<unsigned>": (12, 4),
    "at::cuda::detail::IntDivider<uint64_t>": (8, 8),
    "at::cuda::detail::TensorInfo<float, unsigned>": (216, 8),
    "at::cuda::detail::TensorInfo<float, uint64_t>": (416, 8),
    "OffsetCalculator<2>": (504, 4),
    "OffsetCalculator<1, uint64_t>": (408, 8),
    "TrivialOffsetCalculator<3>": (1, 1),
    "at::native::memory::aligned_vector<c10::Half, 8>": (16, 16),
}
"""Size and alignment in bytes. All are trivially copyable. As nvcc 13.0 compiles the headers of PyTorch 2.11."""

LIMITS = {
    "Half": "min 400 lowest FBFF max 7BFF epsilon 1400 round_error 3800 infinity 7C00 quiet_NaN 7E00 signaling_NaN 7D00"
    " denorm_min 1",
    "BFloat16": "min 80 lowest FF7F max 7F7F epsilon 3C00 round_error 3F00 infinity 7F80 quiet_NaN 7FC0"
    " signaling_NaN 7F80 denorm_min 1",
    "Float8_e4m3fn": "min 8 lowest FE max 7E epsilon 20 round_error 30 quiet_NaN 7F denorm_min 1",
    "Float8_e4m3fnuz": "min 8 lowest FF max 7F epsilon 28 round_error 38 infinity 80 quiet_NaN 80 denorm_min 1",
    "Float8_e5m2": "min 4 max 7B lowest FB epsilon 34 round_error 38 infinity 7C quiet_NaN 7F denorm_min 1",
    "Float8_e5m2fnuz": "min 4 max 7F lowest FF epsilon 34 round_error 38 infinity 80 quiet_NaN 80 denorm_min 1",
    "Float8_e8m0fnu": "min 0 lowest 0 max FE epsilon 7F round_error 7E quiet_NaN FF",
}
"""The bits of std::numeric_limits, by function, in hexadecimal."""

PROPERTIES = {
    "Half": (1, 1, 1, 1, 11, 3, 5, -13, -4, 16, 4),
    "BFloat16": (1, 1, 1, 0, 8, 2, 4, -125, -37, 128, 38),
    "Float8_e4m3fn": (1, 0, 0, 0, 4, 0, 3, -5, -1, 8, 2),
    "Float8_e4m3fnuz": (1, 0, 0, 0, 4, 0, 3, -6, -1, 8, 2),
    "Float8_e5m2": (1, 1, 0, 0, 3, 0, 2, -13, -4, 16, 4),
    "Float8_e5m2fnuz": (1, 0, 0, 0, 3, 0, 2, -14, -4, 16, 4),
    "Float8_e8m0fnu": (0, 0, 0, 0, 1, 0, 1, -126, -38, 128, 38),
}
PROPERTY_NAMES = (
    *("is_signed", "has_infinity", "has_signaling_NaN", "is_iec559", "digits", "digits10", "max_digits10"),
    *("min_exponent", "min_exponent10", "max_exponent", "max_exponent10"),
)

SUMS_ON_GPUS = {
    "BFloat16": "float",
    "Half": "float",
    "Float8_e5m2": "float",
    "Float8_e4m3fn": "float",
    "Float8_e5m2fnuz": "float",
    "Float8_e4m3fnuz": "float",
    "half": "float",
    "float": "float",
    "double": "double",
    "int8_t": "int64_t",
    "uint8_t": "int64_t",
    "char": "int64_t",
    "int16_t": "int64_t",
    "int32_t": "int64_t",
    "int64_t": "int64_t",
    "bool": "bool",
    "c10::complex<Half>": "c10::complex<float>",
    "c10::complex<float>": "c10::complex<float>",
    "c10::complex<double>": "c10::complex<double>",
}
"""at::acc_type<T, true>."""

SUMS_ON_CPUS = SUMS_ON_GPUS | {"float": "double", "c10::complex<float>": "c10::complex<double>"}
del SUMS_ON_CPUS["half"]

CONSTANTS = {
    "MAX_DIMS": ("ATen/cuda/detail/OffsetCalculator.cuh", 25),
    "MAX_TENSORINFO_DIMS": ("ATen/cuda/detail/TensorInfo.cuh", 25),
    "at::cuda::detail::CUDA_NUM_THREADS": ("ATen/cuda/detail/KernelUtils.h", 1024),
    "C10_WARP_SIZE": ("torch/headeronly/macros/Macros.h", 32),
    "CUDA_MAX_THREADS_PER_BLOCK": ("torch/headeronly/macros/Macros.h", 1024),
    "CUDA_THREADS_PER_BLOCK_FALLBACK": ("torch/headeronly/macros/Macros.h", 256),
    "C10_COMPILE_TIME_MAX_GPUS": ("c10/cuda/CUDAMacros.h", 120),
    "at::native::cuda_utils::kCUDABlockReduceNumThreads": ("ATen/native/cuda/block_reduce.cuh", 512),
    "(int)at::cuda_wheel_devices::CUDA": ("torch/headeronly/core/DeviceType.h", 1),
    "(int)at::cuda_wheel_devices::XPU": ("torch/headeronly/core/DeviceType.h", 12),
    "(int)at::cuda_wheel_devices::MPS": ("torch/headeronly/core/DeviceType.h", 13),
}

HEADERS = [
    *("ATen/AccumulateType.h", "ATen/NumericUtils.h", "ATen/OpMathType.h", "ATen/ceil_div.h"),
    *("ATen/core/PhiloxRNGEngine.h", "ATen/core/TensorAccessor.h"),
    *("ATen/cuda/AsmUtils.cuh", "ATen/cuda/Atomic.cuh", "ATen/cuda/DeviceUtils.cuh", "ATen/cuda/NumericLimits.cuh"),
    *("ATen/cuda/PhiloxUtils.cuh", "ATen/cuda/detail/IndexUtils.cuh", "ATen/cuda/detail/KernelUtils.h"),
    *("ATen/cuda/detail/OffsetCalculator.cuh", "ATen/native/cuda/KernelUtils.cuh", "ATen/native/cuda/Loops.cuh"),
    *("ATen/native/cuda/MemoryAccess.cuh", "ATen/native/cuda/UpSample.cuh", "ATen/native/cuda/block_reduce.cuh"),
    *("THC/THCAtomics.cuh", "THC/THCDeviceUtils.cuh", "THC/THCNumerics.cuh", "c10/cuda/CUDAMacros.h"),
    *("c10/cuda/CUDAMathCompat.h", "c10/util/BFloat16-math.h", "c10/util/Float4_e2m1fn_x2.h", "c10/util/Load.h"),
    *("c10/util/MathConstants.h", "c10/util/TypeCast.h", "c10/util/Unroll.h", "c10/util/bits.h", "c10/util/complex.h"),
    *("c10/util/copysign.h", "c10/util/generic_math.h", "c10/util/qint32.h", "c10/util/qint8.h", "c10/util/quint2x4.h"),
    *("c10/util/quint4x2.h", "c10/util/quint8.h", "torch/headeronly/core/TensorAccessor.h"),
    *("ATen/cuda/CUDAApplyUtils.cuh", "ATen/cuda/CUDAGraphsUtils.cuh", "ATen/cuda/CUDATensorMethods.cuh"),
    *("ATen/cuda/cub.h", "ATen/cuda/cub_definitions.cuh", "ATen/native/cuda/GridSampler.cuh"),
    *("c10/util/Metaprogramming.h", "c10/util/llvmMathExtras.h"),
]

INCLUDES = "".join(f"#include <{header}>\n" for header in HEADERS)

KERNELS = """
template <class T> __global__ void store(T* to, T value) { *to = value; }
__global__ void rows(at::PackedTensorAccessor32<float, 2, at::RestrictPtrTraits> a, const at::PackedTensorAccessor64<c10::Half, 1> b) {
  a[0][1] = b[2];
}
void launch() {
  store<c10::Half><<<1, 1>>>(nullptr, c10::Half());
  store<at::BFloat16><<<1, 1>>>(nullptr, at::BFloat16());
  store<c10::complex<float>><<<1, 1>>>(nullptr, c10::complex<float>());
  store<at::acc_type<c10::Half, true>><<<1, 1>>>(nullptr, 0);
  store<at::opmath_type<c10::complex<at::Half>>><<<1, 1>>>(nullptr, 0);
}
"""

SYMBOLS = {
    "_Z4rowsN5torch10headeronly6detail27GenericPackedTensorAccessorINS1_14TensorAccessorIN3c108ArrayRefIlEEfLm1ENS0_17"
    "RestrictPtrTraitsEiEEN2at6detail16IndexBoundsCheckILm2EiEEfLm2ES7_iEENS2_INS3_IS6_NS4_4HalfELm0ENS0_16"
    "DefaultPtrTraitsElEENSB_ILm1ElEESE_Lm1ESF_lEE",
    "_Z5storeIN3c104HalfEEvPT_S2_",
    "_Z5storeIN3c108BFloat16EEvPT_S2_",
    "_Z5storeIN3c107complexIfEEEvPT_S3_",
    "_Z5storeIfEvPT_S0_",
}
"""The kernels' symbols, from nvcc 13.0 with the headers of PyTorch 2.11."""


def assertions() -> str:
    checks = [f"sizeof({name}) == {size} && alignof({name}) == {align}" for name, (size, align) in LAYOUTS.items()]
    checks += [f"std::is_trivially_copyable<{name}>::value" for name in LAYOUTS]
    for name, text in LIMITS.items():
        words = text.split()
        limits = f"std::numeric_limits<c10::{name}>"
        checks += [
            f"{limits}::{function}().x == 0x{bits}" for function, bits in zip(words[::2], words[1::2], strict=True)
        ]
        checks += [f"{limits}::{key} == {value}" for key, value in zip(PROPERTY_NAMES, PROPERTIES[name], strict=True)]
    for is_cuda, sums in ((True, SUMS_ON_GPUS), (False, SUMS_ON_CPUS)):
        for name, wide in sums.items():
            checks.append(f"std::is_same<acc_type<{name}, {str(is_cuda).lower()}>, {wide}>::value")
    checks += [f"{name} == {value}" for name, (_, value) in CONSTANTS.items()]
    return "namespace at {\n" + "".join(f'static_assert({check}, "");\n' for check in checks) + "}\n"


@pytest.mark.slow
@pytest.mark.parametrize("std", ["c++17", "c++20"])
def test_layouts_limits_and_symbols(std: str, compiled: Compile) -> None:
    result = compiled(INCLUDES + assertions() + KERNELS, options=(f"--std={std}",))
    assert result.log == ""
    assert set(result.kernels) == SYMBOLS


def test_a_wrong_fact_is_an_error(compiled: Compile) -> None:
    with pytest.raises(Exception, match="static assertion failed"):
        compiled(INCLUDES + 'static_assert(sizeof(c10::complex<c10::Half>) == 8, "");\n__global__ void k() {}')


# PyTorch's own headers


@pytest.fixture(scope="module")
def headers() -> Callable[[str], str]:
    """Return a function that reads a header of PyTorch, without comments."""
    folder = os.environ.get("CUDA_WHEEL_TEST_TORCH_HEADERS")
    found = importlib.util.find_spec("torch")
    if folder is None and (found is None or found.origin is None):
        pytest.skip("PyTorch is not installed, and CUDA_WHEEL_TEST_TORCH_HEADERS names no folder of its headers")
    root = Path(folder) if folder else Path(str(found and found.origin)).parent / "include"

    def read(name: str) -> str:
        path = root / name
        if not path.exists():
            pytest.skip(f"this release of PyTorch has no {name}")
        return re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)

    return read


@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_pytorchs(name: str, headers: Callable[[str], str]) -> None:
    text = headers(f"torch/headeronly/util/{name}.h")
    functions = re.findall(
        rf"static constexpr c10::{name} (\w+)\(\) \{{\s*return c10::{name}\((\w+), c10::{name}::from_bits\(\)\)", text
    )
    words = LIMITS[name].split()
    assert {key: int(bits, 0) for key, bits in functions} == {
        key: int(bits, 16) for key, bits in zip(words[::2], words[1::2], strict=True)
    }
    for key, value in zip(PROPERTY_NAMES, PROPERTIES[name], strict=True):
        found = re.search(rf"static constexpr \w+ {key} = ([\w-]+);", text)
        assert found is not None
        assert {"true": 1, "false": 0}.get(found[1], found[1]) in (value, str(value)), key


MEMBERS = {"uint8_t": 1, "int8_t": 1, "unsigned short": 2, "uint16_t": 2, "int32_t": 4, "Half": 2}


@pytest.mark.parametrize("name", [name for name in LAYOUTS if re.fullmatch(r"c10::\w+", name)])
def test_sizes_are_pytorchs(name: str, headers: Callable[[str], str]) -> None:
    name = name.removeprefix("c10::")
    text = headers(f"torch/headeronly/util/{'bits' if name.startswith('bits') else name}.h")
    struct = re.search(rf"struct alignas\((\d)\) {name} \{{(.*?)\n\}};", text, re.DOTALL)
    assert struct is not None
    members = re.findall(r"^  ([a-z_0-9 ]+?) \w+;$", struct[2], re.MULTILINE)
    assert (sum(MEMBERS[each] for each in members), int(struct[1])) == LAYOUTS[f"c10::{name}"]


def test_types_of_sums_are_pytorchs(headers: Callable[[str], str]) -> None:
    text = headers("ATen/AccumulateType.h")
    pattern = r"^%s_ACC_TYPE\(([\w:<>]+), ([\w:<>]+)\)"
    assert dict(re.findall(pattern % "CUDA", text, re.MULTILINE)) == SUMS_ON_GPUS
    assert dict(re.findall(pattern % "CPU", text, re.MULTILINE)) == SUMS_ON_CPUS


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_are_pytorchs(name: str, headers: Callable[[str], str]) -> None:
    header, value = CONSTANTS[name]
    found = re.findall(rf"\b{name.split('::')[-1]}(?: = | )(\d+)\b", headers(header))
    assert str(value) in found


def test_operators_are_pytorchs(headers: Callable[[str], str]) -> None:
    # For each type, 4 operators with 11 pairs of operands, and the sign; BFloat16 has 5 more.
    for name, count in {
        "Half": 45,
        "BFloat16": 50,
        "Float8_e4m3fn": 45,
        "Float8_e5m2": 45,
        "Float8_e8m0fnu": 0,
    }.items():
        text = headers(f"torch/headeronly/util/{name}.h")
        assert len(re.findall(r"C10_HOST_DEVICE[^;{]*?\boperator[-+*/|^&<>]=?\(", text)) == count, name
