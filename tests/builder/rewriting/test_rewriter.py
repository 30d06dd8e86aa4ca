"""What nvcc reads and NVRTC refuses is written in another way that means the same, and errors are at their lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.toolchain.toolchain import Toolchain

Compile = Callable[..., Compiled]

KERNELS = """
#include <cuda_runtime.h>
template <class T> __global__ void fill(T* p, T v) { p[threadIdx.x] = v; }
__global__ void plain(int* p) { *p = 1; }
"""


def kernels(result: Compiled) -> set[str]:
    return {signature(symbol).name for symbol in result.kernels}


def test_lines_after_a_syntax_error_are_not_blamed(compiled: Compile) -> None:
    text = """
namespace at {}
template <typename T, int N = 1, typename F>
void helper(at::Iterator& iterator, const char* key, F function) {}
template <typename T> struct Bits {};
template <> struct Bits<float> { using type = unsigned; };
__global__ void k(Bits<float>::type* x) { *x = 1; }
"""
    with pytest.raises(CompileError) as caught:
        compiled(text)
    message = str(caught.value)
    assert 'k.cu:4:17: error: namespace "at" has no member "Iterator"' in message
    assert set(re.findall(r"k\.cu:(\d+):", message)) == {"4"}


def test_constants_with_dynamic_initializers_are_those_of_nvcc(compiled: Compile, tmp_path: Path) -> None:
    (tmp_path / "names.h").write_text("#pragma once\nstruct Name { Name(const char*); Name(int, int); int* data() const; };\n"
                                      "static const Name in_header = \"a\";\n")  # fmt: skip
    result = compiled("""#include "names.h"
    template <class T> __global__ void fill(T* p) { *p = 0; }
    template <class T> __global__ void typed(int* p) { *p = sizeof(T); }
    int count();
    const Name first = "a", *pointer = &first;
    const Name second(1, 2);
    const Name third{3, 4};
    namespace { const auto fourth = Name("b"); }
    const Name names[] = {"a", "b"};
    const int number = count();
    struct Holder { static const Name member; };
    const Name Holder::member = "c";
    __global__ void device(int* p) { *p = 1; }
    void use() {
      fill<<<1, 1>>>(second.data());
      typed<decltype((third))><<<1, 1>>>(third.data());
      typed<decltype((number))><<<1, 1>>>(names[0].data());
      fill<<<1, number>>>(in_header.data() + (fourth.data() - Holder::member.data()));
    }
    """)
    assert kernels(result) == {"fill<int>", "typed<const Name&>", "typed<const int&>", "device"}
    assert (result.left_out, result.variables) == ((), ())


@pytest.mark.parametrize("place", ["outside", "project/library"])
def test_constants_of_libraries_are_those_of_nvcc(
    place: str, compiled: Compile, toolchain: Toolchain, tmp_path: Path
) -> None:
    """A library's folder may be inside that of the project, as in a virtual environment."""
    folder = tmp_path / place
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "b.h").write_text(
        '#pragma once\n#include <string>\nnamespace lib { const std::string base = "b"; const float quarter = 0.25f;\n'
        "const float weight = -quarter; }\n"
    )
    (folder / "lib" / "a.h").write_text(
        '#pragma once\n#include <map>\n#include "b.h"\nnamespace lib {\n'
        'const std::map<std::string, int> table = {{"a", 1}, {base, 2}};\n'
        "__host__ __device__ inline float scaled(float x) { return x * weight; }\n}\n"
    )
    (tmp_path / "project").mkdir(exist_ok=True)
    text = """#include <lib/a.h>
    #include <lib/b.h>
    __global__ void k(float* p) { *p = lib::scaled(*p); }
    void use() { k<<<1, lib::table.size()>>>(nullptr); }"""
    folders = ("", *toolchain.header_folders, str(folder))
    result = compiled(text, root=tmp_path / "project", include_dirs=folders)
    assert kernels(result) == {"k"}
    assert result.variables == ()
    assert b"0fBE800000" in (result.ptx or b"")
    assert {str(folder / "lib" / name) for name in ("a.h", "b.h")} <= set(result.headers or ())


def test_compound_literals_are_values_as_with_nvcc(compiled: Compile) -> None:
    result = compiled("""
    #define UP (Vector){0, 1}
    #define DOWN ((float2){0, -1})
    #define PAIR(a, b) (ns::Pair){a, b}
    #define SIZE 3
    namespace ns { struct Pair { int a; float b; }; }
    typedef float2 Vector;
    template <class T> __global__ void typed(T* p) { *p = T(); }
    __device__ Vector turn(Vector v) { return (Vector){-v.y, v.x}; }
    __global__ void k(float2* p, ns::Pair* q) {
      if (threadIdx.x) { p[0] = turn(UP); }
      p[1] = DOWN;
      p[2].x = (Vector) {p->x, 3.f}.y + ((float2){1.f, 2.f}).x;
      *q = PAIR(4, 5.f);
      const float* chosen;
      if (p[3].x > 0) chosen = (float[3]){6.f, p[3].y, 7.f};
      else chosen = (float[SIZE]){p[3].y, 8.f, 9.f};
      p[4].x = chosen[0] * chosen[1] + chosen[2] + (int[2][1]){{1}, {2}}[1][0];
    }
    void use() { dim3 grid = (dim3){1, 2, 3}; k<<<grid, (dim3){4}>>>(nullptr, nullptr); typed<<<1, (int2){1, 2}.x>>>(&grid.x); }
    """)
    assert kernels(result) == {"k", "typed<unsigned int>"}
    of_nvcc = {"0fBF800000", "1082130432", "1084227584"}  # -1, 3 + 1, 5
    assert of_nvcc <= set(re.findall(r"\b(?:0f)?[0-9A-F]+\b", result.ptx.decode()))
    assert result.left_out == ()


@pytest.mark.parametrize(
    "text",
    [
        "int n = (2){3};",
        "int n = *(p[2]){3};",
        "int n = *(int[p[0] + 2]){3};",
        "int n = (int x){3};",
        "int n = (struct P { int a; }){3}.a;",
    ],
)
def test_what_is_no_compound_literal_is_an_error(text: str, compiled: Compile) -> None:
    with pytest.raises(CompileError, match=r"k\.cu:1:"):
        compiled(f"__global__ void k(int* p) {{ {text} *p = n; }}\nint main() {{}}\n")


def test_numbers_computed_from_constants_fold_in_device_code(compiled: Compile, tmp_path: Path) -> None:
    (tmp_path / "lifting.h").write_text("#pragma once\nnamespace lifting { const float predict = -1.5f; }\n")
    result = compiled("""#include "lifting.h"
    typedef double real;
    int count();
    constexpr int three() { return 3; }
    namespace lifting {
    const float undo = -predict, twice = 2 * undo;
    static const real scale = 1.0 / predict, other = scale;
    const double nested = (double)(undo * undo);
    const double from_three = double(three() / 4 + predict);
    }
    const int at_run_time = count();
    const int from_run_time = at_run_time + 1;
    template <class T> __global__ void typed(T* p) { *p = 0; }
    __global__ void fill(float* p, double* q) {
      p[0] = lifting::undo; p[1] = lifting::twice;
      q[0] = lifting::scale; q[1] = lifting::nested; q[2] = lifting::from_three;
    }
    void use(int* p) { typed<<<1, from_run_time>>>(p); }
    """)
    assert kernels(result) == {"fill", "typed<int>"}
    of_nvcc = {"1069547520", "1077936128", "-4619192017806338731", "4612248968380809216", "-4613937818241073152"}
    assert of_nvcc <= set(re.findall(r"-?\b\d+\b", result.ptx.decode()))
    assert (result.left_out, result.variables) == ((), ())


def test_a_constant_of_a_class_that_another_constant_copies_is_the_hosts(compiled: Compile) -> None:
    result = compiled("""
    template <class T> struct Sum { Sum(T a) : a(a) {} T a; };
    struct Last { Sum<int> operator+(int i) const { return Sum<int>(i); } };
    static const Last last;
    static const Sum<int> after(last + 1);
    typedef Sum<int> End;
    static const End end = after; static const Last also = last;
    template <class T> __global__ void typed(T* p) { *p = 0; }
    void use(int* p) { typed<<<1, end.a + (also + 2).a>>>(p); }
    """)
    assert kernels(result) == {"typed<int>"}
    assert (result.left_out, result.variables) == ((), ())


@pytest.mark.parametrize("text", ["const int n = count();", "const int m = count(), n = m + 1;"])
def test_a_number_of_run_time_is_an_error_in_device_code(text: str, compiled: Compile) -> None:
    with pytest.raises(CompileError, match="dynamic initialization is not supported"):
        compiled(f"int count();\n{text}\n__global__ void k(int* p) {{ *p = n; }}\nint main() {{}}\n")


def test_a_device_constant_with_a_dynamic_initializer_is_an_error(compiled: Compile) -> None:
    text = (
        "__device__ int f();\n__constant__ const int n = f();\n__global__ void k(int* p) { *p = n; }\nint main() {}\n"
    )
    with pytest.raises(CompileError, match="dynamic initialization is not supported"):
        compiled(text)


def test_an_error_may_name_a_file_that_cannot_be(compiled: Compile) -> None:
    with pytest.raises(CompileError, match="misspelt"):
        compiled(f'__global__ void k(int* x) {{\n#line 3 "{"long" * 300}"\n*x = misspelt; }}\n')


@pytest.fixture
def for_nvcc(tmp_path: Path) -> Path:
    """Write a header that hides a function and a macro from NVRTC, as CUTLASS's do."""
    header = tmp_path / "library.h"
    header.write_text(
        "#pragma once\n#define UNROLL #pragma unroll\n__device__ inline void one(int* p) {\n  UNROLL\n  for (;;) *p = 1;\n}\n"
        "#ifndef __CUDACC_RTC__\ninline int blocks() { return 1; }\n#endif\n"
    )
    return header


def test_what_a_header_hides_from_nvrtc_is_there(for_nvcc: Path, compiled: Compile) -> None:
    text = f'#include "{for_nvcc.name}"\n{KERNELS}void f(float* p) {{ fill<<<blocks(), 1>>>(p, 1.0f); }}\n'
    result = compiled(text)
    assert (kernels(result), result.left_out) == ({"fill<float>", "plain"}, ())


@pytest.mark.parametrize(
    ("count", "hidden"),
    [
        ("1", ""),
        ("blocks()", ""),
        ("blocks()", "__device__ inline int two() { return ({ 2; }); }"),  # GCC's, which NVRTC lacks
    ],
)
def test_only_the_mistake_is_reported_where_a_header_hides_names(
    count: str, hidden: str, for_nvcc: Path, compiled: Compile
) -> None:
    for_nvcc.write_text(for_nvcc.read_text().replace("inline int blocks", f"{hidden} inline int blocks"))
    text = f'#include "{for_nvcc.name}"\n{KERNELS}void f(float* p) {{\n  fill<<<{count}, 1>>>(p, 1.0f);\n'
    with pytest.raises(CompileError) as failure:
        compiled(text + "  fill<float><<<1, 1>>>(missing, 1.0f);\n}\n")
    assert re.findall(r"^\S+: error: .*", str(failure.value), re.MULTILINE) == [
        'k.cu:8:25: error: identifier "missing" is undefined'
    ]
