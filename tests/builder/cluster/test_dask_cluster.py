"""A build's jobs on a Dask cluster: a real scheduler and real workers, in processes of their own."""

from __future__ import annotations

import json
import os
import pickle
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.cluster import dask_cluster, executor, portable
from cuda_wheel.builder.cluster.dask_cluster import DaskCluster
from cuda_wheel.builder.cluster.portable import Call, NotPortable, Unfit, answer, files_of, linker_release, versions_of
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError, ConfigError, ToolchainError
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.project import build_module
from cuda_wheel.builder.report.reporter import Silent
from cuda_wheel.builder.timing import Step, timed
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.records import INCLUDE, Toolchain
from cuda_wheel.builder.workers.pool import Workers
from tests.support.processes import run
from tests.support.projects import FIXTURES, ROOT

WITHOUT = "import sys; sys.modules['cuda_wheel'] = None; from distributed.cli.{} import main; main()"
"""A program of Dask's that cannot import cuda_wheel."""


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
        """Where the scheduler listens, as HOST:PORT."""
        until(self.file.exists)
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


def until(true: Callable[[], bool]) -> None:
    """Wait for what becomes true within a minute."""
    end = time.monotonic() + 60
    while not true():
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
    """Have builds use the cluster; return the names of the functions that this machine's workers are asked for."""
    asked: list[str] = []
    submit = Workers.submit

    def note(self: Workers, function: Callable[[Any], Any], *arguments: Any) -> Any:
        asked.append((arguments[0][0] if function is timed else function).__name__)
        return submit(self, function, *arguments)

    monkeypatch.setattr(Workers, "submit", note)
    monkeypatch.setenv("CUDA_WHEEL_EXECUTOR", f"dask://{cluster.address}")
    return asked


class Listener(Silent):
    """Notes how jobs were done, and what is told."""

    def __init__(self) -> None:
        self.hows: list[str] = []
        self.warnings: list[str] = []

    def done(self, step: Step) -> None:
        self.hows.append(step.how)

    def warning(self, text: str) -> None:
        self.warnings.append(text)


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


@pytest.mark.parametrize(("fixture", "table"), [("linked", LINKED), ("stencil", STENCIL), ("nvvm_ir", NVVM)])
def test_a_build_gives_the_same_bytes(
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


def test_what_is_cached_needs_no_cluster(on_cluster: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    built = build_module(FIXTURES / "stencil", STENCIL, {}, Silent())
    monkeypatch.setenv("CUDA_WHEEL_EXECUTOR", "dask://127.0.0.1:1")
    assert build_module(FIXTURES / "stencil", STENCIL, {}, Silent()) == built


ERRORS = {
    "a.cu": '#include "tile.cuh"\n__global__ void k(int* x) { *x = 1; }\n',
    "b.cu": "#include <cuda_fp16.h>\n__global__ void k(__half* x) { *x = __hnothing(1); }\n",
    "c.cu": "int main() { return missing(; }\n",
}


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
        build_module(tmp_path, table, {}, Silent())
    assert str(caught.value) == str(expected.value)


def test_a_refused_option_is_told_once(on_cluster: list[str], tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("__global__ void k() {}")
    table = {"name": "demo.k", "sources": ["k.cu"], "architectures": ["80-real"], "options": ["--no-such-option"]}
    with pytest.raises(ConfigError, match="NVRTC refuses an option"):
        build_module(tmp_path, table, {}, Silent())
    assert "compile_job" not in on_cluster


def test_what_another_machine_cannot_do_alike_is_done_here(on_cluster: list[str], tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("__global__ void k() {}")
    (tmp_path / "include").mkdir()
    table = {"name": "demo.k", "sources": ["k.cu"], "architectures": ["80-real"], "options": ["-Iinclude"]}
    build_module(tmp_path, table, {}, Silent())
    assert "compile_job" in on_cluster


# --- jobs by themselves -----------------------------------------------------------------------------

Make = Callable[..., Job]


@pytest.fixture
def make(toolchain: Toolchain, tmp_path: Path) -> Make:
    """Return a function that gives a job of the project in `tmp_path / "project"`."""
    root = tmp_path / "project"
    root.mkdir()

    def make(text: str = "__global__ void k() {}", files: dict[str, str] | None = None, **changes: Any) -> Job:
        for name, content in {"demo/k.cu": text, **(files or {})}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content)
        job = Job(
            library=toolchain.libraries[0],
            root=str(root),
            source="demo/k.cu",
            text=text.encode(),
            arch="80",
            cubin=True,
            ptx=False,
            options=("--std=c++17",),
            include_dirs=("demo", "include", str(INCLUDE), *toolchain.include_dirs),
            instantiate=(),
            lineinfo=False,
            ptx_version="auto",
        )
        return replace(job, **changes)

    return make


@contextmanager
def opened(
    cluster: Cluster, workers: Workers, toolchain: Toolchain, fallback: bool = False, timeout: float = 300
) -> Iterator[tuple[DaskCluster, list[str]]]:
    """Open a cluster for jobs; gives what it tells, too."""
    told: list[str] = []
    with DaskCluster(cluster.address, workers, toolchain, None, timeout, 8 << 30, told.append, fallback) as dask:
        yield dask, told


def _noted(call: tuple[str, Job]) -> Compiled:
    """Compile a job, but the first time for too long, and note the processes that do."""
    folder, job = call
    first = not os.listdir(folder)
    Path(folder, f"{os.getppid()} {os.getpid()}").touch()
    if first:
        time.sleep(300)
    return compile_job(job)


@pytest.mark.skipif(sys.platform == "win32", reason="asks the system for processes as POSIX does")
def test_the_job_of_a_worker_that_is_killed_is_done_again(
    cluster: Cluster, workers: Workers, toolchain: Toolchain, make: Make, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    cluster.add_worker()  # for the other tests, in place of the one that goes
    job = make('#include "a.h"\n__global__ void k() { a(); }', {"include/a.h": "__device__ void a() {}"})
    with opened(cluster, workers, toolchain) as (dask, _):
        future = dask.submit(_noted, (str(notes), job))
        until(lambda: bool(os.listdir(notes)))
        (first,) = os.listdir(notes)
        dask_worker, compiler = map(int, first.split())
        victim = next(worker for worker in cluster.workers if worker.pid == dask_worker)
        victim.kill()
        victim.wait()
        result = future.result(timeout=120)
    assert len(os.listdir(notes)) == 2
    assert result == workers.submit(compile_job, job).result()
    until(lambda: not _runs(compiler))


def _runs(process: int) -> bool:
    """Return whether a process is there and no zombie."""
    result = run("ps", "-o", "stat=", "-p", process)
    return result.returncode == 0 and not result.stdout.strip().startswith("Z")


def _hang(call: tuple[str, Job]) -> None:
    time.sleep(300)


def _abort(call: tuple[str, Job]) -> None:
    os.abort()


def test_a_compiler_that_hangs_or_crashes_there_is_told_as_here(
    cluster: Cluster, workers: Workers, toolchain: Toolchain, make: Make
) -> None:
    with opened(cluster, workers, toolchain, timeout=15) as (dask, told):
        hung, crashed = dask.submit(_hang, ("", make())), dask.submit(_abort, ("", make()))
        with pytest.raises(CompileError, match="stopped after 15 s, the timeout of one compile job"):
            hung.result()
        with pytest.raises(CompileError, match="the compiler process died"):
            crashed.result()
        assert dask.submit(compile_job, make()).result().cubin
    assert told == []


def test_options_keep_apart(cluster: Cluster, workers: Workers, toolchain: Toolchain, make: Make) -> None:
    with opened(cluster, workers, toolchain) as (dask, _):
        seen = [dask.submit(_process, (None, make()), (flavour,)).result() for flavour in "aabba"]
    flavours: dict[int, set[str]] = {}
    for process, flavour in zip(seen, "aabba", strict=True):
        flavours.setdefault(process, set()).add(flavour)
    assert all(len(its) == 1 for its in flavours.values())


def _process(call: tuple[None, Job]) -> int:
    return os.getpid()


def test_another_toolchain_is_an_error_that_names_both(
    cluster: Cluster, workers: Workers, toolchain: Toolchain, make: Make
) -> None:
    other = replace(toolchain, nvrtc="11.8.89")
    with opened(cluster, workers, other) as (dask, _), pytest.raises(ToolchainError) as caught:
        dask.submit(compile_job, make()).result()
    assert f"NVRTC: {toolchain.nvrtc} there, 11.8.89 here" in str(caught.value)
    assert "the Dask worker tcp://127.0.0.1:" in str(caught.value)


def test_other_versions_of_dask_are_told(
    cluster: Cluster, workers: Workers, toolchain: Toolchain, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    import distributed.versions

    own = distributed.versions.get_versions()
    own["packages"]["python"] = "3.9.1.final.0"
    monkeypatch.setattr(distributed.versions, "get_versions", lambda *_: own)
    with opened(cluster, workers, toolchain) as (dask, told):
        assert dask.submit(compile_job, make()).result().cubin
    assert len(told) == 1
    assert f"The Dask cluster at {cluster.address} and this machine differ" in told[0]
    assert "3.9.1.final.0" in told[0]


def test_a_cluster_that_goes_away_is_told(
    tmp_path: Path, workers: Workers, toolchain: Toolchain, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(tmp_path)
    try:
        with opened(cluster, workers, toolchain) as (dask, told):
            future = dask.submit(compile_job, make())
            assert told == [f"The Dask cluster at {cluster.address} has no workers: the build waits for some."]
            cluster.close()
            with pytest.raises(ToolchainError, match=r"the Dask cluster at .* did not do demo/k.cu for 80"):
                future.result(timeout=60)
    finally:
        cluster.close()


def test_a_worker_without_cuda_wheel_is_told(
    tmp_path: Path, workers: Workers, toolchain: Toolchain, make: Make
) -> None:
    cluster = Cluster(tmp_path)
    try:
        cluster.add_worker(has_cuda_wheel=False)
        with (
            opened(cluster, workers, toolchain) as (dask, _),
            pytest.raises(ToolchainError, match=r"did not do demo/k.cu for 80 \(ModuleNotFoundError: .*cuda_wheel"),
        ):
            dask.submit(compile_job, make()).result()
    finally:
        cluster.close()


def test_nobody_waits_for_the_cluster_after_an_error(
    cluster: Cluster, workers: Workers, toolchain: Toolchain, make: Make
) -> None:
    with pytest.raises(KeyboardInterrupt), opened(cluster, workers, toolchain, timeout=10) as (dask, _):
        future = dask.submit(_hang, ("", make()))
        raise KeyboardInterrupt
    assert isinstance(future.exception(timeout=5), ToolchainError)


def test_without_a_cluster_this_machine_does_the_jobs_where_that_is_wanted(
    tmp_path: Path, workers: Workers, toolchain: Toolchain, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(tmp_path)
    try:
        with opened(cluster, workers, toolchain, fallback=True) as (dask, told):
            assert dask.submit(compile_job, make()).result().cubin
            assert dask.submit(compile_job, make()).result().cubin
    finally:
        cluster.close()
    (text,) = told
    assert "has no workers: this machine does its jobs (CUDA_WHEEL_EXECUTOR_FALLBACK=local)" in text


@pytest.fixture
def unused_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def test_a_cluster_that_cannot_be_reached_is_an_error(
    unused_address: str, make_project: Callable[..., Path], cuda_wheel: Callable[..., Any], tmp_path: Path
) -> None:
    project = make_project('[tool.cuda-wheel]\narchitectures = "80-real"\n')
    result = cuda_wheel("build", project, "-o", tmp_path / "out", CUDA_WHEEL_EXECUTOR=f"dask://{unused_address}")
    assert result.returncode != 0 and "Traceback" not in result.stdout
    assert f"the Dask cluster at {unused_address} (CUDA_WHEEL_EXECUTOR) cannot be reached" in result.stdout
    assert "CUDA_WHEEL_EXECUTOR_FALLBACK=local" in result.stdout


def test_a_cluster_that_cannot_be_reached_is_done_without_where_that_is_wanted(
    unused_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "PATIENCE", 0.5)
    monkeypatch.setenv("CUDA_WHEEL_EXECUTOR", f"dask://{unused_address}")
    monkeypatch.setenv("CUDA_WHEEL_EXECUTOR_FALLBACK", "local")
    listener = Listener()
    build_module(FIXTURES / "stencil", STENCIL, {}, listener)
    (told,) = (text for text in listener.warnings if "Dask" in text)
    assert told.startswith(f"The Dask cluster at {unused_address} (CUDA_WHEEL_EXECUTOR) cannot be reached")
    assert set(listener.hows) == {"compiled", "bundled"}


@pytest.mark.parametrize(
    "wanted", ["dask", "dask://", "dask://host", "ray://host:1", "dask://host:x", "local", "dask://a b:1"]
)
def test_an_executor_that_is_none_is_an_error(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_WHEEL_EXECUTOR", wanted)
    with pytest.raises(ConfigError, match=f"CUDA_WHEEL_EXECUTOR must be dask://HOST:PORT, not '{wanted}'"):
        build_module(FIXTURES / "stencil", STENCIL, {}, Silent())


def test_a_fallback_that_is_none_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_WHEEL_EXECUTOR", "dask://127.0.0.1:1")
    monkeypatch.setenv("CUDA_WHEEL_EXECUTOR_FALLBACK", "yes")
    with pytest.raises(ConfigError, match="CUDA_WHEEL_EXECUTOR_FALLBACK must be"):
        build_module(FIXTURES / "stencil", STENCIL, {}, Silent())


def test_without_distributed_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_WHEEL_EXECUTOR", "dask://127.0.0.1:1")
    monkeypatch.setattr(executor, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"the package distributed.* is not installed.*cuda-wheel\[cu12,dask\]"):
        build_module(FIXTURES / "stencil", STENCIL, {}, Silent())


def test_nobody_imports_distributed_unasked(tmp_path: Path) -> None:
    program = (
        "import sys; from cuda_wheel.builder.execute import Silent; from cuda_wheel.builder.project import build_module\n"
        f"from pathlib import Path; build_module(Path({str(FIXTURES / 'stencil')!r}), {STENCIL!r}, {{}}, Silent())\n"
        "print([name for name in ('distributed', 'dask', 'cuda_wheel.builder.cluster.portable') if name in sys.modules])"
    )
    result = run(sys.executable, "-c", program)
    assert result.stdout.splitlines()[-1] == "[]", result.stdout


# --- what travels, without a cluster -----------------------------------------------------------------


@pytest.fixture(scope="module")
def versions(workers: Workers, toolchain: Toolchain) -> portable.Versions:
    return versions_of(toolchain, workers.submit(linker_release, toolchain).result(), None)


@pytest.fixture
def elsewhere(versions: portable.Versions, tmp_path: Path) -> Callable[[Job], Compiled]:
    """Return a function that does a job as another machine does."""

    def compile(job: Job) -> Compiled:
        call = Call(compile_job, job)
        content, digest = answer(call.parcel(versions, None, 300, 8 << 30, files_of), "elsewhere", str(tmp_path), 1)
        result: Compiled = call.result(content, digest, dask_cluster._hash)
        return result

    return compile


@pytest.fixture(scope="module", autouse=True)
def no_pool_left() -> Iterator[None]:
    """Close what `answer` keeps as long as its process lives."""
    pools: list[Workers] = []
    kept = portable._pool

    def pool(*arguments: Any) -> Workers:
        if (found := kept(*arguments)) not in pools:
            pools.append(found)
        return found

    portable._pool = pool  # type: ignore[assignment]
    yield
    portable._pool = kept
    for each in pools:
        each.__exit__(None, None, None)


def test_versions_are_exact(versions: portable.Versions, toolchain: Toolchain) -> None:
    assert versions.nvjitlink.count(".") == 2 and versions.nvjitlink.startswith(toolchain.nvjitlink + ".")


def travelling(job: Job) -> Mapping[str, bytes]:
    """Return the files that go with a job."""
    folders = [folder for folder in job.include_dirs if not os.path.isabs(folder)]
    return files_of(job.root, job.source, job.text, job.options, folders)


PROJECT = {
    "demo/own.h": "",
    "demo/detail/x.h": '#include "../own.h"\n',
    "include/lib/a.h": "#define A 1\n",
    "include/lib/b.h": "#define A 2\n",
    "include/.hidden/c.h": "",
    "unrelated/d.h": "",
    "empty.h": "",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", set()),
        ('#include "own.h"\n#include "../empty.h"', {"demo/own.h", "empty.h"}),
        ('#include "detail/x.h"', {"demo/detail/x.h", "demo/own.h"}),
        ("#include <lib/a.h>", {"include/lib/a.h"}),
        ("#if 0\n#include <lib/a.h>\n#endif", {"include/lib/a.h"}),
        ("#define X <lib/a.h>\n#include X", {"include/lib/a.h", "include/lib/b.h", "demo/own.h"}),
        ("#if __has_include(<lib/a.h>)\n#endif", {"include/lib/a.h", "include/lib/b.h", "demo/own.h"}),
    ],
)
def test_every_file_that_may_be_read_travels(
    text: str, expected: set[str], make: Make, elsewhere: Callable[[Job], Compiled], workers: Workers
) -> None:
    job = make(f"{text}\n__global__ void k() {{}}", PROJECT)
    files = set(travelling(job))
    assert expected <= files and "unrelated/d.h" not in files
    assert elsewhere(job) == workers.submit(compile_job, job).result()


def test_warnings_name_headers_where_they_lie_here(
    make: Make, elsewhere: Callable[[Job], Compiled], workers: Workers
) -> None:
    job = make(
        '#include "own.h"\n#include <cuda/std/span>\n__global__ void k() { int unused; }',
        {"demo/own.h": "__device__ inline int f() { int never; return 1; }\n"},
    )
    result = elsewhere(job)
    assert "demo/own.h:1" in result.log and "demo/k.cu:3" in result.log
    assert result == workers.submit(compile_job, job).result()
    assert result.headers is not None and str(Path(job.root, "demo/own.h")) in result.headers


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ('#include "../../outside.h"', {}),
        ("", {"options": ("-Iinclude",)}),
        ("", {"options": ("--pre-include=demo/own.h",)}),
    ],
)
def test_what_reads_other_files_stays_here(text: str, changes: dict[str, Any], make: Make, tmp_path: Path) -> None:
    (tmp_path / "outside.h").write_text("")
    with pytest.raises(NotPortable):
        travelling(make(text, **changes))


def _with_folder(job: Job) -> Compiled:
    return replace(compile_job(job), ptx=job.root.encode())


def test_an_image_that_would_hold_a_folder_stays_here(make: Make, versions: portable.Versions, tmp_path: Path) -> None:
    call = Call(_with_folder, make())
    content, digest = answer(call.parcel(versions, None, 300, 8 << 30, files_of), "elsewhere", str(tmp_path), 1)
    with pytest.raises(NotPortable):
        call.result(content, digest, dask_cluster._hash)


def test_a_result_that_was_changed_on_its_way_is_none(make: Make, versions: portable.Versions, tmp_path: Path) -> None:
    call = Call(compile_job, make())
    content, digest = answer(call.parcel(versions, None, 300, None, files_of), "elsewhere", str(tmp_path), 1)
    with pytest.raises(ValueError, match="SHA-256"):
        call.result(content[:-1] + b"?", digest, dask_cluster._hash)


def test_another_header_of_the_toolchain_is_an_error(make: Make, versions: portable.Versions, tmp_path: Path) -> None:
    call = Call(compile_job, make("#include <cuda_fp16.h>\n__global__ void k(__half* x) { *x = 1; }"))
    content, digest = answer(call.parcel(versions, None, 300, None, files_of), "elsewhere", str(tmp_path), 1)
    with pytest.raises(Unfit, match=r"elsewhere cannot .*: its cuda_fp16.h is another than this machine's \("):
        call.result(
            content, digest, lambda path: "another" if path.endswith("cuda_fp16.h") else dask_cluster._hash(path)
        )


def test_another_cuda_wheel_is_an_error(
    make: Make, versions: portable.Versions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = Call(compile_job, make())
    parcel = call.parcel(versions, None, 300, None, files_of)
    monkeypatch.setattr(portable, "__version__", "0.0.9")
    content, digest = answer(parcel, "elsewhere", str(tmp_path), 1)
    with pytest.raises(Unfit, match=r"elsewhere cannot .*: it has cuda-wheel 0\.0\.9, and this machine \d"):
        call.result(content, digest, dask_cluster._hash)


def test_a_machine_without_a_toolchain_is_an_error(
    make: Make, versions: portable.Versions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> None:
        raise ToolchainError("no CUDA toolchain is installed in this environment")

    monkeypatch.setattr(portable, "_found", found)
    call = Call(compile_job, make())
    content, digest = answer(call.parcel(versions, None, 300, None, files_of), "elsewhere", str(tmp_path), 1)
    with pytest.raises(Unfit, match="elsewhere cannot do this build's jobs: no CUDA toolchain is installed"):
        call.result(content, digest, dask_cluster._hash)


def test_nothing_of_this_machine_travels(make: Make, versions: portable.Versions) -> None:
    job = make('#include "own.h"\n__global__ void k() {}', PROJECT)
    _, content = pickle.loads(Call(compile_job, job).parcel(versions, None, 300, None, files_of))
    parcel = zlib.decompress(content)
    for path in (job.root, job.library, *(folder for folder in job.include_dirs if os.path.isabs(folder))):
        assert os.fsencode(path) not in parcel
    assert pickle.loads(parcel).job.text == job.text


def test_what_is_about_no_job_is_no_call(toolchain: Toolchain, make: Make) -> None:
    for argument in (None, toolchain, (make(), make())):
        with pytest.raises(ValueError, match="one job"):
            Call(find_toolchain, argument)
