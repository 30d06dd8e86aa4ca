"""Tables with rich, and as plain text where rich is not installed."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.cli.tables import Column, StyledText, Table, plain_text, print_report
from tests.support.environments import DISTRIBUTIONS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.one_toolchain

TABLE = Table(
    "a title",
    [Column("name"), Column("CUDA\n12.0", "right"), Column("state", "center")],
    [
        ("first", "1", (StyledText("green", "black on green"),)),
        ("second [/b]", "23", ((StyledText("x"), StyledText("y", "dim")))),
    ],
    "a caption\nof two lines",
)
WITHOUT_RICH = """
import sys
sys.modules["rich"] = None  # importing rich then fails
from cuda_wheel.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def without_rich(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_RICH, *map(str, arguments)]
    return subprocess.run(command, text=True, capture_output=True, check=False, **options)


def test_plain_columns_are_aligned() -> None:
    assert plain_text([TABLE, "a line", (StyledText("in", "red"), StyledText(" parts"))]).split("\n") == [
        "a title",
        "name         CUDA  state",
        "             12.0",
        "-----------  ----  -----",
        "first           1  green",
        "second [/b]    23    xy",
        "a caption",
        "of two lines",
        "",
        "a line",
        "in parts",
    ]


def test_plain_text_cannot_control_the_terminal() -> None:
    text = plain_text([Table("\x1b[2J", [Column("x")], [("\x1b[31m",)], "\x07"), "\u202e"])
    assert "\\x1b[2J" in text
    assert all(sign.isprintable() or sign == "\n" for sign in text)


def test_a_table_without_rows_has_its_headings() -> None:
    assert plain_text([Table("t", [Column("a"), Column("bc")], [])]).split("\n") == ["t", "a  bc", "-  --", ""]


@pytest.mark.parametrize("wide", [False, True])
def test_a_terminal_that_is_too_narrow_for_a_table_gets_a_line_for_each_cell(
    wide: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40" if wide else "20")
    print_report([TABLE, "a line that is longer than the terminal"])
    shown = capsys.readouterr().out
    assert ("  CUDA 12.0: 1\n" in shown) is not wide and "…" not in shown
    if not wide:
        assert shown.splitlines()[:5] == ["a title", "first", "  CUDA 12.0: 1", "  state: green", "second [/b]"]
        assert all(len(line) <= 20 for line in shown.splitlines())


@pytest.mark.parametrize("plain", ["", "1"])
def test_no_color_means_no_escape_sequences(
    plain: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rich")
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm-256color", "NO_COLOR": plain}.items():
        monkeypatch.setenv(name, value)
    print_report([TABLE])
    assert ("\x1b[" in capsys.readouterr().out) is not bool(plain)


def test_rich_draws_the_same_table(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich")
    print_report([TABLE, "a line"])
    drawn = capsys.readouterr().out
    assert "┃" in drawn
    words = [re.findall(r"[\w\[\]/.]+", text) for text in (drawn, plain_text([TABLE, "a line"]))]
    assert sorted(words[0]) == sorted(words[1])  # rich puts the last lines of headings side by side


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["inspect"], r"^kind  +target  +PTX  +driver  +size  registers$"),
        (["inspect", "--size"], r"^target +images  installed  in a wheel  without: saved  saved in a wheel$"),
        (["coverage"], r"^Hopper 9\.0 H100, H200( +JIT)*( +native)+ *$"),
    ],
)
def test_commands_print_plain_tables_without_rich(arguments: list[str], expected: str, fixture_wheel) -> None:
    result = without_rich(*arguments, fixture_wheel("saxpy"))
    assert (result.returncode, result.stderr) == (0, "")
    assert re.search(expected, result.stdout, re.MULTILINE), result.stdout
    assert result.stdout.isascii()


@pytest.mark.parametrize(
    "arguments", [["explain", "--device", "sm_86", "--driver", "13.0"], ["verify"], ["inspect", "--json"]]
)
def test_other_output_is_the_same_without_rich(arguments: list[str], fixture_wheel, cuda_wheel: Callable) -> None:
    command = [arguments[0], fixture_wheel("saxpy"), *arguments[1:]]
    result = without_rich(*command)
    assert (result.returncode, result.stdout) == (0, cuda_wheel(*command).stdout)


@pytest.mark.parametrize("command", ["doctor", "cache"])
def test_the_machine_and_the_cache_are_shown_without_rich(command: str) -> None:
    result = without_rich(command)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")
@pytest.mark.usefixtures("own_cache")
def test_a_build_prints_lines_on_a_terminal_without_rich(make_project: Callable, tmp_path: Path) -> None:
    project = make_project('[tool.cuda-wheel]\narchitectures = "80"')
    terminal, child_end = os.openpty()
    command = [sys.executable, "-c", WITHOUT_RICH, "build", str(project), "-o", str(tmp_path / "out")]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=child_end, text=True, check=False)
    os.close(child_end)
    os.set_blocking(terminal, False)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal is closed
        while output := os.read(terminal, 4096):
            shown += output
    os.close(terminal)
    assert result.returncode == 0
    assert b"no image for" in shown  # the warnings, but no bar
    assert b"\x1b" not in shown
    lines = result.stdout.splitlines()
    assert [line.partition(",")[0] for line in lines[:2]] == ["cuda-wheel: 1 module", "demo.fill: 1 kernel"]
    assert re.match(r"cuda-wheel: 1 job in \d+\.\d s: 1 compiled", lines[2])


def test_only_the_build_extras_need_rich() -> None:
    project, builder = (
        tomllib.loads((each / "pyproject.toml").read_text())["project"] for each in DISTRIBUTIONS.values()
    )
    assert not [each for each in (*project["dependencies"], *builder["dependencies"]) if each.startswith("rich")]
    extras = {extra for extra, required in project["optional-dependencies"].items() if "rich>=12" in required}
    assert extras == {"cu12", "cu13"}


@pytest.mark.parametrize("arguments", [["--version"], ["explain", "--json"], ["verify"], ["inspect", "--json"]])
def test_only_tables_import_rich(arguments: list[str], fixture_wheel) -> None:
    program = "import sys; from cuda_wheel.cli.main import main\ntry: main(sys.argv[1:])\nfinally: print('rich' in sys.modules)"
    path = [fixture_wheel("saxpy")] if len(arguments) > 1 or arguments == ["verify"] else []
    options = ["--device", "sm_86", "--driver", "13.0"] if "explain" in arguments else []
    command = [sys.executable, "-c", program, *arguments, *map(str, path), *options]
    result = subprocess.run(command, text=True, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "False"
