"""What headers and files rely on because nvcc is not NVRTC: its preprocessor, and macros that it does not define."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled

Compile = Callable[..., Compiled]

LAUNCHER = """
#pragma once
#ifdef __CUDACC_RTC__
enum { FP_NAN =
#define FP_NAN 0
  FP_NAN };
#define UNROLL _Pragma("unroll")
#else
#include <cmath>
#include <memory>
#define UNROLL #pragma \\
  unroll 2
struct Launcher { std::unique_ptr<int> owned; template <class F> static void run(F f) { f(); } };
#endif
inline __device__ bool is_nan(float x) { return std::fpclassify(x) == FP_NAN; }
"""


def test_host_code_that_a_header_leaves_out_for_nvrtc_compiles(compiled: Compile, tmp_path: Path) -> None:
    (tmp_path / "launcher.h").write_text(LAUNCHER)
    result = compiled("""
    #include "launcher.h"
    #include <cooperative_groups.h>
    #include <cub/block/block_reduce.cuh>
    #include <cuda_bf16.h>
    #include <cuda_device_runtime_api.h>
    #include <cuda_fp16.h>
    #include <cuda_fp8.h>
    #include <cuda_pipeline.h>
    #include <cuComplex.h>
    #ifdef __CUDACC_RTC__
    #error nvcc does not define it
    #endif
    template <class T> __global__ void k(T* p, float x) {
      UNROLL
      for (int i = 0; i < 4; i++) p[i] = T(is_nan(x)) + p[i];
      __shared__ typename cub::BlockReduce<float, 64>::TempStorage storage;
      p[5] = T(cub::BlockReduce<float, 64>(storage).Sum(x));
    }
    void start(__half* a, __nv_bfloat16* b) { Launcher::run([=] { k<<<1, 1>>>(a, 1); k<<<1, 1>>>(b, 1); }); }
    """)
    assert {signature(symbol).name for symbol in result.kernels} == {"k<__half>", "k<__nv_bfloat16>"}
    assert (result.left_out, result.log) == ((), "")


def test_an_error_is_that_of_the_host_code_and_not_what_nvrtc_misses(compiled: Compile, tmp_path: Path) -> None:
    (tmp_path / "launcher.h").write_text(LAUNCHER)
    text = """
    #include "launcher.h"
    template <class T> __global__ void k(T* p) { UNROLL for (int i = 0; i < 4; i++) p[i] = i; }
    void f() { Launcher::run([] { k<<<1, 1>>>(static_cast<float*>(unknown)); }); }
    """
    with pytest.raises(CompileError) as caught:
        compiled(text)
    assert re.findall(r": error: (.*)", str(caught.value))[0] == 'identifier "unknown" is undefined'


def test_a_macro_may_stand_for_a_pragma(compiled: Compile) -> None:
    text = """
    #define UNROLL %s
    __global__ void k(float* p, int n) {
      UNROLL
      for (int i = 0; i < n; i++) p[i] *= p[i + 1];
    }
    void host() { k<<<1, 1>>>(nullptr, 3); }
    """
    result, same = compiled(text % "#pragma unroll 3"), compiled(text % '_Pragma("unroll 3")')
    assert result.ptx == same.ptx
    assert result.ptx != compiled(text % "").ptx


def test_types_have_the_properties_of_the_hosts(compiled: Compile) -> None:
    compiled("""
    #include <limits>
    #include <locale>
    #include <type_traits>
    static_assert(!std::is_invocable<std::nullptr_t&, int>::value && !std::is_invocable_r<void, int>::value);
    static_assert(sizeof(long double) == 16 && std::numeric_limits<long double>::digits == 64);
    static_assert(!std::is_nothrow_invocable<int, int>::value && std::is_invocable<int (*)(int), int>::value);
    __global__ void k(int* p) {}
    std::string host(const std::locale& l) { k<<<1, 1>>>(nullptr); return std::use_facet<std::numpunct<char>>(l).grouping(); }
    """)


def test_headers_of_strings_and_memory_declare_the_common_algorithms(compiled: Compile) -> None:
    for header in ("string", "vector", "memory"):
        result = compiled(f"""
        #include <{header}>
        template <class T> __global__ void k(T* p) {{}}
        void f(int* a, int* b) {{
          k<<<1, 1>>>(std::copy(a, b, a));
          k<<<std::equal(a, b, a), 1>>>(std::fill_n(std::lower_bound(a, b, 3), 2, 0) + 0LL);
        }}
        """)
        assert {signature(symbol).name for symbol in result.kernels} == {"k<int>"}


DEDUCED = """\
#include <cmath>
static double start(double x) { return x * std::sqrt(2.0); }
const double limit = start(3.0);
template <class T> __global__ void k() {}
"""


# nvcc 13.0 with GCC 12.2 launches k<const double> in all four.
@pytest.mark.parametrize(
    "use",
    [
        "void f() { k<decltype(limit)><<<1, 1>>>(); }",
        "#define TYPE(x) decltype(x)\nvoid f() { k<TYPE(limit)><<<1, 1>>>(); }",
        "decltype(auto) g() { return limit; }\nvoid f() { k<decltype(g())><<<1, 1>>>(); }",
    ],
)
def test_a_constant_whose_type_is_deduced_is_not_rewritten(use: str, compiled: Compile) -> None:
    with pytest.raises(CompileError, match="dynamic initialization is not supported"):
        compiled(DEDUCED + use)


def test_a_constant_in_an_expression_whose_type_is_deduced_is_rewritten(compiled: Compile) -> None:
    by_expression = compiled(
        DEDUCED + "void f() { k<decltype((limit))><<<1, 1>>>(); k<decltype(limit + 1)><<<1, 1>>>(); }"
    )
    assert set(by_expression.kernels) == {"_Z1kIRKdEvv", "_Z1kIdEvv"}
    assert list(compiled(DEDUCED + "void f() { k<double><<<1, 1>>>(); double x = limit; x += 1; }").kernels) == [
        "_Z1kIdEvv"
    ]
