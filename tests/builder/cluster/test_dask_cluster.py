"""Run a build's jobs on a Dask cluster, with a real scheduler and real workers in their own processes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder import full_build
from cuda_wheel.builder.cluster import dask_cluster
from cuda_wheel.builder.cluster.dask_cluster import DaskCluster
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError, ConfigError, ToolchainError
from cuda_wheel.builder.full_build import build_module
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.timing import TimedError
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.executor import Call
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.builder.workers.worker import WorkerDiedError
from tests.support.failing_calls import abort, hang
from tests.support.listener import Listener
from tests.support.processes import run
from tests.support.projects import FIXTURES, ROOT

pytestmark = pytest.mark.one_toolchain

WITHOUT = "import sys; sys.modules['cuda_wheel'] = None; from distributed.cli.{} import main; main()"
"""A command of Dask that cannot import cuda_wheel."""


class Cluster:
    """A scheduler and its workers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(
            "-c", WITHOUT.format("dask_scheduler"), "--port", "0", "--scheduler-file", str(self.file)
        )

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        with open(self.folder / "log", "ab") as log:
            return subprocess.Popen(
                [sys.executable, *arguments, "--host", "127.0.0.1", "--no-dashboard"],
                cwd=self.folder,
                env=os.environ | {"PYTHONPATH": str(ROOT), "CUDA_WHEEL_CACHE_DIR": str(self.folder / "cache")},
                stdout=log,
                stderr=log,
            )

    @property
    def address(self) -> str:
        """The address of the scheduler, as HOST:PORT."""
        until(lambda: self.file.exists() and self.file.stat().st_size > 0)  # the scheduler opens it, then writes once
        return str(json.loads(self.file.read_text())["address"]).removeprefix("tcp://")

    def add_worker(self, has_cuda_wheel: bool = True) -> subprocess.Popen[bytes]:
        program = ("-m", "distributed.cli.dask_worker") if has_cuda_wheel else ("-c", WITHOUT.format("dask_worker"))
        options = ("--no-nanny", "--nthreads", "1", "--local-directory", str(self.folder))
        worker = self._start(*program, "--scheduler-file", str(self.file), *options)
        self.workers.append(worker)
        return worker

    def close(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


def until(condition: Callable[[], bool]) -> None:
    """Wait at most a minute for a condition."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        for _ in range(2):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def on_cluster(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make builds use the cluster; return the names of the functions that run in this machine's workers."""
    names: list[str] = []
    enqueue = Workers.enqueue

    def record(self: Workers, call: Call[Any]) -> Any:
        names.append(call.function.__name__)
        return enqueue(self, call)

    monkeypatch.setattr(Workers, "enqueue", record)
    monkeypatch.setenv("CUDA_WHEEL_EXECUTOR", f"dask://{cluster.address}")
    return names


KERNELS = "src/linked_demo/kernels"
LINKED = {
    "name": "linked_demo.kernels.optimised",
    "sources": [f"{KERNELS}/nbody.cu", f"{KERNELS}/force.cu", f"{KERNELS}/state.cu"],
    "link": "lto",
    "architectures": ["80-real", "90-virtual"],
    "lineinfo": True,
}
STENCIL = {
    "name": "stencil_demo.kernels.stencil",
    "sources": ["src/stencil_demo/kernels/stencil.cu"],
    "architectures": ["75-real", "80"],
    "lineinfo": True,
}


NVVM = {
    "name": "nvvm_demo.kernels.rsqrt_scale",
    "sources": ["src/nvvm_demo/kernels/rsqrt_scale.ll"],
    "architectures": ["80"],
}


@pytest.mark.slow
@pytest.mark.parametrize(("fixture", "table"), [("linked", LINKED), ("stencil", STENCIL), ("nvvm_ir", NVVM)])
def test_a_build_has_the_same_bytes_as_a_local_build(
    fixture: str, table: dict[str, Any], on_cluster: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    there, cached = Listener(), Listener()
    built = build_module(FIXTURES / fixture, table, {}, there)
    assert set(on_cluster) - {"find_nvvm"} == {"find_toolchain", "linker_release", "bundle"}
    assert set(there.hows) == ({"compiled", "linked", "bundled"} if fixture == "linked" else {"compiled", "bundled"})

    monkeypatch.delenv("CUDA_WHEEL_EXECUTOR")
    assert build_module(FIXTURES / fixture, table, {}, cached) == built
    assert set(cached.hows) == {"from the cache"}

    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", os.environ["CUDA_WHEEL_CACHE_DIR"] + "-2")
    here = Listener()
    assert build_module(FIXTURES / fixture, table, {}, here) == built
    assert sorted(here.hows) == sorted(there.hows)
    assert here.warnings == there.warnings


@pytest.mark.slow
def test_a_cached_build_needs_no_cluster(on_cluster: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    built = build_module(FIXTURES / "stencil", STENCIL, {}, SilentReporter())
    monkeypatch.setenv("CUDA_WHEEL_EXECUTOR", "dask://127.0.0.1:1")
    assert build_module(FIXTURES / "stencil", STENCIL, {}, SilentReporter()) == built


ERRORS = {
    "a.cu": '#include "tile.cuh"\n__global__ void k(int* x) { *x = 1; }\n',
    "b.cu": "#include <cuda_fp16.h>\n__global__ void k(__half* x) { *x = __hnothing(1); }\n",
    "c.cu": "int main() { return missing(; }\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_those_of_a_local_build(
    name: str, on_cluster: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include/tile.cuh").write_text("")
    (tmp_path / name).write_text(ERRORS[name])
    table = {"name": "demo.k", "sources": [name], "architectures": ["80-real"]}
    there = Listener()
    with pytest.raises(CompileError) as caught:
        build_module(tmp_path, table, {}, there)
    assert there.warnings == []
    monkeypatch.delenv("CUDA_WHEEL_EXECUTOR")
    with pytest.raises(CompileError) as expected:
        build_module(tmp_path, table, {}, SilentReporter())
    assert str(caught.value) == str(expected.value)


def test_a_rejected_option_is_not_compiled_again_on_this_machine(on_cluster: list[str], tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("__global__ void k() {}")
    table = {"name": "demo.k", "sources": ["k.cu"], "architectures": ["80-real"], "options": ["--no-such-option"]}
    with pytest.raises(ConfigError, match="NVRTC rejects an option"):
        build_module(tmp_path, table, {}, SilentReporter())
    assert "compile_job" not in on_cluster


def test_a_job_that_could_differ_on_another_machine_runs_here(on_cluster: list[str], tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("__global__ void k() {}")
    (tmp_path / "include").mkdir()
    table = {"name": "demo.k", "sources": ["k.cu"], "architectures": ["80-real"], "options": ["-Iinclude"]}
    build_module(tmp_path, table, {}, SilentReporter())
    assert "compile_job" in on_cluster


# --- single jobs ------------------------------------------------------------------------------------


@contextmanager
def opened(
    cluster: Cluster, workers: Workers, toolchain: Toolchain, fallback: bool = False, timeout: float = 300
) -> Iterator[tuple[DaskCluster, list[str]]]:
    """Yield a connection to a cluster, and the list of its warnings."""
    warnings: list[str] = []
    with DaskCluster(cluster.address, workers, toolchain, None, timeout, 8 << 30, warnings.append, fallback) as dask:
        yield dask, warnings


def _compile_and_record(call: tuple[str, Job]) -> Compiled:
    """Compile a job and record the processes; hang the first time."""
    folder, job = call
    first = not os.listdir(folder)
    Path(folder, f"{os.getppid()} {os.getpid()}").touch()
    if first:
        time.sleep(300)
    return compile_job(job)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="asks the system for processes as POSIX does")
def test_the_job_of_a_killed_worker_runs_again(
    cluster: Cluster, workers: Workers, toolchain: Toolchain, make: Callable[..., Job], tmp_path: Path
) -> None:
    records = tmp_path / "records"
    records.mkdir()
    cluster.add_worker()  # for the other tests, in place of the one that is killed
    job = make('#include "a.h"\n__global__ void k() { a(); }', {"include/a.h": "__device__ void a() {}"})
    with opened(cluster, workers, toolchain) as (dask, _):
        future = dask.submit(_compile_and_record, (str(records), job))
        until(lambda: bool(os.listdir(records)))
        (first,) = os.listdir(records)
        dask_worker, compiler = map(int, first.split())
        victim = next(worker for worker in cluster.workers if worker.pid == dask_worker)
        victim.kill()
        victim.wait()
        result = future.result(timeout=120)
    assert len(os.listdir(records)) == 2
    assert result == workers.submit(compile_job, job).result()
    until(lambda: not _runs(compiler))


def _runs(process: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    result = run("ps", "-o", "stat=", "-p", process)
    return result.returncode == 0 and not result.stdout.strip().startswith("Z")


@pytest.mark.slow
def test_a_compiler_that_hangs_or_crashes_on_the_cluster_has_the_message_of_a_local_one(
    cluster: Cluster, workers: Workers, toolchain: Toolchain, make: Callable[..., Job]
) -> None:
    with opened(cluster, workers, toolchain, timeout=15) as (dask, messages):
        hung, crashed = dask.submit(hang, ("", make())), dask.submit(abort, ("", make()))
        with pytest.raises(CompileError, match="stopped after 15 s, the time limit of one compile job"):
            hung.result()
        with pytest.raises(CompileError, match="the compiler process died"):
            crashed.result()
        assert dask.submit(compile_job, make()).result().cubin
    assert messages == []


@pytest.mark.slow
def test_a_worker_serves_one_set_of_options_only(
    cluster: Cluster, workers: Workers, toolchain: Toolchain, make: Callable[..., Job]
) -> None:
    with opened(cluster, workers, toolchain) as (dask, _):
        seen = [dask.enqueue(Call(_process, (None, make()), (option,))).result() for option in "aabba"]
    served: dict[int, set[str]] = {}
    for process, option in zip(seen, "aabba", strict=True):
        served.setdefault(process, set()).add(option)
    assert all(len(options) == 1 for options in served.values())


def _process(call: tuple[None, Job]) -> int:
    return os.getpid()


def test_short_calls_travel_together(
    cluster: Cluster, workers: Workers, toolchain: Toolchain, make: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "MIN_TASKS", 1)
    jobs = [make(f"__global__ void k{number}() {{}}") for number in range(20)]
    jobs[7] = replace(jobs[7], options=("-Iinclude",))  # runs on this machine
    tasks = []
    with opened(cluster, workers, toolchain) as (dask, messages):
        assert dask.submit(compile_job, jobs[0]).result().cubin
        assert dask._client is not None
        submit = dask._client.submit
        monkeypatch.setattr(dask._client, "submit", lambda *args, **named: tasks.append(1) or submit(*args, **named))
        futures = [dask.enqueue(Call(_fail if job is jobs[9] else compile_job, job, seconds=0.01)) for job in jobs]
        with pytest.raises(CompileError, match=r"^demo/k\.cu$"):
            futures.pop(9).result()
        results = [future.result() for future in futures]
    assert [list(result.kernels) for result in results] == [[f"_Z{2 + (n > 9)}k{n}v"] for n in range(20) if n != 9]
    assert len(tasks) <= 14
    assert messages == []


def test_a_different_toolchain_is_an_error_that_names_both(
    cluster: Cluster, workers: Workers, toolchain: Toolchain, make: Callable[..., Job]
) -> None:
    other = replace(toolchain, nvrtc="11.8.89")
    with opened(cluster, workers, other) as (dask, _), pytest.raises(ToolchainError) as caught:
        dask.submit(compile_job, make()).result()
    assert f"NVRTC: {toolchain.nvrtc} there, 11.8.89 here" in str(caught.value)
    assert "the Dask worker tcp://127.0.0.1:" in str(caught.value)


def test_different_versions_of_dask_are_a_warning(
    cluster: Cluster, workers: Workers, toolchain: Toolchain, make: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    import distributed.versions

    own = distributed.versions.get_versions()
    own["packages"]["python"] = "3.9.1.final.0"
    monkeypatch.setattr(distributed.versions, "get_versions", lambda *_: own)
    with opened(cluster, workers, toolchain) as (dask, messages):
        assert dask.submit(compile_job, make()).result().cubin
    assert len(messages) == 1
    assert f"The Dask cluster at {cluster.address} and this machine differ" in messages[0]
    assert "3.9.1.final.0" in messages[0]


@pytest.mark.slow
def test_a_cluster_that_disappears_is_an_error(
    tmp_path: Path, workers: Workers, toolchain: Toolchain, make: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(tmp_path)
    try:
        with opened(cluster, workers, toolchain) as (dask, messages):
            future = dask.submit(compile_job, make())
            assert messages == [f"The Dask cluster at {cluster.address} has no workers: the build waits for one."]
            cluster.close()
            with pytest.raises(ToolchainError, match=r"the Dask cluster at .* did not run demo/k.cu for 80"):
                future.result(timeout=60)
    finally:
        cluster.close()


@pytest.mark.slow
def test_a_worker_without_cuda_wheel_is_an_error(
    tmp_path: Path, workers: Workers, toolchain: Toolchain, make: Callable[..., Job]
) -> None:
    cluster = Cluster(tmp_path)
    try:
        cluster.add_worker(has_cuda_wheel=False)
        with (
            opened(cluster, workers, toolchain) as (dask, _),
            pytest.raises(ToolchainError, match=r"did not run demo/k.cu for 80 \(ModuleNotFoundError: .*cuda_wheel"),
        ):
            dask.submit(compile_job, make()).result()
    finally:
        cluster.close()


def test_a_build_does_not_wait_for_the_cluster_after_an_error(
    cluster: Cluster, workers: Workers, toolchain: Toolchain, make: Callable[..., Job]
) -> None:
    with pytest.raises(KeyboardInterrupt), opened(cluster, workers, toolchain, timeout=10) as (dask, _):
        future = dask.submit(hang, ("", make()))
        raise KeyboardInterrupt
    assert isinstance(future.exception(timeout=5), ToolchainError)


@pytest.mark.slow
def test_this_machine_runs_the_jobs_without_a_cluster_if_the_fallback_is_local(
    tmp_path: Path, workers: Workers, toolchain: Toolchain, make: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(tmp_path)
    try:
        with opened(cluster, workers, toolchain, fallback=True) as (dask, messages):
            assert dask.submit(compile_job, make()).result().cubin
            assert dask.submit(compile_job, make()).result().cubin
    finally:
        cluster.close()
    (text,) = messages
    assert "has no workers: this machine runs its jobs (CUDA_WHEEL_EXECUTOR_FALLBACK=local)" in text


@pytest.fixture
def unused_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


@pytest.mark.slow
def test_a_cluster_that_cannot_be_reached_is_an_error(
    unused_address: str, make_project: Callable[..., Path], cuda_wheel: Callable[..., Any], tmp_path: Path
) -> None:
    project = make_project('[tool.cuda-wheel]\narchitectures = "80-real"\n')
    result = cuda_wheel("build", project, "-o", tmp_path / "out", CUDA_WHEEL_EXECUTOR=f"dask://{unused_address}")
    assert result.returncode != 0 and "Traceback" not in result.stdout
    assert f"the Dask cluster at {unused_address} (CUDA_WHEEL_EXECUTOR) cannot be reached" in result.stdout
    assert "CUDA_WHEEL_EXECUTOR_FALLBACK=local" in result.stdout


def test_a_build_does_without_an_unreachable_cluster_if_the_fallback_is_local(
    unused_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 0.5)
    monkeypatch.setenv("CUDA_WHEEL_EXECUTOR", f"dask://{unused_address}")
    monkeypatch.setenv("CUDA_WHEEL_EXECUTOR_FALLBACK", "local")
    listener = Listener()
    build_module(FIXTURES / "stencil", STENCIL, {}, listener)
    (message,) = (text for text in listener.warnings if "Dask" in text)
    assert message.startswith(f"The Dask cluster at {unused_address} (CUDA_WHEEL_EXECUTOR) cannot be reached")
    assert set(listener.hows) == {"compiled", "bundled"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting", ["dask", "dask://", "dask://host", "ray://host:1", "dask://host:x", "local", "dask://a b:1"]
)
def test_an_invalid_executor_is_an_error(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_WHEEL_EXECUTOR", setting)
    with pytest.raises(ConfigError, match=f"CUDA_WHEEL_EXECUTOR must be dask://HOST:PORT, not '{setting}'"):
        build_module(FIXTURES / "stencil", STENCIL, {}, SilentReporter())


def test_an_invalid_fallback_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_WHEEL_EXECUTOR", "dask://127.0.0.1:1")
    monkeypatch.setenv("CUDA_WHEEL_EXECUTOR_FALLBACK", "yes")
    with pytest.raises(ConfigError, match='CUDA_WHEEL_EXECUTOR_FALLBACK must be "local" or unset'):
        build_module(FIXTURES / "stencil", STENCIL, {}, SilentReporter())


def test_without_distributed_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_WHEEL_EXECUTOR", "dask://127.0.0.1:1")
    monkeypatch.setattr(full_build, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"the package distributed.* is not installed.*cuda-wheel\[cu12,dask\]"):
        build_module(FIXTURES / "stencil", STENCIL, {}, SilentReporter())


def test_a_local_build_does_not_import_distributed(tmp_path: Path) -> None:
    program = (
        "import sys; from cuda_wheel.builder.report.reporter import SilentReporter; from cuda_wheel.builder.full_build import build_module\n"
        f"from pathlib import Path; build_module(Path({str(FIXTURES / 'stencil')!r}), {STENCIL!r}, {{}}, SilentReporter())\n"
        "print([name for name in ('distributed', 'dask', 'cuda_wheel.builder.cluster.job_transfer') if name in sys.modules])"
    )
    result = run(sys.executable, "-c", program)
    assert result.stdout.splitlines()[-1] == "[]", result.stdout


# --- what is sent, without a cluster -----------------------------------------------------------------


def _fail(job: Job) -> None:
    raise CompileError(job.source)


def test_the_times_of_a_compiler_that_crashes_on_the_cluster_are_kept(
    cluster: Cluster, workers: Workers, toolchain: Toolchain, make: Callable[..., Job]
) -> None:
    with opened(cluster, workers, toolchain) as (dask, _), pytest.raises(TimedError) as caught:
        dask.enqueue(Call(abort, ("", make()), timed=True)).result()
    assert isinstance(caught.value.error, WorkerDiedError) and 0 <= caught.value.times.seconds < 60
