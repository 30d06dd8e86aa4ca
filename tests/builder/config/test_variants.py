"""The table `variants` means a list of variants, in its order, or is refused with a reason."""

from __future__ import annotations

from typing import Any

import pytest

from cuda_wheel.builder.config.settings import MOST_VARIANTS, Config
from cuda_wheel.builder.errors import ConfigError

pytestmark = pytest.mark.one_toolchain


def variants(table: Any) -> tuple[Any, ...]:
    config = Config.from_table({"module": [{"name": "demo.k", "variants": table}]})
    return tuple(dict(each) for each in config.module[0].variants)


def test_lists_mean_their_product_in_the_order_of_the_table() -> None:
    found = variants({"REAL": ["float", "double"], "N": [2, 4], "FAST": [True]})
    assert found == (
        {"FAST": True, "N": 2, "REAL": "float"},
        {"FAST": True, "N": 4, "REAL": "float"},
        {"FAST": True, "N": 2, "REAL": "double"},
        {"FAST": True, "N": 4, "REAL": "double"},
    )


def test_an_excluded_combination_takes_out_every_variant_that_has_it() -> None:
    table = {"REAL": ["float", "double"], "N": [2, 4, 8], "exclude": [{"REAL": "double", "N": 8}, {"N": "4"}]}
    assert [(each["REAL"], each["N"]) for each in variants(table)] == [("float", 2), ("float", 8), ("double", 2)]


def test_rows_are_the_variants_and_may_have_different_macros() -> None:
    rows = [{"N": 4, "REAL": "float"}, {"N": 8}, {"SCALE": 0.5}]
    assert variants({"rows": rows}) == tuple(rows)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([], "variants must be a table"),
        ({}, "variants is empty"),
        ({"rows": []}, "variants.rows is empty"),
        ({"N": 4}, r"variants.N must be a list of values such as \[2, 4\], not 4"),
        ({"N": []}, "variants.N must be a list of values"),
        ({"N": [2, "2"]}, "variants.N has the value 2 twice"),
        ({"N": [[2]]}, "variants.N must be a printable string, a finite number"),
        ({"N": [float("nan")]}, "a finite number"),
        ({"N": [""]}, "a printable string"),
        ({"N": ["a\nb"]}, "a printable string"),
        ({"N M": [2]}, "'N M' is not a macro name"),
        ({"link": [2]}, "no macro of a variant can be called 'link', which is a parameter of load"),
        ({"N": [2], "rows": [{"N": 4}]}, r"has rows and lists of values \(N\)"),
        ({"rows": [{"N": 4}], "exclude": [{"N": 4}]}, "exclude is for lists of values"),
        ({"rows": [{"N": 4}, {"N": "4"}]}, "has the variant N=4 twice"),
        ({"rows": [{}]}, "must be a list of tables"),
        ({"rows": [{"jit": 4}]}, "no macro of a variant can be called 'jit'"),
        ({"N": [2], "exclude": [{"M": 2}]}, "exclude names M, which has no list of values"),
        ({"N": [2, 4], "exclude": [{"N": 8}]}, "no variant is left with N=8"),
        ({"N": [2], "exclude": [{"N": 2}]}, "excludes every variant"),
        ({"A": list(range(101)), "B": list(range(100))}, f"means 10100 variants; the most .* are {MOST_VARIANTS}"),
    ],
)
def test_what_means_no_variants_is_refused_with_a_reason(table: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        variants(table)


@pytest.mark.parametrize(
    "options",
    ["-DV=9", "-D V=9", "-UV", "--define-macro=V", "--undefine-macro=V", "-D=V=1", "-Xcompiler=-DV=9", "-O3 -DV=9"],
)
def test_an_option_does_not_change_a_macro_of_a_variant(options: str) -> None:
    """Else every variant has the option's value, and the manifest another."""
    module = {"name": "demo.k", "sources": ["k.cu"], "variants": {"V": [1, 2]}}
    message = r"{}\.options: '.*V.*' changes V of tool\.cuda-wheel\.module\[0\]\.variants: leave one of them out"
    for listed in ([options], options.split(" ")):
        with pytest.raises(ConfigError, match=message.format(r"tool\.cuda-wheel\.module\[0\]")):
            Config.from_table({"module": [{**module, "options": listed}]})
        with pytest.raises(ConfigError, match=message.format(r"tool\.cuda-wheel")):
            Config.from_table({"module": [module], "options": listed})
    Config.from_table({"module": [module], "options": [options.replace("V", "W")]})


def test_an_option_does_not_change_a_macro_of_defines() -> None:
    with pytest.raises(
        ConfigError, match=r"tool\.cuda-wheel\.options: '-DV=9' changes V = 1 of tool\.cuda-wheel\.defines"
    ):
        Config.from_table({"defines": {"V": 1}, "options": ["-DV=9"]})
    module = {"name": "demo.k", "options": ["-U", "V"]}
    with pytest.raises(ConfigError, match=r"module\[0\]\.options: '-U V' changes V = 1 of tool\.cuda-wheel\.defines"):
        Config.from_table({"defines": {"V": True}, "module": [module]})
    Config.from_table({"defines": {"V": True}, "options": ["-DV", "-DV=1"]})
