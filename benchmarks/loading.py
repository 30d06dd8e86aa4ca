"""Time to load a module as machine code, and as PTX by each of its compilers, cold and kept.

`python benchmarks/loading.py WHEEL JIT_WHEEL [ROUNDS]`: wheels of `fixtures/matmul_templates`, the second without
machine code for the GPU at hand. Every contender is a process of its own, whose context is there before time starts.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from _interleave import compare
from startup import CONTEXT, printed

LOAD = (
    CONTEXT
    + """
import time
from cuda_wheel import loader
from cuda.bindings import nvjitlink
nvjitlink.version()
before = time.perf_counter_ns()
module = loader.load("matmul_demo.kernels.matmul")
for kernel in module:
    int(driver.cuKernelGetFunction(module[kernel].handle)[1])
print(time.perf_counter_ns() - before)
assert module.how == {how!r}, module
"""
)
LINK = """
from cuda_wheel import loader
choose = loader.resolve
def through_nvjitlink(*arguments):
    chosen = choose(*arguments)
    return chosen._replace(how="link")
loader.resolve = through_nvjitlink
"""
"""As if the driver could not read the PTX."""


def main(wheels: Mapping[str, Path], rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, wheel in wheels.items():
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(Path(folder, name))
        drivers, ours = Path(folder, "driver"), Path(folder, "ours")

        def milliseconds(kind: str, how: str, **environ: str) -> float:
            os.environ.update(environ)
            program = (LINK if how == "link" else "") + LOAD.format(how=how)
            return printed(program, str(Path(folder, kind))) / 1e6

        def cold() -> float:
            with tempfile.TemporaryDirectory() as nothing:
                return milliseconds("ptx", "link", CUDA_CACHE_DISABLE="1", CUDA_WHEEL_CACHE_DIR=nothing)

        kept = {"CUDA_CACHE_DISABLE": "0", "CUDA_CACHE_PATH": str(drivers), "CUDA_WHEEL_CACHE_DIR": str(ours)}
        contenders: dict[str, Callable[[], float]] = {
            "machine code": partial(milliseconds, "native", "native", CUDA_CACHE_DISABLE="1"),
            "PTX, the driver, cold": partial(milliseconds, "ptx", "jit", CUDA_CACHE_DISABLE="1"),
            "PTX, the driver's cache": partial(milliseconds, "ptx", "jit", **kept),
            "PTX, nvJitLink, cold": cold,
            "PTX, nvJitLink, our cache": partial(milliseconds, "ptx", "link", **kept),
        }
        compare("load of a module of 2 kernels", contenders, rounds, warm_up=2)


if __name__ == "__main__":
    main({"native": Path(sys.argv[1]), "ptx": Path(sys.argv[2])}, int(sys.argv[3]) if len(sys.argv) > 3 else 20)
