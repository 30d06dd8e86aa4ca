"""Each hint, for the error that the installed compiler reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.toolchain.toolchain import HOST_LIBRARIES, INCLUDE, Toolchain

pytestmark = pytest.mark.every_toolchain


@pytest.fixture
def explain(compiled: Callable[..., Compiled], toolchain: Toolchain):
    """Return a function that compiles a text and returns the error's message."""

    def explain(text: str, arch: str = "80", std: str = "c++17", **changes) -> str:
        own = changes.pop("include_dirs", ("demo",))
        include_dirs = (HOST_LIBRARIES, *own, str(INCLUDE), *toolchain.include_dirs)
        job = {"source": "demo/k.cu", "ptx": False, "ptx_version": "as-compiled", "host_code": "whole"}
        with pytest.raises(CompileError) as caught:
            compiled(text, arch, include_dirs=include_dirs, options=(f"--std={std}",), **job | changes)
        return str(caught.value)

    return explain


def kernel(body: str) -> str:
    return f"__global__ void k(int* x) {{ {body} }}\n"


def assembly(instruction: str) -> str:
    return kernel(f'asm volatile("{instruction};");')


TEMPLATE = "template <typename T, int N> __global__ void gemm(T* x) { *x = N; }\n__device__ void help(int* x) {}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "#include <torch/nowhere.h>\n",
            '<torch/nowhere.h> is read from PyTorch, whose device code is not part of cuda-wheel: add "torch" to build-',
        ),
        ("#include <cublas_v2.h>\n", "<cublas_v2.h> is the header of a host library: call the library from Python"),
        ("#include <cutlass/cutlass.h>\n", 'add "nvidia-cutlass" to build-system.requires'),
        ("#include <cublasdx.hpp>\n", 'add "nvidia-mathdx" to build-system.requires'),
        ("#include <nvshmem.h>\n", "which links NVSHMEM's device library"),
        (
            "__device__ int nvshmemi_get(int x);\n" + kernel("*x = nvshmemi_get(*x);"),
            "nvshmemi_get is in NVSHMEM's device library: set link = \"lto\" in the module's table",
        ),
        ("#include <helper_cuda.h>\n", "<helper_cuda.h> is part of NVIDIA's cuda-samples"),
        (
            '#include "nowhere.h"\n',
            "no file of the project has this name; the folders searched (include-dirs) are: demo",
        ),
        ("int twice(int x) { return 2 * x; }\n" + kernel("*x = twice(*x);"), "calls twice, which is a host function"),
        (
            "template <class T> __host__ T twice(T x) { return 2 * x; }\n" + kernel("*x = twice(*x);"),
            "device code calls twice<int>, which is a host function: mark it with __device__",
        ),
        (
            "struct S { int get() { return 1; } };\n" + kernel("*x = S().get();"),
            "calls S::get, which is a host function",
        ),
        (
            "static int twice(int x) { return 2 * x; }\n" + kernel("*x = twice(*x);"),
            "calls a host function|calls twice",
        ),
        ("namespace { int f(int x) { return x; } }\n" + kernel("*x = f(*x);"), "f (line 1)|calls f, which is"),
        ("int level = 3;\n" + kernel("*x = level;"), "level is a variable of the host: mark it with __device__"),
        (
            "template <class F> __global__ void each(F f, int* x) { *x = f(*x); }\n"
            "void run(int* x) { each<<<1, 1>>>([](int v) { return v; }, x); }\n",
            "mark the lambda for device code: [=] __device__ (...) { ... }",
        ),
        (
            "#include <vector>\n__global__ void k(std::vector<int> v, int* x) { *x = v[0]; }\n",
            "std::vector is for host code, as a parameter of a kernel too: pass a pointer to device memory",
        ),
        (kernel("if (*x < BLOCK_SIZE) *x = 0;"), 'set defines = { BLOCK_SIZE = "..." }'),
        ("MY_EXPORT void run(float* x) {}\n", 'set defines = { MY_EXPORT = "" }'),
        (kernel("atomicAdd((long long*)x, 1LL);"), "cast the pointer to unsigned long long*"),
        (kernel("atomicMax((float*)x, 1.0f);"), "use atomicCAS in a loop"),
        (
            "namespace torch { struct Tensor {}; }\n" + kernel("torch::Missing a;"),
            "torch::Missing: cuda-wheel's stand-in for PyTorch's header lacks it",
        ),
        (
            "namespace at { struct Tensor { void a(); }; }\n" + kernel("at::Tensor t; t.frobnicate();"),
            "at::Tensor::frobnicate: cuda-wheel's stand-in for PyTorch's header lacks it",
        ),
        (kernel("std::vector<int> v;"), "std::vector is for host code"),
        (kernel("auto a = std::bit_floor(3u);"), "use cuda::std::bit_floor if libcu++ has it"),
        ("texture<float, 1, cudaReadModeElementType> t;\n", "CUDA 12 removed texture references"),
        (kernel("*x = __shfl_down(*x, 1);"), "CUDA no longer has __shfl_down: use __shfl_down_sync(mask, ...)"),
        (kernel("syncthreads();"), "did you mean __syncthreads?"),
        (kernel("x[threadidx.x] = 1;"), "did you mean threadIdx?"),
        (kernel("cudaThreadSynchronize();"), "cudaThreadSynchronize is a host function"),
        (kernel("half a;"), "#include <cuda_fp16.h> declares half"),
        (kernel("__float128 a = *x; *x = a;"), 'set options = ["--device-float128"]'),
        (
            kernel("try { *x = 1; } catch (...) {}"),
            "device code cannot use exceptions: write an error status to memory",
        ),
        ("__global__ int k(int* x) { return 1; }", "a kernel returns void: write results through a pointer"),
        ("struct S { __global__ void k() {} };", "make it a function at namespace scope that takes the object"),
        ("__global__ void k(int n, ...) {}", "make the kernel a template over its parameter types"),
        ("__global__ void a() {}\n" + kernel("a<<<1, 1>>>();"), 'set link = "ptx" or "lto"'),
        (
            "__device__ int other(int);\n" + kernel("*x = other(1);"),
            "this file declares other and does not define it for device code",
        ),
        (
            "struct N { __device__ ~N() {} };\n__device__ constexpr int f() { N n; return 1; }\n" + kernel("*x = f();"),
            'set defines = { FMT_USE_CONSTEXPR = "0" }',
        ),
        (
            "extern __constant__ int table[];\n" + kernel("*x = table[*x];"),
            "this file declares table and does not define it for device code: include the definition; or add",
        ),
        (
            kernel("__shared__ int a[100000]; a[*x] = 1; __syncthreads(); *x = a[*x + 1];"),
            "the kernel has 400000 bytes of __shared__ variables, more than the limit of 49152",
        ),
    ],
)
def test_an_error_has_its_hint(text: str, expected: str, explain) -> None:
    error = explain(text)
    assert "demo/k.cu:" in error.splitlines()[0]
    helps = [line for line in error.splitlines() if line.startswith("help: ")]
    assert any(part in line for part in expected.split("|") for line in helps), error


@pytest.mark.parametrize(
    ("text", "arch", "expected"),
    [
        (kernel("*x = __reduce_add_sync(-1, *x);"), "75", "__reduce_add_sync needs compute capability 8.0"),
        (assembly("cp.async.wait_all"), "75", "cp.async.wait_all needs compute capability 8.0"),
        (assembly("cp.async.bulk.commit_group"), "80", "#if __CUDA_ARCH__ >= 900"),
        (
            assembly("wgmma.fence.sync.aligned"),
            "80",
            'wgmma.fence is for sm_90a only: set architectures = ["90a-real"]',
        ),
        (assembly("setmaxnreg.inc.sync.aligned.u32 240"), "90", 'architectures = ["90a-real"]'),
        (assembly("tcgen05.fence::before_thread_sync"), "100", 'architectures = ["100a-real"]'),
        ("__global__ void __cluster_dims__(2, 1, 1) k(int* x) { *x = 1; }", "80", "needs compute capability 9.0"),
        (
            "#include <cooperative_groups.h>\n" + kernel("cooperative_groups::this_cluster().sync();"),
            "80",
            "this_cluster needs compute capability 9.0",
        ),
        (
            "#include <mma.h>\nusing namespace nvcuda::wmma;\n"
            + kernel("fragment<matrix_a, 8, 8, 4, double, row_major> a;"),
            "75",
            "this matrix fragment needs compute capability 8.0",
        ),
        (
            "#include <mma.h>\nusing namespace nvcuda::wmma;\n"
            + kernel("fragment<matrix_a, 3, 8, 4, double, row_major> a;"),
            "80",
            "no matrix fragment has this shape and these types",
        ),
    ],
)
def test_a_missing_feature_of_an_architecture_has_a_hint_with_those_that_have_it(
    text: str, arch: str, expected: str, explain
) -> None:
    assert expected in explain(text, arch)


@pytest.mark.parametrize("lineinfo", [False, True])
def test_an_error_of_the_assembler_reads_the_same_with_line_information(lineinfo: bool, explain) -> None:
    error = explain(assembly("wgmma.fence.sync.aligned"), "90", lineinfo=lineinfo).splitlines()
    assert error[0] == "demo/k.cu: error: ptxas: Instruction 'wgmma.fence' not supported on .target 'sm_90'"
    assert error[1].startswith("help: ")
    assert len(error) == 2


@pytest.mark.parametrize(
    ("text", "std", "expected"),
    [
        ("template <typename T> concept Any = true;", "c++17", "c++20"),
        ("template <typename T> requires (sizeof(T) == 4) __global__ void k(T* x) {}", "c++17", "c++20"),
        (kernel("auto f = []<typename T>(T x) { return x; };"), "c++17", "c++20"),
        (kernel("auto a = 1 <=> 2;"), "c++17", "c++20"),
        ("struct P { int a; constexpr bool operator==(const P&) const = default; };", "c++17", "c++20"),
        (kernel("if constexpr (sizeof(int) == 4) *x = 1;"), "c++14", "c++17"),
        (kernel("auto [a, b] = *(int2*)x;"), "c++14", "c++17"),
        ("namespace a::b { }", "c++14", "c++17"),
    ],
)
def test_the_hint_names_the_newer_standard_that_the_code_needs(text: str, std: str, expected: str, explain) -> None:
    assert f'std = "{expected}"' in explain(text, std=std)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (
            "gem<float, 3>",
            ["gem<float, 3> (instantiate) is not a kernel of this file: identifier", "did you mean gemm?"],
        ),
        (
            "gemm<float>",
            [
                "gemm<float> (instantiate) is not a kernel",
                "gemm exists, but its template arguments are wrong or missing",
            ],
        ),
        ("gemm", ["gemm exists, but its template arguments are wrong or missing"]),
        ("help", ["help is not a __global__ function: instantiate lists kernels"]),
    ],
)
def test_a_name_expression_that_is_not_a_kernel_is_explained(expression: str, expected: list[str], explain) -> None:
    error = explain(TEMPLATE, instantiate=("gemm<int, 3>", expression))
    for each in expected:
        assert each in error
    assert "__nv_name_map" not in error


def test_the_hint_for_a_header_in_another_folder_names_the_setting(tmp_path: Path, explain) -> None:
    (tmp_path / "include/parts").mkdir(parents=True)
    (tmp_path / "include/parts/tile.cuh").write_text("#pragma once\n")
    error = explain('#include "parts/tile.cuh"\n')
    assert error.endswith(
        'help: include/parts/tile.cuh is in none of the folders that are searched (demo): add "include" to include-dirs'
    )


@pytest.mark.parametrize(
    ("header", "packages"),
    [
        ("curand_kernel.h", {"cu12": "nvidia-curand-cu12", "cu13": "nvidia-curand"}),
        ("cupy/nowhere.cuh", {"cu12": "cupy-cuda12x", "cu13": "cupy-cuda13x"}),
    ],
)
def test_the_hint_names_the_package_for_the_toolchain(
    header: str, packages: dict[str, str], explain, extra: str
) -> None:
    assert f'add "{packages[extra]}" to build-system.requires' in explain(f"#include <{header}>\n")


@pytest.mark.parametrize("brackets", ["<>", '""'])
@pytest.mark.parametrize("host", ["", "int main() { k<<<1, 1>>>(nullptr); }\n"])
@pytest.mark.parametrize(
    ("header", "use", "expected"),
    [
        ("curand_kernel.h", "curandState a;", "to build-system.requires"),
        ("cutlass/cutlass.h", "cutlass::half_t a;", 'add "nvidia-cutlass" to build-system.requires'),
        ("nvshmem.h", "nvshmem_int_p(x, 1, 1);", "which links NVSHMEM's device library"),
        (
            "tile.h",
            "load_tile(x);",
            'include/tile.h is in none of the folders that are searched (demo): add "include"',
        ),
    ],
)
def test_a_missing_header_has_a_hint(
    header: str, use: str, expected: str, host: str, brackets: str, tmp_path: Path, explain
) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include/tile.h").write_text("__device__ inline void load_tile(int* x) {}\n")
    include = f"#include <cstdio>\n#include {brackets[0]}{header}{brackets[1]}\n"
    error = explain(include + kernel(use) + host, host_code="leave-out")
    hints = [line for line in error.splitlines() if line.startswith("help: ")]
    assert len([line for line in hints if expected in line]) == 1, error
    assert not any("<cstdio>" in line for line in hints), error


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("setup.py", 'define_macros=[("TILE", "32")]', "setup.py passes the macro TILE: set defines = { TILE = 32 }"),
        ("setup.py", "extra = ['-O3', '-DTILE=a.b']", 'set defines = { TILE = "a.b" }'),
        (
            "CMakeLists.txt",
            "add_definitions(-DTILE)",
            'CMakeLists.txt passes the macro TILE: set defines = { TILE = "" }',
        ),
        (
            "setup.py",
            "'-DTILES=3'",
            "looks like a macro that the project's own build defines: set defines = { TILE = \"",
        ),
    ],
)
def test_the_hint_for_a_macro_offers_what_the_projects_build_passes(
    name: str, text: str, expected: str, tmp_path: Path, explain
) -> None:
    (tmp_path / name).write_text(text)
    assert expected in explain(kernel("*x = TILE;"))


def test_atomic_functions_name_the_architectures_that_have_them(explain, toolchain: Toolchain) -> None:
    if 52 not in toolchain.supported:
        pytest.skip("this NVRTC compiles for no GPU that lacks them")
    error = explain(
        "#include <cuda_fp16.h>\n" + kernel("atomicAdd((double*)x, 1.0); atomicAdd((half*)x, half());"), "52"
    )
    assert "atomicAdd of a double needs compute capability 6.0" in error
    assert "atomicAdd of a __half needs compute capability 7.0" in error
    assert "does not match" not in error


def test_a_function_without_a_definition_is_an_error_in_ptx_alone(explain) -> None:
    error = explain("__device__ int other(int);\n" + kernel("*x = other(1);"), ptx=True, cubin=False)
    assert "Unresolved extern function '_Z5otheri'" in error


def test_an_unknown_error_has_no_hint(explain) -> None:
    assert "help" not in explain(kernel("*x = unheard_of;"))
