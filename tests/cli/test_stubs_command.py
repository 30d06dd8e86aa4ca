"""`cuda-wheel stubs`: the stubs that it writes into the source tree, and those that it leaves."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.cli.main import main
from tests.support.attaching_package import FILES
from tests.support.processes import run

pytestmark = pytest.mark.one_toolchain

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.slow
def test_the_command_writes_stubs_into_the_source_tree(make_project: Callable[..., Path], tmp_path: Path) -> None:
    project = make_project(**FILES)
    stub_path = project / "demo" / "kernels" / "__init__.pyi"
    command = (sys.executable, "-m", "cuda_wheel")
    result = run(*command, "stubs", project, CUDAARCHS="80-real", cwd=tmp_path)
    for line, name in zip(result.stdout.splitlines()[-2:], ("__init__.pyi", "py.typed"), strict=True):
        assert line.endswith(str(Path("demo", "kernels", name))), result.stdout
        assert (stub_path.parent / name).is_file()
    first = stub_path.read_text()
    assert '"""scale(float* x, float by, int n, bool b, float2 z) of demo.kernels.two."""' in first
    assert "scale: Kernel[Pointer, Real, Integer, bool, Struct]" in first
    # The file is the wheel's stub from now on, and an edit makes it out of date.
    build = (*command, "build", project, "-o", tmp_path / "out")
    assert "out of date" not in run(*build, CUDAARCHS="80-real").stdout
    source = project / "demo" / "kernels" / "two.cu"
    source.write_text(source.read_text().replace("int n", "int count"))
    warning = "warning: demo/kernels/__init__.pyi is out of date: run `cuda-wheel stubs`"
    assert warning in run(*build, CUDAARCHS="80-real").stdout
    run(*command, "stubs", project, CUDAARCHS="80-real")
    assert stub_path.read_text() == first.replace("int n", "int count")
    assert "out of date" not in run(*build, CUDAARCHS="80-real").stdout
    stub_path.write_text("scale: int\n")  # the user's own
    result = run(*command, "stubs", project, CUDAARCHS="80-real")
    assert "no package attaches its kernels and lacks a stub of its own" in result.stdout
    assert stub_path.read_text() == "scale: int\n"


def test_stubs_writes_the_stub_that_the_wheel_has(
    project: Path, wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["stubs", str(project)]) == 0
    with zipfile.ZipFile(wheel) as archive:
        expected = archive.read("demo/__init__.pyi")
    assert (project / "demo/__init__.pyi").read_bytes() == expected
    assert main(["stubs", str(project)]) == 0  # again, over its own stub
    assert (project / "demo/__init__.pyi").read_bytes() == expected
    assert "no package attaches" not in capsys.readouterr().err
    assert not list(project.rglob("*.fatbin*"))
