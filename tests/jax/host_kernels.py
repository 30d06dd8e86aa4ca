"""Kernels that compute in Python on host memory, for JAX operators that run on the CPU."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from cuda_wheel.jax import registration
from tests.torch.stand_in_kernels import Launched, StandIn

__all__ = ["HostKernel", "let_the_cpu_launch", "memory"]


class HostKernel(StandIn):
    """A kernel that computes in Python, given addresses in host memory."""

    def launch(self, grid: Any, block: Any, *args: Any, **more: Any) -> None:
        self.launched.append(Launched(grid, block, args, more))
        self._compute(*args)


def memory(address: int, size: int, dtype: Any = np.float32) -> Any:
    """Return the array of so many elements at an address."""
    return np.frombuffer((ctypes.c_char * (size * np.dtype(dtype).itemsize)).from_address(address), dtype)


def let_the_cpu_launch() -> None:
    """Let programs on the CPU launch kernels; before the first operator of the process is made."""
    registration.PLATFORMS["cpu"] = lambda api, frame: registration.launches.run(frame, 0, 5)
