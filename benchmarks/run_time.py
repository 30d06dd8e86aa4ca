"""Measure the time to a launchable kernel in a running process: `python benchmarks/run_time.py WHEEL [ROUNDS]`.

WHEEL is the wheel of `fixtures/saxpy`. Each contender is a separate process; the time starts after its imports and
after it has a context. Contenders that compile use the same source. The benchmark needs a GPU, and cuda.core, CuPy and
PyTorch for the comparison.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from _interleave import compare
from _kernels import FIXTURES
from _results import Goal, Result
from startup import CONTEXT, installed, printed, symbol_of

__all__ = ["measure"]

DRIVER, LOADED = "cuda.bindings by hand", "cuda_wheel.load"
CHECKED = "by hand, with JSON, the choice of the image and two SHA-256"
LIMIT = (
    "the first execution of about 60 Python functions, which find the package, choose the image, read it and compare "
    f'SHA-256. Twenty lines of Python that do as much ("{CHECKED}") need more than the goal already.'
)
TIMED = """
import time
with open({source!r}) as file:
    text = file.read()
before = time.perf_counter_ns()
{action}
elapsed = time.perf_counter_ns() - before
assert ready
print(elapsed)
"""
BY_HAND = (
    "",
    """
with open({fatbin!r}, "rb") as file:
    content = file.read()
library = driver.cuLibraryLoadData(content, [], [], 0, [], [], 0)[1]
ready = int(driver.cuKernelGetFunction(driver.cuLibraryGetKernel(library, {symbol!r}.encode())[1])[1])
""",
)
LOAD = """
kernel = cuda_wheel.load("saxpy_demo.kernels.saxpy")["saxpy"]
ready = int(driver.cuKernelGetFunction(kernel.handle)[1])
"""
OURS = ("import saxpy_demo; from cuda_wheel.runtime import loading; import cuda_wheel", LOAD)
WITHOUT_ATTACH = (OURS[0] + "; from cuda_wheel.runtime import files; files._kept.clear()", LOAD)
WITH_PACKAGE = ("from cuda_wheel.runtime import loading; import cuda_wheel", LOAD)
LEAST = (
    "import hashlib, json",
    """
with open({fatbin!r} + ".json", "rb") as file:
    manifest_text = file.read()
manifest = json.loads(manifest_text)
digest = manifest["sha256"]
lines = manifest_text.split(b"\\n")
head = b"\\n".join(lines[:3]) + b"\\n"
assert hashlib.sha256(head.replace(digest.encode(), b"")).hexdigest() == digest
assert hashlib.sha256(lines[3]).hexdigest() == manifest["module"]["blocks"][0][1]
device, which = driver.cuCtxGetDevice()[1], driver.CUdevice_attribute
major = driver.cuDeviceGetAttribute(which.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)[1]
minor = driver.cuDeviceGetAttribute(which.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)[1]
release = driver.cuDriverGetVersion()[1]
for image in manifest["module"]["images"]:
    if image["kind"] == "cubin" and 10 * major <= int(image["target"][3:]) <= 10 * major + minor:
        chosen = image
with open({fatbin!r}, "rb") as file:
    file.seek(chosen["offset"])
    content = file.read(chosen["size"])
assert hashlib.sha256(content).hexdigest() == chosen["sha256"]
library = driver.cuLibraryLoadData(content, [], [], 0, [], [], 0)[1]
symbol = manifest["kernels"][0][0]["symbol"].encode()
ready = int(driver.cuKernelGetFunction(driver.cuLibraryGetKernel(library, symbol)[1])[1])
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
    with installed(wheel) as site, tempfile.TemporaryDirectory() as cache:
        (fatbin,) = site.rglob("saxpy.fatbin")
        (source,) = (FIXTURES / "saxpy").rglob("saxpy.cu")
        values = {"fatbin": str(fatbin), "symbol": symbol_of(fatbin), "source": str(source)}

        def milliseconds(contender: tuple[str, str], **environ: str) -> float:
            imports, action = contender
            program = CONTEXT + imports + TIMED.format(source=str(source), action=action.strip().format(**values))
            return printed(program, site, CUDA_CACHE_DISABLE="1", **environ) / 1e6

        def cold(contender: tuple[str, str]) -> float:
            with tempfile.TemporaryDirectory() as empty:
                return milliseconds(contender, CUPY_CACHE_DIR=empty)

        contenders: dict[str, Callable[[], float]] = {
            DRIVER: partial(milliseconds, BY_HAND),
            CHECKED: partial(milliseconds, LEAST),
            LOADED: partial(milliseconds, OURS),
            "cuda_wheel.load, which reads the manifest itself": partial(milliseconds, WITHOUT_ATTACH),
            "cuda_wheel.load, and the import of the module's package": partial(milliseconds, WITH_PACKAGE),
            "cuda.core ObjectCode.from_fatbin": partial(milliseconds, FATBIN),
            "CuPy RawModule(path=)": partial(milliseconds, CUPY_FATBIN),
            "CuPy RawModule(code=), its cache": partial(milliseconds, CUPY, CUPY_CACHE_DIR=cache),
            "CuPy RawModule(code=), cold": partial(cold, CUPY),
            "cuda.core Program": partial(milliseconds, PROGRAM),
            "PyTorch, its NVRTC kernel": partial(milliseconds, PYTORCH),
        }
        return [
            compare(
                "A kernel in a process that runs already",
                "The kernel of `fixtures/saxpy`, loaded from its wheel or its fatbin, or compiled at run time from "
                "its source, in a process that has imported the libraries and has a context. The package attaches its "
                "kernels: its import has read the manifest for their names. The driver's cache is off.",
                contenders,
                rounds or 8,
                digits=2,
                goals=[Goal(LOADED, DRIVER, more=0.1, limit=LIMIT), Goal(LOADED, CHECKED, times=1.3)],
            )
        ]


if __name__ == "__main__":
    measure(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
