"""Measure the time to load a module: machine code, PTX through each compiler with and without a cache, and compressed.

`python benchmarks/loading.py WHEEL JIT_WHEEL [ROUNDS]`: wheels of `fixtures/matmul_templates`, the second without
machine code for the installed GPU. Every contender is a separate process; the time starts after it has a context.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from _interleave import compare
from _results import Result
from startup import CONTEXT, installed, printed

__all__ = ["measure", "measure_compressed"]

LOAD = (
    CONTEXT
    + """
import time
import cuda_wheel
import cuda_wheel.runtime.loading
{imports}
before = time.perf_counter_ns()
module = cuda_wheel.load({module!r})
for kernel in module:
    int(driver.cuKernelGetFunction(module[kernel].handle)[1])
print(time.perf_counter_ns() - before)
assert module.how == {how!r}, module
"""
)
NVJITLINK = "from cuda.bindings import nvjitlink; nvjitlink.version()"
LINK = """
from cuda_wheel.runtime import loading
choose = loading.resolve
def through_nvjitlink(*arguments, **images):
    chosen = choose(*arguments, **images)
    return chosen._replace(how="link")
loading.resolve = through_nvjitlink
"""
"""Makes the loader act as if the driver could not read the PTX."""
MATMUL = "matmul_demo.kernels.matmul"


def measure(wheel: Path, jit_wheel: Path, rounds: int | None = None) -> list[Result]:
    with (
        installed(wheel) as native,
        installed(jit_wheel) as ptx,
        tempfile.TemporaryDirectory() as driver_cache,
        tempfile.TemporaryDirectory() as own_cache,
    ):

        def milliseconds(site: Path, how: str, **environ: str) -> float:
            program = LOAD.format(how=how, imports=NVJITLINK, module=MATMUL)
            return printed((LINK if how == "link" else "") + program, site, **environ) / 1e6

        def cold() -> float:
            with tempfile.TemporaryDirectory() as empty:
                return milliseconds(ptx, "link", CUDA_CACHE_DISABLE="1", CUDA_WHEEL_CACHE_DIR=empty)

        caches = {"CUDA_CACHE_DISABLE": "0", "CUDA_CACHE_PATH": driver_cache, "CUDA_WHEEL_CACHE_DIR": own_cache}
        contenders: dict[str, Callable[[], float]] = {
            "machine code": partial(milliseconds, native, "native", CUDA_CACHE_DISABLE="1"),
            "PTX, the driver, cold": partial(milliseconds, ptx, "jit", CUDA_CACHE_DISABLE="1"),
            "PTX, the driver's cache": partial(milliseconds, ptx, "jit", **caches),
            "PTX, nvJitLink, cold": cold,
            "PTX, nvJitLink, our cache": partial(milliseconds, ptx, "link", **caches),
        }
        return [
            compare(
                "Loading a module",
                "The two kernels of `fixtures/matmul_templates`, from the call of `load` to functions in an "
                "existing context.",
                contenders,
                rounds or 15,
                warm_up=2,
                digits=2,
            )
        ]


def measure_compressed(module: str, wheel: Path, small_wheel: Path, rounds: int | None = None) -> list[Result]:
    """Compare two wheels with the same module; the second is built with `compress = "size"`."""
    with installed(wheel) as plain, installed(small_wheel) as small:
        program = LOAD.format(how="native", imports="", module=module)

        def milliseconds(site: Path) -> float:
            return printed(program, site, CUDA_CACHE_DISABLE="1") / 1e6

        sites = {'compress = "none"': plain, 'compress = "size"': small}
        contenders: dict[str, Callable[[], float]] = {name: partial(milliseconds, site) for name, site in sites.items()}
        fatbin = Path(*module.split(".")).with_suffix(".fatbin")
        sizes = ", ".join(f"{(site / fatbin).stat().st_size:,} bytes with {name}" for name, site in sites.items())
        return [
            compare(
                f"Loading a compressed module: {module.rpartition('.')[2]}",
                f"All kernels of `{module}`, as machine code, from the call of `load` to functions of a context that "
                "is there already.",
                contenders,
                rounds or 15,
                warm_up=2,
                digits=2,
                notes=[f"The fatbin has {sizes}."],
            )
        ]


if __name__ == "__main__":
    measure(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else None)
