"""Large builds: how much is in memory at once, and how often work that all modules share is done."""

from __future__ import annotations

import os
import re
import sys
import weakref
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from types import TracebackType

import pytest

from cuda_wheel.builder import execute as plan_runner
from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.execute import PlanRunner
from cuda_wheel.builder.jobs import BuiltModule, Compiled, Job
from cuda_wheel.builder.manifest_writer import coverage
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.builder.plan import Plan, make_plan
from cuda_wheel.builder.plan_state import JobResults
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import select
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime import loading, rules
from cuda_wheel.runtime.manifest import Image, KernelInfo, Manifest, Target, sha256_of
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.listener import Listener
from tests.support.processes import run

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


# --- work that all modules share --------------------------------------------------------------------


def manifest(name: str) -> Manifest:
    targets = map(Target.parse, ("sm_80", "sm_90"))
    images = tuple(
        Image("cubin", target, None, None, (12, 0), 0, 1, sha256_of(name.encode()), {}) for target in targets
    )
    kernels = (KernelInfo(name, name, ()),)
    return Manifest(name, "k.fatbin", 1, "0" * 64, {"nvrtc": "12.9.86"}, (f"{name}.cu",), (), images, kernels)


def test_modules_with_the_same_targets_are_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(coverage, "resolve", lambda *arguments: calls.append(arguments) or resolve(*arguments))
    resolve = rules.resolve
    (one,) = coverage.cover([manifest("a")])
    alone = len(calls)
    (all_,) = coverage.cover(manifest(name) for name in NAMES)
    assert len(calls) == 2 * alone
    assert all_.cells == one.cells
    assert all_.names == tuple(NAMES)
    assert coverage.cover(map(coverage.deciding, map(manifest, NAMES)))[0].cells == one.cells


def test_loading_one_module_opens_no_file_of_the_others(tmp_path: Path) -> None:
    package = tmp_path / "many"
    package.mkdir()
    (package / "__init__.py").touch()
    for number in range(200):
        (package / f"m{number}.fatbin.json").write_text(manifest_text(manifest(f"many.m{number}")))
    program = """
import os, sys
from cuda_wheel.runtime.files import files_and_manifest
import many
opened = []
def record(event, arguments):
    if event in ("open", "os.listdir", "os.scandir"):
        opened.append((event, os.path.basename(str(arguments[0]))))
sys.addaudithook(record)
_, manifest = files_and_manifest("many.m77", None)
assert manifest.name == "many.m77"
print(opened)
"""
    result = run(sys.executable, "-c", program, PYTHONPATH=f"{tmp_path}:{Path(loading.__file__).parents[2]}")
    assert result.stdout == "[('open', 'm77.fatbin.json')]\n"
