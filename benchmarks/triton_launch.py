"""Measure launches of Triton kernels beside Triton's own: `python benchmarks/triton_launch.py WHEEL [ROUNDS]`.

WHEEL is a wheel of `examples/triton`, whose sources have the kernels for Triton's own launch. The kernel adds 1,024
numbers, so that the time is the host's. The benchmark needs a GPU, PyTorch and Triton.
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

TRITON, LAUNCH, BIND = "Triton's own launch", "launch", "bind"
TRITON_OP, OPERATOR = "torch.library.triton_op", "cuda_wheel.torch.operator"
SIZE = 1024

OURS = """
import cuda_wheel
cuda_wheel.load("triton_demo.kernels.elementwise")["add"].launch((1,), x, y, out, 1024, BLOCK=1024)
"""
THEIRS = """
from triton_demo.kernels.elementwise import add
add[(1,)](x, y, out, 1024, BLOCK=1024)
"""


def measure(wheel: Path, rounds: int | None = None) -> list[Result]:
    with installed(wheel) as site:
        (site / "triton_demo/__init__.py").write_text("")  # which makes operators of PyTorch, for both contenders
        sys.path.insert(0, str(site))
        try:
            return [_launches(rounds), _operators(rounds), _first_launch(site, rounds)]
        finally:
            sys.path.remove(str(site))


def _launches(rounds: int | None) -> Result:
    import torch

    import cuda_wheel

    kernel: Any = cuda_wheel.load("triton_demo.kernels.elementwise")["add"]
    x, y, out = (torch.ones(SIZE, device="cuda") for _ in range(3))
    bound = kernel.bind((1,), x, y, out, SIZE, BLOCK=SIZE)

    def theirs() -> Call:
        from triton_demo.kernels.elementwise import add

        return lambda: add[(1,)](x, y, out, SIZE, BLOCK=SIZE)

    return compare(
        "A launch of a Triton kernel",
        "The same kernel with the same arguments, three tensors of PyTorch, a number and a constant; "
        f"{LAUNCHES} launches in each round.",
        {
            TRITON: microseconds(theirs),
            LAUNCH: microseconds(lambda: lambda: kernel.launch((1,), x, y, out, SIZE, BLOCK=SIZE)),
            BIND: microseconds(lambda: lambda: bound(x, y, out, SIZE)),
        },
        rounds or 40,
        "µs",
        digits=2,
        goals=[Goal(BIND, TRITON, times=0.5), Goal(LAUNCH, TRITON, times=0.8)],
    )


def _operators(rounds: int | None) -> Result:
    import torch

    import cuda_wheel.torch

    x, y = (torch.ones(SIZE, device="cuda") for _ in range(2))
    declared = cuda_wheel.torch.operator(
        "benchmarks::add",
        module="triton_demo.kernels.elementwise",
        kernel="add",
        outputs={"out_ptr": "x_ptr"},
        values={"n": lambda x_ptr: x_ptr.numel(), "BLOCK": SIZE},
        read_only="x_ptr, y_ptr",
        grid=lambda n: -(-n // SIZE),
    )

    def with_triton(wrap: Any) -> Any:
        from triton_demo.kernels.elementwise import add

        def function(x: Any, y: Any) -> Any:
            out = torch.empty_like(x)
            n = x.numel()
            wrap(add)[(-(-n // SIZE),)](x, y, out, n, BLOCK=SIZE)
            return out

        function.__annotations__ = dict.fromkeys(("x", "y", "return"), torch.Tensor)
        return function

    def triton_op() -> Call:
        function = with_triton(torch.library.wrap_triton)
        made = torch.library.triton_op("benchmarks::add_of_triton", function, mutates_args=())
        return lambda: made(x, y)

    def plain() -> Call:
        function = with_triton(lambda kernel: kernel)
        return lambda: function(x, y)

    return compare(
        "A PyTorch operator of a Triton kernel",
        "A new tensor, and one launch of the same kernel. `torch.library.triton_op` makes operators for "
        f"`torch.compile` and autograd, as ours are; the function is none. {LAUNCHES} calls in each round.",
        {
            TRITON_OP: microseconds(triton_op),
            "a function that launches by Triton": microseconds(plain),
            OPERATOR: microseconds(lambda: lambda: declared(x, y)),
        },
        rounds or 40,
        "µs",
        digits=2,
        goals=[Goal(OPERATOR, TRITON_OP, times=0.5)],
    )


def _first_launch(site: Path, rounds: int | None) -> Result:
    return compare(
        "The first launch of a Triton kernel in a process",
        "From the import of the library to the end of the kernel, after PyTorch has made the context and the arrays. "
        "Triton's caches are warm: nothing is compiled.",
        {TRITON: partial(first_launch, THEIRS, site), LAUNCH: partial(first_launch, OURS, site)},
        rounds or 10,
        goals=[Goal(LAUNCH, TRITON, times=0.2)],
    )


if __name__ == "__main__":
    measure(Path(sys.argv[1]), *map(int, sys.argv[2:]))
