"""Each test has a time limit: one that hangs fails with its stack, and the processes that it started end with it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tests.support.processes import alive, run
from tests.support.projects import ROOT

pytestmark = [
    pytest.mark.one_toolchain,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and sends signals"),
]

HANGING_WORKER = """
import os, pathlib, time
from cuda_wheel.builder.workers.pool import Workers

def hang(path):
    pathlib.Path(path).write_text(str(os.getpid()))
    time.sleep(600)

def test_hangs():
    with Workers(timeout=600, memory=None, count=1) as workers:
        workers.submit(hang, {path!r}).result()

def test_follows():
    pass
"""

HANGING_COMMAND = """
import sys
from tests.support.processes import run

CHILD = "import os, pathlib, time; pathlib.Path({path!r}).write_text(str(os.getpid())); time.sleep(600)"

def test_hangs():
    run(sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {{CHILD!r}}])")

def test_follows():
    pass
"""

HANGING_CALL_OF_C = """
import collections, itertools, os, pathlib

def test_hangs():
    pathlib.Path({path!r}).write_text(str(os.getpid()))
    collections.deque(itertools.repeat(None), 0)  # like a compiler that hangs: Python handles no signal during the call

def test_follows():
    pass
"""


def outcome(folder: Path, code: str, *options: str) -> tuple[int, str, int | None]:
    """Run tests that hang with this project's settings; return pytest's exit status, its output, and the PID that they
    wrote before they hung."""
    written = folder / "pid"
    tests = folder / "test_hanging.py"
    tests.write_text(code.format(path=str(written)))
    settings = ["-c", ROOT / "pyproject.toml", "--rootdir", ROOT, "-p", "no:cacheprovider", "-p", "tests.conftest"]
    result = run(sys.executable, "-m", "pytest", *settings, *options, tests, cwd=ROOT, PYTHONPATH=str(ROOT))
    return result.returncode, result.stdout, int(written.read_text()) if written.exists() else None


def ended(pid: int | None) -> bool:
    """Return whether a process ends within seconds."""
    assert pid is not None
    for _ in range(100):
        if not alive(pid):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
@pytest.mark.parametrize("code", [HANGING_WORKER, HANGING_COMMAND], ids=["worker", "command"])
def test_a_test_that_hangs_fails_with_its_stack_and_its_processes_end(tmp_path: Path, code: str) -> None:
    status, output, pid = outcome(tmp_path, code, "--timeout=10")
    assert (status, output.count("Timeout (>10.0s)") > 0) == (1, True), output
    assert "in test_hangs" in output or "def test_hangs" in output
    assert "1 failed, 1 passed" in output
    assert ended(pid)


@pytest.mark.slow
def test_a_test_that_hangs_in_a_call_of_c_ends_its_process_with_its_stack(tmp_path: Path) -> None:
    options = ["-n", "1", "--timeout=2", "-o", "faulthandler_timeout=8"]
    status, output, pid = outcome(tmp_path, HANGING_CALL_OF_C, *options)
    assert "in test_hangs" in output
    assert (status, "1 failed, 1 passed" in output) == (1, True), output
    assert ended(pid)


def test_the_settings_are_accepted_where_pytest_timeout_is_missing(tmp_path: Path) -> None:
    status, output, _ = outcome(tmp_path, "def test_follows(): pass\n", "-p", "no:timeout")
    assert (status, "1 passed" in output) == (0, True), output


def test_every_test_has_a_limit(request: pytest.FixtureRequest) -> None:
    config = request.config
    assert 0 < float(config.getini("timeout")) < float(config.getini("faulthandler_timeout"))
    assert config.getini("faulthandler_exit_on_timeout")
