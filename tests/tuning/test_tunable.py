"""Declarations of what to tune: candidates, problems, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.tuning import tunable
from cuda_wheel.tuning.tunable import Candidate

pytestmark = pytest.mark.one_toolchain


def setup(problem: Any) -> Any:
    return len, problem


def test_lists_of_values_are_tried_in_every_combination_the_last_key_fastest() -> None:
    candidates = {"variant": [{"T": "float"}], "kernel": ["a", "b"], "block": (64, 128)}
    declared = tunable("demo.k", problems=[{"n": 1}], candidates=candidates)(setup)
    assert declared.candidates_for({"n": 1}) == [
        Candidate({"T": "float"}, kernel, {"block": block}) for kernel in ("a", "b") for block in (64, 128)
    ]


def test_candidates_one_by_one_need_neither_kernel_nor_variant_and_keep_their_order() -> None:
    listed = [{"block": 2}, {"kernel": "k", "block": 1}, {"variant": {"N": 3}}]
    declared = tunable("demo.k", problems=[{"n": 1}], candidates=listed)(setup)
    assert declared.candidates_for({"n": 1}) == [
        Candidate({}, None, {"block": 2}),
        Candidate({}, "k", {"block": 1}),
        Candidate({"N": 3}, None, {}),
    ]


def test_a_function_gives_the_candidates_of_each_problem_in_either_form() -> None:
    def candidates(problem: Any) -> Any:
        return {"block": [problem["n"], 9]} if problem["n"] < 5 else [{"block": problem["n"]}]

    declared = tunable("demo.k", problems=[{"n": 1}, {"n": 5}], candidates=candidates)(setup)
    blocks = [[each.parameters["block"] for each in declared.candidates_for(p)] for p in declared.problems]
    assert blocks == [[1, 9], [5]]


def test_a_declared_function_can_be_called_and_has_its_own_name_by_default() -> None:
    options: Any = {"problems": [{"n": 4, "kind": "x"}, {"kind": "y", "n": 4}], "candidates": {"block": [1]}}
    declared = tunable("demo.k", **options)(setup)
    assert (declared.name, declared.module, declared.rtol, declared.atol) == ("setup", "demo.k", 0, 0)
    assert tunable("demo.k", name="other", **options)(setup).name == "other"
    assert declared({"n": 4}) == (len, {"n": 4})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"problems": []}, "at least one problem"),
        ({"problems": [{"n": 1}, {"m": 1}]}, "all problems need the same sizes and strings"),
        ({"problems": [{"n": 1}, {"n": "1"}]}, "all problems need the same sizes and strings"),
        ({"problems": [{"n": 1}, {"n": 1}]}, "the problem n=1 appears twice"),
        ({"problems": [{"n": 1.5}]}, "must be an integer or a string"),
        ({"rounds": 0}, "rounds must be 1 or more"),
        ({"rtol": -1}, "rtol and atol 0 or more"),
        ({"rtol": float("nan")}, "rtol and atol 0 or more"),
        ({"candidates": []}, "function has no candidates for n=1"),
        ({"candidates": {"block": []}}, "function has no candidates for n=1"),
        ({"candidates": [1]}, "a candidate must be a dictionary, not 1"),
        ({"candidates": [{"variant": "x"}]}, "a candidate's variant must have macros and values, not 'x'"),
        ({"candidates": [{"kernel": 3}]}, "a candidate's kernel must be a name, not 3"),
        ({"candidates": [{"block": object}]}, "the parameter block must be a number"),
        ({"candidates": {"block": [1, 1]}}, r"the candidate \{'block': 1\} appears twice"),
    ],
)
def test_a_declaration_that_means_nothing_is_refused(options: dict[str, Any], message: str) -> None:
    def function(problem: Any) -> Any: ...

    with pytest.raises(ArgumentError, match=message):
        tunable("demo.update", **({"problems": [{"n": 1}], "candidates": {"block": [1]}} | options))(
            function
        ).candidates_for({"n": 1})
