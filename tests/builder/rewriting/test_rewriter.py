"""What nvcc reads and NVRTC refuses is written in another way that means the same, and errors are at their lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled

pytestmark = pytest.mark.every_toolchain

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
