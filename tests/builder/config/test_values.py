"""Names of instances and values of macros reach a compiler only as one line of C++ that ends with itself."""

from __future__ import annotations

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.config.values import check_expression, check_macro_value
from cuda_wheel.builder.errors import ConfigError

pytestmark = pytest.mark.one_toolchain

NAMES = [
    *("shift<1>", "gemm<float, 16>", "&ns::k<(A<1, 2>::v), -3>", "k<1'000'000>", "k<Pair{1, 2}>", "k<(x >> 1)>"),
    *("k<'a'>", r"k<'\n'>", r"k<'\''>", "k<'\"'>", "k<u8'a'>", 'k<fixed("a // b; #")>', "k<decltype(1 + 1.5e-3f)>"),
    *("k<float[3]>", "k<int*, const char&>", "k<a % b>", "k<x ? 1 : 2>", "a$b", "operator()", "k<1 <= 2, 3 != 4>"),
]

REACHING = [
    *('shift<1>\n#include "/etc/passwd"', 'shift<1>\r#include "/etc/passwd"', "k<1>\v", "k<1>\0", "k<1>\u2028#x"),
    *("k<1>\\", "k<1> \\ ", "k<1> // x", "k<1> /* x", "k<1> /* x */", "??=include <x>", "k<1>??/", "k<1'>", 'k<"a>'),
    *('k<R"(>', 'k<u8R"x(a)x">'),
]
"""Neither names nor macro values."""

NO_NAMES = [
    *(
        '#include "/etc/passwd"',
        '%:include "/etc/passwd"',
        "k<1>); int f(",
        "k<1>]",
        "k<(1])>",
        "k<1>; int x",
        "k<\\x>",
    ),
    *("k<é>", "k<__has_include(</etc/passwd>)>", '_Pragma("x") k<1>', "k<`>", "k@1"),
]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_one_line_are_accepted(name: str) -> None:
    check_expression(name, "x")
    check_macro_value(name, "x")


@pytest.mark.parametrize("name", [*REACHING, *NO_NAMES])
def test_names_that_reach_beyond_themselves_are_refused(name: str) -> None:
    with pytest.raises(
        ConfigError, match=r"^x must be a C\+\+ name on one line such as 'gemm<float, 16>', and "
    ) as caught:
        check_expression(name, "x")
    assert repr(name) in str(caught.value)
    with pytest.raises(ConfigError, match=r"instantiate\[1\] must be a C\+\+ name"):
        Config.from_table({"module": [{"name": "demo.k", "instantiate": ["k<1>", name.replace("\0", "\1")]}]})


@pytest.mark.parametrize("value", ["", "256", "float4", '"http://x"', r'"a\"b"', "a ## b", "é", '"é"', "#", "f(a, b"])
def test_values_of_one_line_are_accepted(value: str) -> None:
    check_macro_value(value, "x")


@pytest.mark.parametrize("value", REACHING)
def test_values_that_reach_beyond_themselves_are_refused(value: str) -> None:
    with pytest.raises(ConfigError, match=r"defines\.A must be one line of C\+\+, and "):
        Config.from_table({"defines": {"A": value}})
    table = {"name": "demo.k", "variants": {"A": [1, value]}}
    with pytest.raises(ConfigError, match=r"variants\.A must be (one line of C\+\+|a printable string)"):
        Config.from_table({"module": [table]})


@pytest.mark.parametrize("option", ["-DA=1\n#include </etc/passwd>", "-I/a\rb"])
def test_options_of_several_lines_are_refused(option: str) -> None:
    with pytest.raises(ConfigError, match=r"options\[0\] must be one line, not "):
        Config.from_table({"options": [option]})
