"""The lists for `nox -s mutants` name code and tests that exist."""

from __future__ import annotations

import pytest

from tests.mutants.equivalent import EQUIVALENT, Equivalent
from tests.mutants.rooms import ROOMS
from tests.mutants.session import equivalent_of
from tests.support.projects import ROOT

pytestmark = pytest.mark.one_toolchain


@pytest.mark.parametrize("name", ROOMS)
def test_a_room_has_its_files_and_tests(name: str) -> None:
    room = ROOMS[name]
    tests = [test.removeprefix("--deselect=").partition("::")[0] for test in room.tests]
    for path in [*(f"cuda_wheel/{file}" for file in room.files), *tests]:
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("each", EQUIVALENT, ids=lambda each: f"{each.file}: {each.mutant}")
def test_an_equivalent_mutant_is_of_a_room_and_has_a_reason(each: Equivalent) -> None:
    assert any(each.file in room.files for room in ROOMS.values())
    assert each.line != each.mutant and each.reason


def test_a_mutant_is_found_by_the_line_that_it_changes() -> None:
    diff = "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n def f(x):\n-    return x + 1\n+    return x - 1\n"
    known = Equivalent("a.py", "return x + 1", "return x - 1", "")
    mutant = {"file": "cuda_wheel/a.py", "diff": diff}
    assert equivalent_of(mutant, [known._replace(file="b.py"), known]) == known
    for other in (known._replace(line="return x"), known._replace(mutant="return x"), known._replace(file="b.py")):
        assert equivalent_of(mutant, [other]) is None
