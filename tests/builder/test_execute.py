"""A plan runs each job once, builds each module as soon as its parts are there, and reports all errors together."""

from __future__ import annotations

import gc
import os
import re
import weakref
from collections.abc import Iterable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from cuda_wheel.builder import execute as plan_runner
from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.execute import BUNDLE, COMPILE_JOB, PlanRunner
from cuda_wheel.builder.jobs import BuiltModule, Compiled, Job
from cuda_wheel.builder.plan import Plan, make_plan
from cuda_wheel.builder.plan_state import JobResults
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import select
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.executor import Call, Executor
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.listener import Listener
from tests.support.projects import write_files

pytestmark = [pytest.mark.one_toolchain, pytest.mark.usefixtures("two_workers")]

NAMES = "abcde"


def plan_of(folder: Path, toolchain: Toolchain, broken: str = "") -> Plan:
    """Return the plan of a project of modules for two targets each. Those in `broken` do not compile."""
    (folder / "demo").mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(NAMES):
        path = folder / "demo" / f"{name}.cu"
        kernel = "wrong" if name in broken else f"__global__ void {name}(int* x) {{ *x = {number}; }}"
        path.write_text(f"{kernel}\n//{'-' * 1000 * number}\n")  # the longest compiles first, for all its targets
    return plan_in(folder, toolchain)


def plan_in(folder: Path, toolchain: Toolchain) -> Plan:
    """Return the plan of the project that `plan_of` has written."""
    files = [WheelFile(folder / "demo" / f"{name}.cu", f"demo/{name}.cu") for name in NAMES]
    config = Config.from_table({"architectures": ["80-real", "90-real"]})
    return make_plan(config, select(config, folder, files), folder, toolchain, lambda: [])


class Watched(JobResults):
    """Counts the results that are stored, at most and at the end."""

    most = left = 0

    def put(self, job: Job, result: Compiled) -> None:
        super().put(job, result)
        Watched.most = max(Watched.most, len(self))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        Watched.left = len(self)
        super().__exit__(kind, error, trace)


@pytest.fixture
def one_worker():
    with Workers(timeout=300, memory=8 << 30, count=1) as workers:
        yield workers


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_runner, "JobResults", Watched)
    monkeypatch.setattr(Watched, "most", 0)


@pytest.fixture(params=[1, 50], ids=["described in workers", "described here"])
def packs_from(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test with modules that workers describe, and with modules that this process does."""
    monkeypatch.setattr(plan_runner, "PACKED_IN_WORKERS", request.param)


@pytest.mark.usefixtures("packs_from")
def test_a_build_releases_a_module_as_soon_as_it_is_built(
    tmp_path: Path, toolchain: Toolchain, one_worker: Workers
) -> None:
    built: list[weakref.ref[BuiltModule]] = []
    at_once = []

    names = []
    for module in PlanRunner(plan_of(tmp_path, toolchain), one_worker, SilentReporter(), None).run():
        at_once.append(sum(each() is not None for each in built))
        built.append(weakref.ref(module))
        names.append(module.name)
        del module
    assert sorted(names) == [f"demo.{name}" for name in NAMES]
    assert Watched.most <= 4 < 2 * len(NAMES)
    assert Watched.left == 0
    assert max(at_once) <= 1
    gc.collect()  # a free-threaded Python frees some of what another thread made only now
    assert not any(each() for each in built)


@pytest.mark.usefixtures("packs_from")
@pytest.mark.parametrize("broken", ["e", "a", "ed"])
def test_a_failed_build_reports_all_errors_and_stores_no_more(
    broken: str, tmp_path: Path, toolchain: Toolchain, one_worker: Workers
) -> None:
    with pytest.raises(CompileError) as error:
        list(PlanRunner(plan_of(tmp_path, toolchain, broken), one_worker, SilentReporter(), None).run())
    assert [f"{name}.cu does not compile" in str(error.value) for name in NAMES] == [name in broken for name in NAMES]
    assert Watched.most <= 4
    assert Watched.left == 0


def test_results_in_files_give_the_same_bytes(
    tmp_path: Path, toolchain: Toolchain, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []
    for limit in (JobResults.LIMIT, 0):
        monkeypatch.setattr(plan_runner, "JobResults", partial(JobResults, limit))
        plan = plan_of(tmp_path, toolchain)
        built.append(contents(PlanRunner(plan, workers, SilentReporter(), None).run()))
    assert built[0] == built[1]


def contents(built: Iterable[BuiltModule]) -> dict[str, tuple[bytes, bytes]]:
    """Return the manifest and fatbin of each module, by name."""
    return {module.name: (module.text, module.fatbin) for module in built}


DEFECTS = {
    "a": "#if __CUDA_ARCH__ >= 900\n__global__ void a() {}\n#endif\n__global__ void both() {}",
    "b": "__device__ int no_kernel() { return 1; }",
    "c": "__global__ void c() { wrong; }",
}


def test_what_workers_describe_is_what_this_process_describes(
    tmp_path: Path, toolchain: Toolchain, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan_of(tmp_path / "good", toolchain)
    unused = tmp_path / "good/demo/b.cu"
    unused.write_text(unused.read_text() + "template <class T> __global__ void never(T* x) { int unused; }\n")
    plan_of(tmp_path / "bad", toolchain)
    for name, text in DEFECTS.items():
        (tmp_path / f"bad/demo/{name}.cu").write_text(text)
    found = []
    for packed_from in (1, 50):
        monkeypatch.setattr(plan_runner, "PACKED_IN_WORKERS", packed_from)
        cache, again = Cache(str(tmp_path / f"cache-{packed_from}")), Listener()
        first = Listener()
        plan = plan_in(tmp_path / "good", toolchain)
        built = contents(PlanRunner(plan, workers, first, CompileCache(cache, toolchain)).run())
        cached = contents(PlanRunner(plan, workers, again, CompileCache(cache, toolchain)).run())
        assert cached == built
        assert set(again.hows) == {"from the cache"} and again.warnings == first.warnings
        with pytest.raises(CompileError) as error:
            list(PlanRunner(plan_in(tmp_path / "bad", toolchain), workers, SilentReporter(), None).run())
        keys = sorted(os.path.relpath(path, cache.folder) for _, _, path in cache.entries())
        # Which target of c.cu fails first is by chance.
        texts = sorted(re.sub(r"not compile for sm_\d+", "not compile", str(error.value)).split("\n\n"))
        found.append((built, sorted(first.hows), first.warnings, keys, texts))
    assert found[0] == found[1]
    assert len(found[0][2]) == 1
    assert [any(f"{name}.cu" in text for text in found[0][4]) for name in "abcd"] == [True, True, True, False]


# --- what is sent to workers ----------------------------------------------------------------------


class Recorded(Executor):
    """Sends calls to the workers, and records them."""

    def __init__(self, workers: Executor) -> None:
        self._workers = workers
        self.calls: list[Call[Any]] = []
        self.stopped: list[Any] = []
        self._arguments: dict[Future[Any], Any] = {}

    @property
    def count(self) -> int:
        return self._workers.count

    def enqueue(self, call: Call[Any]) -> Future[Any]:
        self.calls.append(call)
        future = self._workers.enqueue(call)
        self._arguments[future] = call.argument
        return future

    def stop(self, future: Future[Any]) -> None:
        self.stopped.append(self._arguments[future])
        self._workers.stop(future)

    def jobs(self) -> list[tuple[str, str]]:
        """Return the source and architecture of each job, in the order of the calls."""
        return [
            (Path(each.argument.source).stem, each.argument.arch) for each in self.calls if each.function is COMPILE_JOB
        ]


@pytest.fixture
def recorded(one_worker: Workers) -> Recorded:
    return Recorded(one_worker)


def modules_of(folder: Path, toolchain: Toolchain, tables: list[dict[str, Any]], **settings: Any) -> Plan:
    """Return the plan of modules with these tables; the sources exist."""
    config = Config.from_table({"architectures": ["80-real"], **settings, "module": tables})
    files = [WheelFile(folder / "demo/__init__.py", "demo/__init__.py")]
    return make_plan(config, select(config, folder, files), folder, toolchain, lambda: [])


SIZES = {"small": 10, "large": 4000, "medium": 2000}


def test_the_longest_job_goes_first_and_a_shared_one_runs_once(
    tmp_path: Path, toolchain: Toolchain, recorded: Recorded
) -> None:
    sources = {f"demo/{name}.cu": f"__global__ void {name}() {{}}\n//{'-' * size}\n" for name, size in SIZES.items()}
    write_files(tmp_path, **sources)
    tables = [{"name": f"demo.{name}", "sources": [f"demo/{name}.cu"]} for name in SIZES]
    tables.append({"name": "demo.again", "sources": ["demo/medium.cu"]})
    built = contents(PlanRunner(modules_of(tmp_path, toolchain, tables), recorded, SilentReporter(), None).run())
    assert recorded.jobs() == [("large", "80"), ("medium", "80"), ("small", "80")]
    seconds = [call.seconds for call in recorded.calls if call.function is COMPILE_JOB]
    assert seconds == sorted(seconds, reverse=True) and seconds[0] > seconds[-1] > 0
    assert sorted(built) == ["demo.again", "demo.large", "demo.medium", "demo.small"]


def test_after_a_failure_other_modules_compile_but_nothing_is_bundled(
    tmp_path: Path, toolchain: Toolchain, recorded: Recorded
) -> None:
    long = f"//{'-' * 4000}"  # compiles first
    write_files(tmp_path, **{"demo/bad.cu": f"wrong {long}\n", "demo/good.cu": "__global__ void good() {}\n"})
    tables = [{"name": f"demo.{name}", "sources": [f"demo/{name}.cu"]} for name in ("bad", "good")]
    plan = modules_of(tmp_path, toolchain, tables, architectures=["80-real", "90-real"])
    listener = Listener()
    with pytest.raises(CompileError, match=r"^demo/bad\.cu does not compile") as error:
        list(PlanRunner(plan, recorded, listener, None).run())
    assert "good" not in str(error.value)
    assert recorded.jobs()[:2] == [("bad", "80"), ("bad", "90")]
    assert [(Path(job.source).stem, job.arch) for job in recorded.stopped] == [("bad", "90")]
    assert sorted(listener.hows) == ["compiled", "compiled", "failed"]
    assert BUNDLE not in [call.function for call in recorded.calls]


def test_a_missing_header_fails_its_module_before_anything_compiles(
    tmp_path: Path, toolchain: Toolchain, recorded: Recorded
) -> None:
    plan_of(tmp_path, toolchain)
    (tmp_path / "demo/c.cu").write_text('#include "missing.h"\n__global__ void c() {}\n')
    plan = plan_in(tmp_path, toolchain)
    with pytest.raises(CompileError, match=r"(?s)missing\.h.*4 more modules were not compiled: a header is missing\.$"):
        list(PlanRunner(plan, recorded, SilentReporter(), None).run())
    assert recorded.calls == []


def test_only_what_the_cache_lacks_runs(tmp_path: Path, toolchain: Toolchain, recorded: Recorded) -> None:
    write_files(tmp_path, **{"demo/k.cu": "__global__ void k(int* x) { *x = 1; }\n"})
    tables = [{"name": "demo.k", "sources": ["demo/k.cu"]}]
    cache = Cache(str(tmp_path / "cache"))

    def functions(plan: Plan) -> list[str]:
        recorded.calls.clear()
        built.append(contents(PlanRunner(plan, recorded, SilentReporter(), CompileCache(cache, toolchain)).run()))
        return [call.function.__name__ for call in recorded.calls]

    built: list[dict[str, tuple[bytes, bytes]]] = []
    plain = modules_of(tmp_path, toolchain, tables)
    small = modules_of(tmp_path, toolchain, tables, compress="size")
    compile_, bundle = COMPILE_JOB.__name__, BUNDLE.__name__
    assert functions(plain) == [compile_, bundle]
    (job,) = plain.modules[0].jobs
    kept = CompileCache(cache, toolchain)
    assert kept.durations.expected("demo.k", job)[1]  # this build's duration is known to the next one
    assert functions(plain) == []
    assert functions(small) == [bundle]  # the job is the same
    key = kept.find_job(job)
    assert key is not None
    Path(cache.path(key)).write_bytes(b"damaged")
    other = modules_of(tmp_path, toolchain, tables, compress="speed")
    with pytest.warns(RuntimeWarning, match="is damaged"):
        assert functions(other) == [compile_, bundle]
    assert built[0] == built[1] != built[2]
