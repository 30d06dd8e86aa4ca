"""Names of templates without the keyword `template`, which nvcc accepts where they depend on a parameter."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled

pytestmark = pytest.mark.every_toolchain

SOURCE = r"""
template <class T> struct Base {
  template <bool X, int N> struct Part { static constexpr int v = N; T t; };
  template <int N> struct Other { static constexpr int v = 10 * N; };
};
template <class T> struct Outer { typedef Base<T> type; };
#define IMPORT(C) using B = Base<C>; template <bool X> using Of = typename B::Part<X, 2>;
template <class C> struct Derived : Base<C> {
  IMPORT(C)
  template <bool X> using E = typename Base<C>::Part<X, 3>;
  template <bool X> using F = typename Outer<Outer<C>>::type::template Part<X, 4>;
  template <int N> using G = typename Outer<C>::type::Other<N>;
  static __device__ int f() { return E<true>::v + Of<false>::v + F<true>::v + G<5>::v; }
};
__global__ void k(int* p) { *p = Derived<float>::f(); }
"""


def test_the_keyword_is_written_where_nvrtc_asks_for_it(compiled: Callable[..., Compiled]) -> None:
    result = compiled(SOURCE)
    assert (list(result.kernels), result.left_out, result.log) == (["_Z1kPi"], (), "")
    assert ", 59;" in result.ptx.decode()  # 3 + 2 + 4 + 50


def test_a_name_that_is_no_template_is_an_error_of_its_own_line(compiled: Callable[..., Compiled]) -> None:
    with pytest.raises(CompileError, match=r"^k\.cu:13:38: error: identifier \"Part\" is undefined"):
        compiled(SOURCE.replace("{ return E<true>", "{ return Part<true>"))
