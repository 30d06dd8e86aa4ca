"""Host code is removed from files that mix it with device code, and no kernel is lost."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cuda_wheel.builder.hostcode.device_code import Extraction, compile_device_code, extract
from cuda_wheel.builder.hostcode.unit import Header

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.toolchain.nvrtc import compile_text
from cuda_wheel.builder.toolchain.records import INCLUDE, Toolchain
from cuda_wheel.runtime.formats import ptx

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcResult


def _finder(files: Mapping[str, str]):
    def find(name: str, quoted: bool, includer: str) -> Header | None:
        for place in [os.path.dirname(includer), "", "include"]:
            path = os.path.normpath(os.path.join(place, name))
            if path in files:
                return Header(path, files[path].encode())
        return (
            Header(name, None) if (INCLUDE / name).is_file() or name.startswith(("cuda_fp16", "cooperative")) else None
        )

    return find


def _extract(text: str, files: Mapping[str, str] | None = None, **more: Sequence[str]) -> Extraction:
    return extract(textwrap.dedent(text).encode(), "src/a.cu", _finder(files or {}), **more)


@pytest.fixture
def build(toolchain: Toolchain, tmp_path: Path):
    """Return a function that compiles a mixed file and returns its kernels, the compiler's input, and the result."""

    def build(
        text: str, files: Mapping[str, str] | None = None, host_code: str = "auto", instantiate: Sequence[str] = ()
    ) -> tuple[set[str], Extraction, NvrtcResult]:
        def compile(extraction: Extraction) -> NvrtcResult:
            return compile_text(
                {
                    "library": toolchain.libraries[0],
                    "folder": str(tmp_path),
                    "text": extraction.text,
                    "name": "src/a.cu",
                    "options": [
                        "--gpu-architecture=compute_80",
                        "--std=c++17",
                        *extraction.options,
                        *(f"--include-path={folder}" for folder in (INCLUDE, *toolchain.include_dirs)),
                    ],
                    "expressions": list(extraction.expressions),
                    "headers": dict(extraction.headers),
                }
            )

        here = os.getcwd()
        try:
            extraction, answer = compile_device_code(
                textwrap.dedent(text).encode(), "src/a.cu", _finder(files or {}), compile, host_code, instantiate
            )
        finally:
            os.chdir(here)
        kernels = set(ptx.kernels(ptx_text.normalise(answer["ptx"].decode()))) if not answer["error"] else set()
        return kernels, extraction, answer

    return build


SAMPLE = """\
    #include <cuda_runtime.h>
    #include <vector>
    #include "not_there.h"
    #define CHECK(call) do { if ((call) != cudaSuccess) { fprintf(stderr, "bad"); exit(1); } } while (0)

    const int BLOCK = 64;
    static std::vector<float> weights;

    __global__ void scale(float* x, float by) { x[blockIdx.x * BLOCK + threadIdx.x] *= by; }

    int main(int argc, char** argv)
    {
        float* x;
        CHECK(cudaMalloc(&x, 4 * BLOCK));
        scale<<<1, BLOCK>>>(x, 2.0f);
        std::cout << "done" << std::endl;
        return 0;
    }
"""


def test_host_code_is_blanked_and_line_numbers_stay_the_same() -> None:
    extraction = _extract(SAMPLE)
    before, after = textwrap.dedent(SAMPLE).split("\n"), extraction.text.decode().split("\n")
    assert len(before) == len(after)
    assert after[8] == before[8] and after[5] == before[5]
    assert not after[10].strip() and not after[6].strip() and not after[1].strip()
    assert [each.name for each in extraction.kernels] == ["scale"]
    blanked = {(each.kind, each.name, each.line, each.last_line) for each in extraction.blanked}
    assert ("function", "main", 11, 18) in blanked
    assert ("variable", "weights", 7, 7) in blanked
    assert ("include", '"not_there.h"', 3, 3) in blanked


def test_definitions_that_device_code_uses_are_kept() -> None:
    extraction = _extract(
        """\
        struct Pair { float a, b; };
        struct Report { char* text; void print() { puts(text); } };
        enum Mode { FAST, EXACT };
        typedef float real;
        using Index = unsigned;
        template <typename T> struct Twice { static constexpr int value = 2 * sizeof(T); };
        constexpr int squared(int n) { return n * n; }
        static inline float half_of(float x) { return x / 2; }
        __global__ void k(real* x, Pair p, Mode m) { Index i = squared(2) + FAST; x[i] = half_of(p.a) + Twice<int>::value; }
        """
    )
    assert [each.name for each in extraction.blanked] == ["Report"]


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        pytest.param(SAMPLE, {"_Z5scalePff"}, id="a sample"),
        pytest.param(
            """\
            #include <string>
            class Grid {
            public:
                Grid(int n) : n(n) { cudaMalloc(&data, n); }
                ~Grid() { cudaFree(data); }
                std::string name() const;
                __host__ void fill();
                __device__ float at(int i) const { return data[i]; }
                int n;
                float* data;
            };
            __global__ void first(Grid g, float* y) { *y = g.at(0); }
            std::string Grid::name() const { return "grid"; }
            void Grid::fill() { first<<<1, 1>>>(*this, data); }
            """,
            {"_Z5first4GridPf"},
            id="a class of host and device",
        ),
        pytest.param(
            """\
            template <typename T, int N> __global__ void add(T* x) { x[threadIdx.x] += N; }
            template <class T> __global__ void set(T* x, const T value) { *x = value; }
            struct Job { double* out; };
            void more(Job* job, char** lines) { set<<<1, 1>>>(job->out, 1.0); set<<<1, 1>>>(*lines, lines[0][1]); }
            template <typename T> void launch(T* x) { add<T, 4><<<1, 4>>>(x); }
            void run(float* f, double* d) { launch(f); launch<double>(d); const int n = 8; add<int, n * 2><<<1, 1>>>(nullptr); }
            """,
            {"_Z3addIfLi4EEvPT_", "_Z3addIdLi4EEvPT_", "_Z3addIiLi16EEvPT_", "_Z3setIdEvPT_S0_", "_Z3setIcEvPT_S0_"},
            id="templates that host templates launch",
        ),
        pytest.param(
            """\
            template <typename T, int N> __global__ void read(const T* x) { }
            template <typename T> __global__ void write(T* x) { *x = 1; }
            template <typename T> void launch(const void* p) { const T* x = (const T*)p; read<T, 1><<<1, 1>>>(x); }
            extern template void launch<char>(const void*);
            void any(int type, void* p, int a, int b) {
                switch (type) {
                case 0: { const float* x = (const float*)p; const int n = 2; read<float, n><<<a * b, 1>>>(x); } break;
                case 1: { double* x = (double*)p; write<<<1, 1>>>(x); } break;
                case 2: { using T = short; T* x = (T*)p; write<<<1, 1>>>(x); launch<char>(p); } break;
                case 3: { using T = long; const int n = 3; read<T, n><<<1, 1>>>((const T*)p); } break;
                }
            }
            """,
            {"_Z4readIfLi2EEvPKT_", "_Z5writeIdEvPT_", "_Z5writeIsEvPT_", "_Z4readIlLi3EEvPKT_"},
            id="blocks that give one name to several things, and an instance of another file",
        ),
        pytest.param(
            """\
            #define MAKE(name, type) __global__ void name(type* x) { *x = 1; }
            #define LAUNCH(name, ...) name<<<1, 1>>>(__VA_ARGS__)
            MAKE(ones_f, float)
            MAKE(ones_i, int)
            template <class T> __global__ void twos(T* x) { *x = 2; }
            void all(float* x) { LAUNCH(ones_f, x); LAUNCH(twos<float>, x); LAUNCH(twos, x); }
            """,
            {"_Z6ones_fPf", "_Z6ones_iPi", "_Z4twosIfEvPT_"},
            id="kernels and launches that macros make",
        ),
        pytest.param(
            """\
            #include <iostream>
            using namespace std;
            namespace app { namespace {
            __constant__ float table[4];
            __managed__ int counter;
            }
            extern "C" __global__ void plain(float* x) { *x = table[0]; atomicAdd(&counter, 1); }
            void set() { cudaMemcpyToSymbol(table, nullptr, 16); counter = 0; cout << counter << endl; }
            }
            template <typename F> __global__ void apply(float* x, F f) { *x = f(*x); }
            template __global__ void apply<float (*)(float)>(float*, float (*)(float));
            """,
            {"plain", "_Z5applyIPFffEEvPfT_"},
            id="namespaces, constants and explicit instantiations",
        ),
        pytest.param(
            """\
            #ifdef __NVCC__
            #define BOTH __host__ __device__
            #else
            #define BOTH
            #endif
            #if defined(__linux__) || defined(_WIN32)
            #include <unistd.h>
            #else
            #error what system is this?
            #endif
            const char* help = R"(__global__ void no_kernel() {} ")";
            BOTH inline float one(float x) { return x + 1; }
            BOTH float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, 0, 0, 0); }
            template <typename T>
            #if SMALL
            void run(T x) {
            #else
            void run(T x, T y) {
            #endif
                throw help;
            }
            __global__ void
            __launch_bounds__(128)
            k(float4* x) { auto f = [=](float4 v) { return v + v; }; *x = f(*x); x->x = one(x->x); }
            """,
            {"_Z1kP6float4"},
            id="conditions, raw strings, lambdas and operators",
        ),
    ],
)
def test_mixed_files_compile_with_all_their_kernels(build, text: str, symbols: set[str]) -> None:
    kernels, _, answer = build(text)
    assert not answer["error"], answer["log"]
    assert kernels == symbols


STEPS = """\
    #define TWICE step = step * v;
    #define EIGHT TWICE TWICE TWICE
    #define BOUNDS(threads, blocks)
    template <class T>
    __global__ void
    BOUNDS(128, 4)
    steps(T* x, T v)
    {
        T step = *x;
        for (int i = 0; i < 4; ++i) {
            EIGHT EIGHT
        }
        *x = step;
    }
    template <class T> void run(const T* x, int n) { T* mine; cudaMalloc(&mine, n); steps<<<n, 1>>>(mine, T(2)); }
    template void run(const float* x, int n);
    template void run<double>(const double*, int);
"""


def test_macros_that_are_not_statements_do_not_hide_kernels(build) -> None:
    kernels, _, answer = build(STEPS)
    assert not answer["error"], answer["log"]
    assert kernels == {"_Z5stepsIfEvPT_S0_", "_Z5stepsIdEvPT_S0_"}


def test_names_from_missing_headers_are_found_in_the_toolchain(build) -> None:
    text = """\
        #include <vector>
        #include <cublas_v2.h>
        template <class T> __device__ bool same(T) { return std::is_same_v<T, float>; }
        const float third = 1.0f / 3;
        const float scaled = third * 3;
        __global__ void k(__nv_bfloat16* x) { *x = same(1) ? scaled : float(CUDART_VERSION); }
        int main() { std::vector<int> v; }
    """
    kernels, _, answer = build(text)
    assert not answer["error"], answer["log"]
    assert kernels == {"_Z1kP13__nv_bfloat16"}


def test_host_code_in_headers_is_removed_too(build) -> None:
    files = {
        "src/ops/kernels.h": """\
#pragma once
#include <memory>
#include "../types.h"
template <typename T> __global__ void fill(T* x, Size n) { if (threadIdx.x < n) x[threadIdx.x] = LIMIT; }
inline void fill_all(float* x) { fill<float><<<1, 32>>>(x, 32); std::make_unique<int>(); }
""",
        "src/types.h": "typedef unsigned Size;\nconst Size LIMIT = 4;\n",
    }
    kernels, extraction, answer = build('#include "ops/kernels.h"\nint main() { fill_all(nullptr); }\n', files)
    assert not answer["error"], answer["log"]
    assert kernels == {"_Z4fillIfEvPT_j"}
    assert {each.file for each in extraction.blanked} == {"src/a.cu", "src/ops/kernels.h"}


def test_an_error_in_device_code_keeps_its_file_and_line(build) -> None:
    files = {"src/k.h": "void host() { std::abort(); }\n\n__global__ void k(int* x) { *x = nothing; }\n"}
    _, _, answer = build('#include <vector>\n#include "k.h"\nint main() {}\n', files)
    assert 'src/k.h(3): error: identifier "nothing" is undefined' in answer["log"]


def test_a_file_without_host_code_is_compiled_unedited(build) -> None:
    kernels, extraction, _ = build("__global__ void k(int* x) { *x = 1; }\n")
    assert kernels == {"_Z1kPi"}
    assert extraction.options == () and extraction.blanked == ()


def test_keep_removes_nothing(build) -> None:
    _, extraction, answer = build(SAMPLE, host_code="keep")
    assert answer["error"] and extraction.blanked == ()


def test_reject_names_the_first_host_definition(build) -> None:
    with pytest.raises(CompileError, match=r"src/a\.cu:7: error: variable weights is host code"):
        build(SAMPLE, host_code="reject")


UNKNOWN = """\
    template <typename T> __global__ void k(T x) {}
    void run() { auto x = somewhere(); k<<<1, 1>>>(x); }
"""


def test_the_error_for_an_unresolved_launch_names_the_kernel(build) -> None:
    with pytest.raises(CompileError, match=r"src/a\.cu:2: error: .*kernel template k .*instantiate"):
        build(UNKNOWN)


def test_instantiate_resolves_the_launch(build) -> None:
    kernels, _, answer = build(UNKNOWN, instantiate=["k<float>"])
    assert not answer["error"], answer["log"]
    assert kernels == {"_Z1kIfEvT_"}


@pytest.mark.parametrize(
    "members",
    [
        "std::vector<int> v; int n;",  # all on one line: the smallest definition around the error is the field's
        "\nstd::vector<int> v;\nint n;\n",
        "\nstd::vector<int> a,\nb;\nint n;\n",
        "\nunion {\nstd::vector<int>* v;\nint m;\n};\nint n;\n",
        "\nstruct {\nstd::vector<int>* v;\nint m;\n};\nint n;\n",
        "\nstruct T {\nstd::vector<int> v;\nint m;\n};\nT t;\nint n;\n",
        "\nusing V = std::vector<int>;\nV v;\nint n;\n",
        "\nvoid (*f)(std::vector<int>);\nint n;\n",
        "\nvirtual void f() {\nstd::vector<int> v;\n}\nint n;\n",  # without it, there is no pointer to a table
        "\nvirtual std::vector<int> f();\nint n;\n",
        "\nvirtual ~S() {\nstd::vector<int> v;\n}\nint n;\n",
    ],
)
def test_what_decides_the_layout_of_a_class_is_never_removed_alone(build, members: str) -> None:
    """The kernel would read and write `n` at another place than the host."""
    text = f"#include <vector>\nstruct S {{{members}}};\n__global__ void k(S* s) {{ s->n = 1; }}\nint main() {{}}\n"
    _, extraction, answer = build(text)
    assert answer["error"]
    assert ("type", "S") in [(each.kind, each.name) for each in extraction.blanked]


def test_a_host_function_of_a_class_is_removed_and_the_layout_stays(build) -> None:
    text = (
        "#include <vector>\nstruct S {\n{}\nint m;\nint n;\n};\n__global__ void k(S* s) { s->n = 1; }\nint main() {}\n"
    )
    for function in ("S() { std::vector<int> v; }", "std::vector<int> f() { return {}; }", "virtual void f();"):
        kernels, _, answer = build(text.replace("{}", function, 1))
        assert kernels == {"_Z1kP1S"}, answer["log"]
        place = 12 if "virtual" in function else 4
        assert f"+{place}]" in answer["ptx"].decode()


def test_a_kernel_that_is_not_in_the_image_under_its_name_is_an_error(build) -> None:
    text = '#define k other\n__global__ void k(int* p) { *p = 1; }\nint main() { k<<<1, 1>>>(nullptr); puts(""); }\n'
    with pytest.raises(CompileError, match=r"^src/a\.cu:2: error: kernel k is not in the image\.$"):
        build(text)
    kernels, _, _ = build("#ifdef k\n" + text + '#endif\n__global__ void good() {}\nint main() { puts(""); }\n')
    assert kernels == {"_Z4goodv"}  # one that an #if excludes is none


def test_a_kernel_is_never_blanked_even_if_it_does_not_compile(build) -> None:
    text = "void host() { malloc(1); }\n__host__ void other();\n__global__ void good() {}\n__global__ void bad() { other(); }\n"
    _, extraction, answer = build(text)
    assert answer["error"]
    assert b"void bad()" in extraction.text
