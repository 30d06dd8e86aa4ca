"""Kernels of one operation each, for every floating-point type, and the arithmetic of their machine code.

The way of some code, such as through LTO-IR, changes its addresses, its calls and its constants, but must not change
its arithmetic.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.support.nvidia_tools import nvidia_tool
from tests.support.processes import run

__all__ = ["HALF", "OPTIONS", "SINGLE", "SOURCE", "SPELLINGS", "Arithmetic", "differences"]

Arithmetic = Mapping[str, Counter[str]]
"""How often each kernel uses each floating-point instruction."""

HALF = ("half", "half2", "bfloat", "bfloat2")
SINGLE = ("float", "double")

SOURCE = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#define K(name, T, value) extern "C" __global__ void name(const T* a, const T* b, const T* c, T* d) \
    { int i = threadIdx.x; T x = a[i], y = b[i], z = c[i]; (void)y; (void)z; d[i] = value; }
#define OPERATORS(t, T) K(fma_##t, T, x * y + z) K(fms_##t, T, x * y - z) K(fnma_##t, T, z - x * y) \
    K(add_##t, T, x + y) K(div_##t, T, x / y)
OPERATORS(half, __half) OPERATORS(half2, __half2) OPERATORS(bfloat, __nv_bfloat16) OPERATORS(bfloat2, __nv_bfloat162)
OPERATORS(float, float) OPERATORS(double, double)
#define SCALAR(t, T) K(named_##t, T, __hadd(__hmul(x, y), z)) K(fused_##t, T, __hfma(x, y, z)) \
    K(rounded_##t, T, __hadd_rn(__hmul_rn(x, y), z)) K(sqrt_##t, T, hsqrt(x))
#define PAIR(t, T) K(named_##t, T, __hadd2(__hmul2(x, y), z)) K(fused_##t, T, __hfma2(x, y, z)) \
    K(rounded_##t, T, __hadd2_rn(__hmul2_rn(x, y), z))
SCALAR(half, __half) SCALAR(bfloat, __nv_bfloat16) PAIR(half2, __half2) PAIR(bfloat2, __nv_bfloat162)
K(fused_float, float, fmaf(x, y, z)) K(reciprocal_float, float, 1 / x) K(sqrt_float, float, sqrtf(x))
K(rsqrt_float, float, rsqrtf(x)) K(exp_float, float, expf(x)) K(sin_float, float, sinf(x))
K(rounded_float, float, __fadd_rn(__fmul_rn(x, y), z)) K(exact_float, float, __fdiv_rn(x, __fsqrt_rn(y)))
K(widened_float, float, __half2float(__float2half(x)) * y + z)
K(fused_double, double, fma(x, y, z)) K(sqrt_double, double, sqrt(x)) K(rounded_double, double, __dadd_rn(__dmul_rn(x, y), z))
extern "C" __global__ void asm_float(float* x)
    { float r; asm("{mul.f32 %0, %1, %2;\nadd.f32 %0, %0, %3;}" : "=f"(r) : "f"(x[0]), "f"(x[1]), "f"(x[2])); *x = r; }
extern "C" __global__ void asm_double(double* x)
    { double r; asm("mul.f64 %0, %1, %2;\n\tsub.f64 %0, %0, %3;" : "=d"(r) : "d"(x[0]), "d"(x[1]), "d"(x[2])); *x = r; }
"""

OPTIONS: tuple[tuple[str, ...], ...] = (
    (),
    ("--fmad=false",),
    ("--fmad=false", "-use_fast_math", "--prec-div=true"),
)
"""Those that change what the compilers contract and approximate, alone and together."""

SPELLINGS: tuple[tuple[str, ...], ...] = (
    ("--use_fast_math",),
    ("-ftz", "true"),
    ("-Xptxas", "--fmad=false"),
    ("--prec-div=false",),
    ("--fmad=false", "--ptxas-options=--fmad=true"),
    ("-prec-sqrt=false",),
)
"""The other options, in several spellings."""

_FLOATING_POINT = re.compile(r"(?:H|F|D)(?:MUL|ADD|FMA|MNMX|SETP?)|MUFU|F2F|FRND|FCHK")

_CONSTANT = re.compile(r"\w+, -?RZ, -?RZ, ")
"""The operands of a multiplication that only moves a constant into a register."""


def differences(found: Arithmetic, expected: Arithmetic) -> dict[str, tuple[Counter[str], Counter[str]]]:
    """Return the kernels whose arithmetic differs, with the instructions found and expected."""
    assert found.keys() >= expected.keys()
    return {name: (found[name], expected[name]) for name in expected if found[name] != expected[name]}


@pytest.fixture(scope="session")
def arithmetic(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], Arithmetic]:
    """Return a function that counts the floating-point instructions in each kernel of a cubin.

    It counts up to the kernel's first exit. Behind that are the slow cases of divisions and roots, which a linker may
    move to functions of their own.
    """
    tool = nvidia_tool("nvdisasm/nvidia/*/bin/nvdisasm")
    path = tmp_path_factory.mktemp("arithmetic") / "k.cubin"

    @cache  # most ways to make machine code give the same bytes
    def count(cubin: bytes) -> Arithmetic:
        path.write_bytes(cubin)
        result = run(tool, "-c", path)
        assert result.returncode == 0, result.stdout
        return _count(result.stdout)

    return count


def _count(text: str) -> Arithmetic:
    counts: dict[str, Counter[str]] = {}
    for section in re.split(r"^\s*\.section\s+\.text\.", text, flags=re.MULTILINE)[1:]:
        name = re.match(r"[\w$]+", section)
        assert name is not None
        counts[name[0]] = counter = Counter()
        for line in re.finditer(
            r"^\s+/\*[0-9a-f]{4,}\*/\s+(@!?\w+ )?\s*([A-Z][\w.]*)\s*(.*?)\s*;", section, re.MULTILINE
        ):
            predicate, opcode, operands = line.groups()
            if opcode == "EXIT" and not predicate:
                break
            if _FLOATING_POINT.match(opcode) and not _CONSTANT.match(operands):
                counter[opcode] += 1
    return counts


def assembled_by_older_ptxas(release: str, text: bytes, arch: str, folder: Path) -> bytes | None:
    """Return the cubin of PTX from the ptxas of an older release, without options; None if it does not read it."""
    source, cubin = folder / "k.ptx", folder / "k.cubin"
    source.write_bytes(text)
    result = run(nvidia_tool(f"ptxas-{release}/nvidia/cuda_nvcc/bin/ptxas"), f"-arch=sm_{arch}", source, "-o", cubin)
    return cubin.read_bytes() if result.returncode == os.EX_OK else None
