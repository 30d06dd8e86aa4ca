"""A project with the kernels of all fixtures that need no linking, for comparing compilers."""

from __future__ import annotations

import shutil
from pathlib import Path

__all__ = ["DEFINES", "FIXTURES", "SOURCES", "TARGETS", "make_project"]

FIXTURES = Path(__file__).parent.parent / "fixtures"
SOURCES = {
    "cooperative": "cooperative/src/cooperative_demo/kernels/normalise.cu",
    "half_precision": "half_precision/src/half_demo/kernels/scale.cu",
    "linked": "linked/src/linked_demo/kernels/whole.cu",
    "matmul": "plugin/src/plugin_demo/kernels/matmul.cu",
    "matmul_templates": "matmul_templates/src/matmul_demo/kernels/matmul.cu",
    "reduce_cub": "reduce_cub/src/reduce_demo/kernels/reduce.cu",
    "saxpy": "saxpy/src/saxpy_demo/kernels/saxpy.cu",
    "stencil": "stencil/src/stencil_demo/kernels/stencil.cu",
}
HEADERS = [
    "matmul_templates/src/matmul_demo/kernels/tile.cuh",
    *(f"linked/src/linked_demo/kernels/{name}" for name in ("force.cu", "nbody.cu", "nbody.cuh", "state.cu")),
    "stencil/include/radius.h",
]
INSTANCES = """
template __global__ void matmul<float, 16>(const float*, const float*, float*, int);
template __global__ void matmul<double, 8>(const double*, const double*, double*, int);
"""
"""The templates to compile. The fixture's project lists them in its settings; nvcc needs them in the source."""
TARGETS = "75-real;80-real;90-real;100-real;110-real;120"
"""In CMake's syntax: machine code for six GPUs and PTX for the last, the same as "all-major" for nvcc 13."""
DEFINES = {"BLOCK": 128, "ITEMS": 4}
PYPROJECT = """\
[build-system]
requires = ["hatchling", "cuda-wheel[cu13]"]
build-backend = "hatchling.build"

[project]
name = "demo"
version = "1"
requires-python = ">=3.10"

[tool.hatch.build.targets.wheel]
packages = ["demo"]

[tool.hatch.build.targets.wheel.hooks.cuda]

[tool.cuda-wheel]
include-dirs = {include_dirs}
defines = {{ {defines} }}
compress = "{compress}"
"""


def make_project(root: Path, compress: str = "none") -> Path:
    """Create the project, whose package `demo` has a `.cu` file for each of `SOURCES`, and return `root`."""
    for folder in ("demo", "include"):
        (root / folder).mkdir(parents=True)
    for name, source in SOURCES.items():
        text = (FIXTURES / source).read_text() + INSTANCES * (name == "matmul_templates")
        (root / "demo" / f"{name}.cu").write_text(text)
    for header in HEADERS:
        shutil.copy(FIXTURES / header, root / "include")
    (root / "demo" / "__init__.py").touch()
    defines = ", ".join(f"{name} = {value}" for name, value in DEFINES.items())
    (root / "pyproject.toml").write_text(
        PYPROJECT.format(include_dirs='["include"]', defines=defines, compress=compress)
    )
    return root
