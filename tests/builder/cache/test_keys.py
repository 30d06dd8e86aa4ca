"""Everything that decides a result is in its key, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.cache import compile_cache as keys
from cuda_wheel.builder.cache.compile_cache import job_key, link_key, module_key
from cuda_wheel.builder.jobs import Job, LinkInput, LinkJob
from cuda_wheel.builder.plan import ModulePlan, Plan, make_plan
from cuda_wheel.builder.sources.modules import one_module
from cuda_wheel.builder.toolchain.toolchain import Headers, Toolchain
from cuda_wheel.runtime.manifest import Target
from tests.support.projects import write_files

pytestmark = pytest.mark.one_toolchain

CCCL = Headers("cccl", "2.8.2", "/cuda", "site-packages", "/cuda/cuda/std/__cccl/version.h")
TOOLCHAIN = Toolchain(
    "12.9.86", "12.9", "12.9", (75, 80, 90), ("/cuda",), ("/n", "/j", "/f"), (CCCL,), ("n1", "j1", "f1")
)  # fmt: skip
JOB = Job(
    library="/n", root="/project", source="k.cu", text=b"", arch="80", cubin=True, ptx=True, options=("--std=c++17",),
    include_dirs=("include", "/cuda"), instantiate=("k<int>",), lineinfo=False, ptx_version="auto",
)  # fmt: skip
LINK = LinkJob(
    module="demo.k", arch="80", real=True, lto=True, inputs=(LinkInput("k.cu", "ltoir", b"1"),),
    options=("--std=c++17",), lineinfo=False, ptx_version="auto", include_dirs=("/cuda",),
)  # fmt: skip
COMPILERS = [
    replace(TOOLCHAIN, nvrtc="12.9.41"),
    replace(TOOLCHAIN, nvjitlink="13.0"),
    replace(TOOLCHAIN, nvfatbin="13.0"),
    *(replace(TOOLCHAIN, builds=builds) for builds in (("n2", "j1", "f1"), ("n1", "j2", "f1"), ("n1", "j1", "f2"))),
]


def other(value: Any) -> Any:
    """Return another value of the same kind."""
    if isinstance(value, bool):
        return not value
    return value + (b"x" if isinstance(value, bytes) else "x" if isinstance(value, str) else ("x",))


@pytest.mark.parametrize("name", [item.name for item in fields(Job)])
def test_each_field_of_a_job_is_in_its_key_except_locations(name: str) -> None:
    changed = replace(JOB, **{name: other(getattr(JOB, name))})
    assert (job_key(changed, TOOLCHAIN) == job_key(JOB, TOOLCHAIN)) == (
        name in ("library", "root", "libdevice", "tileiras_program", "arch_list")
    )


def test_the_list_of_architectures_is_in_the_key_of_a_job_that_reads_it() -> None:
    changed = replace(JOB, arch_list="750,800")
    assert job_key(changed, TOOLCHAIN, names_arch_list=True) != job_key(JOB, TOOLCHAIN, names_arch_list=True)


def test_the_toolchains_folders_are_not_in_a_jobs_key() -> None:
    elsewhere = replace(JOB, include_dirs=("include", "/elsewhere/cuda"))
    assert job_key(elsewhere, TOOLCHAIN) == job_key(JOB, TOOLCHAIN)
    assert job_key(replace(JOB, include_dirs=("/cuda",)), TOOLCHAIN) != job_key(JOB, TOOLCHAIN)


@pytest.mark.parametrize("name", [item.name for item in fields(LinkJob)])
def test_each_field_of_a_link_is_in_its_key_except_locations(name: str) -> None:
    value = (LinkInput("k.cu", "ltoir", b"2"),) if name == "inputs" else other(getattr(LINK, name))
    changed = replace(LINK, **{name: value})
    assert (link_key(changed, TOOLCHAIN) == link_key(LINK, TOOLCHAIN)) == (name in ("include_dirs", "system_dirs"))


@pytest.mark.parametrize("name", [item.name for item in fields(LinkInput)])
def test_each_field_of_an_input_is_in_the_links_key(name: str) -> None:
    (given,) = LINK.inputs
    changed = replace(LINK, inputs=(replace(given, **{name: other(getattr(given, name))}),))
    assert link_key(changed, TOOLCHAIN) != link_key(LINK, TOOLCHAIN)


@pytest.mark.parametrize(
    "key_of", [lambda toolchain: job_key(JOB, toolchain), lambda toolchain: link_key(LINK, toolchain)]
)
def test_the_exact_compilers_are_in_the_keys(key_of: Callable[[Toolchain], str]) -> None:
    assert len({key_of(toolchain) for toolchain in (TOOLCHAIN, *COMPILERS)}) == 1 + len(COMPILERS)
    assert key_of(replace(TOOLCHAIN, libraries=("/elsewhere",) * 3)) == key_of(TOOLCHAIN)


SETTINGS: list[dict[str, Any]] = [
    {},
    {"architectures": ["80-real"]},
    {"instantiate": ["k<float>"]},
    {"host-code": "reject"},
    {"options": ["--use_fast_math"]},
    {"defines": {"X": 1}},
    {"std": "c++20"},
    {"lineinfo": True},
    {"include-dirs": ["include"]},
    {"sources": ["demo/l.cu"]},
    {"sources": ["demo/k.cu", "demo/l.cu"], "link": "lto"},
    {"sources": ["demo/k.cu", "demo/l.cu"], "link": "lto", "options": ["--use_fast_math"]},
    {"sources": ["demo/k.cu", "demo/l.cu"], "link": "ptx"},
    {"relocatable": True},
]
"""Tables of one module. Each gives other files in the wheel."""


def key_of_module(root: Path, table: dict[str, Any], toolchain: Toolchain = TOOLCHAIN, **changes: str) -> str:
    table = {"name": "demo.k", "sources": ["demo/k.cu"], "architectures": ["80"], **table}
    config, module = one_module(root, table, {})
    plan = replace(make_plan(config, [module], root, toolchain, list), **changes)
    return module_key(plan, plan.modules[0], lambda job: job_key(job, toolchain))


def test_all_settings_and_sources_are_in_a_modules_key(tmp_path: Path) -> None:
    files = {"demo/k.cu": "template <typename T> __global__ void k() {}\n", "demo/l.cu": "__device__ int l;\n"}
    write_files(tmp_path, **files, **{"include/a.h": ""})
    keys = [key_of_module(tmp_path, table) for table in SETTINGS]
    keys += [key_of_module(tmp_path, {}, toolchain) for toolchain in COMPILERS]
    keys += [key_of_module(tmp_path, {}, compress="size"), key_of_module(tmp_path, {}, ptx_version="as-compiled")]
    (tmp_path / "demo/k.cu").write_text(files["demo/k.cu"] + "\n")
    keys.append(key_of_module(tmp_path, {}))
    assert len(set(keys)) == len(keys)


def test_the_releases_of_headers_are_in_a_modules_key_since_its_manifest_names_them(tmp_path: Path) -> None:
    write_files(tmp_path, **{"demo/k.cu": "__global__ void k() {}\n"})
    newer, elsewhere = CCCL._replace(release="2.8.5"), CCCL._replace(folder="/other", source="/other/version.h")
    found = [key_of_module(tmp_path, {}, replace(TOOLCHAIN, headers=(each,))) for each in (CCCL, newer, elsewhere)]
    assert found[0] != found[1] and found[0] == found[2]


def parts_of_a_module(root: Path) -> tuple[Plan, ModulePlan]:
    """Return the plan of a module with jobs, links and relocatable jobs."""
    write_files(root, **{"demo/k.cu": "__global__ void k() {}\n", "demo/l.cu": "__device__ int l;\n"})
    table = {"name": "demo.k", "sources": ["demo/*.cu"], "architectures": ["80"], "link": "lto", "relocatable": True}
    config, module = one_module(root, table, {})
    plan = make_plan(config, [module], root, TOOLCHAIN, list)
    (planned,) = plan.modules
    assert planned.jobs and planned.links and planned.relocatable and planned.targets
    return plan, planned


def with_job(plan: ModulePlan, **changes: Any) -> ModulePlan:
    first, *rest = plan.jobs
    return replace(plan, jobs=(replace(first, **changes), *rest))


def with_link(plan: ModulePlan, **changes: Any) -> ModulePlan:
    first, *rest = plan.links
    return replace(plan, links=(replace(first, **changes), *rest))


@pytest.mark.parametrize(
    "changed",
    [
        *(
            pytest.param(lambda plan, name=name: with_job(plan, **{name: other(getattr(plan.jobs[0], name))}), id=name)
            for name in [item.name for item in fields(Job)]
            if name
            not in (
                "library",
                "root",
                "libdevice",
                "tileiras_program",
                "text",
                "arch_list",
            )  # the last is that of the targets
        ),
        pytest.param(lambda plan: replace(plan, jobs=plan.jobs[1:]), id="fewer jobs"),
        pytest.param(lambda plan: with_link(plan, target=Target.parse("sm_90")), id="target of a link"),
        pytest.param(lambda plan: with_link(plan, lto=not plan.links[0].lto), id="lto"),
        pytest.param(lambda plan: with_link(plan, options=("--maxrregcount=16",)), id="options of a link"),
        pytest.param(lambda plan: with_link(plan, inputs=plan.links[0].inputs[1:]), id="inputs of a link"),
        pytest.param(lambda plan: replace(plan, links=()), id="links"),
        pytest.param(lambda plan: replace(plan, targets=(Target.parse("sm_90"),)), id="targets"),
        pytest.param(lambda plan: replace(plan, options=("--maxrregcount=16",)), id="options"),
        pytest.param(lambda plan: replace(plan, relocatable=plan.relocatable[1:]), id="relocatable"),
        pytest.param(lambda plan: replace(plan, module=replace(plan.module, name="demo.x")), id="module"),
    ],
)
def test_each_part_of_a_module_is_in_its_key(changed: Callable[[ModulePlan], ModulePlan], tmp_path: Path) -> None:
    """Also where a plan could not differ in this part alone."""
    plan, module = parts_of_a_module(tmp_path)

    def key(module: ModulePlan) -> str:
        return module_key(plan, module, lambda job: job_key(job, TOOLCHAIN))

    assert key(changed(module)) != key(module) == key(module)


def test_which_source_is_compiled_for_a_further_gpu_is_in_a_modules_key(tmp_path: Path) -> None:
    plan, module = parts_of_a_module(tmp_path)
    one, other_source = (replace(module, jobs=(*module.jobs[:2], replace(job, arch="90"))) for job in module.jobs[:2])
    keys_of = [module_key(plan, each, lambda job: job_key(job, TOOLCHAIN)) for each in (one, other_source)]
    assert module.jobs[0].source != module.jobs[1].source and keys_of[0] != keys_of[1]


def test_the_jobs_of_a_source_are_hashed_once(tmp_path: Path) -> None:
    """A job's text may have megabytes, and a module may have dozens of architectures."""
    write_files(tmp_path, **{"demo/k.cu": "__global__ void k() {}\n", "demo/l.cu": "__device__ int l;\n"})
    table = {"name": "demo.k", "sources": ["demo/*.cu"], "architectures": ["80", "90"], "link": "lto"}
    config, module = one_module(tmp_path, table, {})
    plan = make_plan(config, [module], tmp_path, TOOLCHAIN, list)
    asked: list[Job] = []
    module_key(plan, plan.modules[0], lambda job: asked.append(job) or "")  # type: ignore[func-returns-value]
    assert sorted((job.source, job.text) for job in asked) == [("demo/k.cu", b""), ("demo/l.cu", b"")]


@pytest.mark.parametrize("name", ["FORMAT", "__version__"])
def test_the_layout_and_the_version_are_in_all_keys(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, module = parts_of_a_module(tmp_path)

    def all_keys() -> list[str]:
        return [job_key(JOB, TOOLCHAIN), link_key(LINK, TOOLCHAIN), module_key(plan, module, lambda job: "")]

    before = all_keys()
    monkeypatch.setattr(keys, name, "another")
    assert len({*before, *all_keys()}) == 6
