"""The `cuda-wheel` command as a whole: usage, exit statuses, and errors of standard output."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel import __version__
from tests.support.processes import run, run_cuda_wheel
from tests.support.projects import KERNEL

pytestmark = pytest.mark.one_toolchain

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize(
    "arguments",
    [(), ("inspect",), ("explain", "x", "--device", "ampere"), ("explain", "x", "--driver", "twelve"), ("fly",)],
)
def test_wrong_usage_is_status_2(arguments: tuple[str, ...], cuda_wheel: Command) -> None:
    result = cuda_wheel(*arguments)
    assert result.returncode == 2
    assert result.stdout.startswith("usage: cuda-wheel")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("biuld", "."), "biuld: did you mean build?"),
        (("build", ".", "--ouput", "x"), "--ouput: did you mean --output?"),
        (("build", ".", "-o", "x", "--vrbose"), "--vrbose: did you mean --verbose?"),
        (("build", ".", "-o", "x", "--timing=x"), None),  # argparse accepts the beginning of an option
        (("--versoin",), "--versoin: did you mean --version?"),
    ],
)
def test_a_misspelt_command_or_option_is_told_of_the_right_one(
    arguments: tuple[str, ...], expected: str | None, cuda_wheel: Command, tmp_path: Path
) -> None:
    result = cuda_wheel(*arguments, cwd=tmp_path)
    assert (result.stdout.splitlines()[-1] == expected) if expected else "did you mean" not in result.stdout
    assert result.returncode == (2 if expected else 1)


def test_quiet_and_verbose_say_less_and_more(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    project = make_project('[tool.cuda-wheel]\narchitectures = ["75-virtual"]')
    quiet = cuda_wheel("build", project, "-o", tmp_path / "quiet", "-q")
    assert (quiet.returncode, quiet.stdout) == (0, "")
    assert (tmp_path / "quiet/demo/fill.fatbin").is_file()
    verbose = cuda_wheel("build", project, "-o", tmp_path / "verbose", "-v")
    assert "  demo/fill.cu for compute_75: from the cache, " in verbose.stdout
    assert f"cuda-wheel {__version__}, Python " in verbose.stdout
    assert "matches" not in cuda_wheel("verify", tmp_path / "quiet", "--quiet").stdout
    (tmp_path / "quiet/demo/fill.fatbin").write_bytes(b"damaged")
    damaged = cuda_wheel("verify", tmp_path / "quiet", "--quiet")
    assert damaged.returncode == 1 and damaged.stdout.startswith("demo.fill: ")
    assert "Traceback" in cuda_wheel("inspect", tmp_path / "none", "--verbose").stdout
    assert "Traceback" not in cuda_wheel("inspect", tmp_path / "none").stdout
    assert cuda_wheel("doctor", "-q", "-v").returncode == 2


def test_the_version_is_printed(cuda_wheel: Command) -> None:
    assert cuda_wheel("--version").stdout == f"cuda-wheel {__version__}\n"


@pytest.mark.slow
def test_names_that_the_terminal_cannot_show_are_escaped(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    project = make_project('[tool.cuda-wheel]\narchitectures = "80"', **{"demo/größe.cu": KERNEL})
    assert cuda_wheel("build", project, "-o", tmp_path / "out", PYTHONIOENCODING="ascii").returncode == 0
    assert "demo.gr\\xf6\\xdfe" in cuda_wheel("verify", tmp_path / "out", PYTHONIOENCODING="ascii").stdout
    for encoding in ("ascii", "latin-1", "utf-8"):
        result = cuda_wheel("inspect", tmp_path / "out", "--json", PYTHONIOENCODING=encoding)
        assert json.loads(result.stdout)["modules"][0]["name"] == "demo.größe"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_output_is_an_error(fixture_wheel) -> None:
    command = [sys.executable, "-m", "cuda_wheel", "verify", str(fixture_wheel("saxpy"))]
    with open("/dev/full", "w") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode != 0
    assert "No space left on device" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("words", [["--version"], ["inspect", "nowhere.whl"], ["build"], ["nonsense"]], ids=" ".join)
def test_the_command_gives_in_the_process_of_the_tests_what_it_gives_in_its_own(
    words: list[str], tmp_path: Path
) -> None:
    alone = run(sys.executable, "-m", "cuda_wheel", *words, cwd=tmp_path)
    inside = run_cuda_wheel(*words, cwd=tmp_path)
    assert (inside.returncode, inside.stdout) == (alone.returncode, alone.stdout)
