"""Everything that decides a result is in its key, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.cache.keys import job_key, link_key, module_key
from cuda_wheel.builder.jobs import Job, LinkInput, LinkJob
from cuda_wheel.builder.plan import make_plan
from cuda_wheel.builder.sources.modules import one_module
from cuda_wheel.builder.toolchain.records import Headers, Toolchain
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
    assert (job_key(changed, TOOLCHAIN) == job_key(JOB, TOOLCHAIN)) == (name in ("library", "root", "libdevice"))


def test_the_toolchains_folders_are_not_in_a_jobs_key() -> None:
    elsewhere = replace(JOB, include_dirs=("include", "/elsewhere/cuda"))
    assert job_key(elsewhere, TOOLCHAIN) == job_key(JOB, TOOLCHAIN)
    assert job_key(replace(JOB, include_dirs=("/cuda",)), TOOLCHAIN) != job_key(JOB, TOOLCHAIN)


@pytest.mark.parametrize("name", [item.name for item in fields(LinkJob)])
def test_each_field_of_a_link_is_in_its_key_except_locations(name: str) -> None:
    value = (LinkInput("k.cu", "ltoir", b"2"),) if name == "inputs" else other(getattr(LINK, name))
    changed = replace(LINK, **{name: value})
    assert (link_key(changed, TOOLCHAIN) == link_key(LINK, TOOLCHAIN)) == (name == "include_dirs")


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
    keys = [key_of_module(tmp_path, {}, replace(TOOLCHAIN, headers=(each,))) for each in (CCCL, newer, elsewhere)]
    assert keys[0] != keys[1] and keys[0] == keys[2]
