"""`cuda-wheel build`: the files that it writes, and what it prints."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.cli.main import main

pytestmark = pytest.mark.one_toolchain

Command = Callable[..., subprocess.CompletedProcess[str]]


def test_build_writes_the_images_and_nothing_else(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    project = make_project('[tool.cuda-wheel]\narchitectures = "80"')
    before = sorted(project.rglob("*"))
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 0
    assert sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*")) == [
        "demo/fill.fatbin",
        "demo/fill.fatbin.json",
    ]
    assert sorted(project.rglob("*")) == before
    assert result.stdout.splitlines()[1].startswith("demo.fill: 1 kernel, cubin sm_80, ptx compute_80 (PTX 7.0), ")


def test_an_output_folder_that_cannot_be_written_is_an_error(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = cuda_wheel("build", make_project('[tool.cuda-wheel]\narchitectures = "80"'), "-o", tmp_path / "file")
    assert result.returncode == 1
    assert "fill.fatbin cannot be written: Not a directory." in result.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")
@pytest.mark.usefixtures("own_cache")
def test_build_shows_a_bar_on_a_terminal_and_the_lines_after_it(make_project, tmp_path: Path) -> None:
    # One at a time, and so many that the bar is drawn between them, on any machine.
    project = make_project('[tool.cuda-wheel]\narchitectures = ["75", "80", "86", "89", "90", "100", "120", "121"]')
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "cuda_wheel", "build", project, "-o", tmp_path / "out"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=os.environ | {"TERM": "xterm", "CUDA_WHEEL_JOBS": "1"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    ) as process:
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # the terminal is closed
            while output := os.read(ours, 4096):
                seen += output
        lines = process.stdout.read().splitlines()
    os.close(ours)
    assert process.returncode == 0
    assert b"compiling" in seen
    assert b"8/8" in seen
    assert re.search(rb"\d:\d\d:\d\d .*\d:\d\d:\d\d left", seen)
    assert [line.partition(",")[0] for line in lines[:2]] == ["cuda-wheel: 1 module", "demo.fill: 1 kernel"]
    assert re.fullmatch(r"cuda-wheel: 8 jobs in \d+\.\d s: 8 compiled(; workers: .*)?", lines[2])
    assert len(lines) == 3


def test_build_without_a_valid_project_is_an_error(cuda_wheel: Command, tmp_path: Path) -> None:
    assert "it has no pyproject.toml" in cuda_wheel("build", tmp_path, "-o", tmp_path / "out").stdout
    (tmp_path / "pyproject.toml").write_text("[build-system\n")
    assert "pyproject.toml cannot be read" in cuda_wheel("build", tmp_path, "-o", tmp_path / "out").stdout
    (tmp_path / "pyproject.toml").write_text('[build-system]\nbuild-backend = "flit_core.buildapi"\n')
    result = cuda_wheel("build", tmp_path, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert (
        "the build back end 'flit_core.buildapi', whose layout cuda-wheel does not know; it knows hatchling.build"
        in result.stdout
    )


def test_a_file_in_place_of_the_project_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "saxpy.cu").touch()
    assert main(["build", str(tmp_path / "saxpy.cu"), "-o", str(tmp_path / "out")]) == 1
    assert "saxpy.cu is a file: give the folder of the project, which has a pyproject.toml." in capsys.readouterr().err
