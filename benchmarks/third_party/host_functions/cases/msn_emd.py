"""Calls of MSN's earth mover's distance by auction, as in its `emd/emd_module.py`: multiples of 1,024 points.

The auction takes points in any order; without iterations, a given assignment is only measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, on_gpu, random, whole


def zeros(*shape: int, dtype: Any = torch.int) -> Tensor:
    return torch.zeros_like(whole(*shape, dtype=dtype))


def assigned(batch: int, count: int) -> Tensor:
    generator = torch.Generator().manual_seed(5)
    return on_gpu([torch.randperm(count, generator=generator).tolist() for _ in range(batch)], dtype=torch.int)


def forward(batch: int, count: int, iterations: int, others: int | None = None) -> list[Any]:
    assignment = zeros(batch, count) - 1 if iterations else assigned(batch, count)
    floats = lambda: zeros(batch, count, dtype=torch.float)  # noqa: E731
    return [
        random(batch, count, 3),
        random(batch, others or count, 3, seed=1),
        *(floats(), assignment, floats(), zeros(batch, count) - 1, zeros(batch, count), floats(), floats()),
        *(zeros(batch * count), zeros(512), zeros(512), zeros(512), zeros(batch * count)),
        *(0.005, iterations),
    ]


def backward(batch: int, count: int) -> list[Any]:
    points = [random(batch, count, 3), random(batch, count, 3, seed=1)]
    return [*points, zeros(batch, count, 3, dtype=torch.float), random(batch, count, seed=2), assigned(batch, count)]


def cases() -> Iterator[Case]:
    for batch, count in ((1, 1024), (3, 2048), (20, 1024)):
        what = f"{batch} x {count}"
        yield Case("forward", lambda b=batch, n=count: forward(b, n, 0), f"{what}, no iterations")
        for iterations in (1, 2, 50):
            yield Case(
                "forward",
                lambda a=(batch, count, iterations): forward(*a),
                f"{what}, {iterations} iterations",
                is_racy=True,
            )
        yield Case("backward", lambda b=batch, n=count: backward(b, n), what)
    yield Case("backward", lambda: backward(2, 1500), "1,500 points")
    yield Case("forward", lambda: forward(1, 1024, 0, 2048), "other number of points: -1")
    yield Case("forward", lambda: forward(1, 1000, 0), "1,000 points: -1")
    yield Case("forward", lambda: forward(513, 1024, 0), "513 batches: -1")
    yield Case("forward", lambda: [forward(1, 1024, 0)[0].double(), *forward(1, 1024, 0)[1:]], "double: refused")
    yield Case("forward", lambda: forward(1, 1024, 0)[:-1], "an argument less: refused")
    yield Case("backward", lambda: [*backward(1, 1024)[:-1], backward(1, 1024)[-1].long()], "long: refused")
    yield Case("backward", lambda: backward(1, 512), "512 points, a launch without blocks: 0")
