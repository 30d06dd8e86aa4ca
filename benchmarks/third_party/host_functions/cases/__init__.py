"""Calls of the translated host functions: one module for each extension that can be called, of `../packages.toml` and
`../apart.toml`.

Each module has `cases()`, which yields calls with small inputs: a usual one, odd sizes, other element types, strides,
no elements, and arguments that the function refuses. A call is made of the original and of the port, in a process of
its own, so that arguments must be the same in each process: nothing here depends on the time or on Python's hashes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

__all__ = ["DEVICE", "Case", "cases_of", "on_gpu", "random", "whole"]

DEVICE = "cuda"
"""Where the arguments are made."""


@dataclass(frozen=True)
class Case:
    """One call of one function."""

    function: str
    """The definition's name in Python; "namespace::name" is an operator, `torch.ops.namespace.name`."""
    arguments: Callable[[], Sequence[Any]]
    """Makes the arguments, equal ones at each call. They are compared after the call, too: lists, tuples and dicts of
    tensors, numbers, strings and None."""
    what: str = ""
    """Which of the function's cases."""
    is_racy: bool = False
    """Whether threads write the same memory in any order (atomics), so that two calls of the original may differ."""
    by_time: bool = False
    """Whether the result depends on the second in which the function is called."""
    after: Callable[[Sequence[Any]], Any] = list
    """What is compared of the arguments after the call: all of them, unless some are addresses, which differ from
    process to process."""


def cases_of(name: str) -> list[Case]:
    """Return the cases of an extension; none where nobody wrote any."""
    if not Path(__file__).with_name(f"{name}.py").exists():
        return []
    return list(importlib.import_module(f"{__name__}.{name}").cases())


def on_gpu(*values: Any, dtype: Any = None) -> Tensor:
    """Return `torch.tensor(*values)` on the device."""
    return torch.tensor(*values, dtype=dtype, device=DEVICE)


def random(*shape: int, dtype: Any = torch.float, seed: int = 0) -> Tensor:
    """Return numbers from 0 to 1, the same at each call."""
    numbers = torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double)
    return numbers.to(DEVICE, dtype)


def whole(*shape: int, low: int = -8, high: int = 8, dtype: Any = torch.float, seed: int = 0) -> Tensor:
    """Return whole numbers from `low` to below `high`, whose sums are exact in any order."""
    numbers = torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))
    return numbers.to(DEVICE, dtype)
