"""Constants that nvcc evaluates on the host: their values in device code, and what is an error."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.toolchain.toolchain import Toolchain

pytestmark = pytest.mark.every_toolchain

Compile = Callable[..., Compiled]


def kernels(result: Compiled) -> set[str]:
    return {signature(symbol).name for symbol in result.kernels}


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
