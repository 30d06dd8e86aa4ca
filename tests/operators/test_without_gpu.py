"""Packages with operators are imported from source trees and editable installs on machines without a GPU."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.operators import kernels as kernel_instances
from cuda_wheel.operators.declarations import KernelInstances
from tests.support.editable import HATCHLING, environment_on_top
from tests.support.processes import run
from tests.support.projects import ROOT

pytestmark = pytest.mark.one_toolchain

NO_GPU = {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
"""Hides the GPUs of a machine that has some."""

SOURCE = """
template <typename T> __global__ void scale(const T* x, T* y, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = 2 * x[i];
}
"""

DECLARATION = """
scale = operator(
    "demo::scale", module="demo.kernels.scale", kernel="scale<float>", arguments="x, y, n", outputs={"y": "x"},
    values={"n": lambda x: x.shape[0]}, grid=lambda n: min(n, 1), block=256,
)
"""

PACKAGES = {
    "torch": f"""
import torch
from cuda_wheel.torch import operator
{DECLARATION}
def call():
    scale(torch.ones(3))
""",
    "jax": f"""
import jax, jax.numpy as jnp
from cuda_wheel.jax import operator
{DECLARATION}
def call():
    print(jax.eval_shape(scale, jax.ShapeDtypeStruct((3,), jnp.float32)))
    jax.block_until_ready(scale(jnp.ones(3)))
""",
}

PROGRAM = """
import cuda_wheel, demo
try:
    demo.call()
except Exception as error:
    print(error)
try:
    cuda_wheel.load("demo.kernels.scale")
except cuda_wheel.DriverError as error:
    print("DriverError:", error)
"""


def make_project(root: Path, framework: str, settings: str = "") -> Path:
    """Create a source tree whose package declares an operator, and return the folder to import it from."""
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    table = f'[[tool.cuda-wheel.module]]\nname = "demo.kernels.scale"\ninstantiate = ["scale<float>"]\n{settings}'
    files = {
        "pyproject.toml": HATCHLING.replace("PACKAGE", "src/demo") + table,
        "src/demo/__init__.py": PACKAGES[framework],
        "src/demo/kernels/__init__.py": "",
        "src/demo/kernels/scale.cu": SOURCE,
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root / "src"


@pytest.mark.parametrize(
    ("framework", "settings", "variables"),
    [
        ("torch", 'architectures = "native"\n', {}),
        ("jax", "", {"CUDAARCHS": "native"}),
        pytest.param("torch", 'architectures = ["90a-real"]\n', {}, marks=pytest.mark.slow),
        pytest.param("torch", "", {"CUDAARCHS": "80-virtual"}, marks=pytest.mark.slow),
    ],
)
def test_a_package_with_an_operator_is_imported_from_a_source_tree(
    framework: str, settings: str, variables: dict[str, str], tmp_path: Path
) -> None:
    folder = make_project(tmp_path, framework, settings)
    environment = (
        NO_GPU | variables | {"PYTHONPATH": f"{folder}:{ROOT}", "CUDA_WHEEL_CACHE_DIR": str(tmp_path / "cache")}
    )
    result = run(sys.executable, "-c", PROGRAM, cwd=tmp_path, **environment)
    assert_imported(result, framework)


def assert_imported(result: Any, framework: str) -> None:
    where = "not on cpu" if framework == "torch" else "but this program runs on the CPU"
    assert result.returncode == 0, result.stdout
    assert "demo::scale takes " in result.stdout and where in result.stdout, result.stdout
    assert "DriverError: " in result.stdout, result.stdout  # the first launch needs a GPU


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_a_package_with_an_operator_is_imported_from_an_editable_install(framework: str, tmp_path: Path) -> None:
    make_project(tmp_path / "project", framework)
    python = environment_on_top(tmp_path / "environment")
    options = ["--no-build-isolation", "--no-index", "--no-deps"]
    installed = run(python, "-m", "pip", "install", *options, "-e", tmp_path / "project")
    assert installed.returncode == 0, installed.stdout
    result = run(python, "-c", PROGRAM, cwd=tmp_path, CUDA_WHEEL_CACHE_DIR=str(tmp_path / "cache"), **NO_GPU)
    assert_imported(result, framework)


@pytest.mark.slow
def test_the_fixture_with_an_operator_is_imported_from_an_editable_install(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    shutil.copytree(ROOT / "fixtures/torch_op", tmp_path / "project")
    python = environment_on_top(tmp_path / "environment")
    options = ["--no-build-isolation", "--no-index", "--no-deps"]
    installed = run(python, "-m", "pip", "install", *options, "-e", tmp_path / "project")
    assert installed.returncode == 0, installed.stdout
    program = "import torch_op_demo; print(torch_op_demo.gated._schema)"
    result = run(python, "-c", program, cwd=tmp_path, CUDA_WHEEL_CACHE_DIR=str(tmp_path / "cache"), **NO_GPU)
    assert result.stdout.strip() == "torch_op_demo::gated(Tensor x, Tensor bias) -> Tensor", result.stdout


def test_without_a_toolchain_the_declaration_says_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any, **options: Any) -> None:
        raise ToolchainError("no CUDA toolchain is installed in this environment (x). Add y.")

    monkeypatch.setattr(kernel_instances, "files_and_manifest", fail)
    message = (
        r"^a::b: demo\.k lies in a source tree and has no images, so it must be compiled to know the parameters of its "
        r"kernels: no CUDA toolchain is installed in this environment \(x\)\. Add y\.$"
    )
    with pytest.raises(ToolchainError, match=message):
        KernelInstances("a::b", "k", "demo.k")
