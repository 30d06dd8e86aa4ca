"""A project with Triton kernels: those of tests/triton/cases.py, each of which a launch treats in another way."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.demo_projects import pyproject_head
from tests.support.projects import ROOT

__all__ = ["CLUSTERS", "DESCRIPTORS", "HEAD", "write_triton_project"]

CASES = ROOT / "tests/triton/cases.py"

HEAD = pyproject_head("cuda-wheel[cu12]", "triton")
"""The pyproject.toml of a project with the package demo, without kernels."""

PYPROJECT = (
    HEAD
    + """
[[tool.cuda-wheel.triton]]
kernel = "demo.cases:scale"
arguments = [
    { out_ptr = "*fp32:16", x_ptr = "*fp32:16", n = ["i32:16", "i32"], factor = "fp32", BLOCK = [256, 1024] },
    { out_ptr = "*fp32", x_ptr = "*fp32", n = "i32", factor = "fp32" },
    { out_ptr = "*bf16:16", x_ptr = "*bf16:16", n = "i32", factor = "fp32" },
    { out_ptr = "*fp32:16", x_ptr = "*fp32:16", n = "i64", factor = "i32" },
]
[[tool.cuda-wheel.triton]]
kernel = "demo.cases:strided"
[tool.cuda-wheel.triton.arguments]
out_ptr = "*fp32:16"
x_ptr = "*fp32:16"
bias_ptr = ["None", "*fp32:16"]
stride = ["i32:1", "i32"]
n = "i32"
NEGATE = [true, false]
BLOCK = 128
[[tool.cuda-wheel.triton]]
kernel = "demo.cases:total"
arguments = { out_ptr = "*fp32:16", x_ptr = "*fp32:16", n = "i32", BLOCK = 1024, EVEN = [true, false] }
[[tool.cuda-wheel.triton]]
kernel = "demo.cases:tuned_copy"
arguments = { out_ptr = "*fp32:16", x_ptr = "*fp32:16", n = "i32", BLOCK = [64, 256] }
num-warps = [2, 4]
[[tool.cuda-wheel.triton]]
kernel = "demo.cases:transposed"
arguments = { out_ptr = "*fp16:16", x_ptr = "*fp16:16", m = "i32:16", n = "i32:16", BLOCK = 64 }
[[tool.cuda-wheel.triton]]
kernel = "demo.cases:product"
options = { enable_fp_fusion = false }
[tool.cuda-wheel.triton.arguments]
c_ptr = "*fp32:16"
a_ptr = "*fp32:16"
b_ptr = "*fp32:16"
SIZE = 64
PRECISION = ["ieee", "tf32"]
OUT = "tl.float32"
"""
)

CLUSTERS = """
[[tool.cuda-wheel.triton]]
kernel = "demo.cases:doubled_rows"
arguments = { out_ptr = "*fp32:16", x_ptr = "*fp32:16", n = 1024 }
num-ctas = [1, 2]
"""
"""A kernel with clusters, which GPUs before 9.0 do not have."""

DESCRIPTORS = """
[[tool.cuda-wheel.triton]]
name = "demo.tiles"
kernel = "demo.cases:copied_tiles"
arguments = [
    { out = "tensordesc<fp16[ROWS, COLUMNS]>", x = "tensordesc<fp16[ROWS,COLUMNS]>", rows = "i32", ROWS = [16, 64], COLUMNS = 64 },
    { out = "tensordesc<fp32[8, 32]>", x = "tensordesc<fp32[8, 32]>", rows = "i32", ROWS = 8, COLUMNS = 32 },
    { out = "tensordesc<u8[16, 64]>", x = "tensordesc<u8[16, 64]>", rows = "i32", ROWS = 16, COLUMNS = 64 },
    { out = "tensordesc<bf16[16, 32]>", x = "tensordesc<bf16[16, 32]>", rows = "i32", ROWS = 16, COLUMNS = 32 },
]
[[tool.cuda-wheel.triton]]
name = "demo.tiles"
kernel = "demo.cases:copied_line"
arguments = { out_ptr = "*fp32:16", x = "tensordesc<fp32[SIZE]>", SIZE = 128 }
[[tool.cuda-wheel.triton]]
name = "demo.tiles"
kernel = "demo.cases:product_of_tiles"
num-warps = [4, 8]
[tool.cuda-wheel.triton.arguments]
c = "tensordesc<fp32[M, N]>"
a = "tensordesc<fp16[M, K]>"
b = "tensordesc<fp16[K, N]>"
size = "i32:16"
M = 64
N = [64, 128]
K = 64
"""
"""Kernels with tensor descriptors as arguments; their module is demo.tiles."""


def write_triton_project(root: Path, further: str = "", kernels: str = PYPROJECT) -> Path:
    """Write a project with these kernels, and with further settings."""
    (root / "demo").mkdir(parents=True)
    (root / "pyproject.toml").write_text(kernels + further)
    (root / "demo/__init__.py").touch()
    shutil.copy(CASES, root / "demo/cases.py")
    return root
