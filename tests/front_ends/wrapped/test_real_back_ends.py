"""`cuda_wheel.backend` with the back ends themselves, through pip, build and uv."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.config.names import WRAPPED
from tests.support.editable import environment_on_top
from tests.support.processes import pip_wheel, run
from tests.support.projects import copy_fixture, write_files
from tests.support.wheels import contents, images
from tests.support.wrapped_projects import PROJECTS, make_wrapped_project

pytestmark = [pytest.mark.one_toolchain, pytest.mark.slow]

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path, extra: str, kept_cache: str, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return a function that makes a project of a back end; the test is skipped if that needs what is not installed."""
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", kept_cache)
    # Back ends find their own programs by PATH.
    monkeypatch.setenv("PATH", os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]]))

    def make(back_end: str, table: str = "", **files: str) -> Path:
        module = PROJECTS[back_end].module
        for program in {"maturin": ["cargo"], "mesonpy": ["git", "ninja"]}.get(module, []):
            if shutil.which(program) is None:
                pytest.skip(f"{back_end} needs {program}")
        assert importlib.util.find_spec(module), f"{back_end} is among the requirements of tests"
        project = write_files(make_wrapped_project(back_end, tmp_path / "project", extra, table), **files)
        if module == "mesonpy":  # its sdist has what is committed
            git = ["git", "-c", "user.name=name", "-c", "user.email=name@example.org"]
            for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "message"]):
                subprocess.run([*git, *words], cwd=project, check=True)
        return project

    return make


def test_the_projects_are_those_of_all_back_ends() -> None:
    assert {project.module: back_end for back_end, project in PROJECTS.items()} == WRAPPED


@pytest.mark.parametrize("back_end", PROJECTS)
def test_the_wheel_of_the_tree_and_that_of_the_sdist_have_the_same_images(
    back_end: str, make: Make, extra: str, tmp_path: Path
) -> None:
    project = make(back_end)
    result = pip_wheel(project, tmp_path / "of tree")
    assert result.returncode == 0, result.stdout
    (wheel,) = (tmp_path / "of tree").iterdir()
    files = contents(wheel)
    assert {
        "demo/__init__.py",
        "demo/kernels/__init__.py",
        "demo/kernels/fill.fatbin",
        "demo/kernels/fill.fatbin.json",
    } | {"demo-1.dist-info/sboms/cuda-wheel.cdx.json"} <= files.keys()
    assert not any(name.endswith((".cu", ".h")) for name in files)
    assert re.fullmatch(r"demo-1-py3-none-(any|\w+_x86_64|\w+arm64|\w+aarch64|win\w+)\.whl", wheel.name)
    assert ("any" in wheel.name) == (back_end != "maturin")  # it has a program

    result = run(sys.executable, "-m", "build", "--no-isolation", "-x", "-o", tmp_path / "of sdist", project)
    assert result.returncode == 0, result.stdout
    with tarfile.open(tmp_path / "of sdist/demo-1.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"{PROJECTS[back_end].package}/kernels/fill.cu", "include/answer.h"} <= names
    other = tmp_path / "of sdist" / wheel.name
    if back_end == "maturin":  # the program is compiled in another folder
        assert images(other) == images(wheel)
    else:
        assert other.read_bytes() == wheel.read_bytes()


@pytest.mark.parametrize("back_end", PROJECTS)
def test_an_editable_install_compiles_on_load(back_end: str, make: Make, tmp_path: Path) -> None:
    project = make(back_end)
    python = environment_on_top(tmp_path / "environment")
    options = ("--no-build-isolation", "--no-index", "--no-deps")
    result = run(python, "-m", "pip", "install", *options, "-e", project)
    assert result.returncode == 0, result.stdout
    program = (
        "from cuda_wheel.runtime.files import package_folders\n"
        "from cuda_wheel.builder.compile_on_load.requests import compile_on_load\n"
        "from cuda_wheel.builder.sources.source_tree import kernels_beside\n"
        "folders = package_folders('demo.kernels')\n"
        "print(kernels_beside('demo.kernels', folders))\n"
        "import sys, demo.kernels\n"
        "found = compile_on_load('demo.kernels.fill', folders, lambda: (8, 6))\n"
        "print('sm_86' in found[0].decode())\n"
    )
    result = run(python, "-c", program, cwd=tmp_path)
    assert result.stdout.splitlines()[-2:] == ["{'demo.kernels.fill': ['fill']}", "True"], result.stdout


def test_uv_builds_it_too(make: Make, tmp_path: Path) -> None:
    project = make("uv_build")
    options = ("--no-build-isolation", "--python", sys.executable, "--offline")
    result = run(sys.executable, "-m", "uv", "build", *options, "-o", tmp_path / "out", project)
    assert result.returncode == 0, result.stdout
    assert "demo/kernels/fill.fatbin" in images(tmp_path / "out/demo-1-py3-none-any.whl")


def test_the_images_are_those_of_hatchling(extra: str, make: Make, fixture_wheel, tmp_path: Path) -> None:
    project = copy_fixture("linked", tmp_path / "linked", extra)
    pyproject = project / "pyproject.toml"
    text = pyproject.read_text().replace('"hatchling"', '"uv_build"').replace("hatchling.build", "cuda_wheel.backend")
    text = re.sub(r"(?s)\[tool\.hatch[^\[]*", "", text)
    table = '[tool.cuda-wheel]\nbackend = "uv_build"\n'
    text = text.replace("[tool.cuda-wheel]\n", table) if "[tool.cuda-wheel]\n" in text else text + table
    pyproject.write_text(text)
    make("uv_build")  # for the environment variables
    result = pip_wheel(project, tmp_path / "out")
    assert result.returncode == 0, result.stdout
    (wheel,) = (tmp_path / "out").iterdir()
    assert images(wheel) == images(fixture_wheel("linked"))


def test_verify_rebuilds_the_wheel_from_the_sdist(cuda_wheel, make: Make, tmp_path: Path) -> None:
    project = make("pdm-backend")
    result = run(sys.executable, "-m", "build", "--no-isolation", "-x", "-o", tmp_path / "out", project)
    assert result.returncode == 0, result.stdout
    wheel, sdist = tmp_path / "out/demo-1-py3-none-any.whl", tmp_path / "out/demo-1.tar.gz"
    result = cuda_wheel("verify", wheel, "--rebuild", sdist, "--no-build-isolation")
    assert result.returncode == 0, result.stdout
