"""`cuda-wheel import`: what it prints of each module, the exit status, and when it writes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.migrate.test_init_project import head
from tests.support.projects import KERNEL, write_files

pytestmark = pytest.mark.one_toolchain

Command = Callable[..., subprocess.CompletedProcess[str]]


def test_of_many_instances_the_first_ones_are_shown(tmp_path: Path, cuda_wheel: Command) -> None:
    launches = "".join(f"many<{number}><<<1, 1>>>(); " for number in range(9))
    text = f"template <int N> __global__ void many() {{ }}\n__global__ void one() {{ }}\nvoid host() {{ {launches}}}\n"
    files = {"pyproject.toml": head("hatchling"), "demo/__init__.py": "", "demo/a.cu": text}
    shown = cuda_wheel("import", write_files(tmp_path, **files) / "demo/a.cu").stdout
    assert "to do by hand" not in shown
    assert shown.count("  many<") == 4 and "  many<...>: 6 more instances" in shown and "  one()" in shown


def test_a_source_of_host_code_needs_no_module_and_a_program_outside_is_told(
    tmp_path: Path, cuda_wheel: Command
) -> None:
    program = f"import cupy\nmodule = cupy.RawModule(code='''{KERNEL}''')\n"
    files = {"csrc/host.cu": "int twice(int x) { return 2 * x; }\n", "demo/__init__.py": "", "top.py": program}
    project = write_files(tmp_path, **{"pyproject.toml": head("hatchling"), **files})
    result = cuda_wheel("import", project / "csrc/host.cu", project / "top.py")
    assert result.returncode == 0 and "csrc/host.cu\n  has no kernel, and launches none" in result.stdout
    assert "1 of 1 modules compile" in result.stdout
    assert "top.py: is not in demo, so that the wheel does not contain it" in result.stdout


def test_modules_that_compile_are_proposed_beside_one_that_does_not(tmp_path: Path, cuda_wheel: Command) -> None:
    files = {"demo/__init__.py": "", "demo/a.cu": KERNEL, "demo/broken.cu": "__global__ void k(undeclared x) { }\n"}
    project = write_files(tmp_path, **{"pyproject.toml": head("hatchling"), **files})
    before = (project / "pyproject.toml").read_text()
    command = ("import", project / "demo/a.cu", project / "demo/broken.cu")
    result = cuda_wheel(*command)
    assert result.returncode == 1 and "1 of 2 modules compile" in result.stdout
    assert 'name = "demo.a"' in result.stdout and 'name = "demo.broken"' not in result.stdout
    assert (project / "pyproject.toml").read_text() == before
    result = cuda_wheel(*command, "--write")
    assert result.returncode == 1 and "extended pyproject.toml" in result.stdout
    written = (project / "pyproject.toml").read_text()
    assert 'name = "demo.a"' in written and "broken" not in written


def test_nothing_is_written_if_nothing_compiles(tmp_path: Path, cuda_wheel: Command) -> None:
    files = {"demo/__init__.py": "", "demo/broken.cu": "__global__ void k(undeclared x) { }\n"}
    project = write_files(tmp_path, **{"pyproject.toml": head("hatchling"), **files})
    result = cuda_wheel("import", project / "demo/broken.cu", "--write")
    assert result.returncode == 1 and "0 of 1 modules compile" in result.stdout
    assert (project / "pyproject.toml").read_text() == head("hatchling")
