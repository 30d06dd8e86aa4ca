"""Each hint with what the installed compiler really says."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.toolchain.records import INCLUDE, Toolchain
from cuda_wheel.builder.workers.pool import Workers


@pytest.fixture
def explain(tmp_path: Path, workers: Workers, toolchain: Toolchain):
    """Return a function that compiles a text and gives what the error says."""

    def explain(text: str, arch: str = "80", std: str = "c++17", lineinfo: bool = False, **more) -> str:
        folders = (*more.pop("include_dirs", ("demo",)), str(INCLUDE), *toolchain.include_dirs)
        job = Job(
            library=toolchain.libraries[0],
            root=str(tmp_path),
            source="demo/k.cu",
            text=text.encode(),
            arch=arch,
            cubin=True,
            ptx=False,
            options=(f"--std={std}",),
            include_dirs=folders,
            instantiate=more.pop("instantiate", ()),
            lineinfo=lineinfo,
            ptx_version="as-compiled",
            host_code=more.pop("host_code", "keep"),
        )
        with pytest.raises(CompileError) as caught:
            workers.submit(compile_job, job).result()
        return str(caught.value)

    return explain


def kernel(body: str) -> str:
    return f"__global__ void k(int* x) {{ {body} }}\n"


def assembly(instruction: str) -> str:
    return kernel(f'asm volatile("{instruction};");')


TEMPLATE = "template <typename T, int N> __global__ void gemm(T* x) { *x = N; }\n__device__ void help(int* x) {}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#include <vector>\n", "<vector> is for the host: keep device code in a file of its own"),
        (
            "#include <torch/extension.h>\n",
            "<torch/extension.h> is for the host: keep kernels in a .cu file without it",
        ),
        ("#include <cublas_v2.h>\n", "<cublas_v2.h> is for the host, and so is the library"),
        ("#include <cutlass/cutlass.h>\n", "name it in include-dirs"),
        ("#include <nvshmem.h>\n", "which cuda-wheel does not link"),
        ("#include <helper_cuda.h>\n", "<helper_cuda.h> comes with NVIDIA's cuda-samples"),
        ('#include "nowhere.h"\n', "no file of the project has that name; searched (include-dirs): demo"),
        ("int twice(int x) { return 2 * x; }\n", "mark a function that device code uses with __device__"),
        ("__host__ int twice(int x) { return 2 * x; }\n", "mark a function that device code uses with __device__"),
        ("int level = 3;\n", "mark a variable that device code uses with __device__ or __constant__, or constexpr"),
        (kernel("std::vector<int> v;"), "std::vector is for the host"),
        (kernel("auto a = std::bit_floor(3u);"), "device code has cuda::std::bit_floor, if libcu++ has it"),
        ("texture<float, 1, cudaReadModeElementType> t;\n", "texture references are gone since CUDA 12"),
        (kernel("*x = __shfl_down(*x, 1);"), "__shfl_down_sync(mask, ...) took its place"),
        (kernel("syncthreads();"), "did you mean __syncthreads?"),
        (kernel("x[threadidx.x] = 1;"), "did you mean threadIdx?"),
        (kernel("cudaThreadSynchronize();"), "cudaThreadSynchronize is for the host"),
        (kernel("uint32_t a = 3; *x = a;"), "#include <cstdint> declares uint32_t"),
        (kernel("half a;"), "#include <cuda_fp16.h> declares half"),
        (kernel("__float128 a = *x; *x = a;"), 'options = ["--device-float128"] allows that'),
        (kernel("__int128 a = *x; *x = a;"), 'options = ["--device-int128"] allows that'),
        (kernel("register int a = 1; *x = a;"), "C++17 has no register"),
        (kernel("try { *x = 1; } catch (...) {}"), "device code ends by a status that it writes"),
        (kernel("typeid(int);"), "device code has no type information at run time"),
        ("__global__ int k(int* x) { return 1; }", "a kernel returns nothing: write results through a pointer"),
        ("struct S { __global__ void k() {} };", "make it a function at namespace scope that takes the object"),
        ("__global__ void k(int n, ...) {}", "make it a template of its parameters' types"),
        ("__global__ void a() {}\n" + kernel("a<<<1, 1>>>();"), "which cuda-wheel does not link: launch from the host"),
        (
            "__device__ int other(int);\n" + kernel("*x = other(1);"),
            "other is declared here and defined in another file",
        ),
        (
            kernel("__shared__ int a[100000]; a[*x] = 1; __syncthreads(); *x = a[*x + 1];"),
            "400000 bytes of __shared__ variables, and a kernel has at most 49152",
        ),
    ],
)
def test_what_would_help(text: str, expected: str, explain) -> None:
    said = explain(text)
    assert "demo/k.cu:" in said.splitlines()[0]
    assert any(line.startswith("help: ") and expected in line for line in said.splitlines()), said


@pytest.mark.parametrize(
    ("text", "arch", "expected"),
    [
        (kernel("*x = __reduce_add_sync(-1, *x);"), "75", "__reduce_add_sync needs compute capability 8.0"),
        (assembly("cp.async.wait_all"), "75", "cp.async.wait_all needs compute capability 8.0"),
        (assembly("cp.async.bulk.commit_group"), "80", "#if __CUDA_ARCH__ >= 900"),
        (assembly("wgmma.fence.sync.aligned"), "80", 'wgmma.fence is for sm_90a alone: architectures = ["90a-real"]'),
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
def test_what_an_architecture_lacks_names_those_that_have_it(text: str, arch: str, expected: str, explain) -> None:
    assert expected in explain(text, arch)


@pytest.mark.parametrize("lineinfo", [False, True])
def test_what_the_assembler_refuses_is_told_alike_with_line_information(lineinfo: bool, explain) -> None:
    said = explain(assembly("wgmma.fence.sync.aligned"), "90", lineinfo=lineinfo).splitlines()
    assert said[0] == "demo/k.cu: error: ptxas: Instruction 'wgmma.fence' not supported on .target 'sm_90'"
    assert said[1].startswith("help: ")
    assert len(said) == 2


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
def test_a_newer_standard_is_named_where_it_is_needed(text: str, std: str, expected: str, explain) -> None:
    assert f'std = "{expected}"' in explain(text, std=std)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("gem<float, 3>", ["gem<float, 3> (instantiate) is no kernel of this file: identifier", "did you mean gemm?"]),
        (
            "gemm<float>",
            ["gemm<float> (instantiate) is no kernel", "its template arguments do not fit, or are missing"],
        ),
        ("gemm", ["its template arguments do not fit, or are missing"]),
        ("help", ["help is not __global__: instantiate names kernels"]),
    ],
)
def test_a_name_expression_that_is_no_kernel(asked: str, expected: list[str], explain) -> None:
    said = explain(TEMPLATE, instantiate=("gemm<int, 3>", asked))
    for each in expected:
        assert each in said
    assert "__nv_name_map" not in said


def test_a_header_elsewhere_in_the_project_is_named_with_the_setting(tmp_path: Path, explain) -> None:
    (tmp_path / "include/parts").mkdir(parents=True)
    (tmp_path / "include/parts/tile.cuh").write_text("#pragma once\n")
    said = explain('#include "parts/tile.cuh"\n')
    assert said.endswith(
        "help: include/parts/tile.cuh is in none of the folders that are searched (demo): "
        'include-dirs = ["include"] adds it'
    )


def test_the_package_that_has_the_random_numbers_is_named(explain, extra: str) -> None:
    package = {"cu12": "nvidia-curand-cu12", "cu13": "nvidia-curand"}[extra]
    assert f'add "{package}" to build-system.requires' in explain("#include <curand_kernel.h>\n")


@pytest.mark.parametrize("brackets", ["<>", '""'])
@pytest.mark.parametrize("host", ["", "int main() { k<<<1, 1>>>(nullptr); }\n"])
@pytest.mark.parametrize(
    ("header", "use", "expected"),
    [
        ("curand_kernel.h", "curandState a;", "to build-system.requires"),
        ("cutlass/cutlass.h", "cutlass::half_t a;", "name it in include-dirs"),
        ("nvshmem.h", "nvshmem_int_p(x, 1, 1);", "which cuda-wheel does not link"),
        (
            "tile.h",
            "load_tile(x);",
            "include/tile.h is in none of the folders that are searched (demo): include-dirs =",
        ),
    ],
)
def test_a_lost_header_is_named_though_it_was_taken_for_the_hosts(
    header: str, use: str, expected: str, host: str, brackets: str, tmp_path: Path, explain
) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include/tile.h").write_text("__device__ inline void load_tile(int* x) {}\n")
    include = f"#include <vector>\n#include {brackets[0]}{header}{brackets[1]}\n"
    said = explain(include + kernel(use) + host, host_code="auto")
    helps = [line for line in said.splitlines() if line.startswith("help: ")]
    assert len([line for line in helps if expected in line]) == 1, said
    assert not any("<vector>" in line for line in helps), said


def test_nothing_is_said_where_nothing_is_known(explain) -> None:
    assert "help" not in explain(kernel("*x = unheard_of;"))
