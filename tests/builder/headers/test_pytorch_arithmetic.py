"""Kernels with PyTorch's types have the machine code of kernels that spell out what PyTorch's headers amount to.

nvcc 13.0 makes the same code of the headers of PyTorch 2.11. Where PyTorch's headers are, the stand-ins of its types are
compared with them, and its algorithms are compiled between the stand-ins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.toolchain.toolchain import Toolchain

Compile = Callable[..., Compiled]

EXTENSION_DEFINES = (
    "-D__CUDA_NO_HALF_OPERATORS__",
    "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__",
)
"""What PyTorch's CUDAExtension passes to nvcc."""

TYPES = """
#include <ATen/AccumulateType.h>
#include <ATen/core/TensorAccessor.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <c10/util/complex.h>
using c10::BFloat16;
using c10::Half;
typedef c10::complex<float> Complex;
struct Rows { float* data; int sizes[2]; int strides[2]; };
"""

ALGORITHMS = """
#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/DeviceUtils.cuh>
#include <ATen/cuda/NumericLimits.cuh>
#include <ATen/cuda/detail/KernelUtils.h>
#include <ATen/native/cuda/KernelUtils.cuh>
#include <ATen/native/cuda/block_reduce.cuh>
#include <c10/util/Load.h>
#include <c10/util/MathConstants.h>
#include <c10/util/TypeCast.h>
#include <c10/util/generic_math.h>
"""
"""Headers that are PyTorch's own."""


PAIRS = {
    # name: parameters, a body with PyTorch's types, parameters and a body without them
    "add": ("Half* o, const Half* a", "o[0] = a[1] + a[2]; o[3] += a[4];",
            "__half* o, const __half* a", "o[0] = __float2half(__half2float(a[1]) + __half2float(a[2]));"
            " o[3] = __float2half(__half2float(o[3]) + __half2float(a[4]));"),
    "divide": ("Half* o, const Half* a", "o[0] = a[1] / a[2]; o[3] = -a[4];",
               "__half* o, const __half* a", "o[0] = __float2half(__half2float(a[1]) / __half2float(a[2]));"
               " o[3] = __hneg(a[4]);"),
    "mixed": ("Half* o, float* f, double* d, const Half* a, int i",
              "f[0] = a[1] * 2.5f; d[0] = a[2] - 1.5; o[0] = a[3] + i; f[1] += a[4]; o[1] = a[5] > a[6] ? a[5] : a[6];",
              "__half* o, float* f, double* d, const __half* a, int i",
              "f[0] = __half2float(a[1]) * 2.5f; d[0] = (double)__half2float(a[2]) - 1.5;"
              " o[0] = __float2half(__half2float(a[3]) + __half2float(__float2half((float)i)));"
              " f[1] += __half2float(a[4]); o[1] = __half2float(a[5]) > __half2float(a[6]) ? a[5] : a[6];"),
    "load": ("Half* o, const Half* a, const bool* b, int* i", "o[0] = __ldg(a); i[0] = c10::load(b) + 3;",
             "__half* o, const __half* a, const unsigned char* b, int* i",
             "o[0] = __ldg(a); i[0] = (*b ? 1 : 0) + 3;"),
    "multiply": ("BFloat16* o, const BFloat16* a", "o[0] = a[1] * a[2]; o[3] = -a[4];",
                 "__nv_bfloat16* o, const __nv_bfloat16* a",
                 "o[0] = narrow(__bfloat162float(a[1]) * __bfloat162float(a[2])); o[3] = narrow(-__bfloat162float(a[4]));"),
    "convert": ("BFloat16* o, uint8_t* u, bool* b, const Half* a, const Complex* z",
                "o[0] = c10::convert<BFloat16>(a[0]); u[0] = c10::convert<uint8_t>(a[1]);"
                " b[0] = c10::convert<bool>(z[0]); o[1] = c10::convert<BFloat16>(z[1]);",
                "__nv_bfloat16* o, uint8_t* u, bool* b, const __half* a, const float2* z",
                "o[0] = narrow(__half2float(a[0])); u[0] = (uint8_t)(long)__half2float(a[1]);"
                " float2 w = z[0]; b[0] = w.x || w.y; o[1] = narrow(z[1].x);"),
    "complex": ("Complex* o, const Complex* a, float r, int i", "o[0] = a[1] * a[2] + a[3]; o[4] = r - a[5]; o[6] = a[7] * i;",
                "float2* o, const float2* a, float r, int i",
                "float2 p = a[1], q = a[2]; o[0] = make_float2((p.x * q.x - p.y * q.y) + a[3].x, (p.x * q.y + p.y * q.x) + a[3].y);"
                " o[4] = make_float2(-a[5].x + r, -a[5].y); o[6] = make_float2(a[7].x * (float)i, a[7].y * (float)i);"),
    "quotient": ("Complex* o, const Complex* a", "o[0] = a[1] / a[2];", "float2* o, const float2* z",
                 "float a = z[1].x, b = z[1].y, c = z[2].x, d = z[2].y; float2 r; if (fabsf(c) >= fabsf(d)) {"
                 " if (fabsf(c) == 0 && fabsf(d) == 0) r = make_float2(a / fabsf(c), b / fabsf(d)); else {"
                 " float t = d / c, s = 1.0f / (c + d * t); r = make_float2((a + b * t) * s, (b - a * t) * s); } } else {"
                 " float t = c / d, s = 1.0f / (d + c * t); r = make_float2((a * t + b) * s, (b * t - a) * s); } o[0] = r;"),
    "accessor": ("at::PackedTensorAccessor32<float, 2> a", "a[threadIdx.x][2] = a[1][threadIdx.x] + a.size(1);",
                 "Rows a", "float* to = a.data + a.strides[0] * (int)threadIdx.x; const float* from = a.data + a.strides[0];"
                 " to[a.strides[1] * 2] = from[a.strides[1] * (int)threadIdx.x] + a.sizes[1];"),
    "sums": ("Half* h, float* f, double* d, int64_t* l, Half x", "gpuAtomicAdd(h, x); gpuAtomicAdd(f, 1.0f);"
             " atomicAdd(l, (int64_t)2); gpuAtomicAddNoReturn(d, 3.0);",
             "__half* h, float* f, double* d, long* l, __half x", "atomicAdd(h, x); atomicAdd(f, 1.0f);"
             " atomicAdd((unsigned long long*)l, 2ull); atomicAdd(d, 3.0);"),
    "bytes": ("uint8_t* a, uint8_t x", "gpuAtomicAdd(a, x);", "uint8_t* a, uint8_t x",
              "size_t at = (size_t)a & 3; unsigned* w = (unsigned*)((char*)a - at); unsigned shift = at * 8, seen = *w, old;"
              " do { old = seen; unsigned sum = (uint8_t)(x + (uint8_t)((old >> shift) & 0xff));"
              " seen = atomicCAS(w, old, (old & ~(0xffu << shift)) | (sum << shift)); } while (seen != old);"),
    "larger": ("float* a, float x", "gpuAtomicMax(a, x);", "float* a, float x",
               "unsigned* w = (unsigned*)a; unsigned seen = *w, old; do { old = seen; float b = __int_as_float(old);"
               " seen = atomicCAS(w, old, __float_as_int(isnan(b) ? b : (x < b ? b : x))); } while (seen != old);"),
    "shuffles": ("float* f, Half* h", "f[0] = WARP_SHFL_XOR(f[1], 3) + WARP_SHFL(f[2], 1, 16); h[0] = WARP_SHFL_DOWN(h[1], 4);",
                 "float* f, unsigned short* h", "f[0] = __shfl_xor_sync(~0u, f[1], 3) + __shfl_sync(~0u, f[2], 1, 16);"
                 " h[0] = (unsigned short)__shfl_down_sync(~0u, (unsigned int)h[1], 4);"),
    "limits": ("float* f, double* d, int64_t* l", "f[0] = at::numeric_limits<Half>::lowest();"
               " f[1] = at::numeric_limits<float>::upper_bound(); d[0] = at::numeric_limits<double>::lower_bound();"
               " l[0] = at::numeric_limits<int64_t>::upper_bound(); f[2] = c10::pi<float>;",
               "float* f, double* d, long* l", "f[0] = -65504; f[1] = __int_as_float(0x7f800000);"
               " d[0] = __longlong_as_double(0xfff0000000000000); l[0] = 0x7fffffffffffffff; f[2] = 3.14159265f;"),
    "loop": ("float* f, int n", "CUDA_KERNEL_LOOP(i, n) f[i] *= 2;", "float* f, int n",
             "long at = (long)blockIdx.x * blockDim.x + threadIdx.x;"
             " for (int i = at; at < n; at += blockDim.x * gridDim.x, i = at) f[i] *= 2;"),
}  # fmt: skip

OF_ALGORITHMS = ("load", "convert", "sums", "bytes", "larger", "shuffles", "limits", "loop")

NARROW = """
__device__ __forceinline__ __nv_bfloat16 narrow(float x) {
#if __CUDA_ARCH__ >= 800
  return __float2bfloat16(x);
#else
  unsigned bits = __float_as_uint(x);
  return __ushort_as_bfloat16(isnan(x) ? 0x7FC0 : (unsigned short)((bits + (((bits >> 16) & 1) + 0x7FFF)) >> 16));
#endif
}
"""


def kernels(names: Collection[str], head: str) -> str:
    text = head + NARROW
    for name in names:
        ours, body, plain, spelled_out = PAIRS[name]
        text += f'extern "C" __global__ void ours_{name}({ours}) {{ {body} }}\n'
        text += f'extern "C" __global__ void plain_{name}({plain}) {{ {spelled_out} }}\n'
    return text


_NUMBERS = re.compile(r"(?<=\bR)\d+(\.reuse)?|(?<=\bUR)\d+|(?<=\bP)\d+|(?<=\bUP)\d+|(?<=\.L_x_)\d+|(?<=__internal_)\d+")


def operations(text: str) -> dict[str, Counter[str]]:
    """Return the instructions of each kernel, without the numbers of registers, labels and internal functions."""
    found = {}
    for section in re.split(r"^\s*\.section\s+\.text\.", text, flags=re.MULTILINE)[1:]:
        name, *_ = section.split(",")
        kernel = re.split(r"^\$__internal_", section, maxsplit=1, flags=re.MULTILINE)[0]
        lines = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", kernel, re.MULTILINE)
        found[name] = Counter(_NUMBERS.sub("", line) for line in lines)
    return found


Disassemble = Callable[[Path], str]


def differing(names: Collection[str], cubin: bytes, nvdisasm: Disassemble, folder: Path) -> dict[str, object]:
    """Return the kernels whose instructions differ from those of the plain ones."""
    (folder / "k.cubin").write_bytes(cubin)
    found = operations(nvdisasm(folder / "k.cubin"))
    assert {name for name in found if name.startswith("ours_")} == {f"ours_{name}" for name in names}
    pairs = {name: (found[f"ours_{name}"], found[f"plain_{name}"]) for name in names}
    return {name: (dict(ours - plain), dict(plain - ours)) for name, (ours, plain) in pairs.items() if ours != plain}


@pytest.mark.parametrize("arch", ["75", "80", "90"])
def test_the_machine_code_is_that_of_plain_kernels(
    arch: str, compiled: Compile, nvdisasm: Disassemble, tmp_path: Path
) -> None:
    names = PAIRS.keys() - set(OF_ALGORITHMS)
    result = compiled(kernels(sorted(names), TYPES), arch=arch, options=("--std=c++17", *EXTENSION_DEFINES))
    assert not differing(names, result.cubin or b"", nvdisasm, tmp_path)


@pytest.mark.parametrize("arch", ["80", "90"])
def test_pytorchs_algorithms_compile_between_the_stand_ins(
    arch: str, compiled: Compile, nvdisasm: Disassemble, tmp_path: Path, toolchain: Toolchain, torch_headers: Path
) -> None:
    result = compiled(
        kernels(OF_ALGORITHMS, "#include <torch/extension.h>\n" + TYPES + ALGORITHMS),
        arch=arch,
        options=("--std=c++17", *EXTENSION_DEFINES),
        include_dirs=("", *toolchain.header_folders, str(torch_headers)),
    )
    assert not differing(OF_ALGORITHMS, result.cubin or b"", nvdisasm, tmp_path)


OPERANDS = ("Half", "BFloat16")


def all_operators() -> str:
    """Return kernels with every operator and conversion of the types."""
    text = "".join(f"#include <c10/util/{name}.h>\n" for name in OPERANDS) + TYPES + "#include <ATen/NumericUtils.h>\n"
    for name in OPERANDS:
        for kind, other in {
            "same": f"c10::{name}",
            "float": "float",
            "double": "double",
            "int": "int",
            "long": "int64_t",
        }.items():
            body = "".join(f"o[i++] = x[i] {op} y[i]; o[i++] = y[i] {op} x[i];" for op in "+-*/")
            body += "".join(f"o[i++] = float(x[i]) {op} float(y[i]);" for op in ("<", "<=", ">", ">=", "==", "!="))
            text += f'extern "C" __global__ void {name}_{kind}(double* o, c10::{name}* x, {other}* y) {{ int i = 0; {body} }}\n'
        text += (
            f'extern "C" __global__ void {name}_more(c10::{name}* x, float* y, bool* b) {{'
            " x[0] = y[0]; y[1] = x[1]; x[2] = -x[3]; x[4] += x[5]; x[6] *= x[7]; x[8] /= x[9]; x[10] -= x[11];"
            " y[2] += x[12]; b[0] = at::_isnan(x[13]); b[1] = at::_isinf(x[14]);"
            f" x[15] = std::numeric_limits<c10::{name}>::max(); }}\n"
        )
    # Not the quotient of complex numbers, which PyTorch writes in another way for other compilers than GCC.
    for part in ("float", "double"):
        number = f"c10::complex<{part}>"
        body = "".join(
            f"z[i++] = z[i] {op} w[i]; z[i++] = z[i] {op} x[i]; z[i++] = x[i] {op} z[i]; z[i++] {op}= w[i]; z[i++] {op}= x[i];"
            for op in "+-*"
        )
        body += (
            "b[0] = z[i] == w[i]; b[1] = z[i] != x[i]; z[i] = -z[i]; x[0] = std::norm(z[2]); z[3] = std::conj(z[4]);"
        )
        text += f'extern "C" __global__ void complex_{part}({number}* z, {number}* w, {part}* x, bool* b) {{ int i = 0; {body} }}\n'
    text += 'extern "C" __global__ void complex_half(c10::complex<Half>* z) { z[0] += z[1]; z[2] -= z[3]; z[4] *= z[5]; z[6] = c10::complex<float>(z[7]); }\n'
    for count, type in ((1, "float"), (3, "Half")):
        index = "".join(f"[i{each}]" for each in range(count))
        parameters = ", ".join(f"int i{each}" for each in range(count))
        for bits in (32, 64):
            accessor = f"at::PackedTensorAccessor{bits}<{type}, {count}, at::RestrictPtrTraits>"
            text += f'extern "C" __global__ void accessor_{bits}_{count}({accessor} a, const {accessor} b, {parameters}) {{ a{index} = b{index} + a.size(0) + b.stride(0); *a.data() = 1; }}\n'
    return text


DEPRECATED = "--define-macro=C10_DEFINE_DEPRECATED_USING(A, B)=using A = B;"
"""PyTorch's own definition is for other compilers only."""


@pytest.mark.thorough
@pytest.mark.parametrize("arch", ["75", "80", "90"])
def test_the_machine_code_is_that_of_pytorchs_own_types(
    arch: str,
    compiled: Compile,
    nvdisasm: Disassemble,
    tmp_path: Path,
    toolchain: Toolchain,
    torch_types: Path,
    torch_headers: Path,
) -> None:
    found = []
    for first in ((), (str(torch_types),)):
        folders = ("", *first, *toolchain.header_folders, str(torch_headers))
        options = ("--std=c++17", DEPRECATED, *EXTENSION_DEFINES)
        result = compiled(all_operators(), arch=arch, options=options, include_dirs=folders)
        (tmp_path / "k.cubin").write_bytes(result.cubin)
        found.append(operations(nvdisasm(tmp_path / "k.cubin")))
        read = [path for path in result.headers or () if path.startswith(str(torch_types))]
        assert bool(read) == bool(first)
    ours, theirs = found
    assert ours.keys() == theirs.keys()
    differing = {name: [dict(ours[name] - theirs[name]), dict(theirs[name] - ours[name])] for name in ours}
    named = {name: str(pair) for name, pair in differing.items() if any(pair)}
    assert not named, "\n".join(f"{name}: {pair}" for name, pair in named.items())


def test_launch_bounds_and_assertions(compiled: Compile) -> None:
    text = """
#include <c10/macros/Macros.h>
C10_LAUNCH_BOUNDS_0 __global__ void none(float* x) { *x = 1; }
C10_LAUNCH_BOUNDS_1(2000) __global__ void one(float* x) { *x = 1; }
C10_LAUNCH_BOUNDS_2(512, 3) __global__ void two(float* x) { *x = 1; }
C10_LAUNCH_BOUNDS_2(512, 8) __global__ void many(float* x) { CUDA_KERNEL_ASSERT(*x > 0); *x = 1; }
"""
    for arch, fallback in (("75", 2), ("80", 4), ("86", 3)):
        result = compiled(text, arch=arch, options=("--std=c++17", "-DNDEBUG"))
        bounds = re.findall(
            r"\.entry _Z\d(\w+?)Pf[^{]*?\.maxntid (\d+)[^{]*?(?:\n\.minnctapersm (\d+)[^{]*)?\{",
            (result.ptx or b"").decode(),
            re.DOTALL,
        )
        assert b"__assertfail" in result.cubin
        assert {name: (int(threads), int(blocks or 0)) for name, threads, blocks in bounds} == {
            "none": (256, 4),
            "one": (256, 0),
            "two": (512, min(3, fallback)),
            "many": (512, fallback),
        }, arch


COMPLEX_FUNCTIONS = """
#include <c10/util/complex.h>
#ifdef PLAIN
#include <thrust/complex.h>
typedef thrust::complex<float> Number;
namespace functions = thrust;
#else
typedef c10::complex<float> Number;
namespace functions = std;
#endif
extern "C" __global__ void k(Number* z, float* x) {
  z[0] = functions::exp(z[0]);
  z[1] = functions::tanh(z[1]);
  x[0] = functions::abs(z[2]);
}
"""


@pytest.mark.thorough
def test_functions_of_complex_numbers_are_thrusts(
    compiled: Compile, nvdisasm: Callable[[Path], str], tmp_path: Path
) -> None:
    found = []
    for defines in ((), ("-DPLAIN",)):
        (tmp_path / "k.cubin").write_bytes(compiled(COMPLEX_FUNCTIONS, options=("--std=c++17", *defines)).cubin)
        found.append(operations(nvdisasm(tmp_path / "k.cubin"))["k"])
    arithmetic = [{name: count for name, count in each.items() if re.match(r"F|MUFU", name)} for each in found]
    assert arithmetic[0] == arithmetic[1]
    assert len(arithmetic[0]) > 10
