"""A project with Numba kernels: those of tests/numba/cases.py, each of which a launch treats in another way."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.demo_projects import pyproject_head
from tests.support.projects import ROOT

__all__ = ["HEAD", "write_numba_project"]

CASES = ROOT / "tests/numba/cases.py"

HEAD = pyproject_head("cuda-wheel[cu13]", "numba-cuda")
"""The pyproject.toml of a project with the package demo, without kernels."""

PYPROJECT = (
    HEAD
    + """
[[tool.cuda-wheel.numba]]
kernel = "demo.cases:saxpy"
arguments = [
    { out = "float32[::1]", x = "float32[::1]", y = "float32[::1]", a = "float32", n = ["int64", "int32"] },
    { out = "float32[:]", x = "float32[:]", y = "float32[:]", a = "float32", n = "int64" },
    { out = "f8[::1]", x = "f8[::1]", y = "f8[::1]", a = "f8", n = "i8" },
]
[[tool.cuda-wheel.numba]]
kernel = "demo.cases:scale_matrix"
arguments = [
    { out = ["float32[:, ::1]", "float32[:,:]"], x = "float32[:, :]", factor = "float32" },
    { out = "float32[::1, :]", x = "float32[::1, :]", factor = "float64" },
]
[[tool.cuda-wheel.numba]]
kernel = "demo.cases:block_sums"
arguments = { sums = "float32[::1]", x = "float32[::1]" }
[[tool.cuda-wheel.numba]]
kernel = "demo.cases:matmul"
arguments = { c = "float32[:, ::1]", a = "float32[:, ::1]", b = "float32[:, ::1]" }
[[tool.cuda-wheel.numba]]
kernel = "demo.cases:all_scalars"
[tool.cuda-wheel.numba.arguments]
out = "float64[::1]"
flag = "boolean"
i8 = "int8"
i16 = "int16"
i32 = "int32"
i64 = "int64"
u8 = "uint8"
u16 = "uint16"
u32 = "uint32"
u64 = "uint64"
f16 = "float16"
f32 = "float32"
f64 = "float64"
c64 = "complex64"
c128 = "complex128"
[[tool.cuda-wheel.numba]]
kernel = "demo.cases:histogram"
arguments = { counts = "int32[::1]", x = "int64[::1]" }
[[tool.cuda-wheel.numba]]
kernel = "demo.cases:device_functions"
arguments = { out = "float32[::1]", x = "float32[::1]" }
[[tool.cuda-wheel.numba]]
kernel = "demo.cases:reverse_blocks"
arguments = { out = "float32[::1]", x = "float32[::1]" }
[[tool.cuda-wheel.numba]]
kernel = "demo.cases:inverse"
arguments = { x = "float32[::1]", n = "int64" }
[[tool.cuda-wheel.numba]]
kernel = "demo.cases:inverse"
arguments = { x = "float64[::1]", n = "int64" }
fastmath = false
max-registers = 64
[[tool.cuda-wheel.numba]]
kernel = "demo.cases:conjugated"
arguments = { out = "complex64[:]", x = "complex64[:]" }
"""
)


def write_numba_project(root: Path, further: str = "", kernels: str = PYPROJECT) -> Path:
    """Write a project with these kernels, and with further settings."""
    (root / "demo").mkdir(parents=True)
    (root / "pyproject.toml").write_text(kernels + further)
    (root / "demo/__init__.py").write_text("raise RuntimeError('a build imports no whole package')\n")
    shutil.copy(CASES, root / "demo/cases.py")
    return root
