"""`cuda-wheel init`: what it writes, for each back end and layout, builds; what exists stays as it is."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.config.names import WRAPPED
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.migrate.init_project import cmake_call, init_project
from cuda_wheel.migrate.project_detection import toolchain_extra
from cuda_wheel.migrate.pyproject_edit import write_changes
from tests.project.pages import projects
from tests.support.processes import pip_wheel
from tests.support.projects import BACKENDS, KERNEL, ROOT, write_files
from tests.support.wheels import contents, images

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.one_toolchain

Command = Callable[..., subprocess.CompletedProcess[str]]


def head(backend: str, name: str = "demo") -> str:
    return f"""\
[build-system]
requires = ["{backend}"]  # more to come
build-backend = '{BACKENDS[backend]}'

[project]
name = "{name}"
version = "1"
requires-python = ">=3.10"
"""


def written(root: Path, package: str = "") -> dict[str, str]:
    """Write what `init` proposes, and return the text of every file of the project; a second time changes nothing."""
    write_changes(init_project(root, package).changes)
    assert init_project(root, package).changes == []
    return {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if path.is_file()}


def check_wheel(project: Path, folder: Path, *modules: str) -> None:
    """Build the project's wheel with pip, and check that it has these modules with images, and no others."""
    result = pip_wheel(project, folder, CUDAARCHS="80-real")
    assert result.returncode == 0, result.stdout
    (wheel,) = folder.glob("*.whl")
    paths = [module.replace(".", "/") for module in modules]
    found = images(wheel)
    assert set(found) == {f"{path}.{suffix}" for path in paths for suffix in ("fatbin", "fatbin.json")}
    assert all(manifest_of(found[f"{path}.fatbin.json"], "x").kernels for path in paths)
    assert not [name for name in contents(wheel) if name.endswith(".cu")]
    assert "py3-none-any" in wheel.name


# --- projects that build ----------------------------------------------------------------------------


def test_an_empty_folder_becomes_a_project_whose_wheel_has_an_image(tmp_path: Path, cuda_wheel: Command) -> None:
    project = tmp_path / "my-demo"
    project.mkdir()
    shown = cuda_wheel("init", project, "--dry-run")
    assert shown.returncode == 0 and "+__global__ void saxpy" in shown.stdout and not list(project.iterdir())
    result = cuda_wheel("init", project)
    assert result.returncode == 0, result.stdout
    assert "wrote src/my_demo/kernels/saxpy.cu" in result.stdout and "kept" not in result.stdout
    for path in project.rglob("*.py"):
        ast.parse(path.read_text())
    again = cuda_wheel("init", project).stdout
    assert "nothing to write" in again and "kept [tool.hatch.build.targets.wheel.hooks.cuda]" in again
    check_wheel(project, tmp_path / "dist", "my_demo.kernels.saxpy")


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["", "src/"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_project_of_each_back_end_gets_a_first_kernel_and_builds(backend: str, layout: str, tmp_path: Path) -> None:
    project = write_files(
        tmp_path / "project", **{"pyproject.toml": head(backend), f"{layout}demo/__init__.py": "X = 1\n"}
    )
    files = written(project)
    assert files[f"{layout}demo/__init__.py"] == "X = 1\n"
    assert f"{layout}demo/kernels/saxpy.cu" in files and f"{layout}demo/kernels/__init__.py" in files
    check_wheel(project, tmp_path / "dist", "demo.kernels.saxpy")


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_sources_inside_and_outside_of_the_package_are_what_is_built(backend: str, tmp_path: Path) -> None:
    sources = {"csrc/fill.cu": KERNEL, "src/demo/_ext-src/other.cu": KERNEL, "tests/left.cu": KERNEL}
    project = write_files(
        tmp_path / "project", **{"pyproject.toml": head(backend), "src/demo/__init__.py": "", **sources}
    )
    files = written(project)
    assert "saxpy" not in "".join(files)
    check_wheel(project, tmp_path / "dist", "demo.fill", "demo.other")


@pytest.mark.slow
def test_a_listed_package_of_setuptools_and_a_setup_script_build(tmp_path: Path) -> None:
    listed = head("setuptools") + '[tool.setuptools]\npackages = ["demo"]\n'
    project = write_files(tmp_path / "a", **{"pyproject.toml": listed, "demo/__init__.py": ""})
    assert 'packages = ["demo", "demo.kernels"]' in written(project)["pyproject.toml"]
    check_wheel(project, tmp_path / "dist-a", "demo.kernels.saxpy")
    script = "from setuptools import setup, find_packages\nsetup(name='demo', version='1', packages=find_packages())\n"
    project = write_files(tmp_path / "b", **{"setup.py": script, "demo/__init__.py": ""})
    start_b = init_project(project)
    assert any("(install_requires), where they are made" in line for line in start_b.advice)
    assert 'build-backend = "setuptools.build_meta"' in written(project)["pyproject.toml"]
    check_wheel(project, tmp_path / "dist-b", "demo.kernels.saxpy")


# --- what is written --------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_tables_say_where_the_sources_are(backend: str, tmp_path: Path) -> None:
    included = {"demo/parts.cu": KERNEL.replace("fill", "part"), "demo/all.cu": '#include "parts.cu"\n' + KERNEL}
    project = write_files(
        tmp_path,
        **{"pyproject.toml": head(backend), "demo/__init__.py": "", "csrc/fill-in.cu": KERNEL, **included},
        **{"docs/x.cu": KERNEL, ".venv/x.cu": KERNEL, "csrc/helper.cu": "int f();\n", "demo/_x-y/deep.cu": KERNEL},
        **{"our-env/pyvenv.cfg": "", "our-env/x.cu": KERNEL},
    )
    files = written(project)
    document = tomllib.loads(files["pyproject.toml"])
    assert document["build-system"]["requires"][0] == backend and len(document["build-system"]["requires"]) == 2
    assert document["project"]["dependencies"] == ["cuda-wheel"]
    if backend == "scikit-build-core":
        calls = [line for line in files["CMakeLists.txt"].splitlines() if "cuda_wheel_add_module" in line]
        assert calls == [
            "cuda_wheel_add_module(TARGET all SOURCES demo/all.cu DESTINATION demo)",
            "cuda_wheel_add_module(TARGET fill_in SOURCES csrc/fill-in.cu DESTINATION demo)",
            "cuda_wheel_add_module(TARGET deep SOURCES demo/_x-y/deep.cu DESTINATION demo)",
        ]
        return
    assert ("hatch" in document["tool"]) == (backend == "hatchling")
    modules = [
        {"name": "demo.fill_in", "sources": ["csrc/fill-in.cu"]},
        {"name": "demo.deep", "sources": ["demo/_x-y/deep.cu"]},
    ]
    table = {"sources": ["demo/**/*.cu"], "module": modules}
    assert document["tool"]["cuda-wheel"] == table
    Config.from_table(table)


def test_a_cmake_project_keeps_its_lists_and_gets_the_calls_that_are_missing(tmp_path: Path) -> None:
    lists = "cmake_minimum_required(VERSION 3.24)\r\nproject(demo LANGUAGES CXX)\r\n"
    files = {"pyproject.toml": head("scikit-build-core"), "demo/__init__.py": "", "demo/fill.cu": KERNEL}
    project = write_files(tmp_path, **files)
    (project / "CMakeLists.txt").write_bytes(lists.encode())
    done = init_project(project)
    write_changes(done.changes)
    settings = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["scikit-build"]
    assert settings == {"wheel": {"exclude": ["**.cu", "**.cuh"]}}  # C++ makes the wheel one of a platform
    text = (project / "CMakeLists.txt").read_bytes().decode()
    assert text.startswith(lists) and text.count("\n") == text.count("\r\n") and text.count("find_package") == 1
    (project / "demo/more.cu").write_text(KERNEL)
    (change,) = init_project(project).changes
    assert change.after.replace("\r\n", "\n") == text.replace("\r\n", "\n") + (
        "cuda_wheel_add_module(TARGET more SOURCES demo/more.cu DESTINATION demo)\n"
    )


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("", {"wheel": {"platlib": False, "exclude": ["**.cu", "**.cuh"]}}),
        (
            "[tool.scikit-build]\nbuild-dir = 'b'\nwheel.exclude = ['x']\n",
            {"build-dir": "b", "wheel": {"platlib": False, "exclude": ["x", "**.cu", "**.cuh"]}},
        ),
        (
            "[tool.scikit-build.wheel]\npy-api = 'cp312'\n",
            {"wheel": {"py-api": "cp312", "exclude": ["**.cu", "**.cuh"]}},
        ),
        (
            "[tool.scikit-build.wheel]\nplatlib = true\nexclude = ['*.cu*']\n",
            {"wheel": {"platlib": True, "exclude": ["*.cu*"]}},
        ),
    ],
)
def test_a_cmake_project_without_languages_gets_a_pure_wheel_without_sources(
    table: str, expected: dict[str, object], tmp_path: Path
) -> None:
    lists = "cmake_minimum_required(VERSION 3.24)\nproject(demo LANGUAGES NONE)\n"
    files = {"CMakeLists.txt": lists, "demo/__init__.py": ""}
    project = write_files(tmp_path, **{"pyproject.toml": head("scikit-build-core") + table, **files})
    write_changes(init_project(project).changes)
    assert tomllib.loads((project / "pyproject.toml").read_text())["tool"]["scikit-build"] == expected


def test_a_package_that_has_kernels_of_its_own_keeps_them(tmp_path: Path) -> None:
    project = write_files(
        tmp_path,
        **{"pyproject.toml": head("hatchling"), "demo/__init__.py": "", "demo/kernels.py": "A = 1\n"},
    )
    files = written(project)
    assert "demo/cuda_kernels/saxpy.cu" in files and files["demo/kernels.py"] == "A = 1\n"


@pytest.mark.parametrize("table", ["hooks.cuda", "hooks.cuda-wheel", "targets.wheel.hooks.cuda-wheel"])
def test_a_hook_under_either_name_is_kept(table: str, tmp_path: Path) -> None:
    text = f"{head('hatchling')}[tool.hatch.build.{table}]\n"
    write_files(tmp_path, **{"pyproject.toml": text, "demo/__init__.py": ""})
    done = init_project(tmp_path)
    write_changes(done.changes)
    assert f"[tool.hatch.build.{table}]" in done.kept
    assert (tmp_path / "pyproject.toml").read_text().count("hooks.") == 1


def test_a_module_is_written_as_a_call_of_cmake() -> None:
    table = {"name": "demo.sub.fill", "sources": ["a.cu", "b c.cu"], "link": "lto", "std": "c++20", "lineinfo": True}
    table |= {"defines": {"N": 2, "FLAG": True, "TEXT": 'a"b'}, "include-dirs": ["include"], "options": ["-G", "$x;y"]}
    assert cmake_call(table) == (
        "cuda_wheel_add_module(\n"
        "  TARGET fill\n"
        '  SOURCES a.cu "b c.cu"\n'
        "  DESTINATION demo/sub\n"
        "  INCLUDE_DIRECTORIES include\n"
        '  DEFINES N=2 FLAG "TEXT=a\\"b"\n'
        "  STD c++20\n"
        "  LINK lto\n"
        '  OPTIONS -G "\\$x\\;y" -lineinfo)\n'
    )


# --- errors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"pyproject.toml": "[project\n"}, "cannot be read"),
        ({"pyproject.toml": head("hatchling").replace("hatchling.build", "own.build")}, "init works with"),
        ({"pyproject.toml": head("hatchling"), "hatch.toml": ""}, "hatch.toml"),
    ],
)
def test_a_project_that_cannot_be_changed_stays_as_it_is(files: dict[str, str], message: str, tmp_path: Path) -> None:
    write_files(tmp_path, **files)
    with pytest.raises(ConfigError, match=message):
        init_project(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == files


def test_the_tutorials_show_what_is_written(tmp_path: Path) -> None:
    (page,) = projects(ROOT / "docs/tutorials/first-wheel.md")
    (tmp_path / "saxpy-demo").mkdir()
    extra = toolchain_extra()
    assert written(tmp_path / "saxpy-demo") == {
        path: text.replace("cuda-wheel[cu12]", f"cuda-wheel[{extra}]") for path, text in page.items()
    }
    (page,) = projects(ROOT / "docs/tutorials/pytorch-operator.md")
    source = "src/norm_demo/normalise.cu"
    project = write_files(tmp_path / "norm-demo", **{source: page[source]})
    files = written(project)
    assert sorted(files) == sorted(page)
    assert (
        files["pyproject.toml"].replace(f"[{extra}]", "[cu12]").replace('["cuda-wheel"]', '["cuda-wheel", "torch"]')
        == page["pyproject.toml"]
    )


def test_the_sources_of_extensions_are_left_to_import(tmp_path: Path) -> None:
    script = "from setuptools import setup\nsetup(name='the-demo', ext_modules=[CUDAExtension('x', ['csrc/a.cu'])])\n"
    files = {"setup.py": script, "the_demo/__init__.py": "", "csrc/a.cu": KERNEL, "csrc/b.cu": KERNEL}
    done = init_project(write_files(tmp_path, **files))
    assert done.project.package == "the_demo"
    assert any("cuda-wheel import setup.py" in line for line in done.advice)
    table = tomllib.loads(done.changes[0].after)["tool"]["cuda-wheel"]
    assert table == {"module": [{"name": "the_demo.b", "sources": ["csrc/b.cu"]}]}


def test_a_requirement_in_the_settings_of_setuptools_is_seen(tmp_path: Path) -> None:
    settings = "[metadata]\nname = demo\n\n[options]\npackages = find:\ninstall_requires =\n    numpy\n"
    files = {"setup.cfg": settings, "setup.py": "import setuptools\n\nsetuptools.setup()\n", "demo/__init__.py": ""}
    assert any(
        "(install_requires), in setup.cfg" in line for line in init_project(write_files(tmp_path, **files)).advice
    )
    write_files(tmp_path, **{"setup.cfg": settings + "    cuda-wheel>=0.1\n"})
    assert not any("install_requires" in line for line in init_project(tmp_path).advice)


def test_a_package_beside_its_own_setup_script_is_that_folder(tmp_path: Path) -> None:
    script = "from setuptools import setup\nsetup(name='rays'{})\n"
    files = {"setup.py": script.format(""), "__init__.py": "", "rays.py": "", "src/rays.cu": KERNEL}
    done = init_project(write_files(tmp_path, **files))
    assert (done.project.package, done.project.folder) == ("rays", ".")
    assert [change.path.name for change in done.changes] == ["pyproject.toml"]  # no second package in src
    advice = 'give setup() packages=["rays"], package_dir={"rays": "."}'
    assert any(advice in line for line in done.advice)
    write_files(tmp_path, **{"setup.py": script.format(", packages=['rays'], package_dir={'rays': '.'}")})
    assert not any(advice in line for line in init_project(tmp_path).advice)


# --- back ends without a hook -----------------------------------------------------------------------


def wrapped_head(name: str, rest: str = "") -> str:
    """Return a pyproject.toml for a back end of WRAPPED."""
    return (
        f'[build-system]\nrequires = ["{WRAPPED[name]}"]\nbuild-backend = "{name}"  # theirs\n\n'
        f'[project]\nname = "demo"\nversion = "1"\n\n{rest}'
    )


@pytest.mark.parametrize("backend", WRAPPED)
def test_a_back_end_without_a_hook_stays_and_is_wrapped(backend: str, tmp_path: Path) -> None:
    write_files(tmp_path, **{"pyproject.toml": wrapped_head(backend), "src/demo/__init__.py": ""})
    done = init_project(tmp_path)
    reasons = "\n".join(done.reasons)
    assert f"cuda-wheel has no hook for {backend}" in reasons and "uv init --package --build-backend hatch" in reasons
    assert any("meson.build" in line for line in done.advice) == (backend == "mesonpy")
    commands = re.findall("`(.*? build)` does not ask", "\n".join(done.advice))  # whose wheels have no kernels
    assert commands == {"flit_core.buildapi": ["flit build"], "maturin": ["maturin build"]}.get(backend, [])
    files = written(tmp_path)
    content = tomllib.loads(files["pyproject.toml"])
    required = [WRAPPED[backend], f"cuda-wheel[{toolchain_extra()}]"]
    assert content["build-system"] == {"requires": required, "build-backend": "cuda_wheel.backend"}
    assert content["tool"]["cuda-wheel"] == {"backend": backend, "sources": ["src/demo/**/*.cu"]}
    assert content["project"]["dependencies"] == ["cuda-wheel"] and "# theirs" in files["pyproject.toml"]
    assert "src/demo/kernels/saxpy.cu" in files


def test_a_table_that_exists_gets_the_name_of_the_wrapped_back_end(tmp_path: Path) -> None:
    table = '[tool.cuda-wheel]\nstd = "c++20"\n'
    files = {"pyproject.toml": wrapped_head("uv_build", table), "src/demo/__init__.py": "", "src/demo/k.cu": KERNEL}
    write_files(tmp_path, **files)
    done = init_project(tmp_path)
    assert "hatch" not in "\n".join(done.reasons)  # the project is not new
    content = tomllib.loads(written(tmp_path)["pyproject.toml"])
    assert content["tool"]["cuda-wheel"] == {"std": "c++20", "backend": "uv_build"}


@pytest.mark.parametrize(
    ("backend", "settings"),
    [
        ("uv_build", '[tool.uv.build-backend]\nmodule-root = "lib"\n'),
        ("maturin", '[tool.maturin]\npython-source = "lib"\n'),
        ("pdm.backend", '[tool.pdm.build]\npackage-dir = "lib"\n'),
        ("poetry.core.masonry.api", '[tool.poetry]\npackages = [{ include = "demo", from = "lib" }]\n'),
    ],
)
def test_the_package_is_where_the_wrapped_back_end_has_it(backend: str, settings: str, tmp_path: Path) -> None:
    files = {"pyproject.toml": wrapped_head(backend, settings), "lib/demo/__init__.py": "", "lib/a/__init__.py": ""}
    write_files(tmp_path, **files)
    assert init_project(tmp_path).project.folder == "lib/demo"
    assert "lib/demo/kernels/saxpy.cu" in written(tmp_path)  # also when the back end is wrapped


def test_poetrys_own_list_of_dependencies_is_named(tmp_path: Path) -> None:
    text = wrapped_head("poetry.core.masonry.api").partition("[project]")[0]
    text += '[tool.poetry]\nname = "demo"\nversion = "1"\n[tool.poetry.dependencies]\npython = "^3.10"\n'
    write_files(tmp_path, **{"pyproject.toml": text, "demo/__init__.py": ""})
    assert "add cuda-wheel to [tool.poetry.dependencies]: poetry add cuda-wheel" in init_project(tmp_path).advice


@pytest.mark.parametrize(
    ("line", "is_told"),
    [('requires-python = ">=3.8"', True), ('requires-python = ">=3.8, !=3.9.1"', True), ('requires-python = ">=3.10"', False), ('requires-python = ">=3.8,>3.10"', False), ("", False)],
)  # fmt: skip
def test_a_project_for_older_pythons_than_cuda_wheel_is_told(line: str, is_told: bool, tmp_path: Path) -> None:
    text = f'[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n[project]\nname = "demo"\nversion = "1"\n{line}\n'
    write_files(tmp_path, **{"pyproject.toml": text, "demo/__init__.py": "", "demo/k.cu": KERNEL})
    own = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    advice = [each for each in init_project(tmp_path).advice if f'write requires-python = "{own}" in place of' in each]
    assert bool(advice) == is_told
