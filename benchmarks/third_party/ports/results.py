"""What `compare.py` and `own_tests.py` found, as tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from _results import Goal, Result, table

__all__ = ["OURS", "OUTCOMES", "THEIRS", "calls", "is_as_the_original", "tests", "times", "timings"]

OURS, THEIRS = "cuda_wheel.torch.operator", "C++ extension"
OUTCOMES = ("passed", "failed", "error", "skipped", "xfailed", "xpassed", "deselected")
"""What pytest calls the outcomes of tests."""
SHOWS = {
    "knn_cuda": "the only function: three launches",
    "torch_cluster": "the seven functions: sizes read from the GPU, random numbers, tensors that may be missing",
    "pytorch3d": "nearest neighbours (642 instances, with gradient), marching cubes, ball query: accessors by value",
    "apex_amp": "scale and norm of lists of tensors, whose addresses a kernel takes in a struct",
    "apex_transducer": "the joint with dropout, and its gradient: the state of PyTorch's generator by value",
}
"""Package -> what is ported, and what that needs."""


def is_as_the_original(verdict: str) -> bool:
    """Return whether a call differs from the original only as two calls of the original do."""
    return verdict.startswith(("close:", "the original differs"))


def calls(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of the packages, and how many of their calls gave the same bits."""
    rows = [
        ["package", "what", "lines of C++", "lines of Python", "calls", "same bits", "as two calls of the original"]
    ]
    for name, result in results.items():
        if "failed" in result:
            rows.append([name, f"**{result['failed'].splitlines()[0]}**", *[""] * 5])
            continue
        verdicts = [*result["calls"].values()]
        counts = len(verdicts), verdicts.count("same bits"), sum(map(is_as_the_original, verdicts))
        lines = result["host_lines"], result["lines"]
        rows.append([name, SHOWS[name], *map(str, (*lines, *counts))])
    return table(rows)


def timings(results: Mapping[str, Mapping[str, Any]]) -> Iterator[Result]:
    """Yield the comparisons of the calls that were timed."""
    for result in results.values():
        for timing in result.get("timings", ()):
            yield Result(**timing | {"goals": [Goal(**goal) for goal in timing["goals"]]})


def times(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of the times of calls, beside the goal of each."""
    rows = [["call", "launches", "C++, µs", "Python, µs", "times", "goal"]]
    for result in timings(results):
        (goal,), theirs, ours = result.goals, result.median(THEIRS), result.median(OURS)
        met = f"{goal.times:g}, {'met' if goal.met(result) else '**missed**'}"
        launches = result.about.split()[0]
        rows.append([result.title, launches, f"{theirs:.1f}", f"{ours:.1f}", f"{ours / theirs:.2f}", met])
    return table(rows)


def tests(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of the outcomes of the packages' own tests; those that none has are left out."""
    counted = [each for each in results.values() if "stopped" not in each]
    seen = [each for each in OUTCOMES if each in ("passed", "failed") or any(result[each] for result in counted)]
    rows = [["package", *seen]]
    for name, result in results.items():
        is_counted = "stopped" not in result
        rows.append([name, *(str(result[each]) if is_counted else f"**{result['stopped']}**" for each in seen)])
    return table(rows)
