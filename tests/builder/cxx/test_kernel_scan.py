"""Finding the kernels that a source defines, from its tokens."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.cxx.kernel_scan import kernels_in

pytestmark = pytest.mark.one_toolchain

FOUND = {
    "__global__ void k(int* x) { }": ("k", False),
    "void __global__ k() {}": ("k", False),
    "static inline __global__ void k() noexcept { }": ("k", False),
    'extern "C" __global__ void __launch_bounds__(128)\nk(const float* __restrict__ a, void (*f)(int) = 0) {}': (
        "k",
        False,
    ),
    "__global__ __launch_bounds__(256, (2)) void k() {}": ("k", False),
    "__global__ void __attribute__((unused)) k() {}": ("k", False),
    "__global__ void ns::k(int x) {}": ("k", False),
    "template <typename T, int N = (3 > 2)> __global__ void k(T* x) { }": ("k", True),
    "template <template <class> class TT> __global__ void k(TT<int> a) {}": ("k", True),
    "template <class T> requires (sizeof(T) > 2) __global__ void k(T) {}": ("k", True),
    "template <> __global__ void k<float, 1>(float* x) {}": ("k", False),
    "template <class T> struct X { }; __global__ void k(X<int> x) {}": ("k", False),
    "#if 0\n__global__ void k() {}\n#endif": ("k", False),
}
LEFT_OUT = [
    "",
    "// __global__ void k() {}",
    "// \\\n__global__ void k() {}",
    "/* __global__ void k() {} */",
    'const char* s = "__global__ void k() {}";',
    'const char* s = R"x(__global__ void k() {} )" )x";',
    "#define M(x) __global__ void \\\n x() {}\nM(k)",
    "#define NAME(x) x##_k\n__global__ void NAME(k)(int a) {}",
    "__global__ void NAME(k)(int a) {}",
    "#define ALIAS other\n__global__ void ALIAS(int) {}",
    "__global__ void k(int);",
    "template __global__ void k<int>(int*);",
    "template <class T> __global__ void k(T*);",
    "__global__",
    "__global__ void k(",
]


@pytest.mark.parametrize("text", FOUND)
def test_a_definition_is_found(text: str) -> None:
    line = 1 + text[: text.index("__global__")].count("\n")
    (name, template) = FOUND[text]
    (kernel,) = kernels_in(text)
    assert kernel[:3] == (name, line, template)
    assert kernels_in("\n\n/* ü */ " + text)[0].line == line + 2 or text.startswith("#")


@pytest.mark.parametrize("text", LEFT_OUT)
def test_no_kernel_is_found_in_a_source_that_defines_none(text: str) -> None:
    assert kernels_in(text) == []


@pytest.mark.parametrize(
    ("text", "parameters"),
    {
        "__global__ void k() {}": "",
        "__global__ void __launch_bounds__(N) k(int* /* a */ x, float y = f(1, 2)) {}": "int * x , float y = f ( 1 , 2 )",
        "#define N 1\n__global__ void __launch_bounds__(N) k(int x) { f(N); }": "int x",
        "#define float double\n__global__ void k(int n, float x) {}": None,
        "__global__ void k(float x) {}\n#define float double": None,
        "__global__ void k(float x\n#if A\n, int n\n#endif\n) {}": None,
        "__global__\n#if A\nvoid k(float x)\n#else\nvoid k(int n)\n#endif\n{}": None,
        "#if A\n__global__ void k(float x) {\n#endif\n}": "float x",
    }.items(),
)
def test_parameter_tokens_are_returned_only_if_they_are_certain(text: str, parameters: str | None) -> None:
    (kernel,) = kernels_in(text)
    assert kernel.parameters == (None if parameters is None else tuple(parameters.split()))


WORDS = [
    "__global__ ",
    "void ",
    "k",
    "(",
    ")",
    "{",
    "}",
    ";",
    "<",
    ">",
    "template",
    "#define ",
    "\n",
    '"',
    "/*",
    "*/",
    "ü",
]


@given(st.lists(st.sampled_from(WORDS), max_size=40).map("".join))
def test_no_text_raises(text: str) -> None:
    kernels_in(text)


@pytest.mark.parametrize(
    "piece", ["__global__ ", "__global__ void k(", "__global__ void k<", "template <", "__global__ k() "]
)
def test_time_is_linear(piece: str) -> None:
    started = time.perf_counter()
    kernels_in(piece * 5_000 + "__global__")
    assert time.perf_counter() - started < 10
