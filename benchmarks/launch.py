"""Time of one launch, from Python: ours with and without checks, cuda.core's, CuPy's and PyTorch's.

`python benchmarks/launch.py WHEEL [ROUNDS]`: a wheel of `fixtures/saxpy`. A round is 400 launches of a kernel on 1,024
elements, which is what the driver's queue takes without waiting; each contender has the same arguments as the others of
its table, and what can be made before is made before.
"""

from __future__ import annotations

import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import cupy
import numpy as np
import torch
from _interleave import compare
from cuda.core import Device, LaunchConfig, launch

import cuda_wheel

LAUNCHES = 400
ELEMENTS = 1024
GRID, BLOCK = (4, 1, 1), (256, 1, 1)
SOURCE = """
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"""


def microseconds(call: Callable[[], object]) -> Callable[[], float]:
    """Return a contender: the time of one call, of many in a row."""

    def contender() -> float:
        device = Device()
        device.sync()
        before = time.perf_counter_ns()
        for _ in range(LAUNCHES):
            call()
        elapsed = time.perf_counter_ns() - before
        device.sync()
        return elapsed / LAUNCHES / 1e3

    return contender


def main(wheel: Path, rounds: int) -> None:
    device = Device()
    device.set_current()
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        sys.path.insert(0, folder)
        kernel = cuda_wheel.load("saxpy_demo.kernels.saxpy")["saxpy"]
    core, config, stream = kernel.cuda_core, LaunchConfig(grid=GRID, block=BLOCK), device.default_stream
    raw = cupy.RawModule(code=SOURCE, backend="nvrtc").get_function("saxpy")
    compiled = torch.cuda._compile_kernel(SOURCE, "saxpy")
    x, y = cupy.ones(ELEMENTS, cupy.float32), cupy.ones(ELEMENTS, cupy.float32)
    t, u = torch.ones(ELEMENTS, device="cuda"), torch.ones(ELEMENTS, device="cuda")
    a, n = np.float32(2), np.int32(ELEMENTS)
    p, q = x.data.ptr, y.data.ptr
    tables: dict[str, dict[str, Callable[[], object]]] = {
        "CuPy's arrays and Python's numbers": {
            "cuda-wheel": lambda: kernel.launch(GRID, BLOCK, 2.0, x, y, ELEMENTS),
            "cuda-wheel, check=False": lambda: kernel.launch(GRID, BLOCK, 2.0, x, y, ELEMENTS, check=False),
            "CuPy, RawKernel, NumPy's numbers": lambda: raw(GRID, BLOCK, (a, x, y, n)),
            "cuda.core, converted by the caller": lambda: launch(
                stream, config, core, np.float32(2.0), x.data.ptr, y.data.ptr, np.int32(ELEMENTS)
            ),
        },
        "addresses and NumPy's numbers": {
            "cuda-wheel": lambda: kernel.launch(GRID, BLOCK, a, p, q, n),
            "cuda-wheel, check=False": lambda: kernel.launch(GRID, BLOCK, a, p, q, n, check=False),
            "cuda.core": lambda: launch(stream, config, core, a, p, q, n),
            "CuPy, RawKernel": lambda: raw(GRID, BLOCK, (a, p, q, n)),
        },
        "PyTorch's tensors and Python's numbers": {
            "cuda-wheel": lambda: kernel.launch(GRID, BLOCK, 2.0, t, u, ELEMENTS),
            "PyTorch, NVRTC kernel": lambda: compiled(GRID, BLOCK, (2.0, t, u, ELEMENTS)),
            "cuda.core, converted by the caller": lambda: launch(
                stream, config, core, np.float32(2.0), t.data_ptr(), u.data_ptr(), np.int32(ELEMENTS)
            ),
        },
    }
    for title, calls in tables.items():
        contenders = {name: microseconds(call) for name, call in calls.items()}
        compare(f"one launch, {title}", contenders, rounds, "µs", warm_up=3, digits=2)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 30)
