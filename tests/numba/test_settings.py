"""The settings of Numba kernels, the types in them, and the targets that they are compiled for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.config.architectures import language_targets, settle
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.runtime.manifest import python_language
from cuda_wheel.runtime.parts.numba.signatures import SCALARS, Type, read_type
from cuda_wheel.runtime.parts.python_kernels.signatures import LANGUAGES

KERNEL = {"kernel": "demo.ops:add", "arguments": {"x": "float32[::1]", "n": "int64"}}


def variants(**table: Any) -> list[dict[str, Any]]:
    (settings,) = Config.from_table({"numba": [KERNEL | table]}).numba
    return [dict(each) for each in settings.variants("tool.cuda-wheel.numba[0]")]


def test_a_list_means_each_value_and_rows_follow_each_other() -> None:
    assert variants() == [{"numba": "demo.ops:add", "x": "float32[::1]", "n": "int64"}]
    rows = [{"x": ["float32[:]", "float64[:]"], "n": "int32"}, {"x": "int8[:]", "n": "int32"}]
    assert [each["x"] for each in variants(arguments=rows)] == ["float32[:]", "float64[:]", "int8[:]"]
    options = {"fastmath": False, "opt": True, "max-registers": 64}
    assert variants(**options)[0].items() >= {"fastmath": False, "opt": True, "max_registers": 64}.items()


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("float32[:,::1]", "float32[:, ::1]"), ("f4[ : , : ]", "float32[:, :]"), ("i8", "int64"), ("bool", "boolean"),
        ("float32[::1,:]", "float32[::1, :]"), ("numba.types.double[::1]", "float64[::1]"), ("c8[:]", "complex64[:]"),
    ],
)  # fmt: skip
def test_types_are_written_as_numba_writes_them(value: str, written: str) -> None:
    assert variants(arguments={"x": value})[0]["x"] == written


@given(st.sampled_from([*SCALARS]), st.integers(1, 5) | st.none(), st.sampled_from("CFA"))
def test_a_type_is_read_as_it_is_written(element: str, ndim: int | None, layout: str) -> None:
    if ndim == 1 and layout == "F":  # of one dimension, C order is the same
        return
    type_ = Type(element, ndim, layout if ndim else "")
    assert read_type(str(type_)) == type_
    assert type_.words == (5 + 2 * ndim if ndim else 1 + element.startswith("complex"))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"kernel": "add"}, r'kernel must be a kernel such as "demo\.ops:add"'),
        ({"arguments": {}}, "arguments must be a table with a type for each parameter"),
        ({"arguments": {"x": "float33[:]"}}, r"must be a type of Numba.*not 'float33\[:\]'"),
        ({"arguments": {"x": "float32[]"}}, "must be a type of Numba"),
        ({"arguments": {"x": "float32[1:]"}}, "must be a type of Numba"),
        ({"arguments": {"x": "float32[::1, ::1]"}}, "must be a type of Numba"),
        ({"arguments": {"x": "float32[:, ::1, :]"}}, "must be a type of Numba"),
        ({"arguments": {"x": 3}}, "must be a type of Numba"),
        ({"arguments": {"x": "UniTuple(float32, 3)"}}, "a tuple cannot be compiled: pass its elements"),
        ({"arguments": {"x": ["i8", "int64"]}}, "has the value 'int64' twice"),
        ({"arguments": {"opt": "int64"}}, "opt is an option of Numba"),
        ({"arguments": {"numba": "int64"}}, "numba is an option of Numba"),
        ({"arguments": [{"x": "i8"}, {"x": "int64"}]}, r"has demo\.ops:add\[.*\] twice"),
        ({"max-registers": 8}, "max-registers must be a number from 16 to 255, not 8"),
        ({"fastmath": "yes"}, "fastmath must be true or false"),
        ({"num-warps": 4}, 'has no key "num-warps"'),
    ],
)
def test_mistakes_are_said(table: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        variants(**table)


def test_tables_need_a_kernel_and_arguments() -> None:
    for lacking in KERNEL:
        with pytest.raises(ConfigError, match=rf"tool\.cuda-wheel\.numba\[0\] has no {lacking}"):
            Config.from_table({"numba": [{key: value for key, value in KERNEL.items() if key != lacking}]})


def test_targets_are_those_of_the_project_without_those_of_one_architecture() -> None:
    targets = settle(["75", "90-real"], [75, 90], list, "architectures", "NVRTC")
    assert language_targets("numba", ["75", "90-real"], targets, "architectures") == targets
    targets = settle(["90a-real"], [75, 90], list, "architectures", "NVRTC")
    with pytest.raises(ConfigError, match=r'architectures has 90a: Numba kernels use no.*"90-real"'):
        language_targets("numba", ["90a-real"], targets, "architectures")


@pytest.mark.parametrize(
    ("variant", "language"),
    [
        ({"numba": "demo.ops:add", "x": "float32[:]"}, "numba"),
        ({"numba": "demo.ops:add", "triton": "float32[:]", "tile": "int64"}, "numba"),
        ({"triton": "demo.ops:add", "numba": "i32:16"}, "triton"),
        ({"numba": "ns::value"}, ""),
        ({"numba": 4}, ""),
        ({"SIZE": "a:b"}, ""),
    ],
)
def test_a_variant_tells_its_language(variant: dict[str, Any], language: str) -> None:
    assert python_language([tuple(sorted(variant.items()))]) == language
    assert python_language([]) == ""
    for name in LANGUAGES:
        assert python_language([((name, "a:b"),)]) == name
