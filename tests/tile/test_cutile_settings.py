"""The settings of cuTile kernels, and what an array is told to the compiler."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.parts.tile.kernels import TileKernel
from cuda_wheel.runtime.parts.tile.signatures import HINTS, Type, level_of, read_type

KERNEL = {"kernel": "demo.ops:add", "arguments": {"x": "float32[1]:16", "n": "int32", "BLOCK": 1024}}


def variants(**table: Any) -> list[dict[str, Any]]:
    (settings,) = Config.from_table({"tile": [KERNEL | table]}).tile
    return [dict(each) for each in settings.variants("tool.cuda-wheel.tile[0]")]


def test_a_list_means_each_value_and_the_decorator_decides_what_is_left_out() -> None:
    assert variants() == [{"tile": "demo.ops:add", "x": "float32[1]:16", "n": "int32", "BLOCK": 1024}]
    found = variants(arguments={"x": ["float32[1]", "float16[1]"], "B": 64}, **{"num-ctas": [1, 2]})
    assert [(each["x"], each["num_ctas"]) for each in found] == [
        ("float32[1]", 1), ("float32[1]", 2), ("float16[1]", 1), ("float16[1]", 2),
    ]  # fmt: skip
    assert variants(options={"opt_level": 2, "num_worker_warps": 4}, occupancy=3)[0].items() >= {
        ("opt_level", 2), ("num_worker_warps", 4), ("occupancy", 3),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"kernel": "add"}, r'kernel must be a kernel such as "demo\.ops:add"'),
        ({"arguments": {"x": "fp32"}}, r'arguments\.x must be an array such as "float32\[2\]"'),
        ({"arguments": {"x": "float32[1]:8"}}, r"arguments\.x must be an array"),
        ({"arguments": {"x": "float32:16"}}, r"arguments\.x must be an array"),
        ({"arguments": {"x": "float32[99]"}}, r"arguments\.x must be an array"),
        ({"arguments": {"tile": 1}}, "tile is an option of cuTile, and no parameter"),
        ({"arguments": {"x": [1, 1]}}, "has the value 1 twice"),
        ({"options": {"num_ctas": 2}}, "cannot have num_ctas: its own key is num-ctas"),
        ({"options": {"maxnreg": 2}}, "cuTile has no option maxnreg, only num_ctas"),
        ({"num-ctas": 0}, "must be a number above 0"),
    ],
)
def test_wrong_settings(table: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        variants(**table)


def test_types() -> None:
    assert read_type("float32[2]:16n") == Type("float32", 2, 3) and read_type("float32[0]") == Type("float32", 0, 0)
    assert read_type("int64") == Type("int64", None, 0)
    for other in ("float32[2]:32", "float32[]", "f32", "float32 ", 1, True, None):
        assert read_type(other) is None


def test_a_value_that_was_compiled_in_is_launched_for_this_value_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parameter may be a constant of one variant and an argument of another."""
    launched: list[Any] = []

    def load(macros: Any) -> Any:
        kernel = SimpleNamespace(launch=lambda *args, **named: launched.append(macros["factor"]))
        return {"k": kernel}

    variants = [{"tile": "m:k", "factor": "float32"}, {"tile": "m:k", "factor": 2}, {"tile": "m:k", "factor": 3}]
    kernel = TileKernel("m", "m:k", [("factor", "argument", None)], variants, load)
    monkeypatch.setattr("cuda_wheel.runtime.parts.tile.kernels.launcher_of", lambda found: found)
    for value in (2, 3, 2.0, 2, 3.0, 3):
        kernel.launch(1, value)
    assert launched == [2, 3, "float32", 2, "float32", 3]
    for value in (True, 4):
        with pytest.raises(ArgumentError, match="k was not compiled for factor="):
            kernel.launch(1, value)


@pytest.mark.parametrize(
    ("address", "shape", "strides", "hint"),
    [
        (1024, (64, 32), (32, 1), "16n"), (1024, (64, 32), (48, 1), "16n"), (1024, (60, 32), (32, 1), "16"),
        (1028, (64, 32), (32, 1), "1"), (1024, (64, 33), (33, 1), "1"), (1024, (64, 32), (64, 2), ""),
        (1024, (64, 32), (1, 64), ""), (1024, (64, 32), (0, 1), ""), (1024, (64, 32), (16, 1), ""), (1024, (64,), (0,), ""),
        (1024, (), (), "16n"), (1025, (), (), "1"), (1024, (0,), (1,), "16n"), (1024, (3,), (-1,), None),
    ],
)  # fmt: skip
def test_what_is_true_of_an_array(
    address: int, shape: tuple[int, ...], strides: tuple[int, ...], hint: str | None
) -> None:
    level = level_of(address, shape, strides, 4)
    assert (None if level is None else HINTS[level]) == hint
