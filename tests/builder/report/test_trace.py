"""Every step of a build is in its trace, if one is asked for."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from cuda_wheel.builder.report.trace import chrome_trace
from cuda_wheel.builder.timing import Span, Step, Times
from tests.support.processes import build_wheel
from tests.support.projects import copy_fixture
from tests.support.traces import FILES, assert_nested

pytestmark = [pytest.mark.one_toolchain, pytest.mark.usefixtures("two_workers")]


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.slow
@pytest.mark.parametrize("fixture", ["linked", "plugin"])
def test_every_step_is_in_the_trace(fixture: str, tmp_path: Path, extra: str, cuda_wheel: Run) -> None:
    project = copy_fixture(fixture, tmp_path / "project", extra)
    for first in (True, False):
        result = cuda_wheel("build", project, "-o", tmp_path / "out", "--timings", tmp_path / "trace.json")
        assert result.returncode == 0, result.stdout
        events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
        slices = [event for event in events if event["ph"] == "X"]
        assert_nested(slices)
        phases = {"compiling", "assembling", "lowering", "linking", "bundling", "starting"}
        steps = [event["args"]["how"] for event in slices if event["name"] not in phases]
        jobs = int(result.stdout.splitlines()[-1].split()[1])
        modules = int(result.stdout.split()[1])
        bundled = modules if first else 0  # the second build takes the fatbins from the cache
        assert len(steps) == jobs + bundled
        assert steps.count("bundled") == bundled
        assert {event["tid"] for event in slices} <= {event["tid"] for event in events if event["ph"] == "M"}


@pytest.mark.slow
def test_every_back_end_writes_the_trace_to_the_given_path(
    tmp_path: Path, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "traces").mkdir()
    monkeypatch.setenv("CUDAARCHS", "80-real")
    for backend in ("hatchling", "setuptools", "scikit-build-core"):
        monkeypatch.setenv(
            "CUDA_WHEEL_TIMINGS", str(tmp_path / "traces" / "") if "-" in backend else str(tmp_path / backend)
        )
        project = copy_fixture("linked", tmp_path / f"project-{backend}", extra, backend)
        build_wheel(project, tmp_path / "dist")
    for path in (tmp_path / "hatchling", tmp_path / "setuptools"):
        assert json.loads(path.read_text())["traceEvents"]
    assert (
        len(list((tmp_path / "traces").glob("cuda-wheel-*.json"))) == 3
    )  # with CMake, each module is a separate build


def test_an_unwritable_trace_fails_before_the_build(project: Path, cuda_wheel: Run, tmp_path: Path) -> None:
    result = cuda_wheel("build", project, "-o", tmp_path / "out", CUDA_WHEEL_TIMINGS=str(tmp_path / "no" / "folder"))
    assert result.returncode == 1
    assert "the timings cannot be written to " in result.stdout
    assert "No such file or directory" in result.stdout
    assert not (tmp_path / "out").exists()


def test_a_failed_build_has_a_trace_too(make_project, cuda_wheel: Run, tmp_path: Path) -> None:
    files = {"demo/good.cu": FILES["demo/c.cu"], "demo/wrong.cu": "wrong\n"}
    project = make_project('[tool.cuda-wheel]\narchitectures = "80-real"\n', **files)
    result = cuda_wheel(
        "build", project, "-o", tmp_path / "out", "--timings", tmp_path / "trace.json", CUDA_WHEEL_JOBS="1"
    )
    assert result.returncode == 1
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    slices = {event["name"]: event for event in events if event["ph"] == "X"}
    assert "demo/good.cu sm_80" in slices
    assert slices["demo/wrong.cu sm_80 failed"]["dur"] > 0
    assert slices["demo/wrong.cu sm_80 failed"]["args"]["how"] == "failed"
    assert_nested([*slices.values()])
    assert re.search(r" s: 1 compiled, 1 failed", result.stdout)


def test_the_trace_has_the_time_of_a_job_that_was_stopped(make_project, cuda_wheel: Run, tmp_path: Path) -> None:
    bomb = "".join(f"#define M{n + 1} M{n} M{n} M{n} M{n}\n" for n in range(40))  # expands to 4**40 tokens
    project = make_project(
        '[tool.cuda-wheel]\narchitectures = "80-real"\ntimeout = 2\n',
        **{"demo/k.cu": f"#define M0 +1\n{bomb}enum {{ E = 0 M40 }};\n{FILES['demo/c.cu']}"},
    )
    result = cuda_wheel(
        "build", project, "-o", tmp_path / "out", "--timings", tmp_path / "trace.json", CUDA_WHEEL_JOBS="1"
    )
    assert result.returncode == 1
    assert "was stopped after 2 s" in result.stdout
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    (failed,) = (event for event in events if event["name"] == "demo/k.cu sm_80 failed")
    assert failed["dur"] >= 2e6 * 0.9
    assert re.search(r"^cuda-wheel: 1 job in .* s: 1 failed; workers: .* s failing", result.stdout, re.MULTILINE)


def test_adjacent_steps_do_not_overlap_in_a_trace() -> None:
    """Rounding to microseconds does not make them overlap."""
    times = [1.7e9 + number * 3.3e-6 for number in range(50)]
    steps = [
        Step(
            "demo.k", ("k.cu",), "sm_80", "compiled", Times("w", began, ended, (Span("compiling", began, ended),), None)
        )
        for began, ended in pairwise(times)
    ]
    events = [event for event in chrome_trace(steps)["traceEvents"] if event["ph"] == "X"]
    assert len(events) == 98
    assert_nested(events)
    assert chrome_trace([])["traceEvents"][0]["args"]["name"] == "build"
