"""Host code on which NVRTC 12.9 and 13.0 crash for compute capability 10.0 and later compiles to the same kernels."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cuda_wheel.builder.compile.host_code import needs_permission
from cuda_wheel.builder.jobs import Compiled

pytestmark = pytest.mark.every_toolchain

SOURCE = r"""
#define BOOL_SWITCH(CONDITION, NAME, ...)                                                       \
  [&] {                                                                                         \
    if (CONDITION) { constexpr static bool NAME = true; return __VA_ARGS__(); }                 \
    else { constexpr static bool NAME = false; return __VA_ARGS__(); }                          \
  }()
%s
template <bool A, bool B> __global__ void scale(float* p, int n) { p[n] *= A ? 2 : B ? 3 : %s; }
void launch(float* p, int n, bool a, bool b) {
  BOOL_SWITCH(a, A, [&] { BOOL_SWITCH(b, B, [&] { scale<A, B><<<1, 1>>>(p, n); }); });
}
"""


@pytest.mark.parametrize("arch", ["90", "100", "120"])
@pytest.mark.parametrize("words", ["constexpr static", "const"])
def test_constants_in_nested_lambdas(compiled: Callable[..., Compiled], words: str, arch: str) -> None:
    result = compiled(SOURCE.replace("constexpr static", words) % ("", "4"), arch)
    assert len(result.kernels) == 4 and result.left_out == ()


FUNCTIONS = """
template <class T> constexpr T ceil_div(T a, T b) { return (a + b - 1) / b; }
constexpr int twice(int n) { return ceil_div(2 * n, 1); }
namespace ns {
struct Size {
  int v;
  constexpr Size(int x) : v(twice(x)) {}
  constexpr int get() const { return v; }
  constexpr operator int() const { return v; }
  static constexpr Size none() noexcept { return Size(0); }
  friend constexpr Size operator+(Size a, Size b) { return Size(a.v + b.v); }
};
}
"""


@pytest.mark.parametrize("arch", ["90", "100"])
def test_constexpr_functions_of_the_host_are_there(compiled: Callable[..., Compiled], arch: str) -> None:
    use = "(ns::Size(n) + ns::Size::none()).get() + int(ns::Size(n)) + ceil_div(n, 3)"
    result = compiled(SOURCE % (FUNCTIONS, use), arch)
    assert len(result.kernels) == 4 and result.left_out == ()
    assert b".func" not in result.ptx


@pytest.mark.parametrize(
    ("function", "use"),
    [
        ("#include <chrono>", "static_cast<int>(std::chrono::milliseconds(n).count())"),  # not one of the project's
        ("template <int N> constexpr int checked() { if (N < 0) throw N; return N; }", "checked<4>() * n"),
        ("#define FUNCTION(NAME) constexpr int NAME(int n) { return n + 4; }\nFUNCTION(four)", "four(n)"),
    ],
)
def test_constexpr_functions_that_cannot_be_marked_are_there(
    compiled: Callable[..., Compiled], function: str, use: str
) -> None:
    """The source is compiled with the permission, as it has no constants that crash."""
    source = SOURCE[SOURCE.index("%s\ntemplate <bool A") :].replace("BOOL_SWITCH", "CALL")
    text = f"#define CALL(CONDITION, NAME, ...) (__VA_ARGS__)()\nconstexpr bool A = false, B = false;\n{source}"
    result = compiled(text % (function, use), "100")
    assert len(result.kernels) == 1 and b".func" not in result.ptx


@pytest.mark.parametrize(
    ("error", "log", "permission"),
    [
        (
            "E",
            'k.cu(1): error: calling a constexpr __host__ function("f") from a __global__ function is not allowed.',
            1,
        ),
        ("E", "error: Broken module found, compilation aborted!", 1),  # NVRTC 13.0.88, gsplat with GLM
        ("E", 'k.cu(1): error: identifier "four" is undefined', 0),
        ("", "k.cu(1): warning: calling a constexpr __host__ function", 0),
    ],
)
def test_what_releases_report_of_them(error: str, log: str, permission: int) -> None:
    result = {"error": error, "log": log, "ptx": b""}
    assert needs_permission(result) == bool(permission)  # type: ignore[arg-type]
