"""`cuda-wheel tune`: what it prints, the table that it writes, and what it refuses."""

from __future__ import annotations

import importlib
import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cuda_wheel.cli.main import main
from tests.cli.shapes import SHAPES
from tests.cli.shapes import TUNING as PROGRAM
from tests.support.driver import Driver
from tests.support.loaded_modules import forget_package
from tests.support.projects import pyproject_head, write_files
from tests.tuning.support import StandInTimer, package

pytestmark = pytest.mark.one_toolchain

__all__ = ["package"]

TUNING = """\
import numpy as np
from cuda_wheel.tuning import tunable

result = np.zeros(4)

def launch(choice):
    result[:] = choice["value"]
    return True

@tunable("demo.update", problems=[{"n": 8}, {"n": 4}], candidates=[
    {"variant": {"MATH_TYPE": "float", "NUM_MODES": 2}, "kernel": "update", "value": value} for value in (1, 1.0, 2)
][::2] + [{"variant": {"MATH_TYPE": "double", "NUM_MODES": 4}, "kernel": "update", "value": 1}])
def update(problem):
    result[:] = 0
    return launch, result

@tunable("demo.plain", problems=[{"n": 1}], candidates={"value": [1]})
def plain(problem):
    result[:] = 0
    return launch, result
"""


@pytest.fixture
def tree(package: Path, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the folder above the package a source tree, and work there."""
    use((8, 6))
    monkeypatch.setattr("cuda_wheel.cli.tune_command.GpuTimer", StandInTimer)
    monkeypatch.setenv("COLUMNS", "200")
    table = '[tool.cuda-wheel]\n[[tool.cuda-wheel.module]]\nname = "demo.update"\nvariants = { A = [1] }\n'
    files = {"pyproject.toml": pyproject_head("hatchling") + table, "tuning.py": TUNING}
    files |= {"demo/update.cu": "", "demo/plain.cu": ""}
    monkeypatch.chdir(write_files(package.parent, **files))
    monkeypatch.delitem(sys.modules, "tuning", raising=False)
    importlib.invalidate_caches()
    return package.parent


def test_the_table_is_written_beside_the_sources_and_other_gpus_keep_their_rows(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", "tuning:update"]) == 0
    shown = capsys.readouterr().out
    assert "update on Stand-in: n=8" in shown and "update on Stand-in: n=4" in shown
    assert shown.count("left out: the result is wrong: element 0 is 2.0, not 1.0; 4 of 4 differ") == 2
    assert shown.count("chosen") == 2 and "1 of 3 candidates left out" in shown and "12.00" in shown
    assert f"cuda-wheel: wrote {Path('demo/update.tuned.json')} (2 measured)" in shown
    text = (tree / "demo/update.tuned.json").read_text()
    rows = json.loads(text)["choices"]
    assert [row["problem"] for row in rows] == [{"n": 4}, {"n": 8}] and rows[0]["parameters"] == {"value": 1}

    rows[0]["gpu"] = "Another"
    (tree / "demo/update.tuned.json").write_text(json.dumps({"format": 1, "module": "demo.update", "choices": rows}))
    assert main(["tune", "tuning:update"]) == 0
    assert "(2 measured, 1 kept)" in capsys.readouterr().out
    again = json.loads((tree / "demo/update.tuned.json").read_text())["choices"]
    assert [(row["gpu"], row["problem"]["n"]) for row in again] == [("Another", 4), ("Stand-in", 4), ("Stand-in", 8)]
    written = (tree / "demo/update.tuned.json").read_bytes()
    assert main(["tune", "tuning"]) == 0  # all functions of the module
    assert (tree / "demo/update.tuned.json").read_bytes() == written and (tree / "demo/plain.tuned.json").is_file()


def test_the_table_can_be_written_elsewhere(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "tuning:plain", "-o", str(tree / "new/table.json")]) == 0
    assert json.loads((tree / "new/table.json").read_text())["module"] == "demo.plain"
    assert main(["tune", "tuning:update", "-o", str(tree / "new/table.json")]) == 1
    assert "it is the table of 'demo.plain', not of 'demo.update'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["tune", "tuning", "-o", "x"])
    assert "--output is for the table of one module" in capsys.readouterr().err


def test_what_is_no_tunable_function_is_refused_with_words(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for named, message in (
        (
            "tuning:launch",
            "tuning has no tunable function 'launch': declare one with @cuda_wheel.tuning.tunable(...). It has update, plain.",
        ),
        ("nothing:x", "nothing cannot be imported: No module named 'nothing'"),
        ("json", "json has no tunable function: declare one"),
    ):
        assert main(["tune", named]) == 1
        assert message in capsys.readouterr().err
    (tree / "demo/update.tuned.json").write_text("[]")
    assert main(["tune", "tuning:update"]) == 1
    assert "update.tuned.json is not a valid table of tuned choices" in capsys.readouterr().err


def test_an_installed_package_has_no_table_to_write(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "pyproject.toml").unlink()
    assert main(["tune", "tuning:plain"]) == 1
    shown = capsys.readouterr().err
    assert "demo.plain is not in a source tree (found in" in shown and "name the file with --output" in shown


def test_without_a_gpu_there_is_nothing_to_measure(
    package: Path, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use((8, 6), cuInit=100)
    write_files(package.parent, **{"tuning.py": TUNING})
    monkeypatch.chdir(package.parent)
    monkeypatch.delitem(sys.modules, "tuning", raising=False)
    assert main(["tune", "tuning:plain", "-o", "x"]) == 1
    assert "the NVIDIA driver is installed, but sees no GPU" in capsys.readouterr().err
    assert not (package.parent / "x").exists()


LOADABLE = [name for name in SHAPES if name != "linking"]


@pytest.fixture
def tuning(monkeypatch: pytest.MonkeyPatch, use: Callable[..., Driver]) -> Iterator[None]:
    """Replace the GPU by a stand-in, and import the program `tuning` and the package anew."""
    use((8, 6))
    monkeypatch.setattr("cuda_wheel.cli.tune_command.GpuTimer", StandInTimer)
    monkeypatch.setattr(sys, "path", sys.path.copy())  # the command adds a folder
    for name in ("tuning", "demo"):
        forget_package(name)
    yield
    for name in ("tuning", "demo"):
        forget_package(name)


@pytest.mark.usefixtures("tuning")
@pytest.mark.parametrize("shape", LOADABLE, indirect=True)
@pytest.mark.parametrize("is_built", [True, False], ids=["built", "editable"])
def test_tune_writes_the_table_into_the_source_tree(
    is_built: bool,
    shape: str,
    project: Path,
    wheel: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    module, _, kernel = SHAPES[shape].kernels[0].partition(":")
    write_files(project, **{"tuning.py": PROGRAM.format(module=module, kernel=kernel, variant=SHAPES[shape].variant)})
    if is_built:  # images beside the sources, as a build in place leaves them
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(project, [each for each in archive.namelist() if ".fatbin" in each])
    monkeypatch.chdir(project)
    importlib.invalidate_caches()
    assert main(["tune", "tuning:tried"]) == 0, capsys.readouterr().err
    path = project / f"{module.replace('.', '/')}.tuned.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["choices"]
    kept = ["Another"] if shape == "tuned" else []
    assert sorted(row["gpu"] for row in rows) == sorted([*kept, "Stand-in"])
    (row,) = (each for each in rows if each["gpu"] == "Stand-in")
    assert (row["kernel"], row["variant"]) == (kernel, json.loads(SHAPES[shape].variant))
