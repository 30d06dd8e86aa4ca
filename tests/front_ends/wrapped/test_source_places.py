"""Where the files of a wheel lie in the source tree."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from cuda_wheel.backend.source_places import Places, find_places, project_tree
from cuda_wheel.builder.errors import ConfigError
from tests.support.projects import write_files

pytestmark = pytest.mark.one_toolchain


def places(root: Path, tree: dict[str, str], wheel: dict[str, str], *ignored: str) -> Places:
    """Return the places for a source tree and a wheel, each path -> content."""
    write_files(root, **tree)
    contents = {path: (len(text), zlib.crc32(text.encode())) for path, text in wheel.items()}
    return find_places(root, contents, project_tree(root), lambda path: path in ignored)


PACKAGE = {"demo/__init__.py": "a = 1", "demo/kernels/__init__.py": "", "demo/kernels/k.cu": "// k"}


@pytest.mark.parametrize("prefix", ["", "src/", "python/", "a folder/of mine/"])
def test_a_package_is_found_by_its_files(prefix: str, tmp_path: Path) -> None:
    tree = {f"{prefix}{path}": text for path, text in PACKAGE.items()}
    found = places(tmp_path, {**tree, "tests/__init__.py": "", "tests/kernels/__init__.py": ""}, PACKAGE)
    assert found.sources == {path: f"{prefix}{path}" for path in PACKAGE}
    assert found.generated == found.left_out == ()


def test_sources_and_tables_that_the_wheel_lacks_are_found_beside_and_below_its_packages(tmp_path: Path) -> None:
    tree = {f"src/{path}": text for path, text in PACKAGE.items()}
    tree |= {
        "src/demo/deep/er/d.cu": "",
        "src/demo/kernels/k.tuned.json": "{}",
        "csrc/other.cu": "",
        "src/lost/l.cu": "",
    }
    wheel = {path: text for path, text in PACKAGE.items() if path.endswith(".py")}
    found = places(tmp_path, tree, wheel)
    added = {"demo/kernels/k.cu", "demo/deep/er/d.cu", "demo/kernels/k.tuned.json"}
    assert found.sources == {path: f"src/{path}" for path in (*wheel, *added)}


def test_a_folder_whose_python_files_the_wheel_lacks_is_left_out_and_named(tmp_path: Path) -> None:
    tree = {**PACKAGE, "demo/tests/test_a.py": "", "demo/tests/data/t.cu": "", "tests/test_b.py": "", "tests/u.cu": ""}
    found = places(tmp_path, tree, PACKAGE)
    assert found.sources == {path: path for path in PACKAGE}
    assert found.left_out == ("demo/tests",)


def test_files_may_be_installed_under_other_folders_than_they_lie_in(tmp_path: Path) -> None:
    tree = {"code/one.py": "one", "code/two.py": "two", "code/k.cu": "", "other/one.py": "else"}
    found = places(tmp_path, tree, {"demo/kernels/one.py": "one", "demo/kernels/two.py": "two"})
    assert found.sources["demo/kernels/k.cu"] == "code/k.cu"
    assert found.sources["demo/kernels/one.py"] == "code/one.py"


def test_a_generated_file_has_no_place_and_its_folder_is_known_by_the_others(tmp_path: Path) -> None:
    tree = {"src/demo/__init__.py": "version = 0", "src/demo/a.py": "a", "src/demo/k.cu": ""}
    found = places(tmp_path, tree, {"demo/__init__.py": "version = 7", "demo/a.py": "a", "demo/_lib.so": "x"})
    assert found.sources == {"demo/a.py": "src/demo/a.py", "demo/k.cu": "src/demo/k.cu"}
    assert found.generated == ("demo/__init__.py", "demo/_lib.so")


def test_of_folders_with_the_same_files_the_one_with_the_name_in_the_wheel_is_the_place(tmp_path: Path) -> None:
    tree = {f"src/demo/{name}/__init__.py": "same" for name in ("a", "b", "c")} | {"src/demo/b/k.cu": ""}
    found = places(tmp_path, tree, {f"demo/{name}/__init__.py": "same" for name in ("a", "b", "c")})
    assert found.sources["demo/b/k.cu"] == "src/demo/b/k.cu"


def test_an_empty_file_alone_does_not_make_another_folder_a_place(tmp_path: Path) -> None:
    found = places(tmp_path, {"tests/__init__.py": "", "tests/k.cu": ""}, {"demo/made/__init__.py": ""})
    assert found.sources == {} and found.generated == ("demo/made/__init__.py",)


def test_a_copy_that_has_fewer_of_the_files_is_not_the_place(tmp_path: Path) -> None:
    tree = {**PACKAGE, "old/demo/__init__.py": "a = 1", "old/demo/kernels/k.cu": "// k"}
    assert places(tmp_path, tree, PACKAGE).sources == {path: path for path in PACKAGE}


def test_two_equal_copies_are_an_error_unless_the_settings_decide(tmp_path: Path) -> None:
    tree = {f"{folder}/{path}": text for folder in ("new", "old") for path, text in PACKAGE.items()}
    with pytest.raises(
        ConfigError, match=r"where demo/kernels/k\.cu belongs: new/demo/kernels/k\.cu, old/demo/kernels"
    ):
        places(tmp_path, tree, PACKAGE)
    wheel = {path: text for path, text in PACKAGE.items() if path.endswith(".py")}
    with pytest.raises(ConfigError, match=r"it is not clear where new/demo/kernels/k\.cu belongs"):
        places(tmp_path, tree, wheel)
    sources = ("new/demo/kernels/k.cu", "old/demo/kernels/k.cu")
    assert "demo/kernels/k.cu" not in places(tmp_path, tree, PACKAGE, *sources).sources
    assert places(tmp_path, tree, wheel, *sources).sources == {}


def test_a_source_of_two_places_in_the_wheel_is_an_error(tmp_path: Path) -> None:
    tree = {"code/a.py": "a", "code/k.cu": ""}
    with pytest.raises(ConfigError, match=r"where code/k\.cu belongs: one/k\.cu, two/k\.cu"):
        places(tmp_path, tree, {"one/a.py": "a", "two/a.py": "a"})


def test_a_generated_source_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"has demo/made\.cu, and no file of the project has its content"):
        places(tmp_path, PACKAGE, {**PACKAGE, "demo/made.cu": "x"})


def test_results_of_builds_and_environments_are_no_sources(tmp_path: Path) -> None:
    files = (
        "build/a.cu",
        "dist/a.cu",
        ".git/a.cu",
        "env/pyvenv.cfg",
        "env/a.cu",
        "demo/__pycache__/a.cu",
        "demo/dist/a.cu",
    )
    write_files(tmp_path, **dict.fromkeys(files, ""))
    assert project_tree(tmp_path) == ["demo/dist/a.cu"]
    write_files(tmp_path, **{"build/__init__.py": ""})  # a package
    assert project_tree(tmp_path) == ["build/__init__.py", "build/a.cu", "demo/dist/a.cu"]
