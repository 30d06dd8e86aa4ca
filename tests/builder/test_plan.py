"""A plan has one job for each architecture and source, and one link for each image; nothing is compiled for it."""

from __future__ import annotations

import os
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import EMPTY, Job
from cuda_wheel.builder.plan import ModulePlan, Plan, cuda_sources, make_link_job, make_plan, modules_by_job
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import one_module, select
from cuda_wheel.builder.sources.source_files import Source
from cuda_wheel.builder.toolchain.toolchain import Nvvm, Toolchain
from tests.support.projects import write_files

pytestmark = pytest.mark.one_toolchain

TOOLCHAIN = Toolchain(
    "12.9.86", "12.9", "12.9", (75, 80, 90), ("/cuda",), ("/nvrtc", "/nvjitlink", "/nvfatbin"), (), ("n", "j", "f")
)  # fmt: skip
NVVM = Nvvm("/nvvm", "/libdevice", "12.9.86", (2, 0), "nvvm build")
FILES = {
    "demo/a.cu": "template <class T> __global__ void scale(T* x) {}\n",
    "demo/b.cu": "template <class T> __global__ void scale(T* x);\ntemplate <class T> __device__ T shift(T x);\n",
    "demo/c.ll": "define void @c() { ret void }\n",
    "demo/d.ptx": ".version 7.0\n.target sm_75\n.address_size 64\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_files(tmp_path, **FILES)
    return tmp_path


def plan_of(root: Path, sources: str, nvvm: Nvvm | None = None, **table: Any) -> Plan:
    """Return the plan of one module with sources such as "a.cu b.cu" and the given keys of its table."""
    keys = {name.replace("_", "-"): value for name, value in table.items()}
    paths = [f"demo/{name}" for name in sources.split()]
    config, module = one_module(root, {"name": "demo.k", "sources": paths, **keys}, {})
    return make_plan(config, [module], root, TOOLCHAIN, lambda: [(9, 0), (7, 5), (9, 0)], nvvm)


def module_of(root: Path, sources: str, nvvm: Nvvm | None = None, **table: Any) -> ModulePlan:
    (module,) = plan_of(root, sources, nvvm, **table).modules
    return module


def outputs(job: Job) -> str:
    """Return what a job compiles, for which architecture, and to what: "a.cu 80 whole: cubin ptx"."""
    kinds = [kind for kind, made in (("cubin", job.cubin), ("ptx", job.ptx)) if made]
    return f"{Path(job.source).name} {job.arch} {job.form}: {' '.join(kinds)}".strip()


@pytest.mark.parametrize(
    ("architectures", "targets", "jobs"),
    [
        ("80", "sm_80 compute_80", ["a.cu 80 whole: cubin ptx"]),
        ("80-real", "sm_80", ["a.cu 80 whole: cubin"]),
        ("80-virtual", "compute_80", ["a.cu 80 whole: ptx"]),
        (["90-real", "75-real"], "sm_75 sm_90", ["a.cu 75 whole: cubin", "a.cu 90 whole: cubin"]),
        (["75-virtual", "80-real", "75-real"], "sm_75 sm_80 compute_75",
         ["a.cu 75 whole: cubin ptx", "a.cu 80 whole: cubin"]),
        (["90a-real", "90-real"], "sm_90 sm_90a", ["a.cu 90 whole: cubin", "a.cu 90a whole: cubin"]),
    ],
)  # fmt: skip
def test_one_job_makes_the_machine_code_and_the_ptx_of_an_architecture(
    architectures: str | list[str], targets: str, jobs: list[str], root: Path
) -> None:
    module = module_of(root, "a.cu", architectures=architectures)
    assert " ".join(map(str, module.targets)) == targets
    assert list(map(outputs, module.jobs)) == jobs
    assert module.links == module.relocatable == ()


def test_native_is_the_gpus_of_this_machine_and_asks_for_them_only_then(root: Path) -> None:
    assert list(map(str, module_of(root, "a.cu", architectures="native").targets)) == ["sm_75", "sm_90"]
    config, module = one_module(root, {"name": "demo.k", "sources": ["demo/a.cu"], "architectures": "80"}, {})
    make_plan(config, [module], root, TOOLCHAIN, lambda: pytest.fail("the GPUs are not needed"))


@pytest.mark.parametrize(
    ("link", "sources", "architectures", "expected"),
    [
        ("ptx", "a.cu b.cu", "80-real", {"sm_80": (False, ["a.cu 80 ptx: ptx", "b.cu 80 ptx: ptx"])}),
        ("lto", "a.cu b.cu", "80-real", {"sm_80": (True, ["a.cu 80 lto:", "b.cu 80 lto:"])}),
        # nvJitLink makes PTX from LTO-IR only.
        ("ptx", "a.cu", "80", {"sm_80": (False, ["a.cu 80 ptx: ptx"]), "compute_80": (True, ["a.cu 80 lto:"])}),
        ("lto", "a.cu", "80", {"sm_80": (True, ["a.cu 80 lto:"]), "compute_80": (True, ["a.cu 80 lto:"])}),
        # PTX is linked as it is.
        ("lto", "a.cu d.ptx", "80-real", {"sm_80": (True, ["a.cu 80 lto:", "d.ptx"])}),
        ("ptx", "c.ll d.ptx", "80-real", {"sm_80": (False, ["c.ll 80 ptx: ptx", "d.ptx"])}),
    ],
)
def test_a_link_has_an_input_for_each_source(
    link: str, sources: str, architectures: str, expected: dict[str, tuple[bool, list[str]]], root: Path
) -> None:
    module = module_of(root, sources, NVVM, link=link, architectures=architectures)
    found = {}
    for each in module.links:
        inputs = [
            part.path.removeprefix("demo/") if isinstance(part, Source) else outputs(part) for part in each.inputs
        ]
        found[str(each.target)] = each.lto, inputs
    assert found == expected
    assert set(module.jobs) == {each for link in module.links for each in link.inputs if isinstance(each, Job)}
    assert len(set(module.jobs)) == len(module.jobs)


def test_ptx_is_lowered_only_where_it_goes_into_the_wheel(root: Path) -> None:
    def versions(**table: Any) -> set[str]:
        return {job.ptx_version for job in module_of(root, "a.cu", architectures="80", **table).jobs}

    assert versions() == {"auto"}
    assert versions(link="lto") == versions(link="ptx") == {"as-compiled"}
    shipped = module_of(root, "a.cu", architectures="80", relocatable=True).relocatable
    assert {job.form: job.ptx_version for job in shipped} == {"lto": "as-compiled", "ptx": "auto"}


def test_code_for_linking_at_run_time_is_not_compressed(root: Path) -> None:
    plan = plan_of(root, "a.cu", architectures=["75-real", "80-real"], relocatable=True)
    (module,) = plan.modules
    assert list(map(outputs, module.relocatable)) == [
        f"a.cu {arch} {form}" for arch in (75, 80) for form in ("lto:", "ptx: ptx")
    ]
    assert set(module.relocatable) <= set(module.jobs)
    assert replace(plan, compress="size").compression(module) == "none"
    assert replace(plan, compress="size").compression(module_of(root, "a.cu")) == "size"


def test_a_module_without_loadable_images_has_the_targets_of_its_relocatable_ones(root: Path) -> None:
    (root / "demo/a.cu").write_text("extern __device__ int f(int);\n__global__ void k(int* x) { *x = f(*x); }\n")
    module = module_of(root, "a.cu", architectures=["75", "80"], extern=["f(int)"])
    assert module.targets == ()
    assert list(map(str, module.all_targets)) == ["compute_75", "compute_80"]
    assert (
        module_of(root, "b.cu", architectures="75-real").all_targets
        == module_of(root, "b.cu", architectures="75-real").targets
    )


@pytest.mark.parametrize("link", ["lto", "ptx"])
def test_ptx_of_what_cannot_become_lto_ir_is_an_error_that_names_real_targets(link: str, root: Path) -> None:
    words = (
        r"^demo\.k cannot have PTX for compute_80: .* and demo/d\.ptx cannot become LTO-IR\. "
        r'Name real targets only, such as architectures = \["75-real", "80-real"\]\.$'
    )
    with pytest.raises(ConfigError, match=words):
        plan_of(root, "a.cu d.ptx", link=link, architectures=["75-real", "80"])


@pytest.mark.parametrize(
    ("expression", "sources"),
    [
        ("shift<int>", ["demo/b.cu"]),
        ("scale<float>", ["demo/a.cu", "demo/b.cu"]),
        ("&ns::shift<ns::Vector<int>>", ["demo/b.cu"]),
        ("from_a_header<int>", ["demo/a.cu"]),
        ("scal<int>", ["demo/a.cu"]),  # part of a name is another name
    ],
)
def test_a_name_is_instantiated_where_its_template_is_mentioned_or_in_the_first_source(
    expression: str, sources: list[str], root: Path
) -> None:
    module = module_of(root, "a.cu b.cu", link="lto", architectures="80-real", instantiate=[expression])
    assert [job.source for job in module.jobs if job.instantiate == (expression,)] == sources
    assert all(job.instantiate in ((), (expression,)) for job in module.jobs)


def test_a_job_has_the_settings_of_its_module(root: Path) -> None:
    table = {
        "std": "c++20", "defines": {"N": 4, "ON": ""}, "options": ["--use_fast_math"], "include_dirs": ["include"],
        "lineinfo": True, "host_code": "reject", "instances": ["scale<*>"], "missing_headers": ["x/*"],
        "architectures": ["80-real", "90a-real", "90-real"],
    }  # fmt: skip
    (root / "include").mkdir()
    module = module_of(root, "a.cu", **table)
    options = ("--std=c++20", "--define-macro=N=4", "--define-macro=ON=", "--use_fast_math")
    for job in module.jobs:
        assert (job.source, job.text, job.library, job.root) == (
            "demo/a.cu", FILES["demo/a.cu"].encode(), "/nvrtc", str(root),
        )  # fmt: skip
        assert job.options == options
        own = [folder for folder in job.include_dirs if not os.path.isabs(folder)]
        assert own == ["demo", "include"]  # the folder of the source is first
        assert job.include_dirs.index("include") < job.include_dirs.index("/cuda")
        assert job.lineinfo and job.host_code == "reject"
        assert (job.instances, job.missing_headers) == (("scale<*>",), ("x/*",))
        assert job.arch_list == "800,900"  # nvcc's: each once, in order, without letters
    assert [job.arch for job in module.jobs if job.describes] == ["80"]
    assert module.options == (*options, "--include-path=include", "--generate-line-info")


def test_libnvvm_compiles_nvvm_ir_and_nvrtc_the_rest(root: Path) -> None:
    module = module_of(root, "a.cu c.ll", NVVM, link="lto", architectures="80-real")
    cuda, nvvm = module.jobs
    assert (cuda.library, cuda.libdevice, cuda.nvvm, cuda.nvvm_build) == ("/nvrtc", "", "", "")
    assert (nvvm.library, nvvm.libdevice, nvvm.nvvm, nvvm.nvvm_build) == (
        "/nvvm",
        "/libdevice",
        "12.9.86",
        "nvvm build",
    )
    assert nvvm.instantiate == () and [each.path for each in cuda_sources(module.module)] == ["demo/a.cu"]


def test_modules_share_the_jobs_that_are_the_same(root: Path) -> None:
    tables = [
        {"name": "demo.one", "sources": ["demo/a.cu"]},
        {"name": "demo.two", "sources": ["demo/a.cu"]},
        {"name": "demo.fast", "sources": ["demo/a.cu"], "options": ["--use_fast_math"]},
    ]
    config = Config.from_table({"architectures": ["80-real", "90-real"], "module": tables})
    modules = select(config, root, [WheelFile(root / "demo/a.cu", "demo/a.cu")])
    plan = make_plan(config, modules, root, TOOLCHAIN, list)
    users = {
        (job.arch, job.options[1:]): [each.module.name for each in modules]
        for job, modules in modules_by_job(plan.modules).items()
    }
    fast = ("--use_fast_math",)
    both = ["demo.one", "demo.two"]
    assert users == {("80", ()): both, ("90", ()): both, ("80", fast): ["demo.fast"], ("90", fast): ["demo.fast"]}


@pytest.mark.parametrize(
    ("link", "kind", "lto"), [("lto", "ltoir", True), ("ptx", "ptx", False)]
)  # fmt: skip
def test_a_link_job_has_the_code_of_its_jobs_and_the_other_sources_as_they_are(
    link: str, kind: str, lto: bool, root: Path
) -> None:
    table = {"link": link, "architectures": "80-real", "lineinfo": True, "system_include_dirs": [str(root / "other")]}
    (root / "other").mkdir()
    plan = plan_of(root, "a.cu b.cu d.ptx", **table)
    (module,) = plan.modules
    results = {
        job: replace(EMPTY, ptx=b"ptx of " + job.source.encode(), ltoir=b"ltoir of " + job.source.encode(),
                     declared=(job.source,))
        for job in module.jobs
    }  # fmt: skip
    job = make_link_job(plan, module, module.links[0], results)
    assert [(each.source, each.kind, each.content, each.declared) for each in job.inputs] == [
        ("demo/a.cu", kind, f"{kind} of demo/a.cu".encode(), ("demo/a.cu",)),
        ("demo/b.cu", kind, f"{kind} of demo/b.cu".encode(), ("demo/b.cu",)),
        ("demo/d.ptx", "ptx", FILES["demo/d.ptx"].encode(), ()),
    ]
    assert (job.module, job.arch, job.real, job.lto, job.lineinfo) == ("demo.k", "80", True, lto, True)
    assert (job.options, job.ptx_version) == (module.links[0].options, "auto")
    assert (job.include_dirs, job.system_dirs) == (TOOLCHAIN.header_folders, module.system_dirs)
    assert module.system_dirs == (str(root / "other"),)


def test_a_link_job_identifies_the_libraries_of_device_code(root: Path) -> None:
    plan = plan_of(root, "a.cu", link="lto", architectures="80-real")
    (module,) = plan.modules
    results = dict.fromkeys(module.jobs, EMPTY)
    assert make_link_job(plan, module, module.links[0], results).device_libraries == ""
    write_files(root, **{"cuda/include/cuda_device_runtime_api.h": "", "cuda/lib/libcudadevrt.a": "code"})
    write_files(root, **{"nvshmem/include/nvshmem.h": "", "nvshmem/lib/libnvshmem_device.a": "more"})
    installed = replace(
        plan, toolchain=replace(TOOLCHAIN, include_dirs=(str(root / "cuda/include"), str(root / "nvshmem/include")))
    )
    job = make_link_job(installed, module, module.links[0], results)
    assert job.device_libraries == f"{sha256(b'code').hexdigest()} {sha256(b'more').hexdigest()}"
