"""The variables of a module that its manifest lists: those of the source, with their sizes."""

from __future__ import annotations

import time

import pytest

from cuda_wheel.builder.images.variables import identity, source_variables
from cuda_wheel.runtime.manifest import GlobalInfo

PTX = """\
.version 8.0
.global .align 4 .u32 counter = 3;
.visible .global .align 16 .v4 .f32 vector;
.const .align 4 .b8 _ZN2ns5coeffE[64];
.global .attribute(.managed) .align 4 .b8 man[20];
.weak .global .align 8 .b64 grid[3][4] = {{1, 2}};
.global .f16x2 pair;
.global .b8 counted[] = {1, 2, 3};
.extern .global .u32 elsewhere;
.global .texref texture;
.global .align 1 .b8 $str[7] = {104, 105};
.global .align 1 .b8 __unnamed_1[3];
.global .align 8 .u64 _ZTV1A[3];
.global .align 4 .u32 _ZN4cuda3__420memory_order_seq_cstE = 5;
.global .align 4 .u32 _ZN43_INTERNAL_00000000_12_normalise_cu_1f90780218cooperative_groups4__v17details13grid_group_idE = 3;
.global .align 4 .u32 _Z15__cccl_requiresILb1ELi0EE;
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k()
{
.shared .align 4 .b8 tile[128];
ld.global.u32 %r1, [counter];
ret;
}
.global .u8 last;
"""


def test_variables_are_read_with_their_sizes() -> None:
    assert source_variables(PTX) == (
        GlobalInfo("counter", "counter", "global", 4),
        GlobalInfo("vector", "vector", "global", 16),
        GlobalInfo("ns::coeff", "_ZN2ns5coeffE", "constant", 64),
        GlobalInfo("man", "man", "managed", 20),
        GlobalInfo("grid", "grid", "global", 96),
        GlobalInfo("pair", "pair", "global", 4),
        GlobalInfo("counted", "counted", "global", 3),
        GlobalInfo("last", "last", "global", 1),
    )


def test_a_declared_variable_is_listed_whatever_it_looks_like() -> None:
    declared = {"cuda::memory_order_seq_cst", "__cccl_requires"}
    listed = {each.symbol for each in source_variables(PTX, declared)} - {each.symbol for each in source_variables(PTX)}
    assert listed == {"_ZN4cuda3__420memory_order_seq_cstE", "_Z15__cccl_requiresILb1ELi0EE"}


def test_the_identity_of_a_name() -> None:
    names = {
        "v": "v", "cub::v<int>": "cub::v", "cub::CUB_200802_SM_800::detail::v<a::b<3>>": "cub::v", "<unnamed>::v": "v",
        "(anonymous namespace)::v": "v", "cub::f<int>(int)::x": "cub::f", "_ZTable": "_ZTable",
    }  # fmt: skip
    assert {name: identity(name) for name in names} == names


def test_long_initialisers_cost_little() -> None:
    text = "".join(f".global .b8 v{index}[900000] = {{{'1, ' * 900_000}1}};\n" for index in range(4))
    started = time.perf_counter()
    assert [each.size for each in source_variables(text)] == [900_000] * 4
    assert time.perf_counter() - started < 5


DECLARATIONS = {
    "__device__ int v;": ("v", "global", 4),
    "static __device__ int v[4] = {1, 2};": ("v", "global", 16),
    "extern __device__ int v;": ("v", "global", 4),  # one file is the whole program
    "namespace { __device__ float v; }": ("v", "global", 4),
    "namespace ns { __constant__ float v[16]; }": ("ns::v", "constant", 64),
    "__managed__ int v[5];": ("v", "managed", 20),
    "__device__ int v[3][4];": ("v", "global", 48),
    '__device__ char v[] = "hello";': ("v", "global", 6),
    "struct P { int a; char c; }; __device__ P v;": ("v", "global", 8),
    "template <class T> __device__ T v = 3; template __device__ float v<float>;": ("v<float>", "global", 4),
}


def test_every_kind_of_declaration_is_listed(compiled) -> None:
    text = "".join(
        declaration.replace(" v", f" v{index}").replace("P { ", f"P{index} {{ ").replace("__ P ", f"__ P{index} ")
        for index, declaration in enumerate(DECLARATIONS)
    )
    use = ' __global__ void k() { printf("%f", v9<float>); }'
    found = {each.name: (each.space, each.size) for each in compiled(text + use).variables}
    expected = {
        name.replace("v", f"v{index}"): (space, size) for index, (name, space, size) in enumerate(DECLARATIONS.values())
    }
    assert found == expected


@pytest.mark.parametrize(
    "header", ["cooperative_groups.h", "cub/block/block_reduce.cuh", "cmath", "cuda_fp16.h", "cuda/std/tuple"]
)
def test_variables_of_libraries_are_not_listed(compiled, header: str) -> None:
    text = f"#include <{header}>\n__device__ int own; __global__ void k() {{ own = 1; }}"
    assert compiled(text).variables == (GlobalInfo("own", "own", "global", 4),)


@pytest.mark.parametrize("arch", ["80", "90", "120"])
def test_constant_memory_is_known_for_every_target(compiled, arch: str) -> None:
    text = """
        __constant__ float c[256];
        __global__ void k(float* x) {
            __shared__ float s[8];
            s[threadIdx.x] = *x;
            __syncthreads();
            *x = s[7 - threadIdx.x] + c[(int)*x];
        }"""
    figures = compiled(text, arch).resources["_Z1kPf"]
    assert figures.items() >= {"constant": 1024, "shared": 32}.items()
