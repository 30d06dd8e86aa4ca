"""The settings of Triton kernels, and the targets that they are compiled for."""

from __future__ import annotations

from typing import Any

import pytest

from cuda_wheel.builder.config.architectures import language_targets, settle
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.runtime.parts.triton.signatures import Type, read_type

KERNEL = {"kernel": "demo.ops:add", "arguments": {"x": "*fp32:16", "n": "i32", "BLOCK": 1024}}


def variants(**table: Any) -> list[dict[str, Any]]:
    (settings,) = Config.from_table({"triton": [KERNEL | table]}).triton
    return [dict(each) for each in settings.variants("tool.cuda-wheel.triton[0]")]


def test_a_list_means_each_value_and_rows_follow_each_other() -> None:
    common = {"triton": "demo.ops:add", "num_warps": 4, "num_stages": 3}
    assert variants() == [{**common, "x": "*fp32:16", "n": "i32", "BLOCK": 1024}]
    rows = [{"x": ["*fp32", "*fp16"], "BLOCK": 64}, {"x": "*fp64", "BLOCK": 32}]
    assert [(each["x"], each["BLOCK"], each["num_warps"]) for each in variants(arguments=rows, **{"num-warps": [4, 8]})] == [
        ("*fp32", 64, 4), ("*fp32", 64, 8), ("*fp16", 64, 4), ("*fp16", 64, 8), ("*fp64", 32, 4), ("*fp64", 32, 8),
    ]  # fmt: skip
    assert [each.get("num_ctas") for each in variants(**{"num-ctas": [1, 2]})] == [None, 2]
    assert (
        variants(options={"maxnreg": 64, "launch_pdl": True})[0].items() >= {"maxnreg": 64, "launch_pdl": True}.items()
    )


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("relu", "'relu'"), ("'i32'", "'i32'"), ("None", "None"), ("tl.float16", "tl.float16"),
        ("triton.language.bfloat16", "tl.bfloat16"), (True, True), (0.5, 0.5), ("*kfp16:16", "*kfp16:16"), ("i64:1", "i64:1"),
    ],
)  # fmt: skip
def test_types_and_constants(value: Any, written: Any) -> None:
    assert variants(arguments={"x": value})[0]["x"] == written


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"kernel": "add"}, r'kernel must be a kernel such as "demo\.ops:add"'),
        ({"kernel": "a.b:c.d"}, r"kernel must be a kernel"),
        ({"arguments": {}}, "arguments must be a table"),
        ({"arguments": "*fp32"}, "arguments must be a table"),
        ({"arguments": {"x": "*float"}}, r"'\*float' is not a type of Triton"),
        ({"arguments": {"x": "*fp32:8"}}, "is not a type of Triton"),
        ({"arguments": {"x": "*fp32:1"}}, "is not a type of Triton"),
        ({"arguments": {"x": "fp32:16"}}, "is not a type of Triton"),
        ({"arguments": {"x": []}}, "is empty"),
        ({"arguments": {"x": [1, 1]}}, "has the value 1 twice"),
        ({"arguments": {"x": [1, True]}}, "has the value True twice"),
        ({"arguments": {"x": [["i32"]]}}, 'must be a type such as "\\*fp32:16"'),
        ({"arguments": {"x": float("nan")}}, "must be a type such as"),
        ({"arguments": {"x": "'i32"}}, "has no second quotation mark"),
        ({"arguments": {"num_warps": 4}}, "num_warps is an option of Triton"),
        ({"arguments": [{"x": "i32"}, {"x": "i32"}]}, "twice: leave one out"),
        ({"num-warps": 0}, "num-warps must be a number above 0"),
        ({"num-warps": [4, 4]}, "a list of different ones"),
        ({"num-stages": "3"}, "num-stages must be a number above 0"),
        ({"options": {"num_warps": 4}}, "cannot have num_warps: its own key is num-warps"),
        ({"options": {"ir_override": "x"}}, "cannot have ir_override: it replaces the kernel"),
        ({"options": {"maxnreg": [1]}}, "maxnreg must be a printable string, a number"),
        ({"warps": 4}, 'has no key "warps": did you mean "num-warps"'),
    ],
)  # fmt: skip
def test_wrong_settings_are_said(table: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=rf"tool\.cuda-wheel\.triton\[0\].*{said}"):
        variants(**table)


def test_both_required_keys_are_named() -> None:
    for key in KERNEL:
        with pytest.raises(ConfigError, match=f"has no {key}"):
            Config.from_table({"triton": [{name: value for name, value in KERNEL.items() if name != key}]})


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (["default"], "sm_80 sm_90a sm_100a sm_120a compute_80"),
        (["80", "90"], "sm_80 sm_90a compute_80"),
        (["86-real", "89", "90a-real"], "sm_86 sm_89 sm_90a compute_89"),
        (["90-real"], "sm_90a"),
        (["100"], "sm_100a compute_80"),
        (["75-virtual"], "compute_75"),
        (["90a-virtual"], "compute_90a"),
    ],
)
def test_from_9_0_on_targets_fit_one_compute_capability_and_ptx_is_for_an_earlier_one(
    entries: list[str], expected: str
) -> None:
    supported = (75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121)
    targets = settle(entries, supported, list, "architectures", "NVRTC")
    assert " ".join(map(str, language_targets("triton", entries, targets, "architectures"))) == expected


def test_triton_has_no_family_targets() -> None:
    targets = settle(["100f-real"], (100,), list, "architectures", "NVRTC")
    with pytest.raises(ConfigError, match="architectures has 100f: Triton has no family targets"):
        language_targets("triton", ["100f-real"], targets, "architectures")


def test_types_are_read_as_triton_writes_them() -> None:
    assert read_type("*kbf16:16") == Type("*k", "bf16", "16")
    assert read_type("u64:1") == Type("", "u64", "1")
    for text in ("i33", "*", "*fp32:", "fp32:1", "**fp32", "'i32'", "None", 4, None, "i32 "):
        assert read_type(text) is None
