"""The stand-ins for PyTorch's headers: launchers as packages write them have exactly the kernels that PyTorch's headers give."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.rewriting.project_texts import operator_headers
from cuda_wheel.builder.sources.pytorch_options import PYTORCH_MACROS
from cuda_wheel.builder.toolchain.toolchain import STAND_INS
from tests.support.projects import ROOT

Compile = Callable[..., Compiled]


def kernels(result: Compiled) -> set[str]:
    """Return the kernels' names with their template arguments; fail if host code was left out."""
    assert not result.left_out
    return {signature(symbol).name for symbol in result.kernels}


FLOATING = ("double", "float")
COMPLEX = ("c10::complex<double>", "c10::complex<float>")
INTEGRAL = ("unsigned char", "signed char", "int", "long", "short")
HALF, BFLOAT16, BOOL = "c10::Half", "c10::BFloat16", "bool"
FLOAT8 = tuple(f"c10::Float8_{kind}" for kind in ("e5m2", "e5m2fnuz", "e4m3fn", "e4m3fnuz", "e8m0fnu"))
ADDED = {  # enumerators of ScalarType that the macros ending in AND<n> are given, with their types
    "at::kHalf": HALF,
    "at::ScalarType::BFloat16": BFLOAT16,
    "torch::kBool": BOOL,
    "at::kFloat8_e4m3fn": "c10::Float8_e4m3fn",
    "at::kFloat8_e5m2": "c10::Float8_e5m2",
    "at::kUInt16": "unsigned short",
    "at::kUInt32": "unsigned int",
    "at::kComplexHalf": "c10::complex<c10::Half>",
}
SETS = {  # the types of each macro, and the macro's name for each number of added enumerators
    "FLOATING_TYPES": (FLOATING, {1: "", 2: "2", 3: "3", 4: "4", 5: "5"}),
    "COMPLEX_TYPES": (COMPLEX, {1: ""}),
    "FLOATING_AND_COMPLEX_TYPES": (FLOATING + COMPLEX, {count: str(count) for count in range(1, 7)}),
    "INTEGRAL_TYPES": (INTEGRAL, {1: ""}),
    "ALL_TYPES": (INTEGRAL + FLOATING, {1: "", 2: "2", 3: "3"}),
    "ALL_TYPES_AND_COMPLEX": (
        INTEGRAL + FLOATING + COMPLEX,
        {1: "", **{count: str(count) for count in range(2, 9)}},
    ),
}
OTHERS = {
    "FLOATING_TYPES_AND_HALF": (*FLOATING, HALF),
    "REDUCED_FLOATING_TYPES": (HALF, BFLOAT16),
    "QINT_TYPES": ("c10::qint8", "c10::quint8", "c10::qint32"),
    "QINT_BYTE_TYPES": ("c10::qint8", "c10::quint8"),
    "QINT_AND_SUB_BYTE_TYPES": ("c10::qint8", "c10::quint8", "c10::qint32", "c10::quint4x2", "c10::quint2x4"),
    "BIT_TYPES": tuple(f"c10::bits{name}" for name in ("1x8", "2x4", "4x2", "8", "16")),
}
LISTS = {  # of AT_DISPATCH_V2
    "AT_EXPAND(AT_ALL_TYPES)": INTEGRAL + FLOATING,
    "AT_EXPAND(AT_ALL_TYPES_AND_COMPLEX), at::kHalf": (*INTEGRAL, *FLOATING, *COMPLEX, HALF),
    "AT_EXPAND(AT_INTEGRAL_TYPES_V2), at::kBool": (*INTEGRAL, "unsigned short", "unsigned int", "unsigned long", BOOL),
    "AT_EXPAND(AT_FLOAT8_TYPES)": FLOAT8,
    "AT_EXPAND(AT_QINT_TYPES), at::kFloat": ("c10::qint8", "c10::quint8", "c10::qint32", "float"),
    "AT_EXPAND(AT_OPAQUE_TYPES)": ("unsigned char", "unsigned short", "unsigned int", "unsigned long", COMPLEX[0]),
    "at::kDouble": ("double",),
}


def dispatches() -> list[tuple[str, tuple[str, ...]]]:
    """Return the beginning of each use of a dispatch macro, up to its lambda, and the types that it dispatches to."""
    uses = [(f'AT_DISPATCH_{name}(x.scalar_type(), "f", ', types) for name, types in OTHERS.items()]
    for name, (types, counts) in SETS.items():
        uses.append((f'AT_DISPATCH_{name}(x.scalar_type(), "f", ', types))
        for count, suffix in counts.items():
            added = ", ".join(list(ADDED)[:count])
            more = tuple(ADDED.values())[:count]
            uses.append((f'AT_DISPATCH_{name}_AND{suffix}({added}, x.scalar_type(), "f", ', types + more))
    return uses


def test_each_dispatch_macro_has_the_types_of_pytorchs(compiled: Compile) -> None:
    text = "#include <torch/extension.h>\n#include <ATen/Dispatch_v2.h>\ntemplate <int I, class T> __global__ void k() {}\n"
    text += "void launch(at::Tensor x) {\n"
    expected = set()
    for index, (use, types) in enumerate(dispatches()):
        text += f"{use}[&] {{ k<{index}, scalar_t><<<1, 1>>>(); }});\n"
        expected |= {f"k<{index}, {each}>" for each in types}
    for index, (types, names) in enumerate(LISTS.items(), 1000):
        body = f"[&] {{ int pair[2] = {{1, 2}}; k<{index}, scalar_t><<<1, pair[0]>>>(); }}"
        text += f'AT_DISPATCH_V2(x.scalar_type(), "v2", AT_WRAP({body}), {types});\n'
        expected |= {f"k<{index}, {each}>" for each in names}
    text += 'AT_DISPATCH_INDEX_TYPES(x.scalar_type(), "i", [&] { k<2000, index_t><<<1, 1>>>(); });\n'
    text += 'AT_DISPATCH_QINT_TYPES(x.scalar_type(), "q", [&] { k<2001, underlying_t><<<1, 1>>>(); });\n'
    text += """
#define OWN_CASES(...) AT_DISPATCH_CASE(at::kHalf, __VA_ARGS__) AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__)
AT_DISPATCH_SWITCH(x.scalar_type(), "own", OWN_CASES([&] { k<2002, scalar_t><<<1, 1>>>(); }));
AT_DISPATCH_SWITCH(x.scalar_type(), "hint", AT_PRIVATE_CASE_TYPE_USING_HINT(at::kInt, mine, [&] { k<2003, mine><<<1, 1>>>(); }));
THO_DISPATCH_SWITCH(x.scalar_type(), "tho", THO_DISPATCH_CASE(at::kLong, [&] { k<2004, scalar_t><<<1, 1>>>(); }));
AT_DISPATCH_FLOATING_TYPES(x.type(), "old", [&] {
  using outer = scalar_t;
  AT_DISPATCH_REDUCED_FLOATING_TYPES(x.scalar_type(), "nested", [&] { k<2005 + sizeof(outer), scalar_t><<<1, 1>>>(); });
});
double chosen = AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "value", [&]() -> double { return sizeof(scalar_t); });
}
"""
    expected |= {"k<2000, int>", "k<2000, long>", "k<2001, signed char>", "k<2001, unsigned char>", "k<2001, int>"}
    expected |= {f"k<2002, {each}>" for each in (HALF, *INTEGRAL)} | {"k<2003, int>", "k<2004, long>"}
    expected |= {f"k<{number}, {each}>" for number in (2009, 2013) for each in (HALF, BFLOAT16)}
    assert kernels(compiled(text, cubin=False)) == expected


RETURNS = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <type_traits>
template <class T> __global__ void is() {}
template <class T> void note(const T&) { is<T><<<1, 1>>>(); }
#define SAME(expression, ...) static_assert(std::is_same<decltype(expression), __VA_ARGS__>::value, #expression)
using at::Tensor;
void launch(Tensor x, const Tensor& y, std::optional<at::Tensor> maybe, at::Scalar s) {
  const at::cuda::OptionalCUDAGuard guard(at::device_of(x));
  at::cuda::CUDAGuard by_device(x.device());
  c10::cuda::CUDAGuard by_number{(char)x.get_device()};
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  TORCH_CHECK(x.is_cuda() && x.dim() == 2, "x must be on the GPU, not ", x.device(), x.sizes(), x.dtype())
  TORCH_CHECK_EQ(x.size(0), y.size(0)) << "sizes differ";
  AT_ASSERTM(x.is_contiguous(), "x must be contiguous");
  int n = x.size(0), block = std::min<int64_t>(x.numel(), at::cuda::getCurrentDeviceProperties()->maxThreadsPerBlock);
  note(x.size(-1)); note(x.numel() * 2.0f); note(x.element_size() / sizeof(short)); note(x.data_ptr<c10::BFloat16>());
  note(x.const_data_ptr<float>()); note(x.data<int>()); note(x.item<uint8_t>()); note(x.get_device());
  note(s.to<double>()); note(s.toFloat()); note(x.sizes()[0]); note(x.sizes().vec()); note(x.stride(0) == 1);
  auto z = at::empty({n, x.size(1)}, x.options().dtype(at::kFloat));
  auto zeros = torch::zeros({n}, torch::dtype(torch::kInt32).device(torch::kCUDA, 0).requires_grad(false));
  z = torch::full({2, n}, 0.5, x.options()) + x.view({-1, n}).sum({0, 1}, /*keepdim=*/true).to(torch::kHalf) * 2 - y / x;
  z = at::cat({x, y}, 1).permute({1, 0}).contiguous().index({torch::indexing::Slice(0, n), "...", 0});
  z.index_put_({0, torch::indexing::Slice()}, 1.0); z[0][1] = 3; z += x; z.copy_(y, true); x.resize_({n, 2});
  z = maybe.has_value() ? maybe.value() : torch::empty_like(y); z = at::conv2d(x, y, {}, {1, 1}, {0, 0});
  torch::mm_out(z, x, y.t()); z.requires_grad_(true); z = torch::tensor({1, 2, 3}, at::kLong); z.zero_().fill_(1);
  auto [values, places] = x.max(1);
  auto [sorted, order] = torch::sort(x, -1, true);
  auto unique = at::_unique2(x, true, true); auto pieces = x.split(2); auto q = at::linalg_qr(x);
  SAME(values, Tensor); SAME(x.max(), Tensor); SAME(at::max(x, y), Tensor); SAME(x.split(2), std::vector<Tensor>);
  SAME(unique, std::tuple<Tensor, Tensor, Tensor>); SAME(q, std::tuple<Tensor, Tensor>); SAME(x.add_(y), Tensor&);
  SAME(at::where(x > 0), std::vector<Tensor>); SAME(at::where(x > 0, x, y), Tensor); SAME(x.item(), at::Scalar);
  SAME(x.scalar_type(), at::ScalarType); SAME(x.dtype(), caffe2::TypeMeta); SAME(x.sizes(), at::IntArrayRef);
  SAME(at::mm_out(z, x, y), Tensor&); SAME(torch::equal(x, y), bool); SAME(x.type().scalarType(), at::ScalarType);
  SAME(x == y, Tensor); SAME(x.options().device(), at::Device); SAME(x.data_ptr(), void*); SAME(x.itemsize(), size_t);
  SAME(at::cuda::getCurrentCUDAStream(), c10::cuda::CUDAStream); SAME(x.strides().size(), size_t);
  for (auto i : c10::irange(x.dim())) note(i);
  at::parallel_for(0, n, 1, [&](auto begin, auto end) { note(begin - end + (short)0); });
  C10_CUDA_KERNEL_LAUNCH_CHECK(); AT_CUDA_CHECK(cudaGetLastError());
}
"""


def test_tensors_have_pytorchs_types(compiled: Compile) -> None:
    assert kernels(compiled(RETURNS, cubin=False)) == {
        *(
            "is<long>",
            "is<float>",
            "is<unsigned long>",
            "is<c10::BFloat16*>",
            "is<const float*>",
            "is<int*>",
            "is<bool>",
        ),
        *("is<unsigned char>", "is<signed char>", "is<double>", "is<std::vector<long, std::allocator<long>>>"),
    }


@pytest.mark.parametrize("header", ["c10/cuda/CUDAException.h", "ATen/Dispatch.h", "ATen/AccumulateType.h"])
def test_headers_include_cuda_h_where_those_of_pytorch_do(compiled: Compile, header: str) -> None:
    # Sources ask for CUDA_VERSION without including <cuda.h>; where it is undefined, it counts as 0.
    text = f"""
#include <{header}>
template <int Version> __global__ void k(CUdeviceptr pointer) {{}}
void launch() {{ k<(CUDA_VERSION >= 12000 ? 1 : 0)><<<1, 1>>>(0); }}
"""
    assert kernels(compiled(text, cubin=False)) == {"k<1>"}


EXTENSION = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/_softmax.h>
#include <THC/THC.h>
#include <pybind11/numpy.h>
extern THCState* state;
template <class T, class... Accessors> __global__ void k(T value, Accessors... accessors) {}
template <class T> __global__ void random(T* out) {}
template <class T> torch::Tensor forward(torch::Tensor x, double p) {
  auto generator = at::get_generator_or_default<at::CUDAGeneratorImpl>(std::nullopt, at::cuda::detail::getDefaultCUDAGenerator());
  std::lock_guard<std::mutex> lock(generator->mutex_);
  random<<<1, 32>>>(x.data_ptr<T>());
  return x;
}
struct Scale : torch::autograd::Function<Scale> {
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, torch::Tensor x, int64_t n) {
    ctx->save_for_backward({x});
    ctx->saved_data["n"] = n;
    k<<<1, 1>>>(n);
    return ::forward<double>(x, 0.5);
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx, torch::autograd::tensor_list grads) {
    auto saved = ctx->get_saved_variables();
    auto x = saved[0];
    k<<<1, 1>>>((float)ctx->saved_data["n"].toInt(), x.packed_accessor64<float, 1>());
    return {grads[0] * 2, torch::Tensor()};
  }
};
template <class T> struct Generic : torch::autograd::Function<Generic<T>> {
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, torch::Tensor x) { k<<<1, 1>>>(T(1), 2.0); return x; }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx, torch::autograd::tensor_list g) {
    k<<<1, 1>>>(T(1), 'b');
    return g;
  }
};
torch::Tensor apply(torch::Tensor x) {
  using scalar_t C10_UNUSED_DISPATCH_CUDA_WORKAROUND = short;
  return Scale::apply(x, 3) + Generic<scalar_t>::apply(x);
}
torch::Tensor only_registered(const torch::Tensor& x, std::optional<torch::Tensor> bias) {
  k<<<4, 1, 0, THCState_getCurrentStream(state)>>>(
      1u, x.packed_accessor32<float, 2, torch::RestrictPtrTraits>(), x.packed_accessor<int, 3, torch::DefaultPtrTraits, size_t>());
  THCudaCheck(cudaGetLastError());
  return at::_softmax(at::zeros({2, 2}), -1, false);
}
TORCH_LIBRARY(demo, m) {
  m.def("apply(Tensor x) -> Tensor");
  m.def("only_registered", &only_registered);
  m.class_<torch::CustomClassHolder>("Holder");
}
TORCH_LIBRARY_IMPL(demo, CUDA, m) { m.impl("apply", &apply); }
TORCH_LIBRARY_IMPL(demo, Autograd, m) { m.impl("apply", TORCH_FN(forward<long>)); }
struct Plan { int n = 0; int size() const { return n; } };
enum class Mode { A, B };
namespace py = pybind11;
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.doc() = "demo";
  m.attr("version") = "1";
  m.def("forward", &forward<c10::Half>, "doc", py::arg("x"), py::arg("p") = 0.5, py::call_guard<py::gil_scoped_release>());
  m.def("lambda", [](py::array_t<float, py::array::c_style> a, py::dict d) {
    auto info = a.request();
    if (info.ndim != 1) throw py::value_error("one dimension");
    k<<<1, 1>>>(static_cast<float*>(info.ptr)); k<<<1, 1>>>(a.data()); k<<<1, 1>>>(a.shape(0));
    return py::make_tuple(d["a"].cast<int>(), py::none());
  });
  py::class_<Plan, std::shared_ptr<Plan>>(m, "Plan").def(py::init<>()).def_readwrite("n", &Plan::n).def("size", &Plan::size);
  py::enum_<Mode>(m, "Mode").value("A", Mode::A).value("B", Mode::B).export_values();
}
"""


def test_extensions_register_what_they_launch(compiled: Compile) -> None:
    accessor = "torch::headeronly::detail::GenericPackedTensorAccessor<"
    names = kernels(compiled(EXTENSION, cubin=False))
    assert {name.split(f", {accessor}")[0] for name in names} == {
        *("random<double>", "random<long>", "random<c10::Half>", "k<long>", "k<short, double>", "k<short, char>"),
        *("k<float", "k<unsigned int", "k<float*>", "k<const float*>"),
    }
    packed = next(name for name in names if name.startswith("k<unsigned int, "))
    assert packed.count(accessor) == 2
    assert "float, 2ul, torch::headeronly::RestrictPtrTraits, int>" in packed
    assert "int, 3ul, torch::headeronly::DefaultPtrTraits, unsigned long>" in packed


STABLE = """
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
using torch::stable::Tensor;
template <class T> __global__ void k(T* p) { *p = T(1); }
template <class T> Tensor f(const Tensor& x, int64_t n) {
  torch::stable::accelerator::DeviceGuard guard(x.get_device_index());
  auto y = torch::stable::new_empty(x, {n, x.size(0)}, torch::headeronly::ScalarType::Half);
  void* stream;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(x.get_device_index(), &stream));
  STD_TORCH_CHECK(x.dim() == 2, "two dimensions, not ", x.dim());
  k<<<1, 1, 0, (cudaStream_t)stream>>>(y.mutable_data_ptr<T>());
  k<<<1, 1>>>(torch::stable::sum(x).sizes().data() ? y.get_device_index() + (long*)nullptr : nullptr);
  THO_DISPATCH_V2(x.scalar_type(), "f", AT_WRAP([&] { k<<<1, 1>>>(x.mutable_data_ptr<scalar_t>()); }), AT_EXPAND(AT_FLOATING_TYPES));
  return y;
}
STABLE_TORCH_LIBRARY_FRAGMENT(demo, m) { m.def("f(Tensor x, int n) -> Tensor"); }
STABLE_TORCH_LIBRARY_IMPL(demo, CUDA, m) { m.impl("f", TORCH_BOX(&f<short>)); }
"""


def test_the_stable_interface_registers_what_it_launches(compiled: Compile) -> None:
    assert kernels(compiled(STABLE, cubin=False)) == {"k<short>", "k<long>", "k<double>", "k<float>"}


def test_what_extensions_write_type_checks(compiled: Compile) -> None:
    text = (ROOT / "tests/data/pytorch_idioms.cu").read_text(encoding="utf-8")
    assert kernels(compiled(text, cubin=False)) == {"kernel"}


@pytest.mark.one_toolchain
def test_each_operator_has_a_header() -> None:
    headers = operator_headers()
    assert {"ATen/ops/zeros.h", "ATen/ops/from_blob.h", "ATen/ops/index_put.h", "ATen/ops/_softmax.h"} <= headers.keys()
    assert len(headers) > 800


@pytest.mark.one_toolchain
def test_each_header_by_pytorchs_path_includes_an_existing_file() -> None:
    root = Path(STAND_INS[1])
    for path in root.rglob("*.h"):
        for included in re.findall(r"#include <(cuda_wheel_detail/\S+)>", path.read_text(encoding="utf-8")):
            assert (root / included).is_file(), f"{path}: {included}"


OF_PYTORCH = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraphsUtils.cuh>
#include <ATen/native/cuda/GridSampler.cuh>
#include <ATen/native/cuda/Loops.cuh>
#include <ATen/native/cuda/UpSample.cuh>
#include <ATen/native/cuda/block_reduce.cuh>
__global__ void random(float* out, at::PhiloxCudaState state) {
  auto [seed, offset] = at::cuda::philox::unpack(state);
  out[0] = seed + offset;
}
void launch(at::Tensor x) {
  auto generator = at::get_generator_or_default<at::CUDAGeneratorImpl>(std::nullopt, at::cuda::detail::getDefaultCUDAGenerator());
  random<<<1, 32>>>(x.data_ptr<float>(), generator->philox_cuda_state(4));
}
"""


@pytest.mark.parametrize("header", ["ATen/AccumulateType.h", "ATen/OpMathType.h", "ATen/core/TensorAccessor.h"])
def test_pytorchs_own_header_finds_what_earlier_ones_bring(header: str, torch_compiled: Compile) -> None:
    text = f"""
    #include <{header}>
    #include <ATen/core/PhiloxRNGEngine.h>
    __global__ void k(unsigned* x) {{ at::Philox4_32 engine(1, 2, 3); *x = engine(); }}
    """
    assert kernels(torch_compiled(text, cubin=False)) == {"k"}


@pytest.mark.parametrize("macro", ["TORCH_STABLE_ONLY", "TORCH_TARGET_VERSION 0x020a000000000000"])
def test_the_stable_interface_alone_compiles(macro: str, torch_compiled: Compile) -> None:
    text = f"""
    #define {macro}
    #include <torch/csrc/stable/tensor.h>
    #include <torch/headeronly/core/ScalarType.h>
    __global__ void k(float* x) {{ *x = 1; }}
    void launch(torch::stable::Tensor x) {{ k<<<1, 1>>>(static_cast<float*>(x.data_ptr())); }}
    """
    assert kernels(torch_compiled(text, cubin=False)) == {"k"}


def test_pytorchs_own_headers_of_device_code_compile_between_the_stand_ins(torch_compiled: Compile) -> None:
    assert kernels(torch_compiled(OF_PYTORCH, cubin=False)) == {"random"}


ELEMENTWISE = """
#include <torch/extension.h>
#include <ATen/native/cuda/Loops.cuh>
void scale(at::TensorIteratorBase& iter) {
  at::native::gpu_kernel_with_scalars(iter, [] GPU_LAMBDA(float a, float b) -> float { return a * b; });
}
"""


def test_pytorchs_elementwise_kernels_are_instantiated(torch_compiled: Compile) -> None:
    options = ("--std=c++20", *(f"-D{name}=1" for name in PYTORCH_MACROS))
    found = kernels(torch_compiled(ELEMENTWISE, cubin=False, options=options))
    for functor in ("AUnaryFunctor", "BUnaryFunctor", "BinaryFunctor"):
        names = sorted(name for name in found if f"{functor}<float, float, float, scale(" in name)
        # As nvcc 13.0 with PyTorch 2.14 for a function passed to gpu_kernel.
        assert [name.partition("<")[0].rpartition("::")[2] for name in names] == [
            *("elementwise_kernel", "elementwise_kernel", "unrolled_elementwise_kernel", "unrolled_elementwise_kernel"),
            *("vectorized_elementwise_kernel",) * 4,
        ]
        assert [name for name in names if "LoadWithCast<" in name and "StoreWithCast<" in name] == names[2:3]


def type_lists(folder: Path) -> dict[str, list[str]]:
    """Return the names of types in each macro that lists some, in its order."""
    defined: dict[str, str] = {}
    for path in (path for path in folder.rglob("*.h") if path.name in LIST_HEADERS):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8")).replace("\\\n", " ")
        defined |= re.findall(r"^#define (AT_\w+_TYPES\w*)(?:\(_\))? (.*)", text, re.MULTILINE)
    word = r"AT_EXPAND\((\w+)\)|(AT_FORALL\w+)\(_\)|ScalarType::(\w+)|_\([^()]*, (\w+)\)"

    def listed(name: str) -> list[str]:
        found = re.findall(word, defined[name])
        return [type_ for a, b, c, d in found for type_ in (listed(a or b) if a or b else [c or d])]

    return {name: listed(name) for name in defined if "DISPATCH" not in name}


LIST_HEADERS = {"Dispatch_v2.h", "ScalarType.h", "type_lists.h", "scalar_types.h"}


@pytest.mark.one_toolchain
def test_lists_of_types_are_pytorchs(torch_headers: Path) -> None:
    of_pytorch = type_lists(torch_headers / "torch/headeronly/core")
    ours = type_lists(Path(STAND_INS[1]))
    assert len(of_pytorch) > 15
    # Older releases lack the newest types and lists.
    assert [name for name, types in of_pytorch.items() if ours[name][: len(types)] != types] == []


# A use of each header of the standard library and of the C library that <torch/extension.h> of PyTorch 2.14 includes, with
# libstdc++ 12 and glibc. <c10/cuda/CUDAStream.h> includes those without "+".
INCLUDED_BY_THE_WAY = """
int a[2] = {1, 2}; std::sort(a, a + 2);
std::array<int, 2> a{}; (void)a;
assert(1);
static std::atomic<int> a{0}; a.fetch_add(1);
+ std::bitset<8> b; b.set(1);
assert(1);
(void)std::toupper('a');
(void)(errno == ERANGE);
+ auto t = std::chrono::steady_clock::now(); (void)t;
int i = INT_MAX; (void)i;
std::setlocale(LC_ALL, "C");
(void)std::sqrt(2.0);
std::complex<double> c(1, 2); (void)c.real();
+ std::condition_variable v; v.notify_all();
std::printf("");
(void)std::getenv("a");
(void)std::strlen("a");
(void)std::time(nullptr);
(void)toupper('a');
(void)std::wcslen(L"");
(void)std::towupper(L'a');
+ std::deque<int> d; d.push_back(1);
(void)(__BYTE_ORDER == __LITTLE_ENDIAN);
errno = 0;
(void)std::current_exception();
+ std::forward_list<int> l; l.push_front(1);
std::function<int()> f = [] { return 1; }; (void)f();
+ (void)PRId64;
+ std::ostringstream o; o << std::setw(2);
std::cout << 1 << std::endl;
std::vector<int> v; std::copy(v.begin(), v.end(), std::back_inserter(v));
(void)std::numeric_limits<int>::max();
int i = INT_MAX; (void)i;
+ std::list<int> l; l.push_back(1);
+ std::locale l; (void)l.name();
setlocale(LC_ALL, "C");
+ std::map<int, int> m; m[1] = 2;
(void)sqrt(2.0);
auto p = std::make_unique<int>(1); (void)p;
static std::mutex m; std::lock_guard<std::mutex> g(m);
(void)std::nothrow;
int a[2] = {1, 2}; (void)std::accumulate(a, a + 2, 0);
std::optional<int> o; (void)o.has_value();
(void)pthread_self();
+ std::queue<int> q; q.push(1);
(void)std::ratio<1, 2>::num;
sched_yield();
+ std::set<int> s; s.insert(1);
std::stringstream s; s << 1;
+ std::stack<int> s; s.push(1);
+ struct stat s; (void)s;
throw std::runtime_error("a");
int64_t i = 0; (void)i;
printf("");
(void)getenv("a");
std::string s = std::to_string(1); (void)s.size();
(void)strlen("a");
std::string_view s("a"); (void)s.size();
(void)strcasecmp("a", "b");
std::error_code e; (void)e.message();
+ std::thread t([] {}); t.join();
(void)time(nullptr);
auto t = std::make_tuple(1, 2); (void)std::get<0>(t);
(void)std::is_same<int, int>::value;
+ (void)std::type_index(typeid(int)).name();
(void)typeid(int).name();
(void)getpid();
std::unordered_map<std::string, int> m; m["a"] = 2;
+ std::unordered_set<int> s; s.insert(1);
(void)std::make_pair(1, 2);
+ std::valarray<int> v(2); (void)v.sum();
std::variant<int, float> v; (void)v.index();
std::vector<int> v{1}; (void)v.size();
(void)wcslen(L"");
"""


@pytest.mark.parametrize("header", [pytest.param("torch/extension.h", marks=pytest.mark.slow), "c10/cuda/CUDAStream.h"])
def test_headers_include_what_pytorchs_include_by_the_way(compiled: Compile, header: str) -> None:
    uses = INCLUDED_BY_THE_WAY.strip().splitlines()
    if header.startswith("c10"):
        uses = [use for use in uses if not use.startswith("+ ")]
    functions = "\n".join(f"void f{i}() {{ {use.removeprefix('+ ')} }}" for i, use in enumerate(uses))
    result = compiled(f"#include <{header}>\n__global__ void k() {{}}\n{functions}\nvoid host() {{ k<<<1, 1>>>(); }}")
    assert result.left_out == ()
    # A use alone: the parts of the headers that the file does not name are left out.
    for use in uses[:: len(uses) // 8]:
        text = (
            f"#include <{header}>\n__global__ void k() {{}}\nvoid host() {{ {use.removeprefix('+ ')} k<<<1, 1>>>(); }}"
        )
        assert compiled(text).left_out == ()


def test_the_header_of_all_operators_needs_no_pytorch(compiled: Compile) -> None:
    # PyTorch's own example of an extension includes it. PyTorch's file declares every operator's schema: for hosts only.
    text = "#include <ATen/Operators.h>\n__global__ void k() {}\nat::Tensor f(at::Tensor x) { k<<<1, 1>>>(); return at::empty_like(x); }"
    assert kernels(compiled(text)) == {"k"}


def test_torchs_main_header_has_the_python_side_as_build_extension_asks(compiled: Compile) -> None:
    result = compiled(
        """
        #include <torch/torch.h>
        __global__ void k(float* p) { *p = 1; }
        at::Tensor f(at::Tensor x) { k<<<1, 1>>>(x.data_ptr<float>()); return x; }
        PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f, py::arg("x")); }
        """,
        options=("--std=c++17", "-DTORCH_EXTENSION_NAME=x", "-DTORCH_API_INCLUDE_EXTENSION_H"),
    )
    assert result.left_out == ()


def test_streams_are_packed_in_three_numbers_and_kernels_may_take_assertions(compiled: Compile) -> None:
    result = compiled("""
    #include <torch/extension.h>
    #include <c10/cuda/CUDADeviceAssertion.h>
    #include <c10/cuda/CUDAStream.h>
    __global__ void k(float* p, TORCH_DSA_KERNEL_ARGS) { CUDA_KERNEL_ASSERT2(p); *p = 1; }
    void host(c10::cuda::CUDAStream s, at::Tensor x) {
      c10::StreamData3 d = s.pack3();
      auto same = c10::cuda::CUDAStream::unpack3(d.stream_id, d.device_index, d.device_type);
      c10::Stream other = c10::Stream::unpack3(same.id(), d.device_index, same.unwrap().pack3().device_type);
      TORCH_DSA_KERNEL_LAUNCH(k, 1, other.hash() % 2, 0, same, x.data_ptr<float>());
      auto& launches = c10::cuda::CUDAKernelLaunchRegistry::get_singleton_ref();
      TORCH_CHECK(!launches.has_failed() && x.unsafeGetTensorImpl()->storage_initialized(), c10::cuda::get_cuda_error_help(cudaSuccess));
      TORCH_SYM_CHECK(x.sym_size(0).sym_ge(1).sym_and(true), x.unsafeGetTensorImpl()->unsafe_storage().nbytes());
      k<<<1, 1>>>(x.data_ptr<float>(), launches.get_uvm_assertions_ptr_for_current_device(), launches.insert("", "", 1, "k", 0));
      x = torch::linalg::linalg_norm(x, std::optional<c10::Scalar>(), {}, false, {});
    }
    """)
    assert (len(result.kernels), result.left_out) == (1, ())
