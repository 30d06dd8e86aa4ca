"""The example `cpu_and_gpu`: an operator in two wheels, C++ for the CPU and a kernel for CUDA.

Each case is a process of its own, because a process can define an operator once.
"""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.processes import build_wheel, run
from tests.support.projects import ROOT
from tests.support.shared_folders import Share
from tests.torch.quiet_pytorch import MARKS

EXAMPLE = ROOT / "examples/cpu_and_gpu"

pytestmark = MARKS


def install(project: Path, folder: Path) -> None:
    """Build a project's wheel in a folder, and install it there too."""
    result = build_wheel(project, folder, CUDAARCHS="80-real", PYTHONPATH=str(ROOT), MAX_JOBS="1")
    assert result.returncode == 0, result.stdout
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.fixture
def cuda_half(project: Path, share: Share) -> Path:
    """Return a folder in which the wheel `demo` is installed."""
    return share("demo", lambda folder: install(project, folder))


@pytest.fixture
def cpu_half(project: Path, share: Share) -> Path:
    """Return a folder in which the wheel `demo-cpu` is installed."""
    if not shutil.which(importlib.import_module("torch.utils.cpp_extension").get_cxx_compiler()):
        pytest.skip("no C++ compiler")
    return share("demo-cpu", lambda folder: install(project / "cpu", folder))


def python(program: str, *folders: Path) -> subprocess.CompletedProcess[str]:
    """Run a program with what is installed in these folders, and with this checkout."""
    return run(sys.executable, "-c", program, PYTHONPATH=":".join(map(str, (*folders, ROOT))))


PREPARE = "import torch\nx, y = torch.arange(6.0).reshape(2, 3).t(), torch.ones(3, 2)\nf = torch.ops.demo.scaled_add\n"
RIGHT = "assert f(x, y, 0.5).equal(x + 0.5 * y)\n"
ON_CUDA = "f.default.redispatch(torch._C.DispatchKeySet('CUDA'), x, y, 0.5)\n"
"""Calls what is registered for CUDA, with tensors in host memory."""


def outcome_of_its_tests(project: Path, *folders: Path) -> str:
    """Run the example's own tests, and return the last line that pytest prints."""
    paths = ":".join(map(str, (*folders, ROOT)))
    options = ("-q", "-p", "no:cacheprovider", "--rootdir", project)
    result = run(sys.executable, "-m", "pytest", *options, project / "tests", cwd=project, PYTHONPATH=paths)
    assert result.returncode == 0, result.stdout
    return result.stdout.splitlines()[-1]


def test_the_wheels_require_each_other_in_the_same_version(project: Path, cuda_half: Path, cpu_half: Path) -> None:
    (cuda_wheel,), (cpu_wheel,) = cuda_half.glob("*.whl"), cpu_half.glob("*.whl")
    assert cuda_wheel.name == "demo-1.0-py3-none-any.whl"
    assert re.fullmatch(r"demo_cpu-1\.0-cp310-abi3-\w+\.whl", cpu_wheel.name)
    shown = [next(half.glob("*.dist-info/METADATA")).read_text() for half in (cuda_half, cpu_half)]
    assert "Requires-Dist: demo-cpu==1.0; extra == 'cpu'\n" in shown[0]
    assert "Requires-Dist: demo==1.0\n" in shown[1]
    assert re.search(r"Requires-Dist: torch==\d+\.\d+\.\*\n", shown[1])
    files = {path.name for path in (cpu_half / "demo_cpu").iterdir()} - {"__pycache__"}
    assert files == {
        "__init__.py",
        "_C.pyd" if sys.platform == "win32" else "_C.abi3.so",
    }  # for every Python; no sources


def test_the_example_passes_its_own_tests_with_both_wheels(project: Path, cuda_half: Path, cpu_half: Path) -> None:
    assert outcome_of_its_tests(project, cuda_half, cpu_half).startswith("4 passed, 3 skipped")


def test_the_example_passes_its_own_tests_without_the_cpu_half(project: Path, cuda_half: Path) -> None:
    assert outcome_of_its_tests(project, cuda_half).startswith("1 passed, 6 skipped")


@pytest.mark.parametrize("order", ["demo, demo_cpu", "demo_cpu, demo", "demo", "demo_cpu"])
def test_either_package_brings_both_halves(order: str, cuda_half: Path, cpu_half: Path) -> None:
    program = (
        f"import {order}\n{PREPARE}{RIGHT}"
        + """
a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
g = torch.compile(lambda a, b: f(a, b, 2.0) * 2, fullgraph=True, backend="aot_eager")
assert [each.mean() for each in torch.autograd.grad(g(a, b).sum(), (a, b))] == [2, 4]
has = torch._C._dispatch_has_kernel_for_dispatch_key
assert all(has("demo::scaled_add", key) for key in ("CPU", "CUDA", "Meta", "Autograd"))
with torch._subclasses.FakeTensorMode():
    made = f(torch.empty(4, 3, device="cuda").t(), torch.empty(3, 4, device="cuda"))
    assert str(made.device) == "cuda:0" and made.stride() == (4, 1)
"""
    )
    result = python(program, cuda_half, cpu_half)
    assert result.returncode == 0, result.stdout
    assert "Overriding" not in result.stdout


def test_the_cuda_half_alone(cuda_half: Path) -> None:
    result = python(f"import demo\n{PREPARE}f(x, y)", cuda_half)
    message = "demo::scaled_add has no implementation for the CPU: pip install demo-cpu"
    assert result.stdout.splitlines()[-1] == f"NotImplementedError: {message}"


def test_the_cpu_half_alone(cpu_half: Path) -> None:
    before = f"import demo_cpu\n{PREPARE}{RIGHT}"
    assert python(before, cpu_half).returncode == 0
    needs_demo = {
        ON_CUDA: "^NotImplementedError: demo::scaled_add has no implementation for CUDA: pip install demo$",
        "f(x.requires_grad_(), y).sum().backward()": "^NotImplementedError: .* has no gradient: pip install demo$",
        "torch.compile(f, fullgraph=True, backend='aot_eager')(x, y)": r"need to `import demo` ?\(pip install demo\)",
    }
    for call, message in needs_demo.items():
        result = python(before + call, cpu_half)
        assert result.returncode == 1 and re.search(message, result.stdout, re.MULTILINE), result.stdout


def test_a_cpu_half_that_comes_later_asks_for_a_restart(cuda_half: Path, cpu_half: Path) -> None:
    result = python(f"import demo, sys; sys.path.append({str(cpu_half)!r}); import demo_cpu", cuda_half)
    message = "demo was imported before demo-cpu was installed: restart Python"
    assert result.stdout.splitlines()[-1] == f"ImportError: {message}"


def test_the_cuda_half_launches_its_kernel(cuda_half: Path) -> None:
    """A stand-in computes what the kernel would; tests/gpu runs the real one."""
    program = (
        f"import contextlib, demo\n{PREPARE}"
        + f"""
from cuda_wheel.operators.kernels import read_manifest
kernels = {{each.name: each.parameter_list for each in read_manifest("demo.scaled_add", {{}}).kernels}}
assert kernels["scaled_add_kernel<float>"] == "const float*, const float*, float*, double, long", kernels
class StandIn:
    def __getitem__(self, name):
        assert name == ("scaled_add_kernel", torch.float32)
        return self
    def launch(self, grid, block, x, y, result, scale, n):
        assert (grid, block, n) == (1, 256, 6) and x.is_contiguous() and y.is_contiguous()
        torch.add(x, y, alpha=scale, out=result)
demo.cuda.kernels, torch.cuda.device = StandIn(), contextlib.nullcontext
assert {ON_CUDA.strip()}.equal(x + 0.5 * y)
"""
    )
    result = python(program, cuda_half)
    assert result.returncode == 0, result.stdout


def test_both_halves_define_the_same_schema() -> None:
    """`demo` defines it only where `demo-cpu` is not installed."""
    shown = [(EXAMPLE / path).read_text() for path in ("cpu/csrc/scaled_add.cpp", "src/demo/__init__.py")]
    schemas = {re.findall(r'(?:m\.def|library\.define)\("(.*)"\)', text)[0] for text in shown}
    assert len(schemas) == 1
