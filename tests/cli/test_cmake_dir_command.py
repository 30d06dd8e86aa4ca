"""`cuda-wheel cmake-dir`: the folder for CMAKE_MODULE_PATH."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda_wheel.cli.main import main

pytestmark = pytest.mark.one_toolchain


def test_the_folder_has_the_cmake_module_and_no_backslash(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cmake-dir"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert (Path(line) / "CudaWheel.cmake").is_file() and Path(line).is_absolute() and "\\" not in line
