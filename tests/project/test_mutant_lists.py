"""The lists for `nox -s mutants` name code and tests that exist."""

from __future__ import annotations

import ast
from fnmatch import fnmatchcase

import pytest

from tests.mutants.equivalent import EQUIVALENT, Equivalent
from tests.mutants.rooms import ROOMS, Room
from tests.mutants.session import equivalent_of, patterns_of
from tests.support.projects import ROOT

pytestmark = pytest.mark.one_toolchain


@pytest.mark.parametrize("name", ROOMS)
def test_a_room_has_its_files_functions_and_tests(name: str) -> None:
    room = ROOMS[name]
    for file, patterns in room.functions.items():
        functions = functions_in(ast.parse((ROOT / "cuda_wheel" / file).read_text(encoding="utf-8")))
        for pattern in patterns:
            assert any(fnmatchcase(function, pattern) for function in functions), f"{file}: {pattern}"
    for test in room.tests:
        path, _, function = test.removeprefix("--deselect=").partition("::")
        assert not function or f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), test
        assert (ROOT / path).exists(), path


def functions_in(tree: ast.Module) -> list[str]:
    """Return the names of the functions that mutmut changes, with the class of methods."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    methods = [
        f"{each.name}.{node.name}" for each in classes for node in each.body if isinstance(node, ast.FunctionDef)
    ]
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef)] + methods


def test_patterns_of_functions_are_those_of_mutmut() -> None:
    room = Room({"a/b.py": ("*",), "c.py": ("check_*", "Image.read")}, ())
    assert patterns_of(room) == [
        "cuda_wheel.a.b.*__mutmut_*",
        "cuda_wheel.c.x_check_*__mutmut_*",
        "cuda_wheel.c.xǁImageǁread__mutmut_*",
    ]


@pytest.mark.parametrize("each", EQUIVALENT, ids=lambda each: f"{each.file}: {each.mutant}")
def test_an_equivalent_mutant_is_of_a_room_and_changes_a_line_that_is_there(each: Equivalent) -> None:
    assert any(each.file in room.functions for room in ROOMS.values())
    assert each.line != each.mutant and each.reason
    lines = (ROOT / "cuda_wheel" / each.file).read_text(encoding="utf-8").splitlines()
    assert each.line in " ".join(line.strip() for line in lines)


def test_a_mutant_is_found_by_the_line_that_it_changes() -> None:
    diff = "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n def f(x):\n-    return x + 1\n+    return x - 1\n"
    known = Equivalent("a.py", "return x + 1", "return x - 1", "")
    mutant = {"file": "cuda_wheel/a.py", "diff": diff}
    assert equivalent_of(mutant, [known._replace(file="b.py"), known]) == known
    for other in (known._replace(line="return x"), known._replace(mutant="return x"), known._replace(file="b.py")):
        assert equivalent_of(mutant, [other]) is None
