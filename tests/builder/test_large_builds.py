"""What large builds take: how much is held at once, and how often what all modules share is looked at."""

from __future__ import annotations

import sys
import tempfile
import weakref
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType

import pytest

from cuda_wheel.builder import execute as execute_module
from cuda_wheel.builder.cache.results import Results
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.describe import coverage
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.execute import execute
from cuda_wheel.builder.jobs import EMPTY, BuiltModule, Compiled, Job
from cuda_wheel.builder.plan import Plan, make_plan
from cuda_wheel.builder.report.reporter import Silent
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import select
from cuda_wheel.builder.toolchain.records import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime import digest, loading, rules
from cuda_wheel.runtime.manifest import Image, KernelInfo, Manifest, Target
from tests.support.processes import run

NAMES = "abcdefgh"


def job(number: int) -> Job:
    return Job("nvrtc", ".", f"{number}.cu", b"", "80", True, False, (), (), (), False, "auto")


def result(number: int) -> Compiled:
    return replace(EMPTY, cubin=bytes([number]) * 100, log=str(number))


def test_what_is_too_much_for_memory_lies_in_files_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def filed() -> int:
        return len([path for path in tmp_path.rglob("*") if path.is_file()])

    with Results(limit=250) as results:
        for number in range(5):
            results.put(job(number), result(number))
        assert filed() == 3
        assert {each: results[each] for each in results} == {job(number): result(number) for number in range(5)}
        for number in (4, 0, 0):  # the last of these is gone already
            results.drop(job(number))
        assert filed() == 2
        results.put(job(5), result(5))  # there is room again
        assert filed() == 2
        assert list(results) == [job(1), job(2), job(3), job(5)]
    assert not list(tmp_path.iterdir())


def plan_of(folder: Path, toolchain: Toolchain, broken: str = "") -> Plan:
    """Return the plan of a project of modules for two targets each; of those that are `broken` none compiles."""
    files = []
    for number, name in enumerate(NAMES):
        path = folder / "demo" / f"{name}.cu"
        path.parent.mkdir(exist_ok=True)
        kernel = "wrong" if name in broken else f"__global__ void {name}(int* x) {{ *x = {number}; }}"
        path.write_text(f"{kernel}\n//{'-' * 1000 * number}\n")  # the longest goes first, with all its targets
        files.append(WheelFile(path, f"demo/{name}.cu"))
    config = Config.from_table({"architectures": ["80-real", "90-real"]})
    return make_plan(config, select(config, folder, files), folder, toolchain, lambda: [])


class Watched(Results):
    """Notes how many results are held at the most, and at the end."""

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
    monkeypatch.setattr(execute_module, "Results", Watched)
    monkeypatch.setattr(Watched, "most", 0)


def test_a_build_lets_go_of_a_module_as_soon_as_it_is_done(
    tmp_path: Path, toolchain: Toolchain, one_worker: Workers
) -> None:
    there: list[weakref.ref[BuiltModule]] = []
    at_once = []

    def keep(module: BuiltModule) -> str:
        at_once.append(sum(each() is not None for each in there))
        there.append(weakref.ref(module))
        return module.manifest.name

    names = execute(plan_of(tmp_path, toolchain), one_worker, Silent(), None, keep)
    assert names == tuple(f"demo.{name}" for name in NAMES)
    assert Watched.most <= 4 < 2 * len(NAMES)
    assert Watched.left == 0
    assert max(at_once) <= 1
    assert not any(each() for each in there)


@pytest.mark.parametrize("broken", ["h", "a", "hd"])
def test_a_build_that_fails_holds_no_more_and_tells_of_all(
    broken: str, tmp_path: Path, toolchain: Toolchain, one_worker: Workers
) -> None:
    with pytest.raises(CompileError) as error:
        execute(plan_of(tmp_path, toolchain, broken), one_worker, Silent(), None, lambda module: None)
    assert [f"{name}.cu does not compile" in str(error.value) for name in NAMES] == [name in broken for name in NAMES]
    assert Watched.most <= 4
    assert Watched.left == 0


def test_what_lies_in_files_gives_the_same_bytes(
    tmp_path: Path, toolchain: Toolchain, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []
    for limit in (Results.LIMIT, 0):
        monkeypatch.setattr(execute_module, "Results", partial(Results, limit))
        plan = plan_of(tmp_path, toolchain)
        built.append(execute(plan, workers, Silent(), None, lambda module: (module.text, module.fatbin)))
    assert built[0] == built[1]


# --- what all modules share -------------------------------------------------------------------------


def manifest(name: str) -> Manifest:
    targets = map(Target.parse, ("sm_80", "sm_90"))
    images = tuple(
        Image("cubin", target, None, None, (12, 0), 0, 1, digest.sha256_of(name.encode()), {}) for target in targets
    )
    kernels = (KernelInfo(name, name, ()),)
    return Manifest(name, "k.fatbin", 1, "0" * 64, {"nvrtc": "12.9.86"}, (f"{name}.cu",), (), images, kernels)


def test_modules_of_the_same_targets_are_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_one_module_of_many_is_loaded_without_a_look_at_the_others(tmp_path: Path) -> None:
    package = tmp_path / "many"
    package.mkdir()
    (package / "__init__.py").touch()
    for number in range(200):
        (package / f"m{number}.fatbin.json").write_text(manifest(f"many.m{number}").to_json())
    program = """
import os, sys
from cuda_wheel import loader
import many
looks = []
def note(event, arguments):
    if event in ("open", "os.listdir", "os.scandir"):
        looks.append((event, os.path.basename(str(arguments[0]))))
sys.addaudithook(note)
_, manifest = loader.files_and_manifest("many.m77", None)
assert manifest.name == "many.m77"
print(looks)
"""
    told = run(sys.executable, "-c", program, PYTHONPATH=f"{tmp_path}:{Path(loading.__file__).parents[1]}")
    assert told.stdout == "[('open', 'm77.fatbin.json')]\n"
