"""A worker process answers calls until its build ends; what a call prints, allocates or is interrupted by does no harm."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.errors import CompileError, ToolchainError
from cuda_wheel.builder.execute import BUNDLE, COMPILE_JOB, LINK_JOB
from cuda_wheel.builder.full_build import FIND_NVVM
from cuda_wheel.builder.workers.executor import WorkerFunction
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.builder.workers.worker import Worker
from cuda_wheel.builder.workers.worker_process import load_compilers
from tests.support.processes import alive, run

pytestmark = [pytest.mark.one_toolchain, pytest.mark.usefixtures("two_workers")]


class Unsendable(Exception):
    """An error that cannot be unpickled: its arguments are not those of its constructor."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(one + other)


def _raise_unsendable(_: None) -> None:
    raise Unsendable("lost ", "in transit")


def test_an_error_or_result_that_cannot_be_sent_is_reported_by_its_text() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        with pytest.raises(ToolchainError, match=r"^Unsendable: lost in transit$"):
            workers.submit(_raise_unsendable, None).result()
        with pytest.raises((TypeError, AttributeError, pickle.PicklingError, ToolchainError), match="lambda"):
            workers.submit(eval, "lambda: 1").result()
        assert workers.submit(len, (1,)).result() == 1


def test_a_request_that_cannot_be_read_fails_that_call_alone() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        with pytest.raises(ModuleNotFoundError, match="no_such_module"):
            workers.submit(WorkerFunction("no_such_module:function"), None).result()
        assert workers.submit(len, (1,)).result() == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the path is of Linux")
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on a process's address space")
def test_a_request_is_held_once_and_one_above_the_memory_limit_is_an_error() -> None:
    with Workers(timeout=60, memory=1 << 30, count=1) as workers:
        assert workers.submit(len, bytes(600 << 20)).result() == 600 << 20
        with pytest.raises(CompileError, match="needed more memory than memory-limit"):
            workers.submit(len, bytes(1100 << 20)).result()
        assert workers.submit(len, (1,)).result() == 1


def test_the_working_folder_has_the_same_name_in_every_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PWD", str(tmp_path))
    with Workers(timeout=60, memory=None, count=1) as workers:
        name = workers.submit(os.getenv, "PWD").result()
        assert workers.submit(os.path.realpath, name).result() == str(tmp_path)
    assert str(tmp_path) not in name


def test_a_worker_imports_no_more_than_it_needs_to_start() -> None:
    """Each build and each compilation on load waits for it."""
    worker = Worker(None)
    try:
        modules = worker.call(eval, "sorted(__import__('sys').modules)", 60)
    finally:
        worker.end()
    assert not {"subprocess", "shutil", "dataclasses", "cuda_wheel.builder.compile.job"}.intersection(modules)


def test_a_worker_that_compiles_imports_no_settings() -> None:
    """They are a tenth of what it would import, and the build has read them."""
    worker = Worker(None)
    try:
        worker.call(load_compilers, None, 60)
        modules = worker.call(eval, "sorted(__import__('sys').modules)", 60)
    finally:
        worker.end()
    assert "cuda_wheel.builder.compile.job" in modules
    assert not [name for name in modules if name.startswith("cuda_wheel.builder.config.settings")]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on a process's address space")
def test_a_call_that_needs_too_much_memory_is_stopped() -> None:
    with Workers(timeout=60, memory=1 << 30, count=1) as workers:
        with pytest.raises(CompileError, match="needed more memory than memory-limit"):
            workers.submit(bytearray, 4 << 30).result()
        assert workers.submit(len, ()).result() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on a process's address space")
def test_a_result_that_is_too_large_to_send_is_an_error() -> None:
    with Workers(timeout=60, memory=1 << 30, count=1) as workers:
        with pytest.raises(CompileError, match=r"needed more memory than memory-limit \(1GiB\) allows\nhelp: "):
            workers.submit(bytes, 600 << 20).result()
        assert workers.submit(len, ()).result() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="Linux has a score of what to kill first")
def test_the_system_kills_workers_first_when_memory_runs_out() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        assert workers.submit(_score, None).result() == "1000"


def _score(_: None) -> str:
    return Path("/proc/self/oom_score_adj").read_text().strip()


@pytest.mark.parametrize("function", [COMPILE_JOB, LINK_JOB, BUNDLE, FIND_NVVM], ids=lambda function: function.path)
def test_a_function_that_only_workers_import_is_the_one_that_it_names(function: WorkerFunction[Any]) -> None:
    found = pickle.loads(pickle.dumps(function))
    assert callable(found) and f"{found.__module__}:{found.__qualname__}" == function.path


def test_the_output_of_a_call_does_not_corrupt_the_answers() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        workers.submit(os.system, "echo printed by a compiler").result()
        assert workers.submit(len, (1,)).result() == 1


def test_workers_ignore_an_interrupt() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        pid = workers.submit(_pid, None).result()
        os.kill(pid, signal.SIGINT)
        assert workers.submit(_pid, None).result() == pid


ORPHAN = """
import signal, time
for name in ("SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.SIG_DFL)  # a caller such as nohup may have set it to be ignored
from cuda_wheel.builder.workers.pool import Workers
with Workers(timeout=600, memory=None, count=1) as workers:
    print(workers.submit(eval, "__import__('os').getpid()").result(), flush=True)
    workers.submit(time.sleep, 600).result()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL", "SIGHUP"])
def test_no_worker_outlives_its_build(how: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as build:
        worker = int(build.stdout.readline())
        time.sleep(0.2)
        build.send_signal(signal.Signals[how])
        try:
            build.wait(timeout=30)
        finally:
            build.kill()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and alive(worker):
            time.sleep(0.05)
    assert not alive(worker)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on a process's address space")
def test_a_lower_limit_of_the_system_applies_before_ours() -> None:
    program = "from cuda_wheel.builder.workers.pool import Workers\nwith Workers(60, 8 << 30, 1) as w: print(w.submit(len, (1,)).result())"
    result = run("bash", "-c", f'ulimit -v 6000000; exec "{sys.executable}" -c "$0"', program)
    assert result.stdout == "1\n"


def _pid(_: None) -> int:
    return os.getpid()
