"""The stand-ins for PyTorch's types have PyTorch's sizes, constants and names.

The facts are in tables. Tests compile them against the stand-ins; other tests read the same facts in PyTorch's own
headers, if it is installed, or CUDA_WHEEL_TEST_TORCH_HEADERS names the folder `include` of a wheel.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.cxx.tokens import scan
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.toolchain.toolchain import STAND_INS, Toolchain

Compile = Callable[..., Compiled]

LAYOUTS = {
    "c10::Half": (2, 2),
    "c10::BFloat16": (2, 2),
    "c10::Float4_e2m1fn_x2": (1, 1),
    "c10::complex<float>": (8, 8),
    "c10::complex<double>": (16, 16),
    "c10::complex<c10::Half>": (4, 4),
    "c10::complex<c10::BFloat16>": (4, 4),
    "at::detail::Array<float, 3>": (12, 4),
    "c10::qint8": (1, 1),
    "c10::bits2x4": (1, 1),
    "c10::bits4x2": (1, 1),
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
    "at::TensorAccessorBase<float, 2>": (24, 8),
    "at::GenericPackedTensorAccessorBase<float, 2>": (40, 8),
}
"""Size and alignment in bytes. All are trivially copyable. As nvcc 13.0 compiles the headers of PyTorch 2.11."""

HOST_LAYOUTS = {
    "c10::SmallVector<int64_t,5>": (56, 8),
    "c10::SmallVectorImpl<int>": (16, 8),
    "c10::HeaderOnlyArrayRef<int>": (16, 8),
    "c10::ArrayRef<int>": (16, 8),
    "c10::IntArrayRef": (16, 8),
    "c10::OptionalArrayRef<int64_t>": (24, 8),
    "c10::intrusive_ptr<c10::intrusive_ptr_target>": (8, 8),
    "c10::weak_intrusive_ptr<c10::intrusive_ptr_target>": (8, 8),
    "c10::MaybeOwned<at::Tensor>": (16, 8),
    "c10::List<int64_t>": (8, 8),
    "c10::Dict<int64_t,int64_t>": (8, 8),
    "c10::SourceLocation": (24, 8),
    "c10::IValue": (16, 8),
    "at::indexing::EllipsisIndexType": (1, 1),
    "at::indexing::Slice": (24, 8),
    "at::indexing::TensorIndex": (56, 8),
    "at::TensorBase": (8, 8),
    "at::Tensor": (8, 8),
    "at::TensorArg": (24, 8),
    "at::TensorGeometry": (72, 8),
    "at::TensorGeometryArg": (88, 8),
    "c10::Device": (2, 1),
    "c10::DispatchKeySet": (8, 8),
    "c10::SymInt": (8, 8),
    "c10::SymFloat": (16, 8),
    "c10::SymBool": (16, 8),
    "c10::Scalar": (32, 16),
    "caffe2::TypeMeta": (2, 2),
    "c10::TensorOptions": (8, 2),
    "c10::DataPtr": (32, 8),
    "c10::Allocator": (8, 8),
    "c10::Storage": (8, 8),
    "c10::Stream": (16, 8),
    "c10::StreamData3": (16, 8),
    "c10::AutoGradMode": (1, 1),
    "c10::NoGradGuard": (1, 1),
    "at::Generator": (8, 8),
    "at::DeprecatedTypeProperties": (8, 4),
    "at::OptionalTensorRef": (8, 8),
    "c10::DeviceType": (1, 1),
    "c10::ScalarType": (1, 1),
    "c10::Layout": (1, 1),
    "c10::MemoryFormat": (1, 1),
    "c10::Backend": (4, 4),
    "c10::DispatchKey": (2, 2),
    "c10::integer_range<int>": (8, 4),
    "c10::detail::integer_iterator<int>": (4, 4),
    "c10::GradMode": (1, 1),
    "torch::autograd::Function<int>": (1, 1),
    "torch::stable::Tensor": (16, 8),
    "torch::stable::Device": (8, 4),
    "torch::stable::accelerator::DeviceGuard": (16, 8),
    "torch::stable::accelerator::Stream": (16, 8),
    "c10::string_view": (16, 8),
    "c10::SymIntArrayRef": (16, 8),
    "c10::cuda::CUDAStream": (16, 8),
    "c10::cuda::CUDAGuard": (16, 8),
    "c10::cuda::OptionalCUDAGuard": (24, 8),
    "c10::cuda::CUDAStreamGuard": (64, 8),
    "c10::OptionalDeviceGuard": (32, 8),
    "c10::DeviceGuard": (24, 8),
    "c10::dummy_uint1_7_t<1>": (1, 1),
    "c10::dummy_int1_7_t<1>": (1, 1),
    "at::AutoDispatchBelowAutograd": (16, 8),
    "at::AutoNonVariableTypeMode": (16, 8),
    "at::AutoDispatchBelowADInplaceOrView": (16, 8),
    "at::detail::IndexBoundsCheck<2,int>": (1, 1),
    "torch::headeronly::DefaultPtrTraits<int>": (1, 1),
    "c10::cuda::OptionalCUDAStreamGuard": (72, 8),
    "c10::cuda::CUDAMultiStreamGuard": (40, 8),
    "c10::cuda::CUDACachingAllocator::CUDAAllocator": (8, 8),
}
"""The same of types of host code, which a struct for a kernel may hold. As GCC 12 compiles the headers of PyTorch 2.4.1,
2.11.0 and 2.14.1."""

HOST_ONLY = (
    *("at::TensorImpl", "c10::StorageImpl", "at::CUDAGeneratorImpl", "torch::CustomClassHolder"),
    *("torch::nn::Module", "torch::autograd::SavedVariable", "torch::autograd::AutogradContext", "at::Context"),
    *("torch::serialize::InputArchive", "torch::serialize::OutputArchive", "at::RecordFunction", "c10::InferenceMode"),
    *("c10::Error", "c10::CUDAError", "c10::detail::MessageStream", "c10::impl::ExcludeDispatchKeyGuard"),
    *("at::TensorIterator", "at::TensorIteratorBase", "at::TensorIteratorConfig", "at::SplitUntil32Bit"),
    *("c10::Dispatcher", "c10::OperatorHandle", "c10::TypedOperatorHandle<void()>", "c10::DictEntry<int,int>"),
    *(
        "at::cuda::CUDAEvent",
        "c10::cuda::CUDAKernelLaunchRegistry",
        "torch::CppFunction",
        "torch::Library",
        "torch::class_<torch::CustomClassHolder>",
    ),
    *("pybind11::object", "pybind11::array_t<float>", "pybind11::buffer_info", "pybind11::gil_scoped_release"),
)
"""Types of which host code alone has objects, mostly on the heap: their layouts differ between releases. A kernel that
takes one is an error."""
ABSTRACT = {"c10::intrusive_ptr_target", "c10::GeneratorImpl", "torch::autograd::Node"}
"""The same, as base classes only."""
HOST_NAMESPACES = ("pybind11::", "torch::detail::", "torch::arg")
"""Namespaces and names of types that a registration has."""
HOST_HEADERS = (
    "python.h",
    "pybind11.h",
    "library.h",
    "stable.h",
    "extension.h",
    "jitted_code.h",
    "complex_functions.h",
    "THCNumerics.cuh",
)
TRAITS = {
    *("at::AccumulateTypeDevice", "at::AccumulateType", "at::OpMathType", "torch::headeronly::is_complex"),
    *(
        "torch::headeronly::scalar_value_type",
        "torch::headeronly::RestrictPtrTraits",
        "cuda_wheel_detail::is_other_complex",
    ),
    *("cuda_wheel_detail::complex_functions", "torch::headeronly::detail::Selected"),
    *("torch::headeronly::detail::HeaderOnlyIndexBoundsCheck", "c10::cuda_wheel_is_scalar"),
    *("c10::cuda_wheel_scalar_constant", "at::cuda_wheel_argument"),
}
"""Templates that have no objects."""

OF_PYTORCH = (
    *("at::PhiloxCudaState", "at::philox_engine", "at::cuda::detail::IntDivider<unsigned>"),
    *("at::cuda::detail::TensorInfo<float, unsigned>", "OffsetCalculator<2>", "TrivialOffsetCalculator<3>"),
    *("at::native::memory::aligned_vector<c10::Half, 8>", "c10::Float8_e4m3fn", "c10::Float8_e5m2"),
)
"""Types that have no stand-in: PyTorch's own are compiled."""

LIMITS = {
    "Half": "min 400 lowest FBFF max 7BFF epsilon 1400 round_error 3800 infinity 7C00 quiet_NaN 7E00 signaling_NaN 7D00"
    " denorm_min 1",
    "BFloat16": "min 80 lowest FF7F max 7F7F epsilon 3C00 round_error 3F00 infinity 7F80 quiet_NaN 7FC0"
    " signaling_NaN 7F80 denorm_min 1",
}
"""The bits of std::numeric_limits, by function, in hexadecimal."""

PROPERTIES = {
    "Half": (1, 1, 1, 1, 11, 3, 5, -13, -4, 16, 4),
    "BFloat16": (1, 1, 1, 0, 8, 2, 4, -125, -37, 128, 38),
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
    "C10_WARP_SIZE": ("torch/headeronly/macros/Macros.h", 32),
    "CUDA_MAX_THREADS_PER_BLOCK": ("torch/headeronly/macros/Macros.h", 1024),
    "CUDA_THREADS_PER_BLOCK_FALLBACK": ("torch/headeronly/macros/Macros.h", 256),
    "C10_COMPILE_TIME_MAX_GPUS": ("c10/cuda/CUDAMacros.h", 120),
    "(int)at::cuda_wheel_devices::CUDA": ("torch/headeronly/core/DeviceType.h", 1),
    "(int)at::cuda_wheel_devices::XPU": ("torch/headeronly/core/DeviceType.h", 12),
    "(int)at::cuda_wheel_devices::MPS": ("torch/headeronly/core/DeviceType.h", 13),
}

HEADERS = [
    *("ATen/AccumulateType.h", "ATen/NumericUtils.h", "ATen/OpMathType.h", "ATen/ceil_div.h", "ATen/core/Array.h"),
    *("ATen/core/TensorAccessor.h", "c10/cuda/CUDAMacros.h", "c10/util/Float4_e2m1fn_x2.h", "c10/util/bits.h"),
    *("c10/util/complex.h", "c10/util/qint32.h", "c10/util/qint8.h", "c10/util/quint2x4.h", "c10/util/quint4x2.h"),
    *("c10/util/quint8.h", "torch/headeronly/core/TensorAccessor.h", "ATen/native/CanUse32BitIndexMath.h"),
    *("torch/all.h", "ATen/TensorIterator.h", "ATen/TensorUtils.h", "ATen/record_function.h", "c10/cuda/CUDAGuard.h"),
    *("c10/cuda/CUDAStream.h", "c10/cuda/CUDACachingAllocator.h", "torch/csrc/stable/tensor.h"),
    *("torch/csrc/stable/accelerator.h", "torch/csrc/stable/device.h"),
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
    checks += [
        f"sizeof({name}) == {size} && alignof({name}) == {align}" for name, (size, align) in HOST_LAYOUTS.items()
    ]
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


# every type is in a table


def class_head(head: list[str]) -> tuple[str, bool] | None:
    """Return the name of the class that tokens before a brace define, and whether it is a specialisation."""
    depth, at = 0, None
    for index, word in enumerate(head):
        depth += {"<": 1, ">": -1}.get(word, 0)
        if depth == 0 and word in ("struct", "class", "union") and head[index - 1 : index] != ["enum"]:
            at = index
    if at is None or "(" in head[:at]:
        return None
    rest = re.sub(r"^(alignas \( .*? \) )+", "", " ".join(head[at + 1 :])).split()
    return (rest[0], rest[1:2] == ["<"]) if rest and rest[0].isidentifier() else None


def defined_types(content: bytes) -> set[str]:
    """Return the qualified names of the classes that a header defines in namespaces."""
    found: set[str] = set()
    scopes: list[tuple[str, str]] = []
    head: list[str] = []
    for token in scan(content)[0]:
        if token.text == "{":
            kind, name = "other", ""
            named = class_head(head)
            if "namespace" in head:
                kind, name = "namespace", "".join(head[head.index("namespace") + 1 :])
            elif named is not None:
                kind, name = "class", named[0]
                if not named[1] and all(scope == "namespace" for scope, _ in scopes):
                    found.add("::".join([*(each for _, each in scopes), name]))
            scopes.append((kind, name))
        elif token.text == "}" and scopes:
            scopes.pop()
        if token.text in "{};":
            head = []
        else:
            head.append(token.text)
    for macro, types in {"CUDA_WHEEL_STORAGE_TYPE": "c10"}.items():
        found |= {f"{types}::{name}" for name in re.findall(rf"^{macro}\((\w+),", content.decode(), re.MULTILINE)}
    return found


ALIASES = {
    "torch::headeronly::detail::TensorAccessorBase": "at::TensorAccessorBase",
    "torch::headeronly::detail::TensorAccessor": "at::TensorAccessor",
    "torch::headeronly::detail::GenericPackedTensorAccessorBase": "at::GenericPackedTensorAccessorBase",
    "torch::headeronly::detail::GenericPackedTensorAccessor": "at::PackedTensorAccessor32",
}


@pytest.mark.one_toolchain
def test_every_type_of_the_stand_ins_is_in_a_table() -> None:
    tables = {name.partition("<")[0] for name in (*LAYOUTS, *HOST_LAYOUTS, *HOST_ONLY)} | ABSTRACT | TRAITS
    unknown = {
        f"{path.name}: {name}"
        for path in Path(STAND_INS[1]).rglob("*")
        if path.is_file() and path.name not in HOST_HEADERS
        for name in defined_types(path.read_bytes())
        if ALIASES.get(name, name) not in tables and not name.startswith(HOST_NAMESPACES)
    }
    assert unknown == set()


@pytest.mark.one_toolchain
def test_types_are_found_in_headers() -> None:
    text = b"namespace a { namespace b { template <class T> struct alignas(8) X : Y<T> { struct Inner {}; }; enum class E {}; struct F; } class Z final { }; }"
    assert defined_types(text) == {"a::b::X", "a::Z"}
    assert defined_types(b"CUDA_WHEEL_STORAGE_TYPE(qint8, int8_t, )") == {"c10::qint8"}


HOLDERS = """
template <class T> struct Member { int number; T object; };
template <class T> struct Base : T { int number; };
template <class T> __global__ void k(T parameter, int* out) { *out = 1; }
template <class F> __global__ void call(int* out, F f) { *out = f(); }
void launch(at::TensorIterator& iterator, int* out) {
  k<Member<at::RecordFunction>><<<1, 1>>>(*(Member<at::RecordFunction>*)out, out);
  k<Base<torch::CustomClassHolder>><<<1, 1>>>(*(Base<torch::CustomClassHolder>*)out, out);
  call<<<1, 1>>>(out, [iterator] __device__ () { return (int)(size_t)&iterator; });
}
"""


@pytest.mark.parametrize("cubin", [True, False])
def test_a_kernel_that_takes_an_object_of_host_code_is_an_error(cubin: bool, compiled: Compile) -> None:
    headers = ("torch/extension.h", "ATen/TensorIterator.h", "ATen/cuda/CUDAEvent.h", "ATen/record_function.h")
    headers += ("ATen/cuda/CUDAGeneratorImpl.h", "c10/cuda/CUDADeviceAssertion.h", "pybind11/numpy.h")
    text = "".join(f"#include <{each}>\n" for each in headers)
    kernels = {f"of_{re.sub(r'[^A-Za-z]+', '_', name)}": name for name in HOST_ONLY}
    text += "".join(f"__global__ void {kernel}({name} object) {{}}\n" for kernel, name in kernels.items())
    with pytest.raises(CompileError) as error:
        compiled(text + HOLDERS, cubin=cubin)
    message = str(error.value)
    assert "help: a parameter is, or has, an object that only host code can use" in message
    for name in (*kernels, "1kI6Member", "1kI4Base", "4call"):
        assert re.search(rf"parameter space overflowed .*{name}", message), name


def test_types_without_a_stand_in_are_pytorchs(torch_compiled: Compile) -> None:
    includes = "".join(
        f"#include <{name}>\n"
        for name in (
            *("torch/extension.h", "ATen/cuda/CUDAGeneratorImpl.h", "ATen/core/PhiloxRNGEngine.h"),
            *("ATen/cuda/detail/TensorInfo.cuh", "ATen/cuda/detail/OffsetCalculator.cuh", "c10/util/Float8_e4m3fn.h"),
            *("ATen/native/cuda/MemoryAccess.cuh", "c10/util/Float8_e5m2.h"),
        )
    )
    text = "".join(f"__global__ void k{number}({name} value) {{}}\n" for number, name in enumerate(OF_PYTORCH))
    assert len(torch_compiled(includes + "using namespace at;\n" + text, cubin=False).kernels) == len(OF_PYTORCH)


@pytest.mark.parametrize("name", ["at::PhiloxCudaState", "c10::Float8_e5m2"])
def test_a_type_that_only_pytorch_has_is_an_error_without_it(
    name: str, compiled: Compile, toolchain: Toolchain
) -> None:
    if any(each.name == "pytorch" for each in toolchain.headers):
        pytest.skip("PyTorch is installed")
    with pytest.raises(CompileError, match=r'incomplete(?s:.*)help: .*add "torch" to build-system.requires'):
        compiled(
            f"#include <torch/extension.h>\n#include <ATen/cuda/CUDAGeneratorImpl.h>\n__global__ void k({name} value) {{}}"
        )


@pytest.mark.thorough
@pytest.mark.one_toolchain
def test_layouts_are_those_of_gcc_with_pytorchs_headers(
    torch_headers: Path, toolchain: Toolchain, tmp_path: Path
) -> None:
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    names = {**LAYOUTS, **HOST_LAYOUTS}
    if not (torch_headers / "torch/csrc/stable/accelerator.h").exists():
        names = {name: layout for name, layout in names.items() if not name.startswith("torch::stable::")}
    found = [name for name in HEADERS if (torch_headers / name).exists() or name == "torch/all.h"]
    text = "".join(f"#include <{name}>\n" for name in found)
    # PyTorch has them for CUDA only.
    text = (
        "#define C10_USING_CUSTOM_GENERATED_MACROS\n"
        + text
        + "namespace at { template <class T> struct RestrictPtrTraits { typedef T* __restrict__ PtrType; }; }\n"
    )
    text += "".join(
        f'static_assert(sizeof({name}) == {size} && alignof({name}) == {align}, "{name}");\n'
        for name, (size, align) in names.items()
    )
    folders = (torch_headers, torch_headers / "torch/csrc/api/include", *toolchain.include_dirs)
    command = ["g++", "-std=c++20", "-fsyntax-only", "-w", "-x", "c++", "-", *(f"-I{folder}" for folder in folders)]
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[:4000]


# PyTorch's own headers


@pytest.fixture
def headers(torch_headers: Path) -> Callable[[str], str]:
    """Return a function that reads a header of PyTorch, without comments."""

    def read(name: str) -> str:
        path = torch_headers / name
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
    }.items():
        text = headers(f"torch/headeronly/util/{name}.h")
        assert len(re.findall(r"C10_HOST_DEVICE[^;{]*?\boperator[-+*/|^&<>]=?\(", text)) == count, name
