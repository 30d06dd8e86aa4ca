"""Machine code of a whole source is that of NVRTC's own call for a real target, byte for byte."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.runtime.parts.formats.cubin import read_cubin

pytestmark = pytest.mark.every_toolchain

SOURCE = r"""
__device__ int only_host[4];
__constant__ float coefficients[16] = {1, 2};
__managed__ int managed;
__device__ __noinline__ float f(float a, float b) { return a * b + coefficients[(int)a & 15]; }
__device__ __noinline__ float g(float a, int n) { float s = 0; for (int i = 0; i < n; i++) s += f(a, s); return s; }
__device__ int recursive(int n) { return n < 2 ? 1 : recursive(n - 1) + recursive(n - 2); }
struct Base { virtual __device__ int call(int x) = 0; };
struct Next : Base { __device__ int call(int x) override { return x + 1; } };
struct Triple : Base { __device__ int call(int x) override { return x * 3; } };
static __device__ float (*table[2])(float, float) = {f, nullptr};
extern __shared__ float dynamic[];
__device__ void (*pointer)();
__device__ void increase() { only_host[1]++; }
__device__ void decrease() { only_host[2]--; }

__global__ void __launch_bounds__(128, 4) calls(float* x, int n) {
    __shared__ float s[128];
    s[threadIdx.x] = g(x[threadIdx.x], n);
    __syncthreads();
    dynamic[threadIdx.x] = s[127 - threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = dynamic[threadIdx.x ^ 1] + recursive(n) + table[n & 1](x[0], x[1]);
    managed += n;
}
__global__ void indirect(int n, int* x) {
    Next next;
    Triple triple;
    Base* base = n ? (Base*)&next : (Base*)&triple;
    void (*function)() = n ? increase : decrease;
    if (n == 7) function = pointer;
    function();
    x[0] = base->call(n);
    if (n == 5) printf("\"%d\\\t?\?=%s\n", x[0], __func__);
}
__global__ void slow_path(float* x) { for (int i = 0; i < 40; i++) x[i] = sinf(x[i]) * x[i + 1] + x[i + 2]; }
__global__ void heap(int** p) { *p = (int*)malloc(16); assert(*p); }
__global__ void texture(cudaTextureObject_t t, cudaSurfaceObject_t s, float* x) {
    x[0] = tex2D<float>(t, 0.5f, 0.25f);
    surf2Dwrite(x[1], s, 4, 0);
}
__global__ void half(unsigned short* x) {
    asm("{ .reg .f16 a, b; mov.b16 a, %1; mov.b16 b, %2; mul.f16 b, a, b; add.f16 a, b, a; mov.b16 %0, a; }"
        : "=h"(x[0]) : "h"(x[1]), "h"(x[2]));  // "?" \ and $
}
"""
"""Kernels with all that the assembler treats otherwise in a part of a program: calls, tables, and recursion."""

KERNELS = {"_Z5callsPfi", "_Z8indirectiPi", "_Z9slow_pathPf", "_Z4heapPPi", "_Z7textureyyPf", "_Z4halfPt"}


@pytest.mark.parametrize(
    ("arch", "options"),
    [
        ("75", ()),
        ("80", ("--fmad=false",)),
        ("80", ("--use_fast_math", "--maxrregcount=32")),
        ("80", ("-maxrregcount", "24", "--ptxas-options=-O1")),
        ("80", ("-Xptxas", "--def-load-cache=cg", "--restrict")),
        ("80", ("-G",)),
        ("86", ("--dopt=on", "-Xptxas=--fmad=false")),
        ("89", ("--Ofast-compile=mid",)),
        ("90a", ("--ftz=true", "--extra-device-vectorization")),
        ("100", ("-DX=1", "-D", "used=nonsense", "--define-macro=used=nonsense", "-Uunix", "-U", "linux")),
        ("120", ("--device-stack-protector=true", "--jump-table-density=50")),
    ],
)
def test_the_machine_code_is_nvrtcs_own(compiled, nvrtc_alone, arch: str, options: tuple[str, ...]) -> None:
    changes = {"options": ("--std=c++17", *options), "ptx_version": "as-compiled", "arch": arch}
    result, alone = compiled(SOURCE, **changes), nvrtc_alone(SOURCE, **changes)
    assert result.kernels.keys() == result.resources.keys() == KERNELS
    assert result.cubin == alone["cubin"]
    assert not re.search(rb"__cuda_wheel", result.cubin)


def test_line_information_changes_no_instruction_and_names_no_folder(
    compiled, nvrtc_alone, nvdisasm, tmp_path: Path
) -> None:
    (tmp_path / "übung ?.h").write_text(SOURCE)
    text = '#include "übung ?.h"\n'
    result, alone = compiled(text, lineinfo=True), nvrtc_alone(text)
    assert result.cubin is not None
    assert str(tmp_path).encode() not in result.cubin and "übung ?.h".encode() in result.cubin
    assert b".debug_line" in result.cubin and b".debug_line" not in alone["cubin"]
    code = []
    for content in (result.cubin, alone["cubin"]):
        path = tmp_path / "k.cubin"
        path.write_bytes(content)
        code.append(re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+([^;]*?)\s*;", nvdisasm(path), re.MULTILINE))
    assert code[0] == code[1] and len(code[0]) > 500


def test_what_a_source_includes_first_is_compiled_once(compiled, tmp_path: Path) -> None:
    (tmp_path / "first.h").write_text("__global__ void first() {}\n#define asm nonsense\n#define __device__ nonsense\n")
    for option in (("--pre-include=first.h",), ("-include", "first.h"), ("--pre-include", "first.h")):
        result = compiled("__global__ void k() {}", options=("--std=c++17", *option))
        assert read_cubin(result.cubin).kernels.keys() == {"_Z5firstv", "_Z1kv"}


@pytest.mark.parametrize("changes", [{}, {"cubin": False}, {"lineinfo": True}, {"options": ("-G",)}])
def test_a_function_that_nothing_defines_is_an_error(compiled, changes: dict[str, object]) -> None:
    with pytest.raises(CompileError, match="ptxas: Unresolved extern function '_Z1fv'"):
        compiled("__device__ int f(); __global__ void k(int* x) { *x = f(); }", **changes)


def test_the_assemblers_errors_and_warnings_are_reported(compiled) -> None:
    with pytest.raises(CompileError, match=r"k\.cu: error: ptxas: .*too much shared data"):
        compiled("__global__ void k(int* x) { __shared__ int s[40000]; s[*x] = 1; __syncthreads(); *x = s[x[1]]; }")
    with pytest.raises(CompileError, match=r"ptxas: .*nonsense"):
        compiled('__global__ void k() { asm("nonsense;"); }')
    result = compiled(SOURCE, options=("--std=c++17", "--ptxas-options=--warn-on-spills", "--maxrregcount=16"))
    assert result.log.count("adjusting per thread register count of 16") == 1
