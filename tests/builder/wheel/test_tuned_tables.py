"""Tables of tuned choices go into wheels and sdists, and must name what the modules have."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.wheel.sdist import sdist_files
from tests.support.processes import build_wheel, run
from tests.support.projects import KERNEL, pyproject_head, write_files

pytestmark = pytest.mark.one_toolchain

Command = Callable[..., subprocess.CompletedProcess[str]]

SOURCE = "template <typename T> __global__ void scale(T* x) { *x *= TILE; }\n"
TABLE = """\
[tool.cuda-wheel]
architectures = ["80-real"]
[[tool.cuda-wheel.module]]
name = "demo.scale"
instantiate = ["scale<float>"]
variants = { TILE = [2, 4] }
"""


def table(module: str = "demo.scale", **changes: Any) -> str:
    row = {
        "name": "scale",
        "gpu": "NVIDIA H200",
        "compute_capability": [9, 0],
        "problem": {"n": 1},
        "variant": {"TILE": 4},
    }
    row |= {"kernel": "scale<float>", "parameters": {"block": 64}, "microseconds": 2.5, "first_microseconds": 3.5}
    return json.dumps({"format": 1, "module": module, "choices": [row | changes]})


FILES = {"demo/scale.cu": SOURCE, "demo/fill.cu": KERNEL, "demo/scale.tuned.json": table()}


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["hatchling", "setuptools"])
def test_the_table_is_in_the_wheel_and_the_sdist(backend: str, tmp_path: Path) -> None:
    hatch = '[tool.hatch.build.targets.wheel]\npackages = ["demo"]\n[tool.hatch.build.targets.wheel.hooks.cuda]\n'
    hatch += "[tool.hatch.build.targets.sdist]\ninclude = ['/demo/__init__.py']\n[tool.hatch.build.targets.sdist.hooks.cuda]\n"
    head = pyproject_head(backend) + (hatch if backend == "hatchling" else "")
    project = write_files(tmp_path / "p", **FILES, **{"demo/__init__.py": "", "pyproject.toml": head + TABLE})
    result = build_wheel(project, tmp_path / "dist")
    assert result.returncode == 0, result.stdout
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert archive.read("demo/scale.tuned.json").decode() == table()
    assert len(names) == len(set(names)) and "demo/scale.fatbin" in names
    result = run(
        sys.executable,
        "-c",
        f"import {backend}.build as b; b.build_sdist('.')"
        if backend == "hatchling"
        else "import setuptools.build_meta as b; b.build_sdist('.')",
        cwd=project,
    )
    assert result.returncode == 0, result.stdout
    shutil.unpack_archive(next(project.glob("*.tar.gz")), tmp_path / "sdist")
    (unpacked,) = (tmp_path / "sdist").iterdir()
    assert (unpacked / "demo/scale.tuned.json").read_text() == table()


def test_a_build_refuses_what_the_modules_have_not(make_project: Callable[..., Path], cuda_wheel: Command) -> None:
    root = make_project(TABLE, **FILES)
    path = root / "demo/scale.tuned.json"
    what = "scale.tuned.json, choice 'scale' for NVIDIA H200 and n=1: "
    for content, message in (
        (
            table(variant={"TILE": 8}),
            f"{what}demo.scale has no variant TILE=8. Its variants, the nearest first:\n  TILE=4",
        ),
        (table(variant={}), f"{what}demo.scale has variants, and none is named"),
        (
            table(kernel="scale<double>"),
            f"{what}demo.scale[TILE=4] has no kernel 'scale<double>'; did you mean scale<float>?",
        ),
        (table(problem={}), "scale.tuned.json is not a valid table of tuned choices: choice 1: a problem needs"),
        (table("demo.other"), "it is the table of 'demo.other', not of 'demo.scale'"),
    ):
        path.write_text(content)
        result = cuda_wheel("build", root, "-o", root / "out")
        assert result.returncode == 1 and message in result.stdout, result.stdout
        assert "with cuda-wheel tune" in result.stdout
    path.write_text(table(variant={"TILE": "4"}, kernel="scale< float >"))  # other spellings of what is there
    (root / "demo/gone.tuned.json").write_text(table("demo.gone"))
    result = cuda_wheel("build", root, "-o", root / "out")
    assert result.returncode == 0, result.stdout
    assert "warning: demo/gone.tuned.json belongs to no module: there is no module demo.gone" in result.stdout
    built = root / "out/demo/scale.tuned.json"
    assert built.is_file() and not (root / "out/demo/gone.tuned.json").exists()
    shown = cuda_wheel("inspect", root / "out").stdout.split()
    assert "tuned: scale on NVIDIA H200 (1 problem)" in " ".join(shown)
    assert cuda_wheel("verify", root / "out").returncode == 0
    for content in (table(kernel="other"), "{}"):
        built.write_text(content)
        result = cuda_wheel("verify", root / "out")
        assert result.returncode == 1 and "demo.scale: scale.tuned.json" in result.stdout


@pytest.mark.slow
def test_what_specialize_compiles_later_may_be_in_the_table(
    make_project: Callable[..., Path], cuda_wheel: Command
) -> None:
    root = make_project(TABLE.replace('name = "demo.scale"', 'name = "demo.scale"\nspecialize = true'), **FILES)
    path = root / "demo/scale.tuned.json"
    for changes, status in (
        ({"variant": {"TILE": 8}}, 0),
        ({"kernel": "scale<double>"}, 0),
        ({"kernel": "other"}, 1),
        ({"variant": {"TILES": 8}}, 1),
    ):
        path.write_text(table(**changes))
        assert cuda_wheel("build", root, "-o", root / "out").returncode == status, changes


def test_an_sdist_has_the_tables_inside_the_project_only(tmp_path: Path) -> None:
    root = write_files(tmp_path / "p", **FILES)
    outside = write_files(tmp_path / "q", **{"x.tuned.json": ""}) / "x.tuned.json"
    files = [WheelFile(root / name, name) for name in FILES] + [WheelFile(outside, "demo/x.tuned.json")]
    found = sdist_files(Config.from_table({}), root, files, print)
    assert found == ["demo/fill.cu", "demo/scale.cu", "demo/scale.tuned.json"]
