"""Architectures through the three back ends: CUDAARCHS, as conda-forge sets it, and PTX alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.manifests import plain
from tests.support.processes import build_wheel
from tests.support.projects import BACKENDS, KERNEL, LISTS, SCIKIT_BUILD, pyproject_head, write_files
from tests.support.wheels import contents

HEADS = {
    "hatchling": '[tool.hatch.build.targets.wheel]\npackages = ["demo"]\n[tool.hatch.build.targets.wheel.hooks.cuda]\n',
    "setuptools": '[tool.setuptools]\npackages = ["demo"]\n',
    "scikit-build-core": SCIKIT_BUILD,
}

CALLS = "\n".join(
    f"cuda_wheel_add_module(TARGET {name} SOURCES demo/{name}.cu DESTINATION demo)" for name in ("fill", "gemm")
)

WGMMA = '__global__ void gemm() { asm volatile("wgmma.fence.sync.aligned;"); }\n'
"""A kernel that compiles for sm_90a alone."""

MODULE = '[[tool.cuda-wheel.module]]\nname = "demo.gemm"\narchitectures = ["90a-real"]\n'

CONDA_FORGE = {
    "cu12": "50-real;60-real;70-real;75-real;80-real;86-real;89-real;90",
    "cu13": "75-real;80-real;86-real;89-real;90",
}


@pytest.fixture(params=BACKENDS)
def build(request: pytest.FixtureRequest, tmp_path: Path, extra: str):
    """Return a function that builds a project of two modules with a back end: its output, and the images by module."""

    def build(table: str, gemm: str, **environ: str) -> tuple[str, dict[str, list[str]]]:
        head = pyproject_head(request.param, extra) + HEADS[request.param]
        files = {"demo/__init__.py": "", "demo/fill.cu": KERNEL, "demo/gemm.cu": gemm}
        if request.param == "scikit-build-core":
            files["CMakeLists.txt"] = LISTS.format(call=CALLS)
        project = write_files(tmp_path / "project", **files, **{"pyproject.toml": head + table})
        result = build_wheel(project, tmp_path / "dist", **environ)
        assert result.returncode == 0, result.stdout
        (wheel,) = (tmp_path / "dist").glob("*.whl")
        manifests = [plain(text) for name, text in contents(wheel).items() if name.endswith(".fatbin.json")]
        return result.stdout, {each["name"]: [image["target"] for image in each["images"]] for each in manifests}

    return build


@pytest.fixture
def where(request: pytest.FixtureRequest) -> str:
    """Return what messages call the targets of the first module."""
    if request.node.callspec.params["build"] == "scikit-build-core":
        return "ARCHITECTURES (or CMAKE_CUDA_ARCHITECTURES)"
    return "tool.cuda-wheel.module[0].architectures"


@pytest.mark.slow
def test_cudaarchs_replaces_the_projects_list_and_keeps_a_modules_specific_target(build, where, extra: str) -> None:
    value = CONDA_FORGE[extra]
    output, targets = build(f"[tool.cuda-wheel]\n{MODULE}", WGMMA, CUDAARCHS=value)
    numbers = [entry.partition("-")[0] for entry in value.split(";")]
    assert targets == {"demo.fill": [*(f"sm_{number}" for number in numbers), "compute_90"], "demo.gemm": ["sm_90a"]}
    assert f"cuda-wheel: CUDAARCHS ({value}) replaces default in tool.cuda-wheel.architectures\n" in output
    assert f"cuda-wheel: CUDAARCHS does not replace {where} (90a-real)" in output


@pytest.mark.slow
@pytest.mark.one_toolchain
def test_a_list_of_both_keeps_the_specific_target_and_says_so(build, where: str) -> None:
    module = MODULE.replace('"90a-real"', '"90-real", "90a-real"')
    output, targets = build(f"[tool.cuda-wheel]\n{module}", KERNEL, CUDAARCHS="75-real;80-real")
    assert targets == {"demo.fill": ["sm_75", "sm_80"], "demo.gemm": ["sm_75", "sm_80", "sm_90a"]}
    assert f"cuda-wheel: CUDAARCHS (75-real;80-real) replaces 90-real in {where} and keeps 90a-real\n" in output


@pytest.mark.slow
@pytest.mark.one_toolchain
def test_ptx_alone_is_built_and_the_output_says_that_the_first_load_compiles(build) -> None:
    output, targets = build('[tool.cuda-wheel]\narchitectures = ["75-virtual"]\n', KERNEL)
    assert targets == {"demo.fill": ["compute_75"], "demo.gemm": ["compute_75"]}
    assert "PTX alone, so the first load on each machine compiles it" in output
    assert "no image for" not in output
