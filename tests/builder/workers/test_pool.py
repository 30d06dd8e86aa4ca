"""Workers may crash, hang or run out of memory; the build reports it and continues."""

from __future__ import annotations

import os
import signal
import sys
import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Job, LinkJob
from cuda_wheel.builder.link import link_job
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.executor import Call
from cuda_wheel.builder.workers.pool import Workers
from tests.support.processes import run
from tests.support.projects import KERNEL

pytestmark = [pytest.mark.one_toolchain, pytest.mark.usefixtures("two_workers")]

SINES = b"__global__ void k(float* x) { for (int i = 0; i < 40; i++) x[i] = sinf(x[i]) * x[i + 1] + x[i + 2]; }"
"""A kernel whose code NVRTC 12.9 changes after a compilation with --Ofast-compile=mid."""

BOMB = b"""
template <int N, int M> struct T { static constexpr int v = T<N - 1, M>::v + T<N - 1, M + (1 << (N % 24))>::v; };
template <int M> struct T<0, M> { static constexpr int v = M; };
__global__ void k(int* x) { *x = T<24, 0>::v; }
"""
"""A source that takes minutes and all memory to compile."""


def test_a_crash_ends_the_call_and_not_the_pool() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        with pytest.raises(CompileError, match=r"the compiler process died \(killed by SIGABRT\)"):
            workers.submit(_abort, None).result()
        assert workers.submit(len, (1, 2, 3)).result() == 3


def _abort(_: None) -> None:
    os.abort()


def test_a_worker_that_ends_while_idle_fails_no_call() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        pid = workers.submit(_pid, None).result()
        os.kill(pid, signal.SIGKILL)
        (worker,) = workers._workers
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not worker.has_ended:
            time.sleep(0.01)
        assert workers.submit(len, (1,)).result() == 1


@pytest.mark.slow
def test_a_call_that_takes_too_long_is_stopped() -> None:
    with Workers(timeout=5, memory=None, count=1) as workers:
        with pytest.raises(
            CompileError,
            match=r"stopped after 5 s, the time limit of one compile job \(key: timeout\)\nhelp: .* as several sources",
        ):
            workers.submit(time.sleep, 60).result()
        assert workers.submit(len, ()).result() == 0


def test_a_call_that_nobody_needs_is_stopped_while_it_waits_or_runs() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        running, waiting = workers.submit(time.sleep, 50), workers.submit(time.sleep, 50)
        while not running.running():
            time.sleep(0.01)
        began = time.monotonic()
        workers.stop(waiting)
        workers.stop(running)
        with pytest.raises(CompileError, match="killed by SIGKILL"):
            running.result()
        workers.stop(running)
        assert workers.submit(len, ()).result() == 0
        assert waiting.cancelled()
        assert time.monotonic() - began < 20


@pytest.mark.slow
def test_the_first_error_of_a_module_ends_its_other_jobs(make_project, cuda_wheel, tmp_path: Path) -> None:
    """Here one target would take minutes and all memory, and the other one does not compile."""
    source = "#if __CUDA_ARCH__ >= 900\nmisspelt\n#else\n" + BOMB.decode() + "#endif\n"
    table = '[tool.cuda-wheel]\narchitectures = ["80-real", "90-real"]\nmemory-limit = "4GiB"'
    project = make_project(table, **{"demo/fill.cu": source})
    began = time.monotonic()
    result = cuda_wheel("build", project, "-o", tmp_path / "out", CUDA_WHEEL_JOBS="2")
    assert result.returncode == 1
    assert result.stdout.count("does not compile for") == 1 and "for sm_90" in result.stdout
    assert "compiler process died" not in result.stdout
    assert time.monotonic() - began < 20


@pytest.mark.slow
def test_an_error_is_reported_though_the_compiler_would_take_minutes_to_find_the_next(toolchain: Toolchain) -> None:
    text = BOMB.replace(b"T<24, 0>::v;", b"misspelt; T<24, 0> t;")
    folders = toolchain.header_folders
    job = Job(toolchain.libraries[0], ".", "bomb.cu", text, "80", True, False, (), folders, (), False, "auto")
    with Workers(timeout=60, memory=None, count=1) as workers, pytest.raises(CompileError) as raised:
        workers.submit(compile_job, job).result()
    message = str(raised.value)
    assert message.count("error: ") == 1 and 'identifier "misspelt" is undefined' in message
    assert "Error limit" not in message
    assert message.endswith("note: the compiler has not found the next error within 3 s; there may be more than this.")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on a process's address space")
def test_a_template_of_exponential_size_is_an_error(toolchain: Toolchain) -> None:
    job = Job(toolchain.libraries[0], ".", "bomb.cu", BOMB, "80", True, False, (), (), (), False, "auto")
    with Workers(timeout=20, memory=2 << 30, count=1) as workers:
        with pytest.raises(CompileError):
            workers.submit(compile_job, job).result()
        good = Job(
            toolchain.libraries[0],
            ".",
            "good.cu",
            b"__global__ void k() {}",
            "80",
            True,
            False,
            (),
            (),
            (),
            False,
            "auto",
        )
        assert workers.submit(compile_job, good).result().cubin


@pytest.mark.slow
def test_no_worker_serves_two_sets_of_options() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        one, same, other = (workers.enqueue(Call(_pid, None, options)).result() for options in [("a",), ("a",), ("b",)])
    assert one == same != other


@pytest.mark.slow
def test_links_of_modules_with_different_options_get_different_workers(
    make_project, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cuda_wheel.builder.config.settings import Config
    from cuda_wheel.builder.execute import PlanRunner
    from cuda_wheel.builder.plan import make_plan
    from cuda_wheel.builder.report.reporter import SilentReporter
    from cuda_wheel.builder.sources.layout import WheelFile
    from cuda_wheel.builder.sources.modules import select

    root = make_project(**{"demo/a.cu": KERNEL, "demo/b.cu": KERNEL})
    common = {"architectures": "80-real", "link": "lto"}
    tables = [{"name": "demo.a", **common, "options": ["--ptxas-options=-O0"]}, {"name": "demo.b", **common}]
    config = Config.from_table({"module": tables})
    files = [WheelFile(root / name, name) for name in ("demo/__init__.py", "demo/a.cu", "demo/b.cu")]
    plan = make_plan(config, select(config, root, files), root, toolchain, lambda: [])
    options = {}
    with Workers(timeout=60, memory=None, count=1) as workers:
        enqueue = workers.enqueue

        def record(call: Call[Any]) -> Future[Any]:
            if isinstance(call.argument, Job | LinkJob):
                options.setdefault(call.function.__name__, set()).add(call.options)
            return enqueue(call)

        monkeypatch.setattr(workers, "enqueue", record)
        list(PlanRunner(plan, workers, SilentReporter(), None).run())
    links, jobs = options[link_job.__name__], options[compile_job.__name__]
    assert links == jobs and len(links) == 2 and None not in links


def _pid(_: None) -> int:
    return os.getpid()


@pytest.mark.slow
@pytest.mark.parametrize("first", ["-G", "--Ofast-compile=mid"])
def test_images_do_not_depend_on_what_the_worker_compiled_before(toolchain: Toolchain, first: str) -> None:
    """In NVRTC 13.1 to 13.4, -G corrupts later modules of the same process; in 12.9, --Ofast-compile=mid changes them."""
    plain = Job(toolchain.libraries[0], ".", "k.cu", SINES, "120", True, True, (), (), (), False, "auto")
    other = replace(plain, options=(first,))
    with Workers(timeout=60, memory=None, count=1) as workers:
        alone = workers.enqueue(Call(compile_job, plain, plain.options)).result()
    with Workers(timeout=60, memory=None, count=1) as workers:
        workers.enqueue(Call(compile_job, other, other.options)).result()
        after = workers.enqueue(Call(compile_job, plain, plain.options)).result()
    assert (alone.cubin, alone.ptx) == (after.cubin, after.ptx)


def test_an_error_in_the_build_kills_the_workers_at_once() -> None:
    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt), Workers(timeout=600, memory=None, count=2) as workers:
        pid = workers.submit(_pid, None).result()
        workers.submit(time.sleep, 600)
        workers.submit(time.sleep, 600)
        time.sleep(0.2)
        raise KeyboardInterrupt
    assert time.monotonic() - before < 30
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


CRASH = "struct alignas(1 << 28) S { char c; }; __global__ void k(S* s) { S t; s[1] = t; }"
"""NVRTC needs more than a gibibyte for this and aborts."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes by their environment")
def test_a_compiler_crash_fails_the_build_with_a_message_and_leaves_nothing(
    make_project, cuda_wheel, tmp_path: Path
) -> None:
    table = '[tool.cuda-wheel]\narchitectures = ["80-real"]\nmemory-limit = "1GiB"'
    project = make_project(table, **{"demo/crash.cu": CRASH, "demo/wrong.cu": "wrong", "demo/good.cu": KERNEL})
    result = cuda_wheel("build", project, "-o", tmp_path / "out", CUDA_WHEEL_TEST_MARK=str(tmp_path))
    assert result.returncode == 1
    assert "Traceback" not in result.stdout
    assert "demo/crash.cu does not compile for sm_80 with NVRTC" in result.stdout
    assert "help: the compiler ran out of memory (memory-limit is 1GiB) or stack" in result.stdout
    assert "demo/wrong.cu does not compile for sm_80" in result.stdout
    assert not (tmp_path / "out").exists()
    mark = f"CUDA_WHEEL_TEST_MARK={tmp_path}".encode()
    assert not [path for path in Path("/proc").glob("[0-9]*/environ") if mark in _read(path)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
def test_a_build_needs_no_standard_streams(make_project, tmp_path: Path) -> None:
    project = make_project('[tool.cuda-wheel]\narchitectures = "80-real"')
    out = tmp_path / "out"
    command = f'exec "{sys.executable}" -m cuda_wheel build "{project}" -o "{out}" <&- >&- 2>&-'
    assert run("sh", "-c", command, cwd=tmp_path).returncode == 0
    assert (out / "demo/fill.fatbin").stat().st_size > 0


def test_a_bundle_that_fails_names_its_module(
    make_project, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cuda_wheel.builder import execute as plan_runner
    from cuda_wheel.builder.config.settings import Config
    from cuda_wheel.builder.execute import PlanRunner
    from cuda_wheel.builder.plan import make_plan
    from cuda_wheel.builder.report import reporter
    from cuda_wheel.builder.sources.layout import WheelFile
    from cuda_wheel.builder.sources.modules import select

    monkeypatch.setattr(plan_runner, "BUNDLE", _abort)
    root = make_project()
    config = Config.from_table({"architectures": "80-real"})
    files = [WheelFile(root / name, name) for name in ("demo/__init__.py", "demo/fill.cu")]
    plan = make_plan(config, select(config, root, files), root, toolchain, lambda: [])
    words = r"^demo/fill\.cu cannot be bundled with nvFatbin [\d.]+:\nthe compiler process died"
    with Workers(timeout=60, memory=None, count=1) as workers, pytest.raises(CompileError, match=words):
        list(PlanRunner(plan, workers, reporter.SilentReporter(), None).run())
