"""Time to a launchable kernel in a process that runs already: `python benchmarks/run_time.py WHEEL [ROUNDS]`.

WHEEL is the wheel of `fixtures/saxpy`. Each contender is a process of its own, which has imported what it needs and has
a context before time starts. Those that compile have the same source. Needs a GPU, and cuda.core, CuPy and PyTorch to
compare.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from _interleave import compare
from _kernels import FIXTURES
from _results import Result
from startup import CONTEXT, installed, printed, symbol_of

__all__ = ["measure"]

TIMED = """
import time
with open({source!r}) as file:
    text = file.read()
before = time.perf_counter_ns()
{deed}
elapsed = time.perf_counter_ns() - before
assert ready
print(elapsed)
"""
OURS = (
    "import cuda_wheel; from cuda_wheel import loader",
    """
kernel = cuda_wheel.load("saxpy_demo.kernels.saxpy")["saxpy"]
ready = int(driver.cuKernelGetFunction(kernel.handle)[1])
""",
)
FATBIN = (
    "from cuda.core import Device, ObjectCode; Device().set_current()",
    "ready = ObjectCode.from_fatbin({fatbin!r}).get_kernel({symbol!r}).attributes.num_regs",
)
CUPY_FATBIN = (
    "import cupy; cupy.cuda.Device().use()",
    "ready = cupy.RawModule(path={fatbin!r}).get_function({symbol!r}).num_regs",
)
PROGRAM = (
    "from cuda.core import Device, Program, ProgramOptions; Device().set_current()",
    """
program = Program(text, "c++", ProgramOptions(arch="sm_" + Device().arch))
ready = program.compile("cubin").get_kernel({symbol!r}).attributes.num_regs
""",
)
CUPY = (
    "import cupy; cupy.cuda.Device().use()",
    """
ready = cupy.RawModule(code=text, options=("-std=c++17",)).get_function({symbol!r}).num_regs
""",
)
PYTORCH = (
    'import torch; torch.empty(1, device="cuda")',
    'ready = torch.cuda._compile_kernel(text, "saxpy") is not None',
)


def measure(wheel: Path, rounds: int | None = None) -> list[Result]:
    with installed(wheel) as site, tempfile.TemporaryDirectory() as kept:
        (fatbin,) = site.rglob("saxpy.fatbin")
        (source,) = (FIXTURES / "saxpy").rglob("saxpy.cu")
        values = {"fatbin": str(fatbin), "symbol": symbol_of(fatbin), "source": str(source)}

        def milliseconds(contender: tuple[str, str], **environ: str) -> float:
            imports, deed = contender
            program = CONTEXT + imports + TIMED.format(source=str(source), deed=deed.strip().format(**values))
            return printed(program, site, CUDA_CACHE_DISABLE="1", **environ) / 1e6

        def cold(contender: tuple[str, str]) -> float:
            with tempfile.TemporaryDirectory() as nothing:
                return milliseconds(contender, CUPY_CACHE_DIR=nothing)

        contenders: dict[str, Callable[[], float]] = {
            "cuda_wheel.load": partial(milliseconds, OURS),
            "cuda.core ObjectCode.from_fatbin": partial(milliseconds, FATBIN),
            "CuPy RawModule(path=)": partial(milliseconds, CUPY_FATBIN),
            "CuPy RawModule(code=), its cache": partial(milliseconds, CUPY, CUPY_CACHE_DIR=kept),
            "CuPy RawModule(code=), cold": partial(cold, CUPY),
            "cuda.core Program": partial(milliseconds, PROGRAM),
            "PyTorch, its NVRTC kernel": partial(milliseconds, PYTORCH),
        }
        return [
            compare(
                "A kernel in a process that runs already",
                "The first kernel of `fixtures/saxpy`, from its wheel or its fatbin, or compiled at run time from its "
                "source, where imports and the context are there already. The driver's cache is off.",
                contenders,
                rounds or 8,
                digits=2,
            )
        ]


if __name__ == "__main__":
    measure(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
