"""GCC's extensions in sources: those that nvcc accepts with GCC as its host compiler, as far as NVRTC can."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.toolchain.toolchain import INCLUDE

pytestmark = pytest.mark.every_toolchain

OVERFLOW = {f"__builtin_{name}_overflow" for name in ("add", "sub", "mul")}
USED = {"__builtin_bit_cast", "__builtin_is_constant_evaluated", "__builtin_copysign"} | OVERFLOW
"""NVRTC's builtin functions that the header uses or names, or that it declares only where they are missing."""

SOURCE = r"""
#include <cuda_runtime.h>
static_assert(__builtin_ctz(24) == 3 && __builtin_ctzll(0) == 64 && __builtin_clz(1u) == 31 && __builtin_clzl(0) == 64);
static_assert(__builtin_popcountll(0xff) == 8 && __builtin_ffs(8) == 4 && __builtin_ffs(0) == 0 && __builtin_parity(7) == 1);
static_assert(__builtin_bswap16(0x0102) == 0x0201 && __builtin_bswap32(0x01020304u) == 0x04030201u);
static_assert(__builtin_bswap64(0x0102030405060708ull) == 0x0807060504030201ull && __alignof(double) == 8);
static_assert(__builtin_inf() > 1e308 && __builtin_nanf("") != __builtin_nanf(""));
struct Node { __signed__ char kind; __extension__ struct { __const int left, right; }; };
__global__ void k(float* p, int* q) {
  __typeof__(*p) x = __builtin_sqrtf(p[1]) + __builtin_copysignf(p[2], __builtin_inff());
  p[0] = x;
  q[0] = __builtin_popcount(q[1]) + __builtin_clz(q[2]) + __builtin_ffs(q[3]) + __builtin_popcount(0x777);
  __builtin_memcpy(q + 4, q + 8, 8);
}
template <class T> __global__ void kk(T* p) {}
int launch(int* a, __volatile__ int* b, const float& size) {
  typeof(size) copy = size;
  __typeof(a) c = a;
  __sync_fetch_and_add(a, 1);
  if (__sync_bool_compare_and_swap(b, 0, 1)) __sync_synchronize();
  __builtin_prefetch(a, 0, 3);
  if (__builtin_expect(!c, 0)) __builtin_trap();
  kk<__typeof__(*a)><<<1, 1>>>(c);
  return (int)__builtin_strlen("a") + __builtin_memcmp(a, c, 4) + (int)copy;
}
"""


def test_builtin_functions_and_keywords_are_those_of_gcc(compiled: Callable[..., Compiled]) -> None:
    result = compiled(SOURCE)
    assert set(result.kernels) == {"_Z1kPfPi", "_Z2kkIiEvPT_"}
    assert (result.variables, result.left_out, result.log) == ((), (), "")
    ptx = result.ptx.decode()
    instructions = re.findall(r"\b(sqrt\.rn\.f32|add\.f32|popc\.b32|clz\.b32|bfind|call|bra)\b", ptx)
    # As nvcc does: one instruction for each, and none for the number of bits of a constant.
    assert sorted(instructions) == ["add.f32", "bfind", "clz.b32", "popc.b32", "sqrt.rn.f32"]


def test_void_has_the_size_one_in_arithmetic(compiled: Callable[..., Compiled]) -> None:
    text = """
    struct Block { %s* data; __device__ %s* at(int i) { return data + 16 * i; } };
    template <class T> __global__ void k(T* out, Block block, const %s* in) {
      *out = *reinterpret_cast<const T*>(in + 8) + *(T*)(block.at(2) + threadIdx.x) + T((%s*)out - block.data);
    }
    void host(void* p) { k<<<1, 1>>>((float*)(p + 4), Block{}, nullptr); cudaMemset(p + 12, 0, 4); }
    """
    result, same = (compiled(text % (4 * (each,))) for each in ("void", "char"))
    body = [re.sub(r"_Z\w+", "", each.ptx.decode()) for each in (result, same)]
    assert body[0] == body[1]
    assert result.left_out == same.left_out == ()


def test_arithmetic_on_pointers_to_incomplete_types_is_an_error(compiled: Callable[..., Compiled]) -> None:
    with pytest.raises(CompileError, match="pointer to a complete object type"):
        compiled("struct S; __global__ void k(S* p, S** q) { *q = p + 1; }")


def test_no_builtin_function_of_nvrtc_is_defined_again(compiled: Callable[..., Compiled]) -> None:
    header = (INCLUDE / "cuda_wheel_detail" / "gnu_extensions.h").read_text()
    names = set(re.findall(r"__(?:builtin|sync)_\w+", header)) - USED
    names |= {f"__builtin_{name}{suffix}" for name in re.findall(r"REAL\(\w+, (\w+)\)", header) for suffix in ("", "f")}
    assert len(names) > 60
    text = "".join(f"#if __has_builtin({name})\n#error {name}\n#endif\n" for name in sorted(names))
    compiled(text + "__global__ void k() {}")


def test_host_code_may_ask_whether_a_number_overflows(compiled: Callable[..., Compiled]) -> None:
    uses = "".join(f"  if ({name}(a, b, &sum)) return true;\n" for name in sorted(OVERFLOW))
    text = f"#include <cuda_runtime.h>\nbool overflows(long a, long b) {{\n  long sum;\n{uses}  return false;\n}}\n"
    assert compiled(text + "__global__ void k(int* x) { *x = 1; }\n").kernels


@pytest.mark.parametrize("use", ["__builtin_strlen((char*)p)", "(__builtin_trap(), 1)", "__sync_fetch_and_add(p, 1)"])
def test_what_gcc_calls_is_an_error_in_device_code(use: str, compiled: Callable[..., Compiled]) -> None:
    with pytest.raises(CompileError):
        compiled(f"#include <cuda_runtime.h>\n__global__ void k(int* p) {{ *p = {use}; }}")
