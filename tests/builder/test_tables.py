"""Tables of facts: each names its source, has the shape that its module states, and is in the wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder import tables
from cuda_wheel.builder.tables import VERSION, check_table, read_table
from cuda_wheel.runtime.errors import CudaWheelError

pytestmark = pytest.mark.one_toolchain

FOLDER = Path(tables.__file__).parent
SHAPE = {"names": [str], "rows": [{"cuda": VERSION, "driver?": int}], "headers": {str: [str]}}
VALUE: dict[str, Any] = {"names": ["a"], "rows": [{"cuda": "12.9"}], "headers": {"cfloat": ["FLT_MAX"]}}


def test_every_table_is_read_by_one_module_and_names_its_source() -> None:
    modules = [path.read_text(encoding="utf-8") for path in (FOLDER.parent).rglob("*.py")]
    names = [path.stem for path in FOLDER.glob("*.json")]
    assert len(names) >= 5
    for name in names:
        assert sum(f'"{name}"' in text and "read_table(" in text for text in modules) == 1, name
        assert '"source": "' in (FOLDER / f"{name}.json").read_text(encoding="utf-8"), name


def test_lists_become_tuples_and_versions_become_pairs() -> None:
    assert check_table(VALUE, SHAPE, "x") == {
        "names": ("a",),
        "rows": ({"cuda": (12, 9)},),
        "headers": {"cfloat": ("FLT_MAX",)},
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": "a"}, "x: names must be a list, not 'a'"),
        ({"names": ["a", 1]}, "x: names: 1 must be a string, not 1"),
        ({"rows": [{"driver": 1}]}, "x: rows: 0 has no 'cuda'"),
        ({"rows": [{"cuda": "12.9", "driver": "580"}]}, "x: rows: 0: driver must be a whole number, not '580'"),
        ({"rows": [{"cuda": "12.9", "drivr": 1}]}, "x: rows: 0 has the unknown key 'drivr'"),
        ({"rows": [{"cuda": 12.9}]}, "x: rows: 0: cuda must be a version as a string, not 12.9"),
        ({"headers": []}, r"x: headers must be a table, not \[\]"),
    ],
)
def test_an_error_names_the_place_in_the_table(change: dict[str, Any], message: str) -> None:
    with pytest.raises(CudaWheelError, match=message):
        check_table({**VALUE, **change}, SHAPE, "x")


def test_a_table_without_its_source_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.json").write_text("{}")
    monkeypatch.setattr(tables, "__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(CudaWheelError, match="has no 'source'"):
        read_table("t", {})
