"""Projects of every shape: what the commands read has few or many kernels, variants, links or several modules."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.support.projects import KERNEL, pyproject_head, write_files
from tests.support.variants import ATTACHING, SOURCE_OF_VARIANTS

__all__ = ["SHAPES", "TUNING", "Shape", "write_project"]

HEAD = """\
[tool.hatch.build.targets.wheel]
packages = ["demo"]
[tool.hatch.build.targets.wheel.hooks.cuda]
[tool.cuda-wheel]
architectures = ["80-real", "90"]
"""
MANY = "".join(f"__global__ void k{n}(float* x, int n) {{ x[threadIdx.x % n] = {n}; }}\n" for n in range(120))
APPLY = 'extern "C" __device__ float f(float);\nextern "C" __global__ void apply(float* x) { *x = f(*x); }\n'
PART = 'extern "C" __device__ float f(float x) { return 2 * x; }\n'
ROW = (
    '{"name": "fill", "gpu": "Another", "compute_capability": [9, 0], "problem": {"n": 4}, "variant": {}, '
    '"kernel": "fill", "parameters": {"block": 64}, "microseconds": 3, "first_microseconds": 4}'
)
TABLE = f'{{"format": 1, "module": "demo.fill", "choices": [{ROW}]}}'
LINKED = '[[tool.cuda-wheel.module]]\nname = "demo.apply"\nsources = ["demo/apply.cu", "demo/part.cu"]\nlink = "{}"\n'
VARIANTS = """\
[[tool.cuda-wheel.module]]
name = "demo.update"
instantiate = ["gemm<MATH_TYPE, NUM_MODES>"]
[tool.cuda-wheel.module.variants]
MATH_TYPE = ["float", "double"]
NUM_MODES = [2, 4]
"""
EXTERN = """\
[[tool.cuda-wheel.module]]
name = "demo.apply"
extern = ["f"]
[[tool.cuda-wheel.module]]
name = "demo.part"
relocatable = true
"""


@dataclass(frozen=True)
class Shape:
    """A project, and a kernel of one of its modules that a program may launch."""

    files: dict[str, str]
    table: str = ""
    kernels: tuple[str, ...] = ("demo.fill:fill",)
    """A kernel of each module, as "module:kernel"; none for a module of functions for linking."""
    variant: str = "{}"

    @property
    def modules(self) -> set[str]:
        return {each.partition(":")[0] for each in self.kernels}


SHAPES = {
    "few kernels": Shape({"fill.cu": KERNEL}),
    "many kernels": Shape({"many.cu": MANY}, kernels=("demo.many:k119",)),
    "variants": Shape(
        {"update.cu": SOURCE_OF_VARIANTS.replace("    int unused = 3;\n", ""), "scale.h": "#define SCALE 3\n"},
        VARIANTS,
        ("demo.update:update",),
        '{"MATH_TYPE": "double", "NUM_MODES": 4}',
    ),
    "tuned": Shape({"fill.cu": KERNEL, "fill.tuned.json": TABLE}),
    "linking": Shape({"apply.cu": APPLY, "part.cu": PART}, EXTERN, ("demo.apply:apply", "demo.part:")),
    "lto": Shape({"apply.cu": APPLY, "part.cu": PART}, LINKED.format("lto"), ("demo.apply:apply",)),
    "ptx": Shape({"apply.cu": APPLY, "part.cu": PART}, LINKED.format("ptx"), ("demo.apply:apply",)),
    "several modules": Shape(
        {
            "fill.cu": KERNEL,
            "other.cu": KERNEL.replace("fill", "other"),
            "two.cu": KERNEL + KERNEL.replace("fill", "two"),
        },
        kernels=("demo.fill:fill", "demo.other:other", "demo.two:two"),
    ),
}


def write_project(shape: Shape, root: Path, extra: str) -> Path:
    files = {f"demo/{name}": text for name, text in {"__init__.py": ATTACHING, **shape.files}.items()}
    return write_files(root, **{"pyproject.toml": pyproject_head("hatchling", extra) + HEAD + shape.table, **files})


TUNING = """\
import numpy as np
from cuda_wheel.tuning import tunable

result = np.zeros(4)

def launch(choice):
    result[:] = 1 if choice.kernel is not None else 0
    return True

@tunable("{module}", problems=[{{"n": 8}}], candidates={{
    "kernel": ["{kernel}"], "variant": [{variant}], "block": [64, 128],
}}, name="tried")
def tried(problem):
    result[:] = 0
    return launch, result
"""
