"""Workers that are made when they are needed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from cuda_wheel.builder.workers.pool import Workers
from tests.support.processes import run

pytestmark = pytest.mark.one_toolchain


def process_id(_: None) -> int:
    return os.getpid()


def test_prepared_workers_serve_the_calls_that_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_WHEEL_JOBS", "2")
    with Workers(60, None) as workers:
        workers.prepare(9)
        workers.prepare(9)  # once is enough
        assert len(workers._threads) == 2
        ids = {workers.submit(process_id, None).result() for _ in range(4)}
        assert {worker._process.pid for worker in workers._workers} >= ids
        assert len(workers._workers) <= 2


@pytest.mark.parametrize("calls", [0, 1])
def test_no_more_workers_are_prepared_than_calls(calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_WHEEL_JOBS", "2")
    with Workers(60, None) as workers:
        workers.prepare(calls)
        assert len(workers._threads) == calls


def test_a_cached_build_imports_no_compilers_side(make_project, cuda_wheel, tmp_path: Path) -> None:
    """Whose import takes longer than the rest of such a build."""
    project = make_project()
    environ = {"CUDA_WHEEL_CACHE_DIR": str(tmp_path / "cache")}
    assert cuda_wheel("build", project, "-o", tmp_path / "out", **environ).returncode == 0
    program = f"""
import os, sys
from pathlib import Path
from cuda_wheel.builder.config.pyproject import read_config
from cuda_wheel.builder.project import build_files
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.sources.layout import WheelFile
root = Path({str(project)!r})
files = [WheelFile(path, path.relative_to(root).as_posix()) for path in root.rglob("demo/*")]
assert build_files(root, read_config(root, os.environ), files, SilentReporter(), Path({str(tmp_path / "again")!r}))
rooms = {{name.split(".")[2] for name in sys.modules if name.startswith("cuda_wheel.builder.")}}
print(*sorted(rooms & {{"compile", "cxx", "rewriting", "images", "link", "messages", "execute", "full_build"}}))
"""
    result = run(sys.executable, "-c", program, **environ)
    assert (result.returncode, result.stdout.split()) == (0, []), result.stdout
