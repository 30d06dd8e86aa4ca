"""On load, the source and the settings of a module are found from the folder of its package."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.sources.source_tree import find_source, kernels_beside, module_that_may_make

pytestmark = pytest.mark.one_toolchain

PYPROJECT = '[tool.cuda-wheel]\nstd = "c++14"\n'

KERNELS = """
extern "C" __global__ void scale(float* x) {}
namespace ns { __global__ void shift(double* x) {} }
template <class T> __global__ void generic(T* x) {}
"""

MACRO = "#define MAKE(name) __global__ void name(int* x) {}\nMAKE(made)\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path / "project")


def project(root: Path, pyproject: str = PYPROJECT, **sources: str) -> Path:
    """Write a project whose package `demo.kernels` has these sources, "a.cu" with KERNELS by default."""
    package = root / "src/demo/kernels"
    package.mkdir(parents=True, exist_ok=True)
    (root / "pyproject.toml").write_text(pyproject)
    for name, text in (sources or {"a": KERNELS}).items():
        (package / f"{name}.cu").write_text(text)
    return root


def found(root: Path, name: str = "demo.kernels.a", *folders: Path) -> tuple[Path, str, tuple[str, ...]] | None:
    """Return the project, the C++ standard and the sources of a module; None if it is not found."""
    places = [str(folder) for folder in folders or (root / "src/demo/kernels",)]
    result = find_source(name, places)
    return None if result is None else (result[0], result[2].settings.std, result[2].paths)


def test_a_source_beside_its_package_gets_the_projects_settings(root: Path) -> None:
    assert found(root) == (root, "c++14", ("src/demo/kernels/a.cu",))
    assert found(root, "demo.kernels.missing") is None
    assert found(root, "demo.kernels.a", root / "nowhere", root / "src/demo/kernels") is not None


def test_a_modules_own_table_says_where_its_sources_are(root: Path) -> None:
    (root / "csrc").mkdir()
    (root / "csrc/b.cu").write_text(KERNELS)
    table = '[[tool.cuda-wheel.module]]\nname = "demo.kernels.%s"\nstd = "c++20"\n%s'
    project(root, PYPROJECT + table % ("moved", 'sources = ["csrc/b.cu"]\n') + table % ("a", ""))
    assert found(root, "demo.kernels.moved") == (root, "c++20", ("csrc/b.cu",))
    assert found(root) == (root, "c++20", ("src/demo/kernels/a.cu",))


def test_a_source_that_the_project_excludes_is_no_module_but_by_its_own_table(root: Path) -> None:
    excluding = f'{PYPROJECT}sources = ["!src/**/a.cu"]\n'
    project(root, excluding)
    assert found(root) is None
    project(root, f'{excluding}[[tool.cuda-wheel.module]]\nname = "demo.kernels.a"\n')
    assert found(root) is not None


def test_links_of_an_editable_install_lead_to_the_source_tree(root: Path, tmp_path: Path) -> None:
    """So does setuptools' strict mode link each file."""
    links = root / "build/__editable__/demo/kernels"
    links.mkdir(parents=True)
    (links / "a.cu").symlink_to(root / "src/demo/kernels/a.cu")
    assert found(root, "demo.kernels.a", links) == (root, "c++14", ("src/demo/kernels/a.cu",))
    (tmp_path / "link").symlink_to(root / "src/demo/kernels")
    assert found(root, "demo.kernels.a", tmp_path / "link") == (root, "c++14", ("src/demo/kernels/a.cu",))


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_an_installed_package_belongs_to_no_source_tree(folder: str, root: Path) -> None:
    installed = root / ".venv/lib" / folder / "demo/kernels"
    installed.mkdir(parents=True)
    (installed / "a.cu").write_text(KERNELS)
    assert found(root, "demo.kernels.a", installed) is None


@pytest.mark.parametrize(
    "pyproject", ["[project]\nname = 'demo'\n", '[build-system]\nrequires = ["cuda-wheels-other"]\n']
)
def test_a_project_without_cuda_wheel_has_no_modules(pyproject: str, root: Path) -> None:
    project(root, pyproject)
    assert found(root) is None
    assert kernels_beside("demo.kernels", [str(root / "src/demo/kernels")]) == {}


@pytest.mark.parametrize("place", ["src/demo/kernels", "cuda-wheel/demo/kernels"])
def test_a_module_of_the_cmake_function_has_the_settings_of_its_record(place: str, root: Path) -> None:
    (root / "other.cu").write_text(KERNELS)
    table = {"name": "demo.kernels.a", "sources": ["other.cu"], "std": "c++20"}
    (root / place).mkdir(parents=True, exist_ok=True)
    (root / place / "a.cuda-wheel.json").write_text(json.dumps({"root": str(root), "module": table}))
    assert found(root) == (root, "c++20", ("other.cu",))
    table["std"] = "c++99"
    (root / place / "a.cuda-wheel.json").write_text(json.dumps({"root": str(root), "module": table}))
    with pytest.raises(ConfigError, match=r"^CMakeLists\.txt: cuda_wheel_add_module\(TARGET a\): STD must be "):
        found(root)


def test_builds_alone_follow_cudaarchs(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(root, f'{PYPROJECT}architectures = ["90a-real"]\n')
    monkeypatch.setenv("CUDAARCHS", "80-real")
    result = find_source("demo.kernels.a", [str(root / "src/demo/kernels")])
    assert result is not None and result[2].settings.architectures.entries == ("90a-real",)


def test_the_kernels_of_a_package_are_found_without_a_compiler(root: Path) -> None:
    variants = '[[tool.cuda-wheel.module]]\nname = "demo.kernels.v"\nvariants = { N = [1, 2] }\n'
    elsewhere = '[[tool.cuda-wheel.module]]\nname = "demo.kernels.moved"\nsources = ["csrc/b.cu"]\n'
    (root / "csrc").mkdir()
    (root / "csrc/b.cu").write_text(f"{KERNELS}{KERNELS}")
    project(root, PYPROJECT + variants + elsewhere, a=KERNELS, v=KERNELS, m=MACRO)
    assert kernels_beside("demo.kernels", [str(root / "src/demo/kernels")]) == {
        "demo.kernels.a": ["scale", "shift"],
        "demo.kernels.m": [],
        "demo.kernels.moved": ["scale", "shift"],
        "demo.kernels.v": None,
    }


def test_a_macros_kernel_belongs_to_the_only_module_that_may_define_it(root: Path) -> None:
    folders = [str(root / "src/demo/kernels")]
    project(root, a=KERNELS, m=MACRO)
    assert module_that_may_make("made", "demo.kernels", folders) == "demo.kernels.m"
    assert module_that_may_make("other", "demo.kernels", folders) is None
    project(root, n=MACRO)
    assert module_that_may_make("made", "demo.kernels", folders) is None


def test_a_package_whose_places_are_no_folders_is_where_its_init_is(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [str(tmp_path / "loader.py/demo.kernels")]  # as the importer of meson-python has them
    assert find_source("demo.kernels.a", places) is None
    package = ModuleType("demo.kernels")
    monkeypatch.setitem(sys.modules, "demo.kernels", package)
    assert find_source("demo.kernels.a", places) is None  # a namespace package
    package.__file__ = str(root / "src/demo/kernels/__init__.py")
    result = find_source("demo.kernels.a", places)
    assert result is not None and result[2].paths == ("src/demo/kernels/a.cu",)
    assert kernels_beside("demo.kernels", places) == kernels_beside("demo.kernels", [str(root / "src/demo/kernels")])
