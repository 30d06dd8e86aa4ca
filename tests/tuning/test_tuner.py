"""Tuning without a GPU: which candidates are right, which one is chosen, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuda_wheel.runtime.errors import ArgumentError, CudaWheelError
from cuda_wheel.runtime.parts.tuned_tables import Choice
from cuda_wheel.tuning import tunable
from cuda_wheel.tuning.tuner import Measured, ResultArrays, tune
from tests.support.driver import Driver
from tests.tuning.support import StandInTimer, package

pytestmark = pytest.mark.one_toolchain

__all__ = ["package"]

MACROS = {"MATH_TYPE": "float", "NUM_MODES": 2}


class Launches:
    """Counts launches in a result, so that a candidate that starts with another content has another result."""

    def __init__(self) -> None:
        self.result = np.ones(4, np.float32)
        self.wrong: dict[int, float] = {}
        """What a candidate adds to the right result, by block."""
        self.errors: dict[int, Exception] = {}
        self.costs: dict[int, float] = {}
        self.blocks: list[int] = []

    def __call__(self, choice: Choice) -> bool:
        block = choice["block"]
        self.blocks.append(block)
        if block in self.errors:
            raise self.errors[block]
        self.result += 1 + np.float32(self.wrong.get(block, 0))
        return True

    def cost(self) -> float:
        return self.costs.get(self.blocks[-1], 10.0)


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch, package: Path, use: Callable[..., Driver]) -> Launches:
    use((8, 6))
    launches = Launches()
    monkeypatch.setattr(StandInTimer, "cost", staticmethod(launches.cost))
    return launches


def measure(launches: Any, blocks: list[int], timer: StandInTimer | None = None, **options: Any) -> Measured:
    given = {
        "problems": [{"n": 4}],
        "candidates": {"variant": [MACROS], "kernel": ["update"], "block": blocks},
    } | options
    result = given.pop("result", None)

    @tunable("demo.update", name="update", **given)
    def function(problem: Any) -> Any:
        return launches, launches.result if result is None else result

    (measured,) = tune(function, timer or StandInTimer())
    return measured


def test_wrong_candidates_are_left_out_and_the_fastest_of_the_others_is_chosen(launches: Launches) -> None:
    launches.wrong = {64: 0.5}
    launches.errors = {96: ArgumentError("a block has at most 1024 threads")}
    launches.costs = {32: 8.0, 64: 1.0, 96: 1.0, 128: 4.0, 256: 6.0}
    timer = StandInTimer()
    measured = measure(launches, [32, 64, 96, 128, 256], timer)
    assert [trial.reason for trial in measured.trials] == [
        None,
        "the result is wrong: element 0 is 2.5, not 2.0; 4 of 4 differ",
        "ArgumentError: a block has at most 1024 threads",
        None,
        None,
    ]
    assert measured.best is measured.trials[3]
    assert measured.row._asdict() == {
        "name": "update",
        "gpu": "Stand-in",
        "compute_capability": (8, 6),
        "problem": {"n": 4},
        "variant": MACROS,
        "kernel": "update",
        "parameters": {"block": 128},
        "microseconds": 6.0,
        "first_microseconds": 10.0,
    }
    timed = launches.blocks[6:]
    assert 64 not in timed and 96 not in timed  # checked before they are timed
    assert timer.timed.count(7) == 26 * 3 and timer.timed.count(1) == 9


def test_the_candidates_are_timed_in_turns_and_the_first_round_only_warms_up(launches: Launches) -> None:
    times = iter([100.0] * 3 + [5.0, 6.0, 7.0] * 2 + [1.0, 2.0, 30.0])
    launches.cost = lambda: next(times)  # type: ignore[method-assign]
    StandInTimer.cost = staticmethod(launches.cost)
    measured = measure(launches, [1, 2, 3], rounds=3)
    assert launches.blocks[-9:] == [2, 3, 1, 3, 1, 2, 1, 2, 3]
    assert [round(trial.seconds * 1e6) for trial in measured.trials] == [8, 7, 8]


def test_of_candidates_that_are_equally_fast_the_first_is_chosen(launches: Launches) -> None:
    launches.costs = {1: 20.0, 2: 10.1, 3: 10.0, 4: 10.0}
    assert measure(launches, [1, 2, 3, 4]).row.parameters == {"block": 2}
    launches.costs = {1: 20.0, 2: 10.3, 3: 10.0, 4: 10.0}
    assert measure(launches, [1, 2, 3, 4]).row.parameters == {"block": 3}


def test_a_tolerance_accepts_rounding_and_nothing_more(launches: Launches) -> None:
    launches.wrong = {2: 1e-5, 3: 1e-2}
    reasons = [trial.reason for trial in measure(launches, [1, 2, 3], rtol=1e-4).trials]
    assert (
        reasons[:2] == [None, None] and reasons[2] == "the result is wrong: element 0 is 2.01, not 2.0; 4 of 4 differ"
    )
    assert [trial.reason for trial in measure(launches, [1, 2, 3], atol=0.1).trials] == [None] * 3
    exact = [trial.reason is None for trial in measure(launches, [1, 2, 3]).trials]
    assert exact == [True, False, False]


def test_every_candidate_starts_with_the_same_content(launches: Launches) -> None:
    launches.result[:] = [1, 2, 3, 4]
    assert all(trial.reason is None for trial in measure(launches, [1, 2, 3, 4]).trials)


def test_a_reference_that_is_none_is_refused(launches: Launches) -> None:
    launches.errors = {1: ValueError("broken")}
    with pytest.raises(
        CudaWheelError,
        match=r"update for n=4: the first candidate \(update, .*block=1\) is the reference, and it fails: ValueError: broken",
    ):
        measure(launches, [1, 2])
    launches.errors = {}
    launches.wrong = {1: -1.0}
    with pytest.raises(CudaWheelError, match="leaves the result arrays as they were, so nothing can be compared"):
        measure(launches, [1, 2])
    drift = iter(range(100))

    def drifting(choice: Choice) -> bool:
        launches.result[2] = 5 + next(drift) * 1e-6
        return True

    drifting.result = launches.result  # type: ignore[attr-defined]
    with pytest.raises(
        CudaWheelError,
        match=r"two runs of the first .* differ, so it is no reference. In the second, the result is wrong: element 2 .*Set rtol",
    ):
        measure(drifting, [1, 2])
    assert measure(drifting, [1, 2], rtol=1e-3).best


def test_what_cannot_be_measured_is_refused(launches: Launches, monkeypatch: pytest.MonkeyPatch) -> None:
    launches.costs = {2: 0.2}
    with pytest.raises(
        CudaWheelError,
        match=r"nothing can be measured. The default stream has no work from the candidate update.*block=2: it launches nothing",
    ):
        measure(launches, [1, 2])
    launches.errors = {3: RuntimeError("illegal address")}
    monkeypatch.setattr(StandInTimer, "usable", False)
    with pytest.raises(
        CudaWheelError,
        match=r"the candidate update.*block=3 made the GPU unusable .*RuntimeError: illegal address. Mend it or leave it out",
    ):
        measure(launches, [1, 3])


@pytest.mark.parametrize("returned", [None, 3, (1, 2), (len,), (len, 1, 2)])
def test_a_function_that_returns_something_else_is_refused(launches: Launches, returned: Any) -> None:
    declared = tunable("demo.update", problems=[{"n": 1}], candidates={"block": [1]})(lambda problem: returned)
    with pytest.raises(CudaWheelError, match="must return a function that launches a candidate, and its result arrays"):
        next(tune(declared, StandInTimer()))


def test_the_only_kernel_needs_no_name_and_a_missing_variant_is_left_out(launches: Launches) -> None:
    candidates = [
        {"variant": MACROS, "kernel": "update", "block": 1},
        {"variant": {"MATH_TYPE": "half", "NUM_MODES": 2}, "kernel": "update", "block": 1},
        {"variant": MACROS, "kernel": "updat", "block": 1},
        {"variant": MACROS, "block": 1},
    ]
    reasons = [trial.reason or "" for trial in measure(launches, [], candidates=candidates).trials]
    assert reasons[0] == "" and "UnknownVariantError" in reasons[1]
    assert "did you mean update?" in reasons[2] and "has several kernels: name one" in reasons[3]


def test_a_module_with_one_kernel_needs_no_name(launches: Launches) -> None:
    @tunable("demo.plain", problems=[{"n": 1}], candidates=lambda problem: [{"block": problem["n"]}, {"block": 2}])
    def plain(problem: Any) -> Any:
        return launches, launches.result

    (measured,) = tune(plain, StandInTimer())
    assert measured.row.kernel == "plain" and measured.row.variant == {} and measured.row.parameters == {"block": 1}


def test_results_of_every_kind_are_compared() -> None:
    def difference(array: Any, found: Any, **tolerance: float) -> str | None:
        results = ResultArrays(array)
        reference = results.read()
        results.write([np.ascontiguousarray(found).tobytes()])
        return results.difference(reference, results.read(), tolerance.get("rtol", 0.0), tolerance.get("atol", 0.0))

    nan = np.array([1, np.nan, 3], np.float64)
    assert difference(nan.copy(), nan) is None and difference(nan.copy(), nan, rtol=0.1) is None
    assert (
        difference(nan.copy(), nan + np.array([0, 0, 1]), rtol=0.1)
        == "the result is wrong: element 2 is 4.0, not 3.0; 1 of 3 differ"
    )
    assert "element 0 is -0.0, not 0.0" in str(difference(np.zeros(2), -np.zeros(2)))  # bit by bit
    assert difference(np.zeros(2), -np.zeros(2), atol=1e-9) is None
    assert "element 1 is 9" in str(difference(np.arange(4), np.array([0, 9, 2, 3])))
    assert difference(np.arange(4), np.array([0, 2, 2, 3]), atol=1) is None
    assert "element 1 is 255, not 0" in str(difference(np.zeros(2, np.uint8), np.array([0, 255], np.uint8), atol=254))
    assert "element 0 is 2j" in str(difference(np.array([1j]), np.array([2j]), rtol=0.5))
    record = np.zeros(2, np.dtype("f4, i2"))
    assert "1 of 2 differ" in str(difference(record.copy(), np.array([(0, 0), (0, 1)], record.dtype)))
    with pytest.raises(ArgumentError, match="can be compared bit by bit only"):
        difference(record.copy(), np.array([(0, 0), (0, 1)], record.dtype), rtol=1)
    two = ResultArrays((np.zeros(1), bytearray(3)))
    start = two.read()
    two.write([start[0], b"abc"])
    assert two.difference(start, two.read(), 0, 0) == "result 1 is wrong: element 0 is 97, not 0; 3 of 3 differ"
    for wrong, message in (
        ((), "no results"),
        (b"x", "read-only"),
        (3, "is not a buffer"),
        (np.zeros((4, 4)).T[1:], "not contiguous"),
    ):
        with pytest.raises(ArgumentError, match=message):
            ResultArrays(wrong)


def test_without_numpy_bits_are_compared_and_a_tolerance_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    results = ResultArrays(bytearray(b"abc"))
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert results.difference([b"abc"], [b"abd"], 0, 0) == "the result is wrong: byte 2 is 100, not 99"
    with pytest.raises(CudaWheelError, match="rtol and atol need NumPy: pip install numpy"):
        results.difference([b"abc"], [b"abd"], 0, 1)
