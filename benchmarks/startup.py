"""Time from the start of a Python process to a launchable kernel: `python benchmarks/startup.py WHEEL [ROUNDS]`.

WHEEL is the wheel of `fixtures/saxpy`. Every contender starts a fresh interpreter, makes device 0's primary context
current and gets the kernel from the same fatbin as a function of that context. Needs a GPU, and cuda.core and CuPy to
compare.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from _interleave import compare

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
CONTENDERS = {
    "cuda.bindings by hand": CONTEXT
    + """
with open({fatbin!r}, "rb") as file:
    content = file.read()
_, library = driver.cuLibraryLoadData(content, [], [], 0, [], [], 0)
_, kernel = driver.cuLibraryGetKernel(library, {symbol!r}.encode())
ready = int(driver.cuKernelGetFunction(kernel)[1])
""",
    "cuda_wheel": CONTEXT
    + """
import cuda_wheel
kernel = cuda_wheel.load("saxpy_demo.kernels.saxpy")["saxpy"]
ready = int(driver.cuKernelGetFunction(kernel.handle)[1])
""",
    "cuda.core": """
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


def main(wheel: Path, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as site:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
        (fatbin,) = Path(site).rglob("saxpy.fatbin")
        symbol = json.loads(fatbin.with_name(fatbin.name + ".json").read_text())["kernels"][0]["symbol"]
        contenders: dict[str, Callable[[], float]] = {
            name: partial(started, program.format(fatbin=str(fatbin), symbol=symbol) + READY, site)
            for name, program in CONTENDERS.items()
            if installed(name)
        }
        compare("process start to launchable kernel", contenders, rounds)


def installed(contender: str) -> bool:
    """Return whether what a contender imports is installed here; say so where it is not."""
    module = {"cuda.core": "cuda.core", "CuPy": "cupy"}.get(contender.partition(" ")[0], "sys")
    there = importlib.util.find_spec(module) is not None
    if not there:
        print(f"{contender}: not installed")
    return there


def started(program: str, site: str) -> float:
    """Return the milliseconds from just before the process starts to the moment that its kernel is ready."""
    before = time.monotonic_ns()
    return (printed(program, site) - before) / 1e6


def printed(program: str, site: str) -> int:
    """Return the number that a program prints in a process of its own, with the folder `site` on its path."""
    path = os.pathsep.join([site, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    result = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": path}, stdout=subprocess.PIPE, check=True
    )
    return int(result.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20)
