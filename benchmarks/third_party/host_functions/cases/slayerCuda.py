"""Calls of slayerPytorch's spikes, convolutions in time and shifts in time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, on_gpu, random

SIZES = ((1, 1, 1, 1, 1), (2, 3, 1, 1, 50), (3, 2, 5, 7, 131), (1, 600, 1, 1, 20))


def signal(*shape: int) -> Tensor:
    return random(*shape) * 2 - 0.5


def decay(length: int) -> Tensor:
    return on_gpu([-2 * 0.7**i for i in range(length)], dtype=torch.float)


def shifts(count: int) -> Tensor:
    return random(count, seed=3) * 12 - 4


def cases() -> Iterator[Case]:
    for size in SIZES:
        yield Case("getSpikes", lambda s=size: [signal(*s), decay(9), 0.75, 1.0], f"{size}")
        yield Case("getSpikes", lambda s=size: [signal(*s), decay(1), 0.2, 0.5], f"{size}, steps of 0.5")
        for function in ("conv", "corr"):
            for length in (1, 10, 60):
                yield Case(
                    function,
                    lambda s=size, n=length: [signal(*s), random(n, seed=1), 1.0],
                    f"{size}, filter of {length}",
                )
            yield Case(function, lambda s=size: [signal(*s), random(5, seed=1) - 0.5, 0.1], f"{size}, steps of 0.1")
        neurons = size[1] * size[2] * size[3]
        yield Case("shift", lambda s=size, n=neurons: [signal(*s), shifts(n), 1.0], f"{size}, one each")
        yield Case("shift", lambda s=size, n=neurons: [signal(*s), shifts(n)], f"{size}, one each, steps of 1")
        yield Case("shift", lambda s=size: [signal(*s), on_gpu([3.7]), 0.5], f"{size}, one for all")
        yield Case("shift", lambda s=size: [signal(*s), on_gpu(-2.0)], f"{size}, one for all, no dimension")
        yield Case("shift", lambda s=size: [signal(*s), 4.9, 2.0], f"{size}, a number")
        yield Case("shift", lambda s=size: [signal(*s), -3.2], f"{size}, a number, steps of 1")
        yield Case("shift", lambda s=size: [signal(*s), 2], f"{size}, a whole number")
    yield Case("conv", lambda: [signal(7, 33), random(3, 4, seed=1), 1.0], "two dimensions")
    yield Case("corr", lambda: [signal(40), random(7, seed=1), 1.0], "one dimension")

    def refusals() -> Iterator[tuple[Any, str]]:
        yield signal(2, 3, 4, 5, 6).cpu(), "on the CPU: refused"
        yield signal(2, 3, 4, 5, 6).transpose(3, 4), "strides: refused"
        yield signal(2, 3, 4, 5, 6).double(), "double: refused"

    for number, (_, what) in enumerate(refusals()):
        value = lambda n=number: next(v for i, (v, _) in enumerate(refusals()) if i == n)  # noqa: E731
        yield Case("getSpikes", lambda v=value: [v(), decay(3), 0.5, 1.0], what)
        yield Case("conv", lambda v=value: [v(), random(3), 1.0], what)
        yield Case("corr", lambda v=value: [v(), random(3), 1.0], what)
        yield Case("shift", lambda v=value: [v(), 2.0, 1.0], what)
    yield Case("getSpikes", lambda: [signal(2, 3, 4), decay(3), 0.5, 1.0], "three dimensions: refused")
    yield Case("shift", lambda: [signal(2, 3, 1, 1, 6), shifts(4), 1.0], "other number of neurons: refused")
