"""Measure launches of Numba kernels beside Numba's own: `python benchmarks/numba_launch.py WHEEL [ROUNDS]`.

WHEEL is a wheel of `examples/numba`, whose sources have the kernels for Numba's own launch. The kernel adds 1,024
numbers, so that the time is the host's. The benchmark needs a GPU, PyTorch and numba-cuda.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

from _interleave import compare
from _results import Goal, Result
from launch import LAUNCHES, Call, microseconds
from startup import first_launch, installed

__all__ = ["measure"]

NUMBA, NUMBA_OWN, LAUNCH, BIND = "Numba, tensors", "Numba, Numba's arrays", "launch", "bind"
SIZE = 1024

OURS = """
import cuda_wheel
cuda_wheel.load("numba_demo.kernels.elementwise")["add"][8, 128](out, x, y)
"""
THEIRS = """
from numba_demo.kernels.elementwise import add
add[8, 128](out, x, y)
"""


def measure(wheel: Path, rounds: int | None = None) -> list[Result]:
    with installed(wheel) as site:
        sys.path.insert(0, str(site))
        try:
            return [_launches(rounds), _first_launch(site, rounds)]
        finally:
            sys.path.remove(str(site))


def _launches(rounds: int | None) -> Result:
    import torch

    import cuda_wheel

    kernel: Any = cuda_wheel.load("numba_demo.kernels.elementwise")["add"]
    x, y, out = (torch.ones(SIZE, device="cuda") for _ in range(3))
    bound = kernel.bind(8, 128, out, x, y)

    def theirs() -> Call:
        from numba_demo.kernels.elementwise import add

        configured = add[8, 128]
        return lambda: configured(out, x, y)

    def theirs_with_own_arrays() -> Call:
        from numba import cuda
        from numba_demo.kernels.elementwise import add

        configured, arrays = add[8, 128], [cuda.as_cuda_array(each) for each in (out, x, y)]
        return lambda: configured(*arrays)

    return compare(
        "A launch of a Numba kernel",
        f"The same kernel with the same arguments, three tensors of PyTorch; {LAUNCHES} launches in each round. "
        "Numba's own launch is measured with its own arrays too.",
        {
            NUMBA: microseconds(theirs),
            NUMBA_OWN: microseconds(theirs_with_own_arrays),
            LAUNCH: microseconds(lambda: lambda: kernel.launch(8, 128, out, x, y)),
            BIND: microseconds(lambda: lambda: bound(out, x, y)),
        },
        rounds or 40,
        "µs",
        digits=2,
        goals=[Goal(BIND, NUMBA, times=0.5), Goal(LAUNCH, NUMBA, times=0.8)],
    )


def _first_launch(site: Path, rounds: int | None) -> Result:
    return compare(
        "The first launch of a Numba kernel in a process",
        "From the import of the library to the end of the kernel, after PyTorch has made the context and the arrays. "
        "Numba compiles: it keeps no kernel from process to process unless it is asked to.",
        {NUMBA: partial(first_launch, THEIRS, site), LAUNCH: partial(first_launch, OURS, site)},
        rounds or 10,
        goals=[Goal(LAUNCH, NUMBA, times=0.2)],
    )


if __name__ == "__main__":
    measure(Path(sys.argv[1]), *map(int, sys.argv[2:]))
