"""What commands that read wheels refuse."""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.cli.main import main

pytestmark = pytest.mark.one_toolchain

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("command", ["inspect", "explain", "verify", "coverage"])
def test_a_malicious_wheel_is_rejected(command: str, fixture_wheel, tmp_path: Path, capsys) -> None:
    """`tests/inspect/test_archive.py` has what is malicious."""
    path = tmp_path / "saxpy.whl"
    path.write_bytes(fixture_wheel("saxpy").read_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("../x", "x")
    assert main([command, str(path)]) == 1
    assert "'../x' would be unpacked outside the target directory" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("command", ["inspect", "explain", "verify"])
def test_a_path_without_modules_is_an_error(command: str, cuda_wheel: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("nothing")
    (tmp_path / "broken.fatbin.json").write_text("{")
    with zipfile.ZipFile(tmp_path / "empty.whl", "w"):
        pass
    with zipfile.ZipFile(tmp_path / "sources.whl", "w") as archive:
        archive.writestr("demo/a.cu", "")
    for path, message in {
        tmp_path
        / "sources.whl": "contains no module: no file in it ends in .fatbin.json. demo/a.cu is there, but was ",
        tmp_path / "empty": "contains no module",
        tmp_path / "empty.whl": "contains no module",
        tmp_path / "text": "is neither a wheel nor a fatbin with its manifest",
        tmp_path / "nowhere.whl": "nowhere.whl does not exist",
        "nowhere": "no package of that name is installed",
        "json": "contains no module",
        "json.decoder": "no package of that name is installed",
        tmp_path / "broken.fatbin.json": "is not a cuda-wheel manifest",
    }.items():
        result = cuda_wheel(command, path)
        assert result.returncode == 1
        assert message in result.stdout
        assert "Traceback" not in result.stdout
