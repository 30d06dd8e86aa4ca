"""A preview says what a build would compile and link; one module is built with all that its files depend on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.full_build import build_module, preview
from cuda_wheel.builder.jobs import EMPTY
from cuda_wheel.builder.plan import Plan, make_link_job, make_plan
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.schedule import BUNDLING_SECONDS
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import select
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.wheel.sbom import sbom_path
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.projects import write_files

pytestmark = pytest.mark.one_toolchain

TOOLCHAIN = Toolchain(
    "12.9.86", "12.9", "12.9", (75, 80, 90), ("/cuda",), ("/nvrtc", "/nvjitlink", "/nvfatbin"), (), ("n", "j", "f")
)  # fmt: skip


def plan_of(root: Path, *tables: dict[str, Any]) -> Plan:
    """Return the plan of modules of a.cu and b.cu with these tables, made without a toolchain."""
    write_files(root, **{f"demo/{name}.cu": f"__global__ void {name}() {{}}\n" for name in "ab"})
    config = Config.from_table({"architectures": ["80-real"], "module": list(tables)})
    files = [WheelFile(root / "demo/__init__.py", "demo/__init__.py")]
    return make_plan(config, select(config, root, files), root, TOOLCHAIN, list)


LINKED = {"name": "demo.linked", "sources": ["demo/a.cu", "demo/b.cu"], "link": "lto"}
PLAIN = {"name": "demo.plain", "sources": ["demo/a.cu"]}


def test_a_link_is_cached_or_not_once_its_sources_are(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, LINKED)
    (module,) = plan.modules
    cache = CompileCache(Cache(), TOOLCHAIN)
    results = {job: replace(EMPTY, ltoir=job.text) for job in module.jobs}

    def tasks() -> list[tuple[str, tuple[str, ...], str, str, bool | None]]:
        found = preview(plan, cache, 1)
        assert found.modules[0].tasks == found.tasks
        return [(task.what, task.sources, task.target, task.form, task.cached) for task in found.tasks]

    def expected(first: bool, second: bool, link: bool | None) -> list[Any]:
        return [
            ("compile", ("demo/a.cu",), "compute_80", "lto", first),
            ("compile", ("demo/b.cu",), "compute_80", "lto", second),
            ("link", ("demo/a.cu", "demo/b.cu"), "sm_80", "lto", link),
        ]

    assert tasks() == expected(False, False, None)
    first, second = module.jobs
    assert cache.store_job(first, results[first])
    assert tasks() == expected(True, False, None)
    assert cache.store_job(second, results[second])
    assert tasks() == expected(True, True, False)
    cache.store_link(make_link_job(plan, module, module.links[0], results), EMPTY)
    assert tasks() == expected(True, True, True)


def test_a_source_that_is_linked_as_it_is_needs_no_job(tmp_path: Path) -> None:
    write_files(tmp_path, **{"demo/c.ptx": ".version 7.0\n.target sm_75\n.address_size 64\n"})
    plan = plan_of(tmp_path, {"name": "demo.mixed", "sources": ["demo/a.cu", "demo/c.ptx"], "link": "ptx"})
    cache = CompileCache(Cache(), TOOLCHAIN)
    assert [task.cached for task in preview(plan, cache, 1).tasks] == [False, None]
    assert cache.store_job(plan.modules[0].jobs[0], replace(EMPTY, ptx=b"ptx"))
    assert [task.cached for task in preview(plan, cache, 1).tasks] == [True, False]


def test_a_job_of_several_modules_is_in_each_but_counts_once(tmp_path: Path) -> None:
    cache = CompileCache(Cache(), TOOLCHAIN)
    plan = plan_of(tmp_path, PLAIN, {**PLAIN, "name": "demo.again"})
    job, seconds = plan.modules[0].jobs[0], 2.5
    assert not preview(plan, cache, 1).tasks[0].known
    cache.durations.record("demo.again", job, seconds)
    found = preview(plan, cache, 1)
    (task,) = found.tasks
    assert task.known and task.seconds == seconds
    assert [(each.name, each.tasks) for each in found.modules] == [("demo.again", (task,)), ("demo.plain", (task,))]
    assert found.seconds == pytest.approx(seconds + 2 * BUNDLING_SECONDS["none"])
    assert (found.toolchain, found.cores) == ("NVRTC 12.9.86", 1)
    assert preview(plan, cache, 4).seconds == pytest.approx(seconds)
    assert cache.store_job(job, EMPTY)
    assert preview(plan, cache, 1).seconds == pytest.approx(2 * BUNDLING_SECONDS["none"])


def test_a_module_is_built_with_all_that_its_files_depend_on_and_nothing_is_written(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        **{
            "src/k.cu": '#include "one.h"\n__global__ void k(int* x) { *x = ONE; }\n',
            "src/one.h": "#define ONE 1\n",
            "src/other.h": "",
        },
    )
    before = sorted(tmp_path.rglob("*"))
    table = {"name": "demo.k", "sources": ["src/k.cu"], "architectures": ["80-real"]}
    files, inputs = build_module(tmp_path, table, {}, SilentReporter())
    assert set(files) == {"demo/k.fatbin", "demo/k.fatbin.json", sbom_path("demo.k")}
    own = {Path(path).relative_to(tmp_path).as_posix() for path in inputs if path.startswith(str(tmp_path))}
    assert own == {"src/k.cu", "src/one.h"}
    assert sorted(tmp_path.rglob("*")) == before


def test_settings_of_the_project_hold_for_a_single_module(tmp_path: Path) -> None:
    write_files(tmp_path, **{"k.cu": "#ifndef OURS\n#error not ours\n#endif\n__global__ void k() {}\n"})
    table = {"name": "demo.k", "sources": ["k.cu"], "architectures": ["80-real"]}
    with pytest.raises(CompileError, match="not ours"):
        build_module(tmp_path, table, {}, SilentReporter())
    write_files(tmp_path, **{"pyproject.toml": "[tool.cuda-wheel]\ndefines = { OURS = 1 }\n"})
    files, _ = build_module(tmp_path, table, {}, SilentReporter())
    assert b'"sm_80"' in files["demo/k.fatbin.json"]
