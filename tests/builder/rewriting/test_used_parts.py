"""Only those parts of the preamble and of PyTorch's stand-ins are read that a project's texts name: with the same result."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from cuda_wheel.builder.compile import device_variables as declarations
from cuda_wheel.builder.compile import host_code, nvrtc_calls
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.compile.nvrtc_request import nvrtc_request
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.rewriting.front_end import HOST_CODE_OPTIONS, PREAMBLE_OPTION, USED_PARTS_OPTION
from cuda_wheel.builder.rewriting.project_texts import operator_headers
from cuda_wheel.builder.rewriting.used_parts import (
    COMMON_RUNTIME_API,
    PARTS,
    Names,
    may_be_declared,
    may_need_large_parts,
    names_in,
    part_macros,
    used_headers,
)
from cuda_wheel.builder.toolchain.nvrtc import compile_text, cross_references
from cuda_wheel.builder.toolchain.toolchain import INCLUDE, STAND_INS, Toolchain
from cuda_wheel.builder.workers.pool import Workers

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult

MACRO = re.compile(r"(?:ifn?def |defined\(|^)CUDA_WHEEL_WITHOUT_(\w+)")


def named(text: str) -> Names:
    """Return the names in a text."""
    names = names_in([text.encode()])
    assert names is not None
    return names


def used(text: str, **others: Any) -> set[str]:
    """Return the parts that a text uses."""
    macros = part_macros(named(text), **{"is_relocatable": False, **others})
    return set(PARTS) - {MACRO.fullmatch(macro)[1] for macro in macros}  # type: ignore[index]


def test_every_part_is_left_out_by_a_header() -> None:
    headers = [path for folder in (INCLUDE, *map(Path, STAND_INS)) for path in folder.rglob("*") if path.is_file()]
    assert {part for path in headers for part in MACRO.findall(path.read_text())} == set(PARTS)


@pytest.mark.thorough
@pytest.mark.parametrize("text", ["", "#include <torch/extension.h>\n"], ids=["preamble", "torch"])
def test_the_names_of_a_part_are_all_that_its_headers_declare_in_std_and_of_the_c_library(
    workers: Workers, toolchain: Toolchain, text: str
) -> None:
    """A name that is missing could be that of an overload: without it, the compiler would choose another one."""

    def declared(*macros: str) -> set[str]:
        request: NvrtcRequest = {
            "library": toolchain.libraries[0],
            "folder": ".",
            "text": text.encode(),
            "name": "k.cu",
            "options": ["--gpu-architecture=compute_80", "--std=c++17", *HOST_CODE_OPTIONS, PREAMBLE_OPTION, *macros],
            "expressions": [],
            "headers": operator_headers(),
        }
        folders = (INCLUDE, *STAND_INS, *toolchain.include_dirs)
        request["options"] += [f"--include-path={folder}" for folder in folders]
        references = workers.submit(cross_references, request).result()
        return {re.sub(r"<.*>", "", name.decode()) for name, _ in declarations.declarations_in(references)}

    every = declared()
    assert {"std::forward", "sinf", "__builtin_popcount"} <= every
    for part in ("UTILITY", "FUNCTIONAL", "CONTAINERS", "STREAMS", "THREADS", "VARIANT", "NUMERIC", "MATH", "BUILTINS"):
        scope = "" if part in ("MATH", "BUILTINS") else "std::"
        left_out = every - declared(f"--define-macro=CUDA_WHEEL_WITHOUT_{part}")
        names = {name.removeprefix("std::") for name in left_out if name.startswith(("std::", scope))}
        public = {name for name in names if name.isidentifier() and not re.match("_[_A-Z](?!_builtin|_sync)", name)}
        own = {name for name in public if name.startswith("CUDA_WHEEL_") or name in ("Type", "V", "is_mixed")}
        own |= {"atan2"} if part == "CONTAINERS" else set()  # of valarray, which the text has to name too
        assert {name for name in public - own if part not in used(f"std::{name}({name})")} == set(), part


@pytest.mark.slow
def test_what_parts_declare_for_pytorch_is_known_by_its_name(
    workers: Workers, toolchain: Toolchain, job_of: Callable[..., Job]
) -> None:
    """Else a name that only a left-out part declares would be reported as a mistake."""
    job = job_of("#include <torch/extension.h>\n#include <ATen/cuda/CUDAContext.h>\nvoid f() { cudaGetLastError(); }\n")
    whole = nvrtc_request(job)
    some = host_code._used_parts_request(job, whole)
    assert some is not None
    declared = []
    for request in (whole, some):
        references = workers.submit(cross_references, request).result()
        declared.append({re.sub(r"<.*>", "", name.decode()) for name, _ in declarations.declarations_in(references)})
    pattern = re.compile(r"(?:std|at|c10|torch)(?:::\w+)*::(\w+)")
    names = {found[1] for name in declared[0] - declared[1] if (found := pattern.fullmatch(name))}
    assert {"zeros_out", "save", "complex", "mutex"} <= names
    unknown = {name for name in names if not may_be_declared([name], job.include_dirs)}
    assert {name for name in unknown if not may_need_large_parts(name)} == set()


def test_the_common_runtime_api_is_what_its_header_declares() -> None:
    text = (INCLUDE / "cuda_wheel_detail/common_runtime_api.h").read_text()
    declared = {name.encode() for name in re.findall(r"\b(cuda[A-Z]\w*)\(", text)}
    assert {name for name in COMMON_RUNTIME_API if not name.endswith(b"_t")} - {b"cudaError"} == declared


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("__global__ void k(float* x) { *x = sinf(*x); }  int main() { float* x; cudaMalloc(&x, 4); }", set()),
        ("x = sqrt(2);", {"MATH"}),
        ("x = std::sinf(x);", {"MATH"}),
        ("std::move(x)", {"UTILITY"}),
        ("move(x)", set()),
        ("std::sort(a, b); std::min(a, b);", {"ALGORITHMS"}),
        ("std::min(a, b); sort(a, b);", set()),
        ("std::function<void()> f;", {"FUNCTIONAL"}),
        ("cudaMemcpy3D(&p);", {"RUNTIME_API"}),
        ("make_cudaExtent(1, 2, 3)", {"RUNTIME_API"}),
        ("#if CUDART_VERSION > 12000", {"RUNTIME_API"}),
        ("__builtin_popcount(x)", {"BUILTINS"}),
        ("__syncthreads()", set()),
        ("#if CUDA_VERSION > 12000", {"DRIVER_API"}),
        ("CUDA_KERNEL_LOOP(i, n)", set()),
        ("CUDA_ERROR_UNKNOWN CUDA_CHECK", {"DRIVER_API"}),
        ("CUDA_GET_THREAD_ID(i) CUDA_MAX_THREADS CUDA_N_BLOCKS CUDA_2D", set()),
        ("using scalar_t_##LEVEL = float;", set()),
        ("make_float4(float4_sum)", {"FLOAT8"}),
        ("make_float4(float4)", set()),
        ("torch::kFloat8_e5m2", {"FLOAT8"}),
        ("AT_DISPATCH_FLOATING_TYPES_AND_HALF(", {"HALF"}),
        ("AT_DISPATCH_REDUCED_FLOATING_TYPES(", {"HALF", "BFLOAT16"}),
        ("AT_DISPATCH_V2(", {"HALF", "BFLOAT16", "FLOAT8", "COMPLEX", "QUANTIZED"}),
        ("PYBIND11_MODULE(", {"PYTHON"}),
        ("TORCH_LIBRARY_IMPL(", {"LIBRARY"}),
        ('printf("a", ##__VA_ARGS__)', set()),
        ("std::map<int, int> m; map();", {"CONTAINERS"}),
        ("map(); std::vector<int> v;", set()),
        ("using namespace std; map<int, int> m;", {"CONTAINERS"}),
        ("#define M std\nM::map<int, int> m;", {"CONTAINERS"}),
        ("// sqrt\n/* CUdevice\n */ int x;", set()),
        ('f("//"); x = sqrt(2);', {"MATH"}),
        ('f("/*"); x = sqrt(2); // "', {"MATH"}),
        ("c = '\"'; x = sqrt(2); // \"", {"MATH"}),
        ('f(R"(" /*)"); x = sqrt(2); // */', {"MATH"}),
    ],
)
def test_a_part_is_used_where_one_of_its_names_occurs(text: str, parts: set[str]) -> None:
    assert used(text) == parts


def test_the_names_of_the_driver_api_are_all_that_its_header_has(toolchain: Toolchain) -> None:
    (header,) = [path for folder in toolchain.include_dirs if (path := Path(folder, "cuda.h")).is_file()]
    names = set(re.findall(r"\b(?:CUDA_|CU_|cu[A-Z])\w+", header.read_text()))
    assert {"cuLaunchKernel", "CUDA_VERSION", "CUDA_ERROR_UNKNOWN"} <= names
    missing = {name for name in names if used(name).isdisjoint({"DRIVER_API", "RUNTIME_API"})}
    assert {name for name in missing if not re.match("CUDA_(CHECKPOINT|ERROR$|HOST_)", name)} == set()


def test_relocatable_code_and_names_that_macros_paste_together_use_all_that_they_may_need() -> None:
    assert used("int x;", is_relocatable=True) == {"RUNTIME_API"}  # NVRTC has its own there
    assert names_in([b"int x;", b"#define CALL(name) cuda ## name()"]) is None


def test_the_list_of_operators_has_those_that_are_named() -> None:
    headers = used_headers(named("at::zeros({1}); x.add_(y); at::mul_out(x, y, z); // sin"))
    text = headers["cuda_wheel_detail/pytorch/operator_names.h"]
    listed = set(re.findall(rb"\bX\((\w+)\)", text))
    assert listed == {b"zeros", b"add_", b"mul"}
    assert "ATen/ops/zeros.h" in headers
    assert used_headers(named("int x;")) == {}


# --- with NVRTC --------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    result: Compiled
    whole: Compiled
    """The result with all parts."""
    attempts: int
    has_used_parts: bool
    """Whether the request that compiled the source left parts out."""


def _compiled(job: Job) -> Outcome:
    requests: list[NvrtcRequest] = []

    def call(request: NvrtcRequest) -> NvrtcResult:
        requests.append(request)
        return compile_text(request)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nvrtc_calls, "compile_text", call)
        result = compile_job(job)
        attempts, has_used_parts = len(requests), USED_PARTS_OPTION in requests[-1]["options"]
        patch.setattr(host_code, "_used_parts_request", lambda job, request: None)
        whole = compile_job(job)
    return Outcome(result, whole, attempts, has_used_parts)


def is_equal(found: Outcome) -> bool:
    """Return whether the images and kernels are those with all parts. Which headers were read differs."""
    same = [(each.cubin, each.ptx, each.kernels, each.variables, each.log) for each in (found.result, found.whole)]
    return same[0] == same[1] and bool(found.result.kernels)


@pytest.fixture
def outcome(workers: Workers, job_of: Callable[..., Job]) -> Callable[..., Outcome]:
    return lambda text, **others: workers.submit(_compiled, job_of(text, **others)).result()


KERNELS = """
template <class T> __global__ void scale(T* x, T by) { *x = *x * by; }
template <class T> __global__ void clear(T* x) { *x = T(); }
"""
RUNTIME = (
    KERNELS
    + """
#include <cstdio>
#include <cuda_runtime.h>
int main()
{
    float* x; double* y; int device, count, blocks, size; size_t free, all; cudaDeviceProp properties; void* data;
    cudaGetDevice(&device); cudaSetDevice(device); cudaGetDeviceCount(&count); cudaGetDeviceProperties(&properties, 0);
    cudaDeviceGetAttribute(&size, cudaDevAttrMultiProcessorCount, device); cudaMemGetInfo(&free, &all);
    cudaMalloc(&x, 4); cudaMalloc(&data, 4); cudaMallocManaged(&y, 8); cudaMallocHost(&y, 8); cudaHostAlloc(&y, 8, 0);
    cudaStream_t stream; cudaStreamCreate(&stream); cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEvent_t begin, end; cudaEventCreate(&begin); cudaEventCreate(&end, 0); cudaEventCreateWithFlags(&end, 0);
    cudaEventRecord(begin); cudaEventRecord(end, stream); cudaEventSynchronize(end); cudaEventQuery(end);
    float time; cudaEventElapsedTime(&time, begin, end); cudaStreamWaitEvent(stream, end); cudaStreamQuery(stream);
    cudaMemset(x, 0, 4); cudaMemsetAsync(x, 0, 4, stream); cudaMemcpy(x, y, 4, cudaMemcpyHostToDevice);
    cudaMemcpyAsync(x, y, 4, cudaMemcpyDeviceToDevice); cudaMemcpyAsync(x, y, 4, cudaMemcpyDefault, stream);
    cudaFuncSetAttribute(scale<float>, cudaFuncAttributeMaxDynamicSharedMemorySize, 4);
    cudaFuncSetCacheConfig(scale<double>, cudaFuncCachePreferL1);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale<int>, 32, 0);
    cudaOccupancyMaxPotentialBlockSize(&blocks, &size, scale<short>);
    void* arguments[] = {&x};
    cudaLaunchKernel(clear<float>, dim3(1), dim3(1), arguments);
    cudaLaunchKernel((const void*)clear<char>, dim3(1), dim3(1), arguments, 0, stream);
    cudaLaunchCooperativeKernel(clear<double>, 1, 1, arguments);
    scale<long><<<1, 1, 0, stream>>>(nullptr, 1);
    if (cudaGetLastError() != cudaSuccess || cudaPeekAtLastError()) std::printf("%s", cudaGetErrorName(cudaSuccess));
    std::puts(cudaGetErrorString(cudaDeviceSynchronize())); cudaStreamSynchronize(stream); cudaEventDestroy(begin);
    cudaFree(x); cudaFreeHost(y); cudaStreamDestroy(stream); return cudaDeviceReset();
}
"""
)
PYTORCH = (
    "#include <torch/extension.h>\n#include <ATen/cuda/CUDAContext.h>\n#include <c10/cuda/CUDAGuard.h>\n"
    + KERNELS
    + """
torch::Tensor scaled(torch::Tensor x, c10::optional<torch::Tensor> by, double factor)
{
    TORCH_CHECK(x.is_cuda(), "not on the GPU: ", x.sizes());
    const at::cuda::OptionalCUDAGuard guard(x.device());
    auto out = torch::zeros_like(x).add_(1).contiguous();
    auto [largest, index] = x.max(1);
    AT_DISPATCH_ALL_TYPES(x.scalar_type(), "scaled", [&] {
        scale<scalar_t><<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>(out.data_ptr<scalar_t>(), scalar_t(factor));
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return at::matmul(out, by.value_or(index)).sum({0}, true) + x.options().requires_grad();
}
"""
)
FURTHER = {
    "HALF and COMPLEX": "AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(at::kHalf, t, s, [&] { clear<<<1, 1>>>((scalar_t*)0); });",
    "every type": "AT_DISPATCH_V2(t, s, AT_WRAP([&] { clear<<<1, 1>>>((scalar_t*)0); }), AT_EXPAND(AT_ALL_TYPES),"
    " torch::kHalf, torch::kBFloat16);",
    "library and Python": "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(s, &f); } TORCH_LIBRARY(l, m) { m.def(s, &f); }",
    "standard library": "std::map<int, std::string> m; std::mutex lock; std::stringstream out; std::variant<int> v;",
}


def test_texts_that_name_common_functions_compile_at_once_as_with_all_parts(
    outcome: Callable[..., Outcome],
) -> None:
    for text in (RUNTIME, PYTORCH):
        found = outcome(text)
        assert found.attempts == 1 and found.has_used_parts
        assert is_equal(found)
        assert len(used(text)) <= 6


@pytest.mark.slow
def test_texts_that_name_further_parts_compile_at_once_as_with_all_parts(outcome: Callable[..., Outcome]) -> None:
    begin = (
        '#include <torch/extension.h>\n#define s "s"\ntemplate <class T> __global__ void clear(T* x) { *x = T(); }\n'
    )
    begin += "void g() { clear<<<1, 1>>>((int*)0); }\n"
    for name, text in FURTHER.items():
        is_function = name in ("HALF and COMPLEX", "every type")
        body = "void f(at::ScalarType t) {" + (text + "}" if is_function else "}" + text)
        found = outcome(begin + body)
        assert found.attempts == 1 and found.has_used_parts, name
        assert is_equal(found), name


def test_what_no_name_tells_is_compiled_with_all_parts(outcome: Callable[..., Outcome]) -> None:
    text = KERNELS + "void f(float* x) { auto copy = &cudaMemcpy3D; scale<<<1, 1>>>(x, 1.0f); copy(nullptr); }"
    assert "RUNTIME_API" not in used(text)
    found = outcome(text)
    assert (found.attempts, found.has_used_parts) == (2, False)
    assert is_equal(found)


def test_options_and_name_expressions_are_texts_too(outcome: Callable[..., Outcome]) -> None:
    text = KERNELS + "void f(float* x) { CALL(nullptr); scale<<<1, 1>>>(x, 1.0f); }"
    found = outcome(text, options=("--std=c++17", "-DCALL(x)=cudaMemcpy3D(x)"), instantiate=("scale<double>",))
    assert (found.attempts, found.has_used_parts) == (1, True)


def test_a_name_that_an_option_defines_is_the_projects(outcome: Callable[..., Outcome]) -> None:
    """PyTorch's builds define these for every file."""
    options = ("--std=c++17", "-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_BFLOAT16_CONVERSIONS__", "-DCUDA_VERSION=1")
    found = outcome(PYTORCH, options=options)
    assert (found.attempts, found.has_used_parts) == (1, True)
    assert is_equal(found)
    assert not any(name in header for header in found.result.headers or () for name in ("fp16", "bf16", "/cuda.h"))
