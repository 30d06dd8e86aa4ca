"""A module compiles for the GPU in use, as a build of the project would compile it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda_wheel.builder.errors import CompileError
from tests.support.editable import SOURCE, compiled

pytestmark = pytest.mark.one_toolchain


def test_variables_that_look_like_a_librarys_are_the_projects(project: Path) -> None:
    """As in a build: the files that declare a variable decide, not its name."""
    names = ("cuda::mine", "nv::mine")
    text = "namespace nv { __device__ int mine; }\nnamespace cuda { __constant__ float mine; }\n" + SOURCE
    (project / "demo/kernels/k.cu").write_text(text)
    manifest, _ = compiled(project)
    assert tuple(sorted(info.name for info in manifest.globals)) == names


def test_cudaarchs_hides_no_target_of_the_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """conda-forge's compiler packages set it in every shell; it may name targets that this compiler lacks."""
    pyproject = project / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace('"all-major"', '"90a-real"'))
    monkeypatch.setenv("CUDAARCHS", "30-real;75;80")
    assert [str(image.target) for image in compiled(project, (9, 0))[0].images] == ["sm_90a"]
    assert [str(image.target) for image in compiled(project, (8, 0))[0].images] == ["sm_80"]


def test_a_specific_target_that_the_project_names_is_preferred(project: Path) -> None:
    with (project / "pyproject.toml").open("a") as stream:
        stream.write('[[tool.cuda-wheel.module]]\nname = "demo.kernels.k"\narchitectures = ["80", "90a"]\n')
    assert str(compiled(project, (9, 0))[0].images[0].target) == "sm_90a"
    assert str(compiled(project, (8, 9))[0].images[0].target) == "sm_89"


def test_a_gpu_newer_than_the_compiler_gets_ptx(project: Path) -> None:
    manifest, _ = compiled(project, (99, 0))
    assert "compute_121" in [str(image.target) for image in manifest.images]


@pytest.mark.parametrize("lineinfo", ["false", "true"])  # with it, the cubin is made from PTX
def test_warnings_may_be_errors(project: Path, lineinfo: str) -> None:
    (project / "demo/kernels/k.cu").write_text("__global__ void k(int* x) { int unused = 1; *x = 2; }\n")
    settings = project / "pyproject.toml"
    original = settings.read_text()
    settings.write_text(original.replace("[tool.cuda-wheel]\n", f"[tool.cuda-wheel]\nlineinfo = {lineinfo}\n"))
    with pytest.warns(RuntimeWarning, match=r"demo/kernels/k\.cu:1:33: warning: "):
        compiled(project)
    settings.write_text(original)
    table = f"[tool.cuda-wheel]\nwarnings-as-errors = true\nlineinfo = {lineinfo}\n"
    settings.write_text(settings.read_text().replace("[tool.cuda-wheel]\n", table))
    for _ in range(2):
        with pytest.raises(CompileError, match=r"(?s)\(warnings-as-errors\):.*demo/kernels/k\.cu:1:33: warning: "):
            compiled(project)


@pytest.mark.parametrize(
    ("architectures", "cudaarchs", "target"),
    [
        ('"native"', "", "sm_120"),
        ('["90a-real", "80-real", "100-virtual"]', "", "sm_90a"),
        ('["75-virtual", "80-virtual"]', "", "compute_80"),
        ('["75-real"]', "native", "sm_120"),
        ('"native"', "86", "sm_86"),
        ('["90a-real"]', "80", "sm_80"),
    ],
)
def test_without_a_gpu_a_module_compiles_for_a_target_of_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch, architectures: str, cudaarchs: str, target: str, no_compiler
) -> None:
    text = (project / "pyproject.toml").read_text().replace('"all-major"', architectures)
    (project / "pyproject.toml").write_text(text)
    monkeypatch.setenv("CUDAARCHS", cudaarchs)

    def targets(capability: tuple[int, int] | None) -> list[str]:
        return [str(image.target) for image in compiled(project, capability)[0].images]

    assert targets(None) == [target]
    assert targets((8, 6)) != ["sm_75"]  # another entry of the cache
    no_compiler()
    assert targets(None) == [target]
