"""Host code on which NVRTC 12.9 and 13.0 crash for compute capability 10.0 and later compiles to the same kernels."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cuda_wheel.builder.compile.constexpr_crash import lacks_constexpr_functions
from cuda_wheel.builder.jobs import Compiled

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


def test_constexpr_functions_of_the_host_are_there(compiled: Callable[..., Compiled]) -> None:
    function = "constexpr int four(int n) { return n + 4; }\nvoid one(int n) { [&] { n += 1; }(); }"
    text = SOURCE[SOURCE.index("template <bool A") :].replace("BOOL_SWITCH", "CALL") % "four(n)"
    text = (
        f"#define CALL(CONDITION, NAME, ...) (__VA_ARGS__)()\nconstexpr bool A = false, B = false;\n{function}\n{text}"
    )
    result = compiled(text, "100")
    assert len(result.kernels) == 1 and b"four" not in result.ptx


@pytest.mark.parametrize(
    ("log", "lacks"),
    [
        ("k.cu(1): error: calling a constexpr __host__ function from a __global__ function is not allowed.", True),
        ("error: Broken module found, compilation aborted!", True),  # NVRTC 13.0.88, gsplat with GLM
        ('k.cu(1): error: identifier "four" is undefined', False),
    ],
)
def test_what_releases_report_of_them(log: str, lacks: bool) -> None:
    result = {"error": "NVRTC_ERROR_COMPILATION", "log": log, "ptx": b""}
    assert lacks_constexpr_functions(result) == lacks  # type: ignore[arg-type]
