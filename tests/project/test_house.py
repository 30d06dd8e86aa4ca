"""What `scripts/house.py` counts in the text of modules. It builds wheels too, which no test repeats."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from scripts.house import Checkout, circles, module_rows, nesting, only_forwards, only_passes_on

pytestmark = pytest.mark.one_toolchain


def function(text: str) -> ast.FunctionDef:
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.FunctionDef)
    return node


def test_a_function_passes_on_if_it_is_one_call_with_its_own_parameters() -> None:
    assert only_passes_on(function('def f(a, *b, c=1):\n    """Text."""\n    return g(a, *b, c=c)'))
    assert not only_passes_on(function("def f(a): return g(a, 1)"))
    assert not only_passes_on(function("def f(a): return a.g()"))
    assert not only_passes_on(function("def f(a):\n    b = a\n    return g(b)"))
    by_attribute = function("def f(self, a): g(self.b, a)")
    assert not only_passes_on(by_attribute) and only_passes_on(by_attribute, attributes=True)


def test_nesting_counts_blocks_and_an_elif_only_if_asked() -> None:
    node = function(
        "def f(a):\n  for b in a:\n    if b: pass\n    elif a: pass\n    else:\n      with b: pass\n  def g():\n    if a: pass"
    )
    assert (nesting(node), nesting(node, elif_nests=True)) == (3, 4)


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert circles(graph) == [["a", "b", "c"], ["d", "e"]]


@pytest.mark.parametrize(
    ("text", "forwards"),
    [
        ("// a comment\n#pragma once\n/* another\n   line */\n# include <a.h>\n", True),
        ("#pragma once\n", False),
        ('#include "a.h"\nint x;\n', False),
    ],
)
def test_a_header_that_only_includes_forwards(text: str, forwards: bool) -> None:
    assert only_forwards(text) is forwards


def test_imports_in_functions_and_for_types_count_in_circles_and_importers(tmp_path: Path) -> None:
    files = {
        "cuda_wheel/__init__.py": "",
        "cuda_wheel/a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .b import B\n",
        "cuda_wheel/b.py": "def f():\n    from cuda_wheel import a\n    import os\n",
        "cuda_wheel/c/__init__.py": "from .d import D\nfrom .. import b\n",
        "cuda_wheel/c/d.py": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "def last(): pass\n")
    values = {row.name: row for row in module_rows(Checkout(tmp_path))}
    assert values["circles"].details == ["cuda_wheel.a cuda_wheel.b"]
    assert values["imports"].value == "2 (1 of own modules)"
    assert [each.split()[1] for each in values["small"].details] == ["cuda_wheel.a", "cuda_wheel.c.d"]
