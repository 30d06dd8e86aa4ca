"""`cuda-wheel init`: what it prints, and that a dry run writes nothing; `tests/migrate` has what it writes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.migrate.test_init_project import head
from tests.support.projects import write_files

pytestmark = pytest.mark.one_toolchain

Command = Callable[..., subprocess.CompletedProcess[str]]


def test_a_dry_run_prints_the_diff_of_what_is_then_written(tmp_path: Path, cuda_wheel: Command) -> None:
    project = write_files(tmp_path / "project", **{"pyproject.toml": head("hatchling"), "demo/__init__.py": ""})
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    shown = cuda_wheel("init", project, "--dry-run")
    assert shown.returncode == 0
    assert "--- a/pyproject.toml\n+++ b/pyproject.toml\n" in shown.stdout
    assert "--- /dev/null\n+++ b/demo/kernels/saxpy.cu\n" in shown.stdout and "build it" not in shown.stdout
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before
    result = cuda_wheel("init", project)
    assert result.returncode == 0 and result.stdout.splitlines()[:3] == [
        "extended pyproject.toml",
        "wrote demo/kernels/saxpy.cu",
        "wrote demo/kernels/__init__.py",
    ]
    added = [line[1:] for line in shown.stdout.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert set(added) <= {
        line for path in project.rglob("*") if path.is_file() for line in path.read_text().splitlines()
    }
    assert result.stdout.splitlines()[-2:] == [
        "build it: pip wheel --no-deps -w dist .",
        'load it: import cuda_wheel; cuda_wheel.load("demo.kernels.saxpy")["saxpy"]',
    ]
    again = cuda_wheel("init", project).stdout
    assert "cuda-wheel: nothing to write" in again and "wrote" not in again and "build it" not in again
    assert "kept [tool.hatch.build.targets.wheel.hooks.cuda]" in again


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("__global__ void fill(int* x) {}\n", 'cuda_wheel.load("demo.nn.fill")["fill"]'),
        ("template <class T> __global__ void all(T* x) {}\n__global__ void one() {}\n", 'load("demo.nn.fill")["one"]'),
        ("template <class T> __global__ void all(T* x) {}\n", 'cuda_wheel.load("demo.nn.fill")'),
    ],
)
def test_the_last_line_loads_the_kernel_that_a_project_has(
    source: str, expected: str, tmp_path: Path, cuda_wheel: Command
) -> None:
    files = {"demo/__init__.py": "", "demo/nn/__init__.py": "", "demo/nn/fill.cu": source}
    project = write_files(tmp_path, **{"pyproject.toml": head("hatchling"), **files})
    result = cuda_wheel("init", project)
    assert result.returncode == 0 and result.stdout.splitlines()[-1].endswith(expected), result.stdout


def test_the_project_is_that_of_the_working_directory_and_a_choice_of_package_is_needed_of_several(
    tmp_path: Path, cuda_wheel: Command
) -> None:
    project = write_files(
        tmp_path, **{"pyproject.toml": head("hatchling"), "one/__init__.py": "", "two/__init__.py": ""}
    )
    result = cuda_wheel("init", "--dry-run", cwd=project)
    assert result.returncode == 1 and "say with --package which is to have the kernels" in result.stdout
    result = cuda_wheel("init", "--dry-run", "--package", "two", cwd=project)
    assert result.returncode == 0 and "+++ b/two/kernels/saxpy.cu" in result.stdout
