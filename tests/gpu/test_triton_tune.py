"""`cuda-wheel tune` for Triton kernels on a real GPU: the table has the fastest configuration, launches choose it, and
results are those of Triton's own autotuned launch."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel import load
from cuda_wheel.runtime.parts import tuned_tables
from tests.support.loaded_modules import forget_package
from tests.support.projects import ROOT, write_files
from tests.support.toolchains import installed_extra
from tests.support.triton_project import HEAD

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
triton = pytest.importorskip("triton", reason="Triton is not installed")

KERNELS = """\
import triton
import triton.language as tl


def configurations():
    return [triton.Config({"BLOCK": block, "LOADS": loads}, num_warps=4) for block in (256, 512) for loads in (3000, 1)]


@triton.autotune(configurations(), key=["n"])
@triton.jit
def scaled(out_ptr, x_ptr, n, BLOCK: tl.constexpr, LOADS: tl.constexpr):
    # Further loads change the time and nothing else.
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    for _ in range(LOADS):
        x = tl.load(x_ptr + offsets, mask=offsets < n, volatile=True)
    tl.store(out_ptr + offsets, 1.7 * x, mask=offsets < n)


@triton.autotune([triton.Config({"BLOCK": 128}, num_warps=w) for w in (1, 4)], key=["n"], restore_value=["x_ptr"])
@triton.jit
def doubled(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)
"""

TUNING = """\
import torch
import triton
from cuda_wheel.tuning import tunable

PROBLEMS = [{"n": 1000, "x_ptr": "float32"}, {"n": 1 << 20, "x_ptr": "float32"}]


def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


@tunable("demo.kernels", problems=PROBLEMS)
def scaled(problem):
    n = problem["n"]
    x = torch.randn(n, device="cuda", dtype=getattr(torch, problem["x_ptr"]))
    out = torch.zeros_like(x)
    return lambda choice: choice.kernel.launch(grid, out, x, n, **choice.parameters), out


@tunable("demo.kernels", problems=[{"n": 1 << 20}])
def doubled(problem):
    x = torch.randn(problem["n"], device="cuda")
    return lambda choice: choice.kernel.launch(grid, x, problem["n"], **choice.parameters), x
"""

TABLES = """
[[tool.cuda-wheel.triton]]
kernel = "demo.kernels:scaled"
autotune = true
arguments = [
    { out_ptr = "*fp32:16", x_ptr = "*fp32:16", n = ["i32:16", "i32"] },
    { out_ptr = "*fp16:16", x_ptr = "*fp16:16", n = "i32" },
]
[[tool.cuda-wheel.triton]]
kernel = "demo.kernels:doubled"
autotune = true
arguments = { x_ptr = "*fp32:16", n = ["i32:16", "i32"] }
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put a source tree with kernels and what to tune on the path, for this process and its children."""
    if installed_extra() is None:
        pytest.skip("no toolchain is installed here to compile with")
    files = {"demo/__init__.py": "", "demo/kernels.py": KERNELS, "demo/tuning.py": TUNING}
    root = write_files(tmp_path / "project", **files, **{"pyproject.toml": HEAD + TABLES})
    monkeypatch.syspath_prepend(str(root))
    monkeypatch.setenv("PYTHONPATH", f"{root}:{ROOT}")
    forget_package("demo")
    yield root
    forget_package("demo")
    tuned_tables.forget()


def test_the_table_has_the_fastest_and_launches_choose_it(project: Path, cuda_wheel: Callable[..., Any]) -> None:
    result = cuda_wheel("tune", "demo.tuning", COLUMNS="200")
    assert result.returncode == 0, result.stdout
    print(result.stdout)
    rows = json.loads((project / "demo/kernels.tuned.json").read_text())["choices"]
    assert [(row["name"], row["problem"]["n"], row["variant"]) for row in rows] == [
        ("doubled", 1 << 20, {}), ("scaled", 1000, {}), ("scaled", 1 << 20, {}),
    ]  # fmt: skip
    assert all(row["parameters"]["LOADS"] == 1 for row in rows[1:])
    assert all(row["microseconds"] < row["first_microseconds"] for row in rows[1:])

    own = importlib.import_module("demo.kernels")
    kernels = load("demo.kernels")
    seen: list[tuple[int, int]] = []

    def grid(meta: dict[str, Any]) -> tuple[int]:
        seen.append((meta["BLOCK"], meta["LOADS"]))
        return (triton.cdiv(meta["n"], meta["BLOCK"]),)

    for n in (1, 16, 1000, 5000, (1 << 20) - 1, 1 << 20, 3 << 20):
        x = torch.randn(n, device="cuda")
        ours, theirs = torch.zeros_like(x), torch.zeros_like(x)
        own.scaled[grid](theirs, x, n)
        for _ in range(3):
            seen.clear()
            kernels["scaled"].launch(grid, ours.zero_(), x, n)
            nearest = min(rows[1:], key=lambda row: abs(torch.tensor((row["problem"]["n"] + 1) / (n + 1)).log().item()))
            assert seen == [(nearest["parameters"]["BLOCK"], 1)]
            assert ours.equal(theirs) and ours.abs().sum() > 0
    # For a type that was not tuned, the first of the settings.
    x = torch.randn(1000, device="cuda", dtype=torch.float16)
    ours = torch.zeros_like(x)
    seen.clear()
    kernels["scaled"].launch(grid, ours, x, 1000)
    theirs = torch.zeros_like(x)
    own.scaled.fn[(4,)](theirs, x, 1000, BLOCK=256, LOADS=3000)
    assert seen == [(256, 3000)] and ours.equal(theirs) and ours.abs().sum() > 0
    seen.clear()
    kernels["scaled"].launch(grid, ours, x, 1000, BLOCK=512, LOADS=1)
    assert seen == [(512, 1)]


def test_what_a_launch_changes_is_restored_before_each_that_is_timed(
    project: Path, cuda_wheel: Callable[..., Any]
) -> None:
    result = cuda_wheel("tune", "demo.tuning:doubled", COLUMNS="200")
    assert result.returncode == 0 and "left out" not in result.stdout, result.stdout
    x = torch.randn(1 << 20, device="cuda")
    own = x.clone()
    grid = lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)  # noqa: E731
    importlib.import_module("demo.kernels").doubled[grid](own, 1 << 20)
    load("demo.kernels")["doubled"].launch(grid, x, 1 << 20)
    assert x.equal(own)
