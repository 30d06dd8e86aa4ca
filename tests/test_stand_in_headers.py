"""The stand-in headers that come from tables are written where an installation, or a checkout, expects them."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.one_toolchain


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts/stand_in_headers.py"))


def test_braces_stand_for_several_words(script: dict[str, Any]) -> None:
    assert script["expanded"]("{S,D}nnz{,_compress}") == ["Snnz", "Snnz_compress", "Dnnz", "Dnnz_compress"]
    assert script["expanded"]("Axpby") == ["Axpby"]


def test_the_headers_in_the_checkout_are_those_of_the_tables(script: dict[str, Any]) -> None:
    for name, text in script["headers"]().items():
        assert (script["HEADERS"] / name).read_text(encoding="utf-8") == text, name


def test_each_header_that_forwards_includes_an_existing_file(script: dict[str, Any]) -> None:
    folder = script["HEADERS"]
    toolkit = {"math_constants.h"}
    for name, text in script["headers"]().items():
        for line in text.splitlines():
            included = line.removeprefix("#include <").removesuffix(">")
            if (
                text.count("\n#") == text.count("\n#include <")
                and line.startswith("#include")
                and included not in toolkit
            ):
                assert any((folder / each / included).is_file() for each in ("std", "cuda", "pytorch", "libraries")), (
                    name
                )


def test_headers_that_the_tables_no_longer_have_are_removed(
    script: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = script["main"].__globals__
    monkeypatch.setitem(names, "HEADERS", tmp_path)
    monkeypatch.setitem(names, "WRITTEN", tmp_path / ".gitignore")
    monkeypatch.setitem(names, "headers", lambda: {"a/one.h": "1", "a/two.h": "2"})
    script["main"]()
    (tmp_path / "own.h").write_text("mine")
    monkeypatch.setitem(names, "headers", lambda: {"a/two.h": "3"})
    script["main"]()
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {".gitignore", "a/two.h", "own.h"}
    assert (tmp_path / ".gitignore").read_text() == "/.gitignore\n/a/two.h\n" and (
        tmp_path / "a/two.h"
    ).read_text() == "3"


def test_operators_are_listed_by_what_they_return() -> None:
    script = runpy.run_path(str(ROOT / "scripts/pytorch_operators.py"))
    entries = [
        {
            "func": "round2(Tensor self, int[2] size, *, ScalarType? dtype=None) -> Tensor",
            "variants": "function, method",
        },
        {"func": "round2_(Tensor(a!) self) -> Tensor(a!)", "variants": "method"},
        {"func": "round2.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"},
        {"func": "parts(Tensor(a) self) -> Tensor(a)[]"},
        {"func": "filled(SymInt[] size, float value) -> Tensor"},
        {"func": "extremes(Tensor self) -> (Tensor low, Tensor high)"},
        {"func": "is_odd(Tensor self) -> bool"},
        {"func": "known(Tensor self) -> Tensor"},
        {"func": "_inner(Tensor self) -> Tensor"},
    ]
    added = script["added_names"](script["operators"](entries), {"FUNCTIONS": ["known"]}, ())
    assert added == {
        "BOTH": ["round2"],
        "METHODS_IN_PLACE": ["round2_"],
        "FUNCTION_VECTORS": ["parts"],
        "FUNCTIONS_FREE": ["filled"],
        "FUNCTION_PAIRS": ["extremes"],
    }
