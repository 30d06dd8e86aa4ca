"""Calls of MSN's expansion penalty, as in its `expansion_penalty_module.py`: primitives of 2 to 512 points.

The reductions of a primitive need a power of two. Its trees are cut back in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, random, whole


def zeros(*shape: int, dtype: Any = torch.float) -> Tensor:
    return torch.zeros_like(whole(*shape, dtype=dtype))


def forward(batch: int, count: int, size: int, alpha: float) -> list[Any]:
    lists = [zeros(batch, count * 512, dtype=torch.int), zeros(batch, count * 512), zeros(batch)]
    return [random(batch, count, 3), size, zeros(batch, count, dtype=torch.int), zeros(batch, count), alpha, *lists]


def backward(batch: int, count: int) -> list[Any]:
    neighbors = whole(batch, count, low=-1, high=count, dtype=torch.int)
    neighbors[:, ::3] = -1
    return [random(batch, count, 3), zeros(batch, count, 3), random(batch, count, seed=1), neighbors]


def cases() -> Iterator[Case]:
    for batch, count, size in ((1, 2, 2), (1, 64, 64), (2, 64, 16), (3, 1024, 512), (4, 2048, 256)):
        for alpha in (1.5, 0.5):
            yield Case(
                "forward",
                lambda a=(batch, count, size, alpha): forward(*a),
                f"{batch} x {count}, primitives of {size}, alpha {alpha}",
                is_racy=True,
            )
    for batch, count in ((1, 1), (3, 500), (2, 8192), (2, 9001)):
        yield Case("backward", lambda b=batch, n=count: backward(b, n), f"{batch} x {count}")
    yield Case(
        "forward", lambda: [forward(1, 64, 64, 1.5)[0].double(), *forward(1, 64, 64, 1.5)[1:]], "double: refused"
    )
    yield Case("forward", lambda: forward(1, 64, 64, 1.5)[:-1], "an argument less: refused")
    yield Case("backward", lambda: [*backward(1, 64)[:-1], backward(1, 64)[-1].long()], "long: refused")
