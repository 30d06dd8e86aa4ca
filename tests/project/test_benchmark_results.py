"""The results of benchmarks: stored in a file, shown with their goals, and kept when a section fails. Nothing is timed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.one_toolchain

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
NVCC, OURS = "nvcc", "cuda-wheel"


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """Return the benchmarks' modules, which are scripts that import each other by file name."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import _interleave
    import _results
    import report

    yield SimpleNamespace(interleave=_interleave, results=_results, report=report)
    for name in ("_interleave", "_results", "report"):
        del sys.modules[name]


def result(results, ours: float, title: str = "Build"):
    goals = [results.Goal(OURS, NVCC, times=0.95, limit="the front end.")]
    values = {NVCC: [4.0, 2.0, 3.0], OURS: [ours, ours, 9.0]}
    return results.Result(title, "How long it takes.", "s", values, NVCC, goals=goals, notes=["A note."])


def shown(benchmarks, path: Path) -> str:
    report = benchmarks.results.Report.read(path)
    return benchmarks.report.markdown(report, {each.title: f"{each.title}.svg" for each in report.results})


def test_a_document_needs_only_the_file_and_shows_which_goals_are_met(benchmarks, tmp_path: Path) -> None:
    results = benchmarks.results
    measured = [result(results, 1.5, "Met"), result(results, 2.9, "Missed")]
    results.Report("All", "nox", {"CPU": "x"}, {"nvcc": "13.0"}, measured, ["scale: no file"]).write(
        tmp_path / "a.json"
    )
    text = shown(benchmarks, tmp_path / "a.json")
    assert "| nvcc | 3.0 | 2.0 | 4.0 | 1.000 |  |" in text
    assert "| cuda-wheel | 1.5 | 1.5 | 9.0 | 0.500 | ≤ 0.95 times nvcc: 0.500 times, met |" in text
    assert "| cuda-wheel | 2.9 | 2.9 | 9.0 | 0.967 | ≤ 0.95 times nvcc: 0.967 times, **missed** |" in text
    assert text.count("The cause of the missed goal of cuda-wheel: the front end.") == 1
    assert "- CPU: x" in text and "nvcc 13.0" in text and "- scale: no file" in text and text.count("A note.") == 2
    results.Report.read(tmp_path / "a.json").write(tmp_path / "b.json")
    assert (tmp_path / "b.json").read_bytes() == (tmp_path / "a.json").read_bytes()


def test_a_contender_may_have_several_goals_missed_for_one_cause(benchmarks, tmp_path: Path) -> None:
    results = benchmarks.results
    goals = [results.Goal("a", base, times, limit="c.") for base, times in (("b", 0.5), ("a", 0.5))]
    measured = results.Result("Two", "", "s", {"a": [1.0], "b": [1.0]}, goals=goals)
    missed = "≤ 0.5 times b: 1.000 times, **missed**; ≤ 0.5 times a: 1.000 times, **missed**"
    assert results.rows(measured)[1:] == [["a", "1.0", missed], ["b", "1.0", ""]]
    results.Report("All", "nox", {}, {}, [measured]).write(tmp_path / "a.json")
    assert shown(benchmarks, tmp_path / "a.json").count("The cause of the missed goal of a: c.") == 1


def test_a_goal_can_be_a_difference(benchmarks) -> None:
    results = benchmarks.results
    measured = results.Result("Again", "", "ms", {"off": [70.0], "on": [170.0]}, "off")
    assert results.Goal("on", "off", more=100).met(measured)
    assert not results.Goal("on", "off", more=99).met(measured)
    assert results.Goal("on", "off", more=99).reached(measured) == "+100.0 ms, **missed**"
    assert results.Goal("on", "off", more=99).text(measured) == "≤ off + 99 ms"


def test_a_contender_that_fails_at_once_is_omitted_with_a_note(benchmarks) -> None:
    def missing() -> float:
        raise ModuleNotFoundError("No module named 'cupy'")

    goal = benchmarks.results.Goal("CuPy", "ours")
    compared = benchmarks.interleave.compare("Load", "", {"ours": lambda: 1.0, "CuPy": missing}, 3, goals=[goal])
    assert compared.values == {"ours": [1.0, 1.0, 1.0]}
    assert compared.notes == ["Omitted: CuPy. ModuleNotFoundError: No module named 'cupy'"]
    assert not compared.goals
    with pytest.raises(ModuleNotFoundError):
        benchmarks.interleave.compare("Load", "", {"CuPy": missing, "ours": lambda: 1.0}, 3)


def test_a_failed_section_keeps_the_others_and_names_no_folder(benchmarks, tmp_path: Path) -> None:
    results, output = benchmarks.results, tmp_path / "out" / "all.json"

    def half():
        yield result(results, 1.0, "Half")
        assert results.Report.read(output).results == []  # the file already contains the earlier section
        raise FileNotFoundError(f"no {tmp_path}/nvcc")

    sections = {"none": lambda: [], "half": half, "whole": lambda: [result(results, 1.0, "Whole")]}
    results.collect(results.Report("All", "nox", {}, {}), sections, [], output)
    report = results.Report.read(output)
    assert [each.title for each in report.results] == ["Half", "Whole"]
    assert report.missing == ["half: FileNotFoundError: no nvcc"]
    results.collect(results.Report("All", "nox", {}, {}), sections, ["whole"], output)
    assert [each.title for each in results.Report.read(output).results] == ["Whole"]
    with pytest.raises(SystemExit, match="unknown section hole; the sections are none, half, whole"):
        results.collect(results.Report("All", "nox", {}, {}), sections, ["hole"], output)
