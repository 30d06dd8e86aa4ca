"""A package that attaches its kernels, and its wheel."""

from __future__ import annotations

from pathlib import Path

from tests.support.processes import build_wheel

__all__ = ["FILES", "INIT", "TWO", "built_wheel"]

INIT = '''"""The kernels."""
import cuda_wheel
__getattr__, __dir__, __all__ = cuda_wheel.attach(__name__)
'''

TWO = """
extern "C" __global__ void scale(float* x, float by, int n, bool b, float2 z) {}
namespace ns { __global__ void shift(double* x) {} }
template <class T> __global__ void generic(T* x) {}
#define MAKE(name, type) \\
    __global__ void name(type* x) {}
MAKE(made, int)
"""

FILES = {"demo/kernels/__init__.py": INIT, "demo/kernels/helper.py": "", "demo/kernels/two.cu": TWO}


def built_wheel(project: Path, tmp_path: Path) -> Path:
    """Return the wheel of a project, built for sm_80 below `tmp_path`."""
    result = build_wheel(project, tmp_path / "dist", CUDAARCHS="80-real")
    assert result.returncode == 0, result.stdout
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    return wheel
