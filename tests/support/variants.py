"""A project with a module of several variants, and its files, built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.processes import run_cuda_wheel
from tests.support.projects import pyproject_head, write_files
from tests.support.shared_folders import Share

__all__ = ["ATTACHING", "SOURCE_OF_VARIANTS", "VARIANTS_TABLE"]

SOURCE_OF_VARIANTS = """\
#include "scale.h"
__constant__ MATH_TYPE coefficients[NUM_MODES];
extern "C" __global__ void update(MATH_TYPE* x, int n)
{
    int unused = 3;
    if (threadIdx.x < n)
        x[threadIdx.x] = x[threadIdx.x] * NUM_MODES * SCALE + coefficients[threadIdx.x % NUM_MODES];
}
template <typename T, int N> __global__ void gemm(T* x) { x[threadIdx.x] *= N; }
"""

VARIANTS_TABLE = """\
[tool.cuda-wheel]
architectures = ["80-real", "90"]
include-dirs = ["include"]
[[tool.cuda-wheel.module]]
name = "demo.update"
instantiate = ["gemm<MATH_TYPE, NUM_MODES>"]
[tool.cuda-wheel.module.variants]
MATH_TYPE = ["float", "double"]
NUM_MODES = [2, 4]
exclude = [{ MATH_TYPE = "double", NUM_MODES = 2 }]
"""

ATTACHING = "import cuda_wheel\n\n__getattr__, __dir__, __all__ = cuda_wheel.attach(__name__)\n"


def write_variants(root: Path, head: str, table: str = VARIANTS_TABLE) -> Path:
    """Write the project below `root`, with this beginning of pyproject.toml, and return `root`."""
    return write_files(
        root,
        **{
            "pyproject.toml": head + table,
            "demo/__init__.py": ATTACHING,
            "demo/update.cu": SOURCE_OF_VARIANTS,
            "demo/plain.cu": '#include "scale.h"\nextern "C" __global__ void plain(float* x) { *x = SCALE; }\n',
            "include/scale.h": "#define SCALE 3\n",
        },
    )


@pytest.fixture(scope="session")
def variants_project(share: Share, extra: str) -> Path:
    """The project with variants, built by hatchling. Do not write to it."""
    head = pyproject_head("hatchling", extra)
    head += '[tool.hatch.build.targets.wheel]\npackages = ["demo"]\n[tool.hatch.build.targets.wheel.hooks.cuda]\n'
    return share("variants", lambda folder: write_variants(folder / "project", head)) / "project"


@pytest.fixture(scope="session")
def variants_build(variants_project: Path, share: Share) -> tuple[Path, str]:
    """The folder with the files that a build of the project writes, and what the build prints."""

    def fill(folder: Path) -> None:
        command = ["build", variants_project, "-o", folder / "out"]
        result = run_cuda_wheel(*command, CUDA_WHEEL_CACHE_DIR=str(variants_project.with_name("cache")))
        assert result.returncode == 0, result.stdout
        (folder / "out/demo/__init__.py").write_text(ATTACHING)
        (folder / "output").write_text(result.stdout)

    folder = share("variants-build", fill)
    return folder / "out", (folder / "output").read_text()
