"""Expressions that only nvcc with GCC reads: compound literals, narrowing, arithmetic on void pointers."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled

pytestmark = pytest.mark.every_toolchain

Compile = Callable[..., Compiled]


def kernels(result: Compiled) -> set[str]:
    """Return the kernels, of a text of which nothing is left out."""
    assert result.left_out == ()
    return {signature(symbol).name for symbol in result.kernels}


def test_compound_literals_are_values_as_with_nvcc(compiled: Compile) -> None:
    result = compiled("""
    #define UP (Vector){0, 1}
    #define DOWN ((float2){0, -1})
    #define PAIR(a, b) (ns::Pair){a, b}
    #define SIZE 3
    namespace ns { struct Pair { int a; float b; }; }
    typedef float2 Vector;
    template <class T> __global__ void typed(T* p) { *p = T(); }
    __device__ Vector turn(Vector v) { return (Vector){-v.y, v.x}; }
    __global__ void k(float2* p, ns::Pair* q) {
      if (threadIdx.x) { p[0] = turn(UP); }
      p[1] = DOWN;
      p[2].x = (Vector) {p->x, 3.f}.y + ((float2){1.f, 2.f}).x;
      *q = PAIR(4, 5.f);
      const float* chosen;
      if (p[3].x > 0) chosen = (float[3]){6.f, p[3].y, 7.f};
      else chosen = (float[SIZE]){p[3].y, 8.f, 9.f};
      p[4].x = chosen[0] * chosen[1] + chosen[2] + (int[2][1]){{1}, {2}}[1][0];
    }
    void use() { dim3 grid = (dim3){1, 2, 3}; k<<<grid, (dim3){4}>>>(nullptr, nullptr); typed<<<1, (int2){1, 2}.x>>>(&grid.x); }
    """)
    assert kernels(result) == {"k", "typed<unsigned int>"}
    of_nvcc = {"0fBF800000", "1082130432", "1084227584"}  # -1, 3 + 1, 5
    assert of_nvcc <= set(re.findall(r"\b(?:0f)?[0-9A-F]+\b", result.ptx.decode()))
    assert result.left_out == ()


@pytest.mark.parametrize(
    "text",
    [
        "int n = (2){3};",
        "int n = *(p[2]){3};",
        "int n = *(int[p[0] + 2]){3};",
        "int n = (int x){3};",
        "int n = (struct P { int a; }){3}.a;",
    ],
)
def test_what_is_no_compound_literal_is_an_error(text: str, compiled: Compile) -> None:
    with pytest.raises(CompileError, match=r"k\.cu:1:"):
        compiled(f"__global__ void k(int* p) {{ {text} *p = n; }}\nint main() {{}}\n")


def instructions(result: Compiled) -> list[str]:
    """Return the instructions of a kernel, sorted, without registers and the names of parameters."""
    body = result.ptx.decode().partition("{")[2]
    assert "st.global" in body
    return sorted(re.sub(r"%\w+|\[_Z\w+_param", "%", line) for line in body.splitlines())


def test_arguments_in_braces_may_narrow(compiled: Compile) -> None:
    text = """
    template <int> __global__ void k() {}
    template <int N> void start(int x, long long y) { k<N><<<{x, y, 1}, {32, x}>>>(); dim3 g{y}; k<N + 10><<<g, 1>>>(); }
    struct Even { unsigned n; Even(unsigned a, unsigned b) : n(a + b) {} };
    dim3 grid(int x) { return {x, (x + 31) / 32}; }
    int host(int x, size_t y, int* p) {
      k<1><<<{x, x + 1}, {32, x}>>>();
      k<2><<<dim3{x, p[3]}, dim3{y, 2 * x}>>>();
      k<3><<<grid(x), x>>>();
      start<4>(x, 5);
      dim3 g{x, -1}, h = {x, x ? x : 3};
      return Even{x, int(y)}.n + g.x + h.y;
    }
    """
    assert kernels(compiled(text)) == {f"k<{n}>" for n in (1, 2, 3, 4, 14)}


def test_narrowing_still_decides_which_template_is_chosen(compiled: Compile) -> None:
    # With nvcc the arguments of a constructor are no reason, but those of a scalar or an aggregate are.
    result = compiled("""
    template <class T, class U, class = void> struct listed { static constexpr bool value = false; };
    template <class T, class U> struct listed<T, U, decltype(void(T{*(U*)0}))> { static constexpr bool value = true; };
    struct Pair { int a; float b; };
    template <bool, bool, bool> __global__ void k() {}
    void host(int x) {
      k<listed<float, double>::value, listed<unsigned, int>::value, listed<Pair, double>::value><<<{x, x}, 1>>>();
    }
    """)
    assert kernels(result) == {"k<false, false, false>"}


def test_narrowing_that_depends_on_a_template_is_an_error(compiled: Compile) -> None:
    # A cast to float would change the instance for double.
    with pytest.raises(CompileError, match="invalid narrowing conversion"):
        compiled(
            """
        template <class T> struct Box { T value; Box(T v) : value(v) {} };
        template <class T> __global__ void k(T* p, double x) { *p = Box<T>{x}.value; }
        void host() { k<double><<<1, 1>>>(nullptr, 1); k<float><<<1, 1>>>(nullptr, 1); }
        """.replace("Box(T", "__host__ __device__ Box(T")
        )


def test_a_void_pointer_in_a_macro_counts_bytes(compiled: Compile) -> None:
    text = """
    #include <stddef.h>
    #define AT(p, n) (p + n)
    #define SECOND(T, p) reinterpret_cast<T*>((p) + sizeof(T))
    #define ADVANCE(p, n) p += n
    #define OUTER(p) AT(p, 3)
    __global__ void k(POINTER p, const POINTER c, float* f, int n) {
      *(char*)AT(p, n) = 2;
      *SECOND(float, p) = *SECOND(const float, c);
      *(char*)OUTER(p) = 4;
      *AT(f, n) = 3;
      ADVANCE(f, 3);
      ADVANCE(p, 5);
      p -= 2;
      p += n;
      *(char*)p = *f;
    }
    void host(POINTER w) { w += 4; k<<<1, 1>>>(AT(w, 8), w, (float*)AT(w, 16), 1); }
    """
    counted, chars = (compiled(text.replace("POINTER", type_)) for type_ in ("void*", "char*"))
    assert kernels(counted) == {"k"}
    assert instructions(counted) == instructions(chars)


def test_a_compound_literal_may_be_of_a_dependent_type(compiled: Compile) -> None:
    result = compiled("""
    struct Layout { int n = 3; };
    struct Traits { using layout = Layout; };
    template <class T> __global__ void k(int* p) { *p = ((typename T::layout){}).n; }
    void host() { k<Traits><<<1, 1>>>(nullptr); }
    """)
    assert kernels(result) == {"k<Traits>"}
