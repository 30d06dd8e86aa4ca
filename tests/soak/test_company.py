"""Jobs do not influence each other: a job gives the same bytes alone and in a worker that ran other jobs before."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.execute import PlanRunner
from cuda_wheel.builder.jobs import Job, LinkJob
from cuda_wheel.builder.plan import Plan, make_plan
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import select
from cuda_wheel.builder.timing import PRECOMPILING, Timed
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.executor import Call, Executor
from cuda_wheel.builder.workers.pool import Workers
from tests.soak import SLOW, SOAK, amount
from tests.support.processes import run
from tests.support.projects import ROOT

pytestmark = pytest.mark.timeout(SLOW)

RELEASES = ["13.1.115", "13.2.86", "13.3.33", "13.4.92"]
"""Releases of NVRTC in which one module's options may affect a later compilation in the same process."""

OPTIONS: list[dict[str, Any]] = [
    {"options": ["-G"]},
    {"options": ["--ptxas-options=-O0"]},
    {"options": ["-G", "--ptxas-options=-O0"], "lineinfo": True},
    {"lineinfo": True},
    {"options": ["--use_fast_math"]},
    {"options": ["--maxrregcount=24"]},
    {"std": "c++20", "defines": {"SCALE": 3}},
    {},
]
FORMS: list[dict[str, Any]] = [{}, {"link": "lto"}, {"link": "ptx"}, {"relocatable": True}]
ARCHS = ["120-real", "80-real", "86-real", "90"]
BODIES = [
    "Large large = {}; large.values[n % 40] = x[0]; x[1] = helper(large, n) / 3.0f;",
    "for (int i = 0; i < n; ++i) x[i] = x[i] * SCALE + n;",
    "__shared__ float tile[64]; tile[threadIdx.x % 64] = x[threadIdx.x]; __syncthreads(); x[n] = tile[n % 64];",
    "x[n] = sinf(x[n]) / SCALE + __powf(x[0], n);",
]
HEADER = (
    """\
#ifndef SCALE
#define SCALE 2
#endif
struct Large { float values[40]; };
__device__ __noinline__ float helper(Large large, int n) { return large.values[n % 40] + n; }
"""
    + "// Long enough to be precompiled when three sources begin with it.\n" * 20_000
)
WITHOUT_END = "#define A0 x x x x x x x x\n" + "".join(
    f"#define A{n + 1} {' '.join([f'A{n}'] * 8)}\n" for n in range(11)
)
LONG = 60.0
"""Seconds that one job may take in these tests; the slowest real job takes one or two."""


def plan(root: Path, rng: random.Random, count: int, workers: Workers) -> Plan:
    """Return the plan of `count` modules that compile, with various options, and one that does not compile.

    Three modules share precompiled headers. The full run has one more module, whose compilation never ends.
    """
    sources = {"demo/common.h": HEADER, "demo/__init__.py": ""}
    tables: list[dict[str, Any]] = []

    def add(name: str, text: str, **settings: Any) -> None:
        sources[f"demo/{name}.cu"] = f'#include "common.h"\n{text}\n'
        tables.append({"name": f"demo.{name}", "sources": [f"demo/{name}.cu"], **settings})

    for number in range(count):
        body = BODIES[number % len(BODIES)] if number < 4 else rng.choice(BODIES)
        settings: dict[str, Any] = {"architectures": ["120-real"]}
        if number >= 3:
            settings = {"architectures": [rng.choice(ARCHS)], **OPTIONS[(number - 3) % len(OPTIONS)]}
            settings |= rng.choice(FORMS)
        add(f"m{number}", f"__global__ void k{number}(float* x, int n) {{ {body} }}", **settings)
    add("wrong", "__global__ void k() { undeclared(); }", architectures=["120-real"], options=["-G"])
    if SOAK:
        add("endless", WITHOUT_END + "A11", architectures=["120-real"])
    for path, text in sources.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    files = [WheelFile(root / path, path) for path in sources]
    config = Config.from_table({"module": tables})
    toolchain = workers.submit(find_toolchain, None).result()
    return make_plan(config, select(config, root, files), root, toolchain, lambda: [])


class Company(Executor):
    """An executor that gives a build's calls to workers in a random order and makes some of the workers crash."""

    def __init__(self, workers: Workers, rng: random.Random) -> None:
        self.futures: dict[Any, Future[Timed[Any]]] = {}
        self.crashes: list[Future[None]] = []
        self._workers = workers
        self._rng = rng

    @property
    def count(self) -> int:
        return self._workers.count

    def enqueue(self, call: Call[Any]) -> Future[Any]:
        if self._rng.random() < 0.1:
            self.crashes.append(self._workers.enqueue(Call(_abort, None, call.options, self._rng.random())))
        future = self._workers.enqueue(replace(call, seconds=self._rng.random()))
        self.futures[call.function, call.argument] = future
        return future


def _abort(_: None) -> None:
    os.abort()


def alone(calls: list[tuple[Callable[[Any], Any], Any]]) -> list[Any]:
    """Return the result of each call in a separate worker."""
    with Workers(timeout=LONG, memory=8 << 30, count=2) as workers:
        # A worker serves only one set of options.
        futures = [
            workers.enqueue(Call(function, argument, (str(number),)))
            for number, (function, argument) in enumerate(calls)
        ]
        return [future.result() for future in futures]


def compare(root: Path, count: int, orders: int, tell: Callable[[str, int], None]) -> None:
    rng = random.Random(8)
    with Workers(timeout=LONG, memory=8 << 30, count=1) as workers:
        planned = plan(root, rng, count, workers)
    expected: dict[Any, Any] = {}
    compared = crashes = precompiled = 0
    for _ in range(orders):
        with Workers(timeout=LONG, memory=8 << 30, count=rng.choice([1, 2, 2, 3])) as workers:
            company = Company(workers, rng)
            with pytest.raises(CompileError) as caught:
                list(PlanRunner(planned, company, SilentReporter(), None).run())
            assert "demo/wrong.cu does not compile for sm_120" in str(caught.value)
            assert ("demo/endless.cu does not compile" in str(caught.value)) == SOAK
            assert str(caught.value).count("not compile") == 1 + SOAK, str(caught.value)
        together = {
            call: future.result()
            for call, future in company.futures.items()
            if isinstance(call[1], Job | LinkJob) and not future.exception()
        }
        assert len(together) >= count
        precompiled += sum(span.name == PRECOMPILING for timed in together.values() for span in timed.times.phases)
        unknown = [call for call in together if call not in expected]
        expected |= dict(zip(unknown, alone(unknown), strict=True))
        for call, timed in together.items():
            assert timed.value == expected[call], call[1]
        compared, crashes = compared + len(together), crashes + len(company.crashes)
    assert precompiled  # some orders have too few jobs with shared headers in one worker
    tell("jobs and links compared", compared)
    tell("crashes among them", crashes)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="precompiled headers are for Linux")
def test_images_do_not_depend_on_earlier_jobs_of_a_worker(tmp_path: Path, count: Callable[[str, int], None]) -> None:
    compare(tmp_path, amount(5, 24), amount(1, 6), count)


@pytest.mark.skipif(not SOAK, reason="takes a minute; runs in `nox -s soak`")
def test_no_option_in_which_the_calls_of_a_worker_differ_changes_later_programs(
    toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    from option_leaks import CONTROLS, leaks

    found = leaks(toolchain.libraries[0], toolchain.header_folders)
    assert set(found) <= set(CONTROLS)
    assert {"--restrict", "--device-debug"} <= set(found)  # so that this would be found


@pytest.mark.skipif(not SOAK, reason="downloads releases of NVRTC; runs in `nox -s soak`")
@pytest.mark.parametrize("release", RELEASES)
def test_releases_in_which_options_may_leak_give_the_same_images(
    release: str,
    tmp_path: Path,
    extra: str,
    count: Callable[[str, int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if extra != "cu13":
        pytest.skip("they belong to cu13")
    major_minor = release.rpartition(".")[0]
    others = [f"nvidia-{name}=={major_minor}.*" for name in ("nvjitlink", "nvfatbin")]
    folder = tmp_path / "release"
    pip = run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder, f"nvidia-cuda-nvrtc=={release}", *others)  # fmt: skip
    if pip.returncode != 0:
        pytest.skip(f"NVRTC {release} cannot be installed: {pip.stdout[-300:]}")
    monkeypatch.syspath_prepend(str(folder))  # workers inherit it
    with Workers(timeout=LONG, memory=None, count=1) as workers:
        assert workers.submit(find_toolchain, None).result().nvrtc == release
    compare(tmp_path / "project", amount(6, 24), amount(1, 2), count)
