"""The example `cpu_and_gpu` on a real GPU: the kernel beside the C++ for the CPU, each from its own wheel."""

from __future__ import annotations

import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.processes import build_wheel, run
from tests.support.projects import ROOT

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

EXAMPLE = ROOT / "examples/cpu_and_gpu"

SAME_NUMBERS = """
import demo, torch
for dtype in (torch.float32, torch.float64):
    for shape in ((0,), (1,), (7, 301), (300, 1000)):
        x, y = torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype)
        for a, b in ((x, y), (x.mT if x.dim() > 1 else x[::2], y.mT if x.dim() > 1 else y[::2])):
            for scale in (1.0, -0.3, 1e-4):
                on_cpu, on_gpu = demo.scaled_add(a, b, scale), demo.scaled_add(a.cuda(), b.cuda(), scale)
                assert on_gpu.is_cuda and on_gpu.is_contiguous() and on_cpu.is_contiguous()
                torch.testing.assert_close(on_gpu.cpu(), on_cpu)  # the GPU rounds once: it adds and multiplies in one step
                whole, other = a.mul(8).round(), b.mul(8).round()
                on_cpu, on_gpu = demo.scaled_add(whole, other, 4.0), demo.scaled_add(whole.cuda(), other.cuda(), 4.0)
                assert on_gpu.cpu().equal(on_cpu)  # exact in both
print("the same")
"""


@pytest.fixture(scope="module")
def cuda_half(example_wheel: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the wheel `demo` is installed."""
    folder = tmp_path_factory.mktemp("cuda_half")
    zipfile.ZipFile(example_wheel(EXAMPLE.name)).extractall(folder)
    return folder


@pytest.fixture(scope="module")
def cpu_half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the wheel `demo-cpu` is installed, built for the PyTorch of this machine."""
    from torch.utils import cpp_extension

    if not shutil.which(cpp_extension.get_cxx_compiler()):
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("cpu_half")
    project = shutil.copytree(EXAMPLE / "cpu", folder / "project")
    result = build_wheel(Path(project), folder / "dist")
    assert result.returncode == 0, result.stdout
    zipfile.ZipFile(next((folder / "dist").glob("*.whl"))).extractall(folder)
    return folder


def outcome_of_its_tests(folder: Path, *halves: Path) -> str:
    """Run the example's own tests in a copy, and return the last line that pytest prints."""
    project = shutil.copytree(EXAMPLE, folder / "project", ignore=shutil.ignore_patterns("__pycache__"))
    paths = ":".join(map(str, (*halves, ROOT)))
    options = ("-q", "-p", "no:cacheprovider", "--rootdir", project)
    result = run(sys.executable, "-m", "pytest", *options, f"{project}/tests", cwd=Path(project), PYTHONPATH=paths)
    assert result.returncode == 0, result.stdout
    return result.stdout.splitlines()[-1]


def test_the_example_passes_its_own_tests_on_both_devices(tmp_path: Path, cuda_half: Path, cpu_half: Path) -> None:
    assert outcome_of_its_tests(tmp_path, cuda_half, cpu_half).startswith("7 passed")


def test_the_cuda_half_works_alone(tmp_path: Path, cuda_half: Path) -> None:
    assert outcome_of_its_tests(tmp_path, cuda_half).startswith("4 passed, 3 skipped")


def test_both_devices_compute_the_same_numbers(cuda_half: Path, cpu_half: Path) -> None:
    paths = ":".join(map(str, (cuda_half, cpu_half, ROOT)))
    result = run(sys.executable, "-c", SAME_NUMBERS, PYTHONPATH=paths)
    assert result.returncode == 0 and result.stdout.endswith("the same\n"), result.stdout


def test_the_cpu_half_alone_says_what_is_missing_on_a_gpu(cpu_half: Path) -> None:
    program = "import demo_cpu, torch\nx = torch.ones(3, device='cuda')\ntorch.ops.demo.scaled_add(x, x)"
    result = run(sys.executable, "-c", program, PYTHONPATH=str(cpu_half))
    wanted = "NotImplementedError: demo::scaled_add has no implementation for CUDA: pip install demo"
    assert result.stdout.splitlines()[-1] == wanted
