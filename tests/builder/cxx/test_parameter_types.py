"""Reading parameter types from a source, compared with the symbols that NVRTC gives the same kernels in C++."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.cxx.parameter_types import agree, parameter_type, parameter_types, redeclared
from cuda_wheel.builder.cxx.tokens import scan
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.rewriting.front_end import HOST_CODE_OPTIONS
from cuda_wheel.builder.toolchain.nvrtc import compile_text
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.manifest import Parameter
from cuda_wheel.runtime.parts.formats import ptx

TYPES = [
    *("bool", "char", "signed char", "char unsigned", "short", "int short", "short signed int", "unsigned short"),
    *("int", "signed", "unsigned", "int unsigned", "long", "long int", "unsigned long", "long unsigned int"),
    *("long long", "long int long", "unsigned long long", "long long unsigned", "long unsigned int long"),
    *("float", "double", "__half", "half", "__half2", "half2"),
    *("__nv_bfloat16", "nv_bfloat16", "__nv_bfloat162", "nv_bfloat162", "cuComplex", "cuFloatComplex"),
    *("cuDoubleComplex", "cuda::std::complex<float>", "std::complex<double>", "size_t", "ptrdiff_t", "std::size_t"),
    *("std::ptrdiff_t", "uintptr_t", "intptr_t", "::uint32_t", "::std::uint8_t", "cuda::std::uint64_t"),
    *(f"{scope}{sign}int{bits}_t" for scope in ("", "std::") for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *(
        f"{sign}{name}{count}"
        for sign in ("", "u")
        for name in ("char", "short", "int", "long", "longlong")
        for count in (1, 2, 3, 4)
    ),
    *(f"{name}{count}" for name in ("float", "double") for count in (1, 2, 3, 4)),
]
"""Well-known types, in many of their C++ spellings."""

FORMS = [
    "{}", "{} x", "const {} x", "{} const x", "volatile {} x", "{}*", "{} *x", "const {}* x", "{} const* x",
    "const {}* __restrict__ x", "{} *__restrict x", "{}* const __restrict__ x", "volatile {}* const x",
    "const volatile {}* x", "{} volatile* const volatile x", "const {}* const* x", "{}** x", "{}* __restrict__* x",
    "{}* const volatile __restrict__* __restrict__ x", "{} x[]", "const {} x[16]", "{}* const x[4]", "{}* = nullptr",
    "{} x[(2 + 1) * 2]", "const {}* x = 0",
]  # fmt: skip
OTHERS = {
    "Pair p": "",
    "const Pair p": "",
    "Pair* p": "Pair*",
    "const Pair* const* __restrict__ p": "const Pair* const*",
    "struct Pair* p": "Pair*",
    "Pair p[2]": "Pair*",
    "ns::Deep* p": "ns::Deep*",
    "::Pair* p": "Pair*",
    "Deep<float>* p": "Deep<float>*",
    "Deep<float> p": "",
    "Deep<int>* p": "",
    "real x": "",
    "Mode mode": "",
    "float& x": "",
    "const float (&x)[3]": "",
    "float (*f)(int)": "",
    "float x[2][3]": "",
    "float (*x)[3]": "",
    "[[maybe_unused]] int x": "",
    "void* x": "void*",
    "const void* x": "const void*",
    "void** x": "void**",
    "const __grid_constant__ Pair p": "",
    "const __grid_constant__ int x": "int",
    "const __grid_constant__ double x": "double",
    "const bool __grid_constant__ x": "bool",
    "float* const __grid_constant__ x": "float*",
    "const float4 __grid_constant__ x": "float4",
    "half half": "__half",
    "long double x": "",
    "decltype(1) x": "",
}
"""Declarations and their types; "" if the type is unknown."""

HEAD = """
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cuComplex.h>
#include <cuda/std/cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>
struct Pair { int first; float second; };
enum Mode { one, two };
typedef double real;
template <class T> struct Deep { T x; };
namespace ns { struct Deep { int x; }; }
"""


def words(declaration: str) -> list[str]:
    return [token.text for token in scan(declaration.encode())[0]]


def parameter_lists() -> list[list[str]]:
    """Return parameter lists: each type in two forms, each form with two types, those of OTHERS, and random ones."""
    chance = random.Random(1)
    declared = [form.format(type_) for type_ in TYPES for form in ("{}", chance.choice(FORMS))]
    declared += [form.format(chance.choice(TYPES)) for form in FORMS * 2]
    one = [[each] for each in (*declared, *OTHERS)]
    plain = [form for form in FORMS if "=" not in form]
    several = [
        [re.sub(r"x\b(?!\()", f"x{each}", chance.choice(plain)).format(chance.choice(TYPES)) for each in range(count)]
        for count in range(36)
    ]
    return one + several


@pytest.mark.slow
def test_types_match_the_cpp_symbols_of_the_same_kernels(
    toolchain: Toolchain, workers: Workers, tmp_path: Path
) -> None:
    lists = parameter_lists()
    text = HEAD + "".join(
        f'extern "C" __global__ void c{index}({", ".join(each)}) {{}}\n__global__ void cpp{index}({", ".join(each)}) {{}}\n'
        for index, each in enumerate(lists)
    )
    folders = toolchain.include_folders(())
    request = {
        "library": toolchain.libraries[0],
        "folder": str(tmp_path),
        "text": text.encode(),
        "name": "k.cu",
        "options": [
            "--gpu-architecture=compute_100",
            "--std=c++17",
            *HOST_CODE_OPTIONS,
            *(f"--include-path={path}" for path in folders),
        ],
        "expressions": [],
    }
    answer = workers.submit(compile_text, request).result()
    assert not answer["error"], answer["log"]
    kernels = ptx.kernels(ptx_text.normalise(answer["ptx"].decode()))
    written = {signature(symbol).name: signature(symbol).parameters for symbol in kernels}
    read = parameter_types(text)
    unknown = []
    for index, each in enumerate(lists):
        types = read[f"c{index}"]
        expected = written[f"cpp{index}"]
        assert expected is not None
        assert agree(types, kernels[f"c{index}"]), each
        assert len(types) == len(expected)
        assert all(ours in ("", theirs) for ours, theirs in zip(types, expected, strict=True)), (each, types, expected)
        unknown += [declaration for declaration, type_ in zip(each, types, strict=True) if not type_]
    assert unknown == [declaration for declaration, type_ in OTHERS.items() if not type_]


@pytest.mark.parametrize("declaration", OTHERS)
def test_the_type_of_a_declaration(declaration: str) -> None:
    assert parameter_type(words(declaration)) == OTHERS[declaration]


@pytest.mark.parametrize(
    "declaration",
    [
        *("", "*", "x y z", "float double x", "unsigned float x", "signed bool x", "const", "float x y", "int x[2]y"),
        *("float* RESTRICT x", "IN float* x", "float CONST* x", "auto", "float... x", "T&& x", "std::", "::* x"),
        *("Deep<Deep<float>>* x", "typename T::type* x", "alignas(8) float x", "fl\\oat x", "float \udcff", "ü* x"),
    ],
)
def test_an_unknown_declaration_has_no_type(declaration: str) -> None:
    tokens = scan(declaration.encode(errors="surrogateescape"))[0]
    assert parameter_type([token.text for token in tokens]) == ""


KERNEL = 'extern "C" __global__ void k({}) {{}}\n'
DOUBTFUL = {
    "a macro": "#define REAL float\n" + KERNEL.format("REAL* x, int n"),
    "a macro for a known name": KERNEL.format("float* x") + "#define float double\n",
    "a macro that takes arguments": "#define IN(t) const t*\n" + KERNEL.format("IN(float) x, int n"),
    "two definitions": f"#if A\n{KERNEL.format('float* x')}#else\n{KERNEL.format('double* x')}#endif",
    "a second definition that is not certain": f"#define T int\n{KERNEL.format('float* x')}{KERNEL.format('T* x')}",
    "a directive": KERNEL.format("float* x\n#if A\n, int n\n#endif\n"),
    "two heads": 'extern "C" __global__\n#if A\nvoid k(float* x)\n#else\nvoid k(int* x)\n#endif\n{}',
    "a comparison": KERNEL.format("int n = 2 > 1, float* x"),
    "no definition": 'extern "C" __global__ void k(float* x);',
}


@pytest.mark.parametrize("text", DOUBTFUL.values(), ids=DOUBTFUL)
def test_an_ambiguous_kernel_has_no_types(text: str) -> None:
    assert parameter_types(text) == {}


def test_a_macro_in_the_options_makes_a_kernel_ambiguous() -> None:
    text = KERNEL.format("real* x")
    assert parameter_types(text) == {"k": ("real*",)}
    assert parameter_types(text, {"real"}) == {}


def test_equal_definitions_are_not_ambiguous() -> None:
    text = f"#if A\n{KERNEL.format('const float* x, int n')}#else\n{KERNEL.format('float const* y, signed m')}#endif"
    assert parameter_types(text) == {"k": ("const float*", "int")}
    assert parameter_types(KERNEL.format("void") + KERNEL.format("")) == {"k": ()}


@pytest.mark.parametrize(
    "text",
    [
        *("typedef float half;", "typedef struct { short x; } half;", "struct half { short x; };", "class half;"),
        *("struct __align__(2) half { short x; };", "struct alignas(2) half : Base {};", "using half = float;"),
        *("using mine::half;", "typedef float real, half;", "typedef float half[2];", "enum class half : int {};"),
        *("template <class half> struct X {};", "namespace a { struct B { typedef int half; }; }"),
        "typedef struct { float x; } X; typedef union { typedef int i; } half;",
    ],
)
def test_a_name_that_the_source_declares_is_not_the_well_known_type(text: str) -> None:
    assert redeclared(scan(text.encode())[0]) == {"half"}
    text = f"#include <cuda_fp16.h>\n{text}\n{KERNEL.format('const half* x, half y, float z')}"
    assert parameter_types(text) == {"k": ("void*", "", "float")}


def test_half_is_the_cuda_type_if_its_header_is_included() -> None:
    text = KERNEL.format("half x, half2* y, __half* z")
    assert parameter_types(text) == {"k": ("", "void*", "__half*")}
    for header in ("<cuda_fp16.h>", '"cuda_bf16.h"', "<mma.h>  // for matrices"):
        assert parameter_types(f"# include {header}\n{text}") == {"k": ("__half", "__half2*", "__half*")}
    assert parameter_types(f'#include "my/half.h"\n{text}') == {"k": ("", "void*", "__half*")}


@pytest.mark.parametrize(
    "text",
    [
        *("typedef unsigned int uint32_t;", "typedef unsigned long int uint64_t;", "typedef __half half;"),
        *("using vector = float4;", "typedef float4 vector;", "typedef struct { float4 a; half b; } both;"),
        *("using std::size_t;", "using cuda::std::uint8_t;", "using namespace std; half x;"),
        *("struct X { half x; float4 y; };", "half y = half{};", "half f(half);"),
    ],
)
def test_a_name_that_is_used_or_declared_with_its_own_type_stays_known(text: str) -> None:
    assert redeclared(scan(text.encode())[0]) == frozenset()


@pytest.mark.parametrize(
    ("type_", "parameter", "expected"),
    [
        ("float*", Parameter("u64", 0, 8), True),
        ("float*", Parameter("u64", 0, 8, "void*"), True),
        ("float*", Parameter("u32", 0, 4), False),
        ("float*", Parameter("f64", 0, 8), False),
        ("", Parameter("b8", 0, 3), True),
        ("", Parameter("u64", 0, 8, "void*"), True),
        ("long long", Parameter("u64", 0, 8, "void*"), False),
        ("long long", Parameter("f64", 0, 8), False),
        ("float", Parameter("f32", 0, 4), True),
        ("float", Parameter("f64", 0, 8), False),
        ("float", Parameter("u32", 0, 4), False),
        ("double", Parameter("f64", 0, 8), True),
        ("int", Parameter("u32", 0, 4), True),
        ("int", Parameter("s32", 0, 4), True),
        ("int", Parameter("u64", 0, 8), False),
        ("int", Parameter("b8", 0, 4), True),  # const __grid_constant__ int
        ("int", Parameter("b8", 0, 8), False),
        ("float*", Parameter("b8", 0, 8), True),
        ("float*", Parameter("b8", 0, 4), False),
        ("bool", Parameter("u8", 0, 1), True),
        ("__half", Parameter("b8", 0, 2), True),
        ("__half", Parameter("u16", 0, 2), False),
        ("float3", Parameter("b8", 0, 12), True),
        ("float3", Parameter("b8", 0, 16), False),
        ("Pair", Parameter("b8", 0, 16), False),
    ],
)
def test_types_agree_with_ptx_or_do_not(type_: str, parameter: Parameter, expected: bool) -> None:
    assert agree([type_], [parameter]) == expected
    assert not agree([type_], [parameter, parameter])


PIECES = [
    *("__global__ ", "void ", "k", "(", ")", "{", "}", ";", "<", ">", "template", "#define ", "\n", "float ", "half "),
    *("*", ",", "[", "]", "::", "=", "const ", "unsigned ", "long ", "struct ", "typedef ", "using ", "std", "&", "ü "),
    *("__global__ void k(", ") {}\n", "__restrict__ ", "complex", "size_t ", "...", '"', "/*", "\udcff"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_no_text_raises(text: str) -> None:
    for types in parameter_types(text).values():
        assert all(type_ == "" or type_.isprintable() for type_ in types)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_parameter_raises(text: str) -> None:
    parameter_types(KERNEL.format(text))
    parameter_type(text.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        *("typedef ", "typedef {", "half;", "half,", "struct half ", "} ", "__global__ void k(half* x, ", "#if\n"),
        *("__global__ void k(float* x) {}\n", "__global__ void k(\n#if\n) {}\n", "typedef half, "),
    ],
)
def test_time_is_linear(piece: str) -> None:
    started = time.perf_counter()
    parameter_types("typedef __global__ " + piece * 5_000)
    assert time.perf_counter() - started < 10
