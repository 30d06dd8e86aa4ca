"""The functions that a text defines, for messages."""

from __future__ import annotations

import time

import pytest

from cuda_wheel.builder.cxx.kernel_scan import function_definitions, masked, open_namespaces

pytestmark = pytest.mark.one_toolchain

TEXT = """\
// void commented() {}
namespace a { namespace b::c {
template <class T = int>
__global__ void __launch_bounds__(128, 2) kernel(T* x, int (*f)(int)) { if (x) { g(); } for (;;) {} }
} static inline int two(int x) { return x; } }
struct S { S() : a(1) {} int get() const noexcept { return a; } int a = {3}; };
#define MACRO(x) void x() { \\
  }
const char* text = "void string() {";
"""


def test_definitions_have_their_heads_names_and_lines() -> None:
    found = [(each.name, each.line, " ".join(each.head.split())) for each in function_definitions(masked(TEXT))]
    assert found == [
        ("kernel", 4, "template <class T = int> __global__ void __launch_bounds__(128, 2)"),
        ("two", 5, "static inline int"),
        ("S", 6, ""),
        ("get", 6, "int"),
    ]


def test_the_namespaces_around_a_definition() -> None:
    plain = masked(TEXT)
    scopes = {each.name: open_namespaces(plain, each.body - 1) for each in function_definitions(plain)}
    assert scopes == {"kernel": ["a", "b::c"], "two": ["a"], "S": [], "get": []}


@pytest.mark.parametrize(
    "part", ["template <", "f(", "a<b,", "__launch_bounds__(", "/* ", '"', "{", "void f() {", "x "]
)
def test_any_text_is_read_in_linear_time(part: str) -> None:
    began = time.monotonic()
    list(function_definitions(masked(part * 20_000)))
    assert time.monotonic() - began < 5
