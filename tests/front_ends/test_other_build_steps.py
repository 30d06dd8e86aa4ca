"""Projects with other build steps: the wheel contains their outputs and the images."""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.processes import build_wheel, run
from tests.support.projects import KERNEL, pyproject_head
from tests.support.wheels import contents, images

pytestmark = pytest.mark.one_toolchain

HATCHLING = pyproject_head("hatchling") + '[tool.hatch.build.targets.wheel]\npackages = ["demo"]\n'
SETUPTOOLS = pyproject_head("setuptools") + '[tool.setuptools]\npackages = ["demo"]\n'
TABLE = '[tool.cuda-wheel]\narchitectures = "80"\n'
LISTS = """\
cmake_minimum_required(VERSION 3.20)
project(demo LANGUAGES NONE)
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/made.txt" "by CMake")
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/made.txt" DESTINATION demo)
"""


@pytest.fixture
def make(tmp_path: Path, extra: str) -> Callable[..., Path]:
    """Return a function that creates a project with one kernel from a pyproject.toml without our table, and files."""

    def make(pyproject: str, **files: str) -> Path:
        root = tmp_path / "project"
        pyproject = pyproject.replace("cuda-wheel[cu12]", f"cuda-wheel[{extra}]")
        own = {"pyproject.toml": pyproject + TABLE, "demo/__init__.py": "", "demo/fill.cu": KERNEL}
        for name, content in (own | files).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(textwrap.dedent(content))
        return root

    return make


@pytest.fixture
def built(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that builds a project's wheel, checks its images, and returns its path."""

    def built(project: Path, **environ: str) -> Path:
        result = build_wheel(project, tmp_path / "dist", **environ)
        assert result.returncode == 0, result.stdout
        (wheel,) = (tmp_path / "dist").glob("*.whl")
        check_images(wheel)
        return wheel

    return built


def check_images(wheel: Path) -> None:
    assert sorted(images(wheel)) == ["demo/fill.fatbin", "demo/fill.fatbin.json"]
    assert "demo/fill.cu" not in contents(wheel)


# --- setuptools ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_projects_own_build_command_runs_too(make, built) -> None:
    setup = """
        from pathlib import Path
        from setuptools import setup
        from setuptools.command.build import build
        class Build(build):
            def run(self):
                super().run()
                Path(self.build_lib, "demo/made.txt").write_text("by the project")
        setup(cmdclass={"build": Build})
        """
    assert contents(built(make(SETUPTOOLS, **{"setup.py": setup})))["demo/made.txt"] == b"by the project"


@pytest.mark.slow
def test_a_build_command_named_in_pyproject_runs_too(make, built) -> None:
    """setuptools applies [tool.setuptools.cmdclass] after all plugins."""
    mine = """
        from pathlib import Path
        from setuptools.command.build import build
        class Build(build):
            def run(self):
                super().run()
                Path(self.build_lib, "demo/made.txt").write_text("by the project")
        """
    pyproject = SETUPTOOLS + '[tool.setuptools.cmdclass]\nbuild = "mine.Build"\n'
    assert contents(built(make(pyproject, **{"mine.py": mine})))["demo/made.txt"] == b"by the project"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_c_extension_is_built_too(make, built) -> None:
    setup = "from setuptools import Extension, setup\nsetup(ext_modules=[Extension('demo.c', ['demo/c.c'])])\n"
    source = """
        #include <Python.h>
        static struct PyModuleDef c = {PyModuleDef_HEAD_INIT, "c", 0, -1, 0};
        PyMODINIT_FUNC PyInit_c(void) { return PyModule_Create(&c); }
        """
    wheel = built(make(SETUPTOOLS, **{"setup.py": setup, "demo/c.c": source}))
    assert [name for name in contents(wheel) if name.startswith("demo/c.") and name.endswith((".so", ".pyd"))]
    assert not wheel.name.endswith("-any.whl")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_setuptools_rust_builds_its_crate_too(make, built) -> None:
    table = '[[tool.setuptools-rust.ext-modules]]\ntarget = "demo.r"\nbinding = "NoBinding"\n'
    files = {
        "Cargo.toml": '[package]\nname = "r"\nversion = "1.0.0"\nedition = "2021"\n[lib]\ncrate-type = ["cdylib"]\n',
        "src/lib.rs": '#[no_mangle]\npub extern "C" fn answer() -> i32 {\n    42\n}\n',
    }
    pyproject = SETUPTOOLS.replace('"setuptools"', '"setuptools", "setuptools-rust"') + table
    wheel = built(make(pyproject, **files), CARGO_NET_OFFLINE="true")
    assert [name for name in contents(wheel) if name.startswith("demo/r.") and name.endswith((".so", ".pyd"))]
    assert not wheel.name.endswith("-any.whl")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_setuptools_scm_names_the_version_and_the_files(make) -> None:
    project = make(
        SETUPTOOLS.replace('"setuptools"', '"setuptools", "setuptools-scm"')
        .replace('version = "1"', 'dynamic = ["version"]')
        .replace("[tool.setuptools]", "[tool.setuptools_scm]\n[tool.setuptools]")
    )
    author = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
    for command in (["init"], ["add", "."], [*author, "commit", "-m", "First"], ["tag", "v3.1"]):
        result = run("git", *command, cwd=project, GIT_CONFIG_GLOBAL=os.devnull)
        assert result.returncode == 0, result.stdout
    result = run(sys.executable, "-m", "build", "--no-isolation", cwd=project)
    assert result.returncode == 0, result.stdout
    check_images(project / "dist/demo-3.1-py3-none-any.whl")
    with tarfile.open(project / "dist/demo-3.1.tar.gz") as archive:
        assert archive.getnames().count("demo-3.1/demo/fill.cu") == 1


@pytest.mark.slow
@pytest.mark.parametrize("way", ["pyproject.toml", "setup.py"])
def test_scikit_build_cores_setuptools_plugin_runs_cmake_too(way: str, make, built) -> None:
    pyproject = SETUPTOOLS.replace('"setuptools"', '"setuptools", "scikit-build-core"')
    files = {"CMakeLists.txt": LISTS}
    if way == "setup.py":
        files["setup.py"] = 'from scikit_build_core.setuptools.wrapper import setup\nsetup(cmake_source_dir=".")\n'
    else:
        pyproject = pyproject.replace("setuptools.build_meta", "scikit_build_core.setuptools.build_meta")
        pyproject += '[tool.scikit-build]\ncmake.source-dir = "."\n'
    assert contents(built(make(pyproject, **files)))["demo/made.txt"] == b"by CMake"


@pytest.mark.slow
def test_images_built_by_cmake_are_not_touched(make, tmp_path: Path) -> None:
    call = "find_package(CudaWheel REQUIRED)\ncuda_wheel_add_module(TARGET k SOURCES csrc/k.cu DESTINATION demo)\n"
    pyproject = SETUPTOOLS.replace('"setuptools"', '"setuptools", "scikit-build-core"')
    pyproject = pyproject.replace("setuptools.build_meta", "scikit_build_core.setuptools.build_meta")
    pyproject += '[tool.scikit-build]\ncmake.source-dir = "."\n'
    project = make(pyproject, **{"CMakeLists.txt": LISTS + call, "csrc/k.cu": KERNEL})
    for kernels in (["fill", "k"], ["k"]):
        result = build_wheel(project, tmp_path / "dist")
        assert result.returncode == 0, result.stdout
        (wheel,) = (tmp_path / "dist").glob("*.whl")
        assert sorted(images(wheel)) == [f"demo/{name}.fatbin{end}" for name in kernels for end in ("", ".json")]
        (project / "demo/fill.cu").unlink(missing_ok=True)  # in the second build, CMake compiles all kernels


# --- hatchling -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("order", [["cuda", "scikit-build"], ["scikit-build", "cuda"]], ids=" ".join)
def test_scikit_build_cores_hatch_hook_runs_cmake_too(order: list[str], make, built) -> None:
    options = {"cuda": "", "scikit-build": "experimental = true\n"}
    hooks = "".join(f"[tool.hatch.build.targets.wheel.hooks.{name}]\n{options[name]}" for name in order)
    pyproject = HATCHLING.replace('"hatchling"', '"hatchling", "scikit-build-core"') + hooks
    assert contents(built(make(pyproject, **{"CMakeLists.txt": LISTS})))["demo/made.txt"] == b"by CMake"
