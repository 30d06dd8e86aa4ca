"""Kernels that compute in Python on host memory, for JAX operators that run on the CPU."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

from cuda_wheel.jax import handler as registration
from cuda_wheel.jax.call_frames import CallFrame, XlaApi
from tests.torch.stand_in_kernels import StandIn

__all__ = ["ONE", "HostKernel", "cube", "launch_on_cpu", "memory"]


class HostLaunch(NamedTuple):
    grid: Any
    block: Any
    arguments: tuple[Any, ...]
    more: dict[str, Any]


class HostKernel(StandIn):
    """A kernel that computes in Python, given addresses in host memory."""

    launched: list[HostLaunch]  # type: ignore[assignment]

    def launch(self, grid: Any, block: Any, *args: Any, **more: Any) -> None:
        self.launched.append(HostLaunch(grid, block, args, more))
        self._compute(*args)


def memory(address: int, size: int, dtype: Any = np.float32) -> Any:
    """Return the array of so many elements at an address."""
    return np.frombuffer((ctypes.c_char * (size * np.dtype(dtype).itemsize)).from_address(address), dtype)


def launch_on_cpu(api: XlaApi, frame: CallFrame) -> None:
    """Launch what a program on the CPU says, on the stream 5."""
    registration.launches.run(frame, 0, 5)


ONE: dict[str, Any] = {
    "arguments": "x, y, n",
    "outputs": {"y": "x"},
    "values": {"n": lambda x: x.size},
    "grid": lambda n: min(n, 1),
    "block": 1,
}
"""Declaration of a kernel of (const float* x, float* y, int n), which one thread computes."""


def cube() -> HostKernel:
    """Return a kernel of y = x ** 3, for the declaration `ONE`."""

    def compute(x: int, y: int, n: int) -> None:
        memory(y, n)[:] = memory(x, n) ** 3

    return HostKernel("cube", "const float*, float*, int", compute)
