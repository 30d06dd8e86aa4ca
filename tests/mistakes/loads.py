"""Mistakes in a program that loads and launches kernels, and on the machine where it runs.

The module is `saxpy_demo.kernels.saxpy`, whose kernel has the parameters (float a, const float* x, float* y, int n).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cuda_wheel
from tests.support.driver import Result

SAXPY = "saxpy_demo.kernels.saxpy"


def nothing(folder: Path) -> None:
    """Change nothing of the installed package."""


def saxpy() -> Any:
    return cuda_wheel.load(SAXPY)["saxpy"]


def damaged(file: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        path = folder / "saxpy_demo/kernels" / file
        path.write_bytes(path.read_bytes().replace(b"saxpy", b"daxpy"))

    return damage


def without_images(folder: Path) -> None:
    """Leave the package as a build without cuda-wheel makes it: the source is there, and no image."""
    kernels = folder / "saxpy_demo/kernels"
    for file in kernels.glob("*.fatbin*"):
        file.unlink()
    (kernels / "saxpy.cu").write_text("__global__ void saxpy() {}\n")


@dataclass(frozen=True)
class Mistake:
    name: str
    said: tuple[str, ...]
    """Words that the message has, in this order."""
    program: Callable[[], object] = saxpy
    change: Callable[[Path], None] = nothing
    """What is wrong with the installed package."""
    gpu: tuple[int, int] = (8, 6)
    driver: int = 13000
    """CUDA version of the driver, as the driver says it."""
    no_gpu: bool = False

    @property
    def faults(self) -> dict[str, Result]:
        return {"cuInit": Result.CUDA_ERROR_NO_DEVICE} if self.no_gpu else {}


LOADS = (
    Mistake(
        "a misspelt module", ("saxpi has no images", "Did you mean saxpy?"), lambda: cuda_wheel.load(SAXPY[:-1] + "i")
    ),
    Mistake(
        "a package in place of a module",
        ("saxpy_demo.kernels is a package, not a module", SAXPY),
        lambda: cuda_wheel.load("saxpy_demo.kernels"),
    ),
    Mistake("a name without its package", ("'saxpy' is not a module's dotted name",), lambda: cuda_wheel.load("saxpy")),
    Mistake("a file in place of a name", ("dotted name",), lambda: cuda_wheel.load("kernels/saxpy.cu")),
    Mistake(
        "a package that is not installed",
        ("'away' is not an installed package",),
        lambda: cuda_wheel.load("away.saxpy"),
    ),
    Mistake(
        "a package that was built without cuda-wheel",
        ("saxpy.cu is there, but was not compiled", "[tool.hatch.build.targets.wheel.hooks.cuda]"),
        change=without_images,
    ),
    Mistake("a damaged image", ("saxpy.fatbin", "is damaged", "SHA-256", "Reinstall"), change=damaged("saxpy.fatbin")),
    Mistake("a damaged manifest", ("saxpy.fatbin.json", "is damaged"), change=damaged("saxpy.fatbin.json")),
    Mistake("no GPU", ("no GPU",), no_gpu=True),
    Mistake(
        "no GPU, and a damaged image",
        ("no GPU", "would not load with a driver either", "is damaged"),
        change=damaged("saxpy.fatbin"),
        no_gpu=True,
    ),
    Mistake("a driver that is too old", ("driver for CUDA 11.4", "cubin sm_80", "driver"), driver=11040),
    Mistake("a GPU that is too old", ("compute capability 5.0", "cubin sm_80", "architectures"), gpu=(5, 0)),
    Mistake("a misspelt kernel", ("no kernel 'sxpy'", "did you mean saxpy?"), lambda: cuda_wheel.load(SAXPY)["sxpy"]),
    Mistake(
        "a mangled name", ("no kernel '_Z6saxpyfPKfPfi'", "saxpy"), lambda: cuda_wheel.load(SAXPY)["_Z6saxpyfPKfPfi"]
    ),
    Mistake("too few arguments", ("saxpy", "4", "3"), lambda: saxpy().launch(1, 32, 2.0, 0, 0)),
    Mistake(
        "a list in place of an array",
        ("argument 2 (const float*)", "array on the GPU", "not list"),
        lambda: saxpy().launch(1, 32, 2.0, [1.0], 0, 1),
    ),
    Mistake("a string in place of a number", ("saxpy", "a", "str"), lambda: saxpy().launch(1, 32, "2", 0, 0, 1)),
    Mistake("a float in place of an integer", ("saxpy", "n", "float"), lambda: saxpy().launch(1, 32, 2.0, 0, 0, 1.5)),
    Mistake(
        "a number that is too large", ("saxpy", "n", "4294967296"), lambda: saxpy().launch(1, 32, 2.0, 0, 0, 1 << 32)
    ),
    Mistake(
        "a block that is too large", ("saxpy", "block", "5000", "1024"), lambda: saxpy().launch(1, 5000, 2.0, 0, 0, 1)
    ),
    Mistake(
        "a block with too many threads",
        ("saxpy", "block", "2048", "1024"),
        lambda: saxpy().launch(1, (64, 32), 2.0, 0, 0, 1),
    ),
    Mistake("a grid without blocks", ("grid", "1 and more", "0"), lambda: saxpy().launch(0, 32, 2.0, 0, 0, 1)),
    Mistake("a bound block that is too large", ("saxpy", "5000", "1024"), lambda: saxpy().bind(1, 5000, 2.0, 0, 0, 1)),
    Mistake("a misspelt option of a launch", ("smem",), lambda: saxpy().launch(1, 32, 2.0, 0, 0, 1, smem=48)),
)
