"""Calls of BEVDet's pooling of points that are sorted by cell, one interval for each cell that has points.

It checks nothing: a tensor on the CPU would be read by the GPU, and a launch without blocks would fail unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, random, whole


def intervals(count: int, b: int, d: int, h: int, w: int) -> list[Tensor]:
    """The points' coordinates (h, w, d, b), the lengths of the intervals, and their starts."""
    cell = whole(count, low=0, high=b * d * h * w, dtype=torch.long, seed=1).sort().values
    coordinates = torch.stack([cell // w % h, cell % w, cell // (h * w) % d, cell // (d * h * w)], 1)
    lengths = cell.unique_consecutive(return_counts=True)[1]
    return [a.int().contiguous() for a in (coordinates, lengths, lengths.cumsum(0) - lengths)]


def forward(count: int, c: int, *size: int) -> list[Any]:
    return [random(count, c), *intervals(count, *size), *size]


def backward(count: int, c: int, *size: int) -> list[Any]:
    return [random(*size, c), *intervals(count, *size), *size]


def cases() -> Iterator[Case]:
    for size in ((1, 1, 1, 1, 1, 1), (500, 7, 2, 3, 5, 9), (3000, 80, 2, 1, 16, 16), (20, 33, 1, 2, 40, 30)):
        yield Case("bev_pool_forward", lambda s=size: forward(*s), f"{size}")
        yield Case("bev_pool_backward", lambda s=size: backward(*s), f"{size}")
    size = (50, 6, 2, 3, 4, 5)

    def some(make: Any, every: int) -> list[Any]:
        values, at, lengths, starts, *shape = make(*size)
        return [values, at, lengths[::every].contiguous(), starts[::every].contiguous(), *shape]

    def strided(make: Any) -> list[Any]:
        values, *rest = make(*size)
        return [values.transpose(0, -1).contiguous().transpose(0, -1), *rest]

    for function, make in (("bev_pool_forward", forward), ("bev_pool_backward", backward)):
        yield Case(function, lambda m=make: some(m, 2), "some of the intervals")
        yield Case(function, lambda m=make: strided(m), "strides: they are ignored")
        yield Case(function, lambda m=make: [m(*size)[0].half(), *m(*size)[1:]], "half: refused")
        yield Case(function, lambda m=make: [m(*size)[0].double(), *m(*size)[1:]], "double: refused")
        yield Case(
            function, lambda m=make: [m(*size)[0], m(*size)[1].long(), *m(*size)[2:]], "long coordinates: refused"
        )
        yield Case(function, lambda m=make: [*m(*size)[:4], 1.5, 3, 4, 5], "a float as a size: refused")
