"""Edits of pyproject.toml keep its form, and changes are written all or none; `test_build_requirements.py` has the rest."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.migrate.init_project import init_project
from cuda_wheel.migrate.pyproject_edit import (
    FileChange,
    PyprojectEdit,
    _imports,
    diff,
    requirement_name,
    table_lines,
    write_changes,
)
from tests.migrate.test_init_project import head
from tests.support.projects import write_files

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.one_toolchain


FORMS = {
    "comments": head("hatchling").replace("[project]", "# about\n[project]\n# its name"),
    "single quotes": head("hatchling").replace('"', "'"),
    "lines": head("hatchling").replace('["hatchling"]', '[\n  "hatchling",  # the back end\n  "other"\n]'),
    "tables behind": head("hatchling")
    + 'dependencies = [\n    "numpy", # numbers\n]\n\n[tool.ruff]\nline-length = 9\n',
    "other tables of hatch": head("hatchling")
    + '[tool.hatch.version]\npath = "x"\n\n[tool.ruff]\nx = 1\n\n[tool.hatch.build.targets.wheel]\npackages = ["demo"]\n',
    "dotted keys of hatch": head("hatchling") + '[tool.hatch]\nbuild.targets.wheel.packages = ["demo"]\n',
    "no line end": head("hatchling").rstrip(),
    "scripts": head("hatchling") + '\n[project.scripts]\nx = "demo:x"\n\n[[tool.x.y]]\na = 1\n',
    "dotted": 'build-system.requires = ["hatchling"]\nbuild-system.build-backend = "hatchling.build"\n'
    'project = { name = "demo", version = "1", dependencies = [] }\n',
}


@pytest.mark.lowest
@pytest.mark.parametrize("crlf", [False, True], ids=["", "crlf"])
@pytest.mark.parametrize("form", FORMS)
def test_a_file_keeps_its_form(form: str, crlf: bool, tmp_path: Path) -> None:
    text = FORMS[form].replace("\n", "\r\n") if crlf else FORMS[form]
    write_files(tmp_path, **{"demo/__init__.py": ""})
    (tmp_path / "pyproject.toml").write_bytes(text.encode())
    write_changes(init_project(tmp_path).changes)
    after = (tmp_path / "pyproject.toml").read_bytes().decode()
    document, before = tomllib.loads(after), tomllib.loads(text)
    assert document["build-system"]["requires"][:-1] == before["build-system"]["requires"]
    assert document["project"]["dependencies"] == [*before["project"].get("dependencies", []), "cuda-wheel"]
    assert document["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"] == {"cuda": {}}
    for key, value in before.get("tool", {}).items():
        if key != "hatch":
            assert document["tool"][key] == value
    # Every line is still there, in its order, with at most an item added to it.
    lines = iter(after.splitlines())
    for line in text.splitlines():
        start_of = line.rstrip("\r ,]}")
        assert any(each.startswith(start_of.partition("#")[0].rstrip(" ,]}")) for each in lines), line
    assert after.count("#") == text.count("#")
    assert ("\r\n" in after) == crlf and after.count("\n") == after.count("\r\n") * crlf + after.count("\n") * (
        not crlf
    )
    assert ("'cuda-wheel[" in after) == (form == "single quotes")
    assert init_project(tmp_path).changes == []


def test_a_form_that_cannot_be_extended_is_told_with_what_to_add(tmp_path: Path) -> None:
    text = head("hatchling") + '[tool]\nhatch = { build = { targets = { wheel = { packages = ["demo"] } } } }\n'
    write_files(tmp_path, **{"pyproject.toml": text, "demo/__init__.py": ""})
    with pytest.raises(ConfigError, match=r"cannot be extended.*\n\[tool\.hatch\.build\.targets\.wheel\.hooks\.cuda\]"):
        init_project(tmp_path)


def test_values_are_written_as_toml() -> None:
    values = {"a b": 'x"\\\n\x7f', "list": ["y" * 60, "z" * 60], "flag": True, "macros": {"N": 2, "T": "float"}}
    edit = PyprojectEdit("")
    edit.add_entry(("tool", "x"), values)
    edit.add_entry(("tool", "x"), {"b": 1})
    assert tomllib.loads(edit.text()) == {"tool": {"x": [values, {"b": 1}]}}
    assert len("\n".join(table_lines(values)).splitlines()) == 7


def test_an_error_while_writing_leaves_every_file_as_it_was(tmp_path: Path) -> None:
    write_files(tmp_path, **{"a.toml": "old\n", "file": ""})
    (tmp_path / "link.toml").symlink_to("a.toml")
    changes = [
        FileChange(tmp_path / "link.toml", "old\n", "new\n"),
        FileChange(tmp_path / "x/y/new.cu", None, "text"),
        FileChange(tmp_path / "file/below.cu", None, "text"),
    ]
    with pytest.raises(ConfigError, match=r"below\.cu cannot be written"):
        write_changes(changes)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.toml", "file", "link.toml"]
    assert (tmp_path / "a.toml").read_text() == "old\n"
    with pytest.raises(ConfigError, match="cannot be written"):
        write_changes([changes[1], FileChange(tmp_path / "a.toml", None, "text")])
    assert not (tmp_path / "x").exists() and (tmp_path / "a.toml").read_text() == "old\n"
    write_changes(changes[:2])
    assert (tmp_path / "link.toml").is_symlink() and (tmp_path / "a.toml").read_text() == "new\n"


def test_without_tomlkit_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, **{"pyproject.toml": head("hatchling"), "demo/__init__.py": ""})
    monkeypatch.setitem(sys.modules, "tomlkit", None)
    with pytest.raises(ConfigError, match="pip install tomlkit"):
        init_project(tmp_path)


def test_an_item_is_removed_with_its_line_and_nothing_else() -> None:
    text = '[build-system]\nrequires = [\n  "a>=1",  # one\n  "b",\n  "c",  # three\n]\n'
    edit = PyprojectEdit(text)
    edit.remove_item(("build-system", "requires"), "b")
    assert edit.text() == text.replace('  "b",\n', "")
    assert edit.get(("build-system", "requires")) == ["a>=1", "c"]


def test_what_is_not_there_is_none_and_a_missing_array_is_made() -> None:
    edit = PyprojectEdit("[a]\nx = 1\n")
    assert edit.get(("a", "x", "y")) is None and edit.get(("b",)) is None and edit.get(()) == {"a": {"x": 1}}
    edit.add_item(("a", "list"), "one")
    assert edit.text() == '[a]\nx = 1\nlist = ["one"]\n'
    edit.add_table(("a", "t"), {"y": True})
    assert edit.text() == '[a]\nx = 1\nlist = ["one"]\n\n[a.t]\ny = true\n'
    assert edit.content == {"a": {"x": 1, "list": ["one"], "t": {"y": True}}}


def test_a_diff_has_relative_paths_and_marks_new_files_and_missing_line_ends(tmp_path: Path) -> None:
    changes = [
        FileChange(tmp_path / "a/b.txt", "one\ntwo", "one\nthree\n"),
        FileChange(tmp_path / "new.txt", None, "x\n"),
        FileChange(tmp_path / "empty.txt", None, ""),
    ]
    assert diff(changes, tmp_path).splitlines() == [
        "--- a/a/b.txt",
        "+++ b/a/b.txt",
        "@@ -1,2 +1,2 @@",
        " one",
        "-two",
        "\\ No newline at end of file",
        "+three",
        "--- /dev/null",
        "+++ b/new.txt",
        "@@ -0,0 +1 @@",
        "+x",
        "--- /dev/null",
        "+++ b/empty.txt",
    ]


@pytest.mark.parametrize(
    ("requirement", "name"),
    [
        ("Torch>=2", "torch"),
        (" a.b__c ; python_version<'3'", "a-b-c"),
        ("x[cu12] @ file:///y", "x"),
        ("", ""),
        (">=1", ""),
    ],
)
def test_the_name_in_a_requirement_is_normalised(requirement: str, name: str) -> None:
    assert requirement_name(requirement) == name


def test_imports_to_remove_are_those_of_the_removed_packages(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(
        "import os\nfrom setuptools import setup\nfrom torch.utils import cpp_extension\n"
    )
    assert list(_imports(tmp_path, set())) == []
    assert list(_imports(tmp_path, {"torch"})) == ["setup.py:3: remove: from torch.utils import cpp_extension"]
