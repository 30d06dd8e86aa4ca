"""The two slow sessions share the cases of tests: each case runs in one of them, each test in both."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import half_of_the_cases

pytestmark = pytest.mark.one_toolchain


def item(test: str, *values: object, marker: str = "") -> Any:
    """Return what stands for an item of pytest: a case with these values, or a test without cases."""
    case = SimpleNamespace(nodeid=test, get_closest_marker=lambda name: name == marker, values=values)
    if values:
        case.nodeid, case.callspec = f"{test}[{values}]", None
    return _Hashable(**vars(case))


class _Hashable(SimpleNamespace):
    __hash__ = object.__hash__  # type: ignore[assignment]


@pytest.mark.parametrize("counts", [(2, 1), (9, 1), (2, 2), (4, 2), (3, 4), (8, 8)])
def test_each_case_is_in_one_half_and_each_value_in_both(counts: tuple[int, int]) -> None:
    items = [item("test_a", *values) for values in product(*map(range, counts))]
    first, second = (half_of_the_cases(items, half) for half in ("first", "second"))
    assert {*first, *second} == {*items} and len(first) + len(second) == len(items)
    assert abs(len(first) - len(second)) <= 1
    if counts[1] > 1:
        for half in (first, second):
            assert [{case.values[at] for case in half} for at in (0, 1)] == [{*range(count)} for count in counts]


def test_tests_of_one_case_and_those_that_need_all_are_in_both_halves() -> None:
    items = [item("test_a"), item("test_b", 1)]
    items += [
        item("test_c", number, marker=marker) for number in (1, 2) for marker in ("every_toolchain", "one_toolchain")
    ]
    assert half_of_the_cases(items, "first") == half_of_the_cases(items, "second") == items
