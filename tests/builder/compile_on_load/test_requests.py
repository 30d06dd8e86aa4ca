"""A module of a source tree or an editable install compiles when it is loaded, if the project has a source for it."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.compile_on_load import requests as on_load
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.operators.kernels import read_manifest
from cuda_wheel.runtime import loading
from cuda_wheel.runtime.errors import ImageError, NoImageError
from cuda_wheel.runtime.jit import JitOptions
from cuda_wheel.runtime.parts.attach import attach
from tests.support.driver import Driver
from tests.support.editable import HATCHLING, MODES, SOURCE, TABLE, compiled, install_editable
from tests.support.loaded_modules import forget_package
from tests.support.processes import run

pytestmark = pytest.mark.one_toolchain


def test_a_module_compiles_for_the_gpu_in_use(project: Path) -> None:
    manifest, _ = compiled(project)
    assert manifest.name == "demo.kernels.k"
    assert [str(image.target) for image in manifest.images] == ["sm_86"]
    assert manifest.sources == ("demo/kernels/k.cu",)
    assert not list(project.rglob("*.fatbin*"))


def test_a_module_table_names_the_source(project: Path) -> None:
    (project / "csrc").mkdir()
    (project / "csrc/far.cu").write_text('extern "C" __global__ void far(float* x) {}\n')
    with (project / "pyproject.toml").open("a") as stream:
        stream.write('[[tool.cuda-wheel.module]]\nname = "demo.kernels.distant"\nsources = ["csrc/far.cu"]\n')
    manifest, _ = compiled(project, name="demo.kernels.distant")
    assert [kernel.name for kernel in manifest.kernels] == ["far"]


def test_without_a_source_no_gpu_is_needed(project: Path) -> None:
    def ask() -> tuple[int, int]:
        raise AssertionError("asked for the GPU")

    assert on_load.compile_on_load("demo.kernels.nothing", [str(project / "demo/kernels")], ask) is None


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_source_tree_is_no_exception_where_compiling_is_forbidden(
    is_kept: bool,
    project: Path,
    use: Callable[..., Driver],
    no_compiler: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if is_kept:
        compiled(project)
    no_compiler()
    monkeypatch.syspath_prepend(project)
    forget_package("demo")
    driver = use((8, 6))
    message = (
        rf"^demo\.kernels\.k lies in a source tree \({re.escape(str(project))}\) and has no images: "
        r"demo/kernels/k\.cu must be compiled on this machine \(compute capability 8\.6, driver for CUDA 13\.0\), which "
    )
    with pytest.raises(NoImageError, match=message + r"JitOptions\(allow=False\) forbids\. Install a wheel"):
        loading.load("demo.kernels.k", jit=JitOptions(allow=False))
    with pytest.raises(ImageError, match=r"has no images: looked for"):
        loading.load("demo.kernels.absent", jit=JitOptions(allow=False))
    monkeypatch.setenv("CUDA_WHEEL_JIT", "error")
    with pytest.raises(NoImageError, match=message + "CUDA_WHEEL_JIT=error forbids"):
        loading.load("demo.kernels.k")
    with pytest.raises(NoImageError, match="CUDA_WHEEL_JIT=error forbids"):
        read_manifest("demo.kernels.k", {})  # what an operator asks for, also without a GPU
    importlib.import_module("demo.kernels")
    assert attach("demo.kernels")[2] == ["k"]  # the names of kernels need no compiler
    forget_package("demo")
    assert driver.loaded == []


def test_a_regular_install_is_never_compiled(project: Path, tmp_path: Path) -> None:
    """A virtual environment may be inside another project's folder."""
    installed = project / ".venv/lib/python3/site-packages/demo/kernels"
    installed.mkdir(parents=True)
    (installed / "k.cu").write_text(SOURCE)
    assert on_load.compile_on_load("demo.kernels.k", [str(installed)], lambda: (8, 0)) is None


def test_a_project_without_cuda_wheel_is_ignored(project: Path) -> None:
    """A wheel may be unpacked below an unrelated project."""
    (project / "pyproject.toml").write_text('[build-system]\nrequires = ["hatchling"]\n[project]\nname = "other"\n')
    assert on_load.compile_on_load("demo.kernels.k", [str(project / "demo/kernels")], lambda: (8, 0)) is None


def test_wrong_settings_are_an_error(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.cuda-wheel]\ncolour = 1\n")
    with pytest.raises(ConfigError, match=r'tool\.cuda-wheel has no key "colour"'):
        compiled(project)


def test_a_source_outside_the_project_is_an_error(project: Path, tmp_path: Path) -> None:
    (tmp_path / "far.cu").write_text(SOURCE)
    (project / "demo/kernels/far.cu").symlink_to(tmp_path / "far.cu")
    with pytest.raises(ConfigError, match=r"far\.cu lies outside the project"):
        compiled(project, name="demo.kernels.far")


def test_a_missing_include_folder_is_an_error(project: Path) -> None:
    (project / "pyproject.toml").write_text(
        HATCHLING.replace("PACKAGE", "demo") + TABLE.replace('"include"', '"nowhere"')
    )
    with pytest.raises(ConfigError, match="nowhere"):
        compiled(project)


LOADS = """
import hashlib, importlib, json, pathlib, sys
package = importlib.import_module("demo.kernels")
from cuda_wheel.builder.compile_on_load.requests import compile_on_load
for edit in json.loads(sys.argv[1]):
    for path, text in edit.items():
        pathlib.Path(path).write_text(text)
    manifest, fatbin = compile_on_load("demo.kernels.k", list(package.__path__), lambda: (8, 0))
    print(hashlib.sha256(fatbin).hexdigest())
"""
"""A program that writes files and then compiles the module as a load does, for each of the edits that it is given."""


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_an_editable_install_follows_edits(mode: str, tmp_path: Path) -> None:
    kernels, python = install_editable(mode, tmp_path)
    edits = [
        {},
        {},
        {str(tmp_path / "project/include/answer.h"): "#define ANSWER 42\n"},
        {str(kernels / "k.cu"): SOURCE.replace("ANSWER;", "ANSWER + 1;")},
    ]
    result = run(python, "-c", LOADS, json.dumps(edits), cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    before, again, other_header, other_source = result.stdout.splitlines()
    assert again == before and len({before, other_header, other_source}) == 3
    assert not list(tmp_path.rglob("*.fatbin*"))


def test_load_compiles_and_returns_kernels(
    project: Path, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = use((8, 6))
    monkeypatch.syspath_prepend(project)
    module = loading.load("demo.kernels.k")
    assert (str(module.image), module.how, list(module)) == ("cubin sm_86", "native", ["k"])
    assert driver.loaded == [compiled(project)[1][module.image.offset :][: module.image.size]]


@pytest.mark.slow
def test_without_a_toolchain_the_error_names_the_extra(project: Path, bare_python: Path) -> None:
    program = f"""
from cuda_wheel.builder.compile_on_load.requests import compile_on_load
compile_on_load("demo.kernels.k", [{str(project / "demo/kernels")!r}], lambda: (8, 0))
"""
    result = run(bare_python, "-c", program)
    assert "ToolchainError" in result.stdout
    assert 'Run pip install "cuda-wheel[cu12]" (or [cu13]), or add that to build-system.requires.' in result.stdout
