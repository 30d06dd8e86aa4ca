"""Measure the time from the start of a Python process to a launchable kernel: `python benchmarks/startup.py WHEEL
[ROUNDS]`.

WHEEL is the wheel of `fixtures/saxpy`. Every contender starts a new interpreter, makes device 0's primary context
current and gets the kernel of the same fatbin as a function of that context. The benchmark needs a GPU, and cuda.core
and CuPy for the comparison.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from _interleave import compare
from _results import Goal, Result

__all__ = ["CONTEXT", "READY", "first_launch", "installed", "measure", "printed", "started", "symbol_of"]

CONTEXT = """
from cuda.bindings import driver
driver.cuInit(0)
_, device = driver.cuDeviceGet(0)
_, context = driver.cuDevicePrimaryCtxRetain(device)
driver.cuCtxSetCurrent(context)
"""
READY = """
import time
assert ready
print(time.monotonic_ns())
"""
FIRST_LAUNCH = """
import time
import torch
x, y, out = (torch.ones(1024, device="cuda") for _ in range(3))
torch.cuda.synchronize()
began = time.perf_counter_ns()
{launch}
torch.cuda.synchronize()
assert out.eq(2).all()
print(time.perf_counter_ns() - began)
"""
BY_HAND = "cuda.bindings by hand"
OURS = "cuda_wheel.load"
CONTENDERS = {
    BY_HAND: CONTEXT
    + """
with open({fatbin!r}, "rb") as file:
    content = file.read()
_, library = driver.cuLibraryLoadData(content, [], [], 0, [], [], 0)
_, kernel = driver.cuLibraryGetKernel(library, {symbol!r}.encode())
ready = int(driver.cuKernelGetFunction(kernel)[1])
""",
    OURS: CONTEXT
    + """
import cuda_wheel
kernel = cuda_wheel.load("saxpy_demo.kernels.saxpy")["saxpy"]
ready = int(driver.cuKernelGetFunction(kernel.handle)[1])
""",
    "cuda.core ObjectCode.from_fatbin": """
from cuda.core import Device, ObjectCode
Device().set_current()
kernel = ObjectCode.from_fatbin({fatbin!r}).get_kernel({symbol!r})
ready = kernel.attributes.num_regs
""",
    "CuPy RawModule(path=)": """
import cupy
kernel = cupy.RawModule(path={fatbin!r}).get_function({symbol!r})
ready = kernel.num_regs
""",
}


def measure(wheel: Path, rounds: int | None = None) -> list[Result]:
    with installed(wheel) as site:
        (fatbin,) = site.rglob("saxpy.fatbin")
        contenders: dict[str, Callable[[], float]] = {
            name: partial(started, program.format(fatbin=str(fatbin), symbol=symbol_of(fatbin)) + READY, site)
            for name, program in CONTENDERS.items()
        }
        return [
            compare(
                "From the start of a process to a launchable kernel",
                "All contenders load the same fatbin of `fixtures/saxpy`. The package attaches its kernels, which "
                "is part of the time of `cuda_wheel.load`.",
                contenders,
                rounds or 20,
                goals=[Goal(OURS, BY_HAND, times=1.05, limit="the import of the loader, and the files that it reads.")],
            )
        ]


@contextmanager
def installed(wheel: Path) -> Iterator[Path]:
    """Yield a temporary folder with the unpacked wheel."""
    with tempfile.TemporaryDirectory() as site:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
        yield Path(site)


def symbol_of(fatbin: Path) -> str:
    """Return the symbol of a module's only kernel."""
    manifest = json.loads(fatbin.with_name(f"{fatbin.name}.json").read_text())
    return str(manifest["kernels"][0][0]["symbol"])


def started(program: str, site: Path, **environ: str) -> float:
    """Return the milliseconds from just before the start of a process until its kernel is ready."""
    before = time.monotonic_ns()
    return (printed(program, site, **environ) - before) / 1e6


def first_launch(launch: str, site: Path) -> float:
    """Return the milliseconds that a process needs for its first launch, until the kernel ends.

    `launch`: code that imports what it needs, and adds the tensors `x` and `y` of 1,024 numbers into `out`. PyTorch has
    made the context and the tensors before.
    """
    return printed(FIRST_LAUNCH.format(launch=launch), site) / 1e6


def printed(program: str, site: Path, **environ: str) -> int:
    """Run a program in a separate process with `site` on its path, and return the number that it prints.

    Raises CalledProcessError if it fails.
    """
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    result = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": path} | environ,
        capture_output=True,
        check=True,
    )
    return int(result.stdout.split()[-1])


if __name__ == "__main__":
    measure(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
