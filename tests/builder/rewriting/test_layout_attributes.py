"""Types have the size and alignment that nvcc with GCC gives them, wherever their attributes stand, or are an error.

The sizes and alignments are those of nvcc 13.0 with GCC 12.2.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled, Job

pytestmark = pytest.mark.every_toolchain

Compile = Callable[..., Compiled]

KERNEL = "__global__ void k() {}\n"

# A declaration, a type of it, and its size and alignment.
AS_WITH_NVCC = (
    ("struct A { char a; int b; } __attribute__((packed));", "A", 5, 1),
    ("typedef struct { char a; int b; } __attribute__((packed)) B;", "B", 5, 1),
    ("typedef struct __attribute__((packed)) { char a; int b; } C;", "C", 5, 1),
    ("struct D { char a; int b __attribute__((packed)); };", "D", 5, 1),
    ("struct E { char a; int b __attribute__((aligned(16))); };", "E", 32, 16),
    ("struct F { char a; } __attribute__((aligned(16)));", "F", 16, 16),
    ("typedef struct { char a; } __attribute__((aligned(16))) G;", "G", 16, 16),
    ("typedef float H __attribute__((aligned(32)));", "H", 4, 32),
    ("struct I { char a; __attribute__((aligned(16))) int b; };", "I", 32, 16),
    ("struct J { char a; int b; } __attribute__((__packed__, __aligned__(2)));", "J", 6, 2),
    ("typedef struct { char a; int b; } K __attribute__((packed));", "K", 8, 4),
    ("typedef struct { char a; int b; } L __attribute__((aligned(16)));", "L", 8, 16),
    ("struct __align__(16) M { char a; };", "M", 16, 16),
    ("struct N { char a; } __align__(16);", "N", 16, 16),
    ("typedef struct { char a; } __align__(16) O;", "O", 16, 16),
    ("struct Q { enum X { x } __attribute__((packed)) e; };", "Q", 1, 1),
    ("struct R { char a; int b[2]; } __attribute__((packed)) r_;", "R", 9, 1),
    ("union S { char a; int b; } __attribute__((packed));", "S", 4, 1),
    ("struct T { char a; long b; char c; } __attribute__((packed, aligned(8)));", "T", 16, 8),
    ("template <int N> struct U { char a; int b[N]; } __attribute__((packed));", "U<2>", 9, 1),
    ("class V { public: char a; int b; } __attribute__((packed));", "V", 5, 1),
    ("#define PACKED __attribute__((packed))\nstruct W { char a; int b; } PACKED;", "W", 5, 1),
    ("typedef struct X_ { char a; int b; } PACKED X;", "X", 5, 1),
    ("struct Y { char a; struct { char b; int c; } __attribute__((packed)) d; int e; };", "Y", 12, 4),
    ("#define ALIGNED(n) __align__(n)\nstruct Z { char a; }\n  // behind it\n  ALIGNED(16);", "Z", 16, 16),
    ("struct A1 { char a; int b; } const __attribute__((packed)) a1_ = {};", "A1", 8, 4),
    ("__attribute__((packed)) struct A3 { char a; int b; };", "A3", 8, 4),
    ("struct A7; struct A7 { char a; int b; } __attribute__((packed));", "A7", 5, 1),
    ("enum A10 { a10 = 300 } __attribute__((packed)) a10_;", "A10", 2, 2),
    ("enum class A9 { a9 } __attribute__((packed));", "A9", 4, 4),
    ("struct A13 { char a; int b; } __attribute__((aligned));", "A13", 16, 16),
    ("struct A25 { char a; struct { char b; int c; } __attribute__((packed)) d[2], e; };", "A25", 16, 1),
    ("template <int N> struct A29 { char a; } __attribute__((aligned(N)));", "A29<16>", 16, 16),
    ("struct A32 { struct In { char a; int b; } __attribute__((packed)); char c; In d; };", "A32", 6, 1),
    ("template <class T> struct A34;\n#define END __attribute__((packed))", "int", 4, 4),
    ("template <> struct A34<int> { char a; int b; } END;", "A34<int>", 5, 1),
    ("struct A35 final : B { char a; int b; } __attribute__((packed));", "A35", 10, 1),
    ("enum A36 : short { a36 } __attribute__((aligned(8)));", "A36", 2, 2),
    ("struct A39 { char c; float4 v; } __attribute__((packed));", "A39", 17, 1),
    ("struct A44 { struct { char b; int c; } __attribute__((aligned(16))) d; char e; };", "A44", 32, 16),
    ("struct __attribute__((packed)) A51 { char a; int b; } __attribute__((aligned(2)));", "A51", 6, 2),
    ("struct __align__(8) B1 { float2 a; float f() const { return a.x; } int b __align__(4); };", "B1", 16, 8),
    ("template <class T, int N> struct __align__(sizeof(T) * N) B2 { T a[N]; };", "B2<float, 2>", 8, 8),
    ('_Pragma("pack(push, 1)") struct A22 { char a; int b; }; _Pragma("pack(pop)")', "A22", 5, 1),
    ("struct A23 { alignas(8) char a; int b; };", "A23", 8, 8),
    ("struct __attribute__((packed)) B3 { char c; int a __attribute__((aligned(2))); };", "B3", 6, 2),
)


@pytest.mark.parametrize("host_code", ["void launch() { k<<<1, 1>>>(); }\n", ""], ids=["with host code", "device code"])
def test_attributes_of_types_give_the_layouts_of_nvcc(host_code: str, compiled: Compile) -> None:
    text = "".join(f"{declaration}\n" for declaration, *_ in AS_WITH_NVCC)
    checks = "".join(
        f'static_assert(sizeof({type_}) == {size} && alignof({type_}) == {alignment}, "{type_}");\n'
        for _, type_, size, alignment in AS_WITH_NVCC
    )
    compiled(text + KERNEL + host_code + checks)


def test_layouts_are_right_where_nothing_asserts_them(compiled: Compile) -> None:
    chosen = [each for each in AS_WITH_NVCC if each[1] in ("A", "B", "G", "N", "U<2>", "Q", "Y", "A29<16>", "A25")]
    text = "".join(
        f"{declaration}\n__global__ void k{index}(int* out) {{ *out = {100 * (index + 1)} + (int)sizeof({type_}); }}\n"
        for index, (declaration, type_, *_) in enumerate(chosen)
    )
    ptx = compiled(text).ptx or b""
    assert [b"%d;" % (100 * (index + 1) + size) in ptx for index, (*_, size, _) in enumerate(chosen)] == [True] * 9


REFUSED = (
    ("#pragma pack(push, 1)\nstruct A { char c;\n alignas(2) int a; };\n#pragma pack(pop)", 3, "within #pragma pack"),
    ("#pragma pack(1)\nstruct A { char c; __align__(2) int a; };\n#pragma pack()", 2, "within #pragma pack"),
    (
        "#define PACK(...) __VA_ARGS__ __attribute__((packed))\nPACK(struct A { char a; int b; });",
        2,
        "behind the keyword",
    ),
    ("#define BOTH struct A { char a; int b; } __attribute__((packed))\n\nBOTH;", 3, "behind the keyword"),
    ("struct [[gnu::packed]] A { char a; int b; };", 1, r"write __attribute__\(\(\.\.\.\)\)"),
    ("struct A { char a;\n int b [[gnu::packed]]; };", 2, r"write __attribute__\(\(\.\.\.\)\)"),
    ("struct\n__attribute__((aligned(1))) A { int a; char b; };", 1, "lowers the alignment"),
    ("struct __align__(8) A { float4 a; };", 1, "lowers the alignment"),
    ("struct A { char c;\n double a __attribute__((aligned(2))); };", 2, "lowers the alignment"),
    ("struct A { char c; void f() {} int a : 7 __align__(2); };", 1, "lowers the alignment"),
    ('template <int N> struct A { int a __align__(N); };\nstatic_assert(sizeof(A<1>), "");', 1, "lowers the alignment"),
    (
        'template <class T> struct __align__(4) A { T a; };\nusing B = A<int>;\nstatic_assert(sizeof(A<double>), "");',
        1,
        "lowers",
    ),
)


@pytest.mark.parametrize(
    ("declaration", "line", "cure"),
    [pytest.param(*case, marks=pytest.mark.slow) if number % 3 else case for number, case in enumerate(REFUSED)],
)
def test_an_attribute_that_would_give_another_layout_is_an_error(
    declaration: str, line: int, cure: str, compiled: Compile
) -> None:
    with pytest.raises(CompileError, match=rf"^k\.cu:{line}: error: .*{cure}"):
        compiled(f"{declaration}\n{KERNEL}")


def test_headers_of_the_project_and_of_libraries_are_rewritten(
    compiled: Compile, job_of: Callable[..., Job], tmp_path: Path
) -> None:
    library, project = tmp_path / "library", tmp_path / "project"
    for folder in (library, project):
        folder.mkdir()
        (folder / f"{folder.name}.h").write_text("#pragma once\nstruct P { char a; int b; } __attribute__((packed));\n")
    kernel = f'static_assert(sizeof(P) == 5, "");\n{KERNEL}'
    compiled(f'#include "project.h"\n{kernel}', root=str(project))
    folders = (*job_of("").include_dirs, str(library))
    compiled(f"#include <library.h>\n{kernel}", root=str(project), include_dirs=folders, system_dirs=(str(library),))


def test_a_missing_header_is_an_error_where_another_has_such_attributes(compiled: Compile, tmp_path: Path) -> None:
    (tmp_path / "packed.h").write_text("struct P { char a; int b; } __attribute__((packed));\n")
    with pytest.raises(CompileError, match=r'k\.cu:2:.* cannot open source file "absent\.h"'):
        compiled(f'#include "packed.h"\n#include "absent.h"\n{KERNEL}')
