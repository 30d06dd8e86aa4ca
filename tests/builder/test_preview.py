"""A dry run lists the jobs and links of a build, which of them are cached, and how long the others take."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.traces import FILES, TABLE, assert_nested

pytestmark = pytest.mark.one_toolchain

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def known_toolchain() -> None:
    """Let the cache of each test be empty: a test counts what is in it."""


@pytest.fixture
def project(make_project) -> Path:
    return make_project(TABLE, **FILES)


def previewed(cuda_wheel: Run, project: Path) -> dict[tuple[str, str, str], tuple[bool | None, bool]]:
    """Return for each job and link of a dry run whether it is cached and whether its duration is known."""
    result = cuda_wheel("build", project, "--dry-run", "--json")
    assert result.returncode == 0, result.stdout
    document = json.loads(result.stdout)
    assert document["seconds"] > 0
    tasks = [task for module in document["modules"] for task in module["tasks"]]
    assert all(task["seconds"] > 0 for task in tasks)
    return {
        (task["what"], " ".join(task["sources"]), task["target"]): (task["cached"], task["known"]) for task in tasks
    }


def traced(cuda_wheel: Run, project: Path) -> dict[tuple[str, str, str], str]:
    """Build, and return how each job and link was done according to the trace."""
    trace = project.parent / "trace.json"
    result = cuda_wheel("build", project, "-o", project.parent / "out", "--timings", trace)
    assert result.returncode == 0, result.stdout
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    assert_nested(events)
    found = {}
    for event in events:
        args = event["args"]
        linked = ", " in args["source"]
        if args["how"] != "bundled":
            key = ("link" if linked else "compile", args["source"].replace(", ", " "), args["target"])
            assert found.setdefault(key, args["how"]) == args["how"]
    return found


@pytest.mark.slow
def test_a_dry_run_predicts_what_the_next_build_takes_from_the_cache(project: Path, cuda_wheel: Run) -> None:
    def edit(file: str, text: str) -> Callable[[], object]:
        return lambda: (project / "demo" / file).write_text(text)

    pyproject = (project / "pyproject.toml").read_text()
    steps = [
        lambda: None,
        lambda: None,
        edit("c.cu", FILES["demo/c.cu"].replace("1", "2")),
        edit("b.cu", FILES["demo/b.cu"].replace("1", "2")),
        lambda: (project / "pyproject.toml").write_text(pyproject.replace('"90-real"', '"90-real", "100-real"')),
    ]
    seen = []
    for step in steps:
        step()
        before = previewed(cuda_wheel, project)
        after = traced(cuda_wheel, project)
        assert before.keys() == after.keys()
        for key, (cached, _) in before.items():
            if cached is not None:
                assert cached == (after[key] == "from the cache"), key
            else:
                assert key[0] == "link"
        seen.append(before)
    first, second, kernel, linked, target = seen
    assert set(first.values()) == {(False, False), (None, False)}
    assert set(second.values()) == {(True, True)}
    assert {key for key, (cached, _) in kernel.items() if not cached} == {
        ("compile", "demo/c.cu", "sm_80"),
        ("compile", "demo/c.cu", "sm_90"),
    }
    assert all(known for _, known in kernel.values())  # durations are recorded independently of content
    assert {key for key, (cached, _) in linked.items() if cached is None} == {
        ("link", "demo/a.cu demo/b.cu", "sm_80"),
        ("link", "demo/a.cu demo/b.cu", "compute_80"),
        ("link", "demo/a.cu demo/b.cu", "sm_90"),
    }
    assert {key[2] for key, (_, known) in target.items() if not known} == {"sm_100", "compute_100"}


@pytest.mark.slow
def test_a_dry_run_writes_nothing(project: Path, cuda_wheel: Run, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    result = cuda_wheel("build", project, "--dry-run")
    assert result.returncode == 0
    assert sorted(tmp_path.rglob("*")) == before
    assert Cache().entries() == []
    lines = result.stdout.splitlines()
    assert "demo.c" in lines
    assert "  demo/c.cu for sm_80: perhaps 0.10 s" in lines
    assert lines[-1].startswith("cuda-wheel: 11 jobs: 0 from the cache, 11 to do, about ")
    assert "(estimated)" in lines[-1]
    assert cuda_wheel("build", project, "-o", tmp_path / "out").returncode == 0
    lines = cuda_wheel("build", project, "--dry-run").stdout.splitlines()
    assert "  link for compute_80 (lto): from the cache" in lines
    assert lines[-1].startswith("cuda-wheel: 11 jobs: 11 from the cache, 0 to do, about ")
    assert "guess" not in lines[-1]


@pytest.mark.parametrize(
    "options", [(), ("--dry-run", "-o", "out"), ("-o", "out", "--json"), ("--dry-run", "--timings", "x")]
)
def test_options_that_contradict_a_dry_run_are_an_error(
    options: tuple[str, ...], project: Path, cuda_wheel: Run
) -> None:
    assert cuda_wheel("build", project, *options).returncode == 2
