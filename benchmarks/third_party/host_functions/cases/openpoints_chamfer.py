"""Calls of openpoints' chamfer distance. It checks nothing: no tensor is on the CPU, and all indices are inside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, random, whole


def backward(batch: int, n: int, m: int, exact: bool) -> list[Any]:
    """Whole coordinates and gradients, whose sums are exact, or any."""

    def numbers(*shape: int, seed: int) -> Tensor:
        return whole(*shape, seed=seed) if exact else random(*shape, seed=seed)

    nearest = [
        whole(batch, n, low=0, high=m, dtype=torch.int, seed=2),
        whole(batch, m, low=0, high=n, dtype=torch.int, seed=3),
    ]
    return [
        numbers(batch, n, 3, seed=0),
        numbers(batch, m, 3, seed=1),
        *nearest,
        numbers(batch, n, seed=4),
        numbers(batch, m, seed=5),
    ]


def cases() -> Iterator[Case]:
    for batch, n, m in ((1, 1, 1), (4, 64, 128), (2, 513, 1025), (40, 33, 7), (1, 9000, 515), (2, 512, 512)):
        size = f"{batch} {n} {m}"
        yield Case("forward", lambda b=batch, n=n, m=m: [random(b, n, 3), random(b, m, 3, seed=1)], size)
        yield Case(
            "forward", lambda b=batch, n=n, m=m: [whole(b, n, 3), whole(b, m, 3, seed=1)], f"{size} equal distances"
        )
        yield Case("backward", lambda b=batch, n=n, m=m: backward(b, n, m, True), f"{size} whole")
        yield Case("backward", lambda b=batch, n=n, m=m: backward(b, n, m, False), size, is_racy=True)
    yield Case("forward", lambda: [random(0, 5, 3), random(0, 6, 3)], "no clouds")
    yield Case("forward", lambda: [random(2, 5, 3), random(2, 0, 3)], "no points in the second cloud")
    yield Case("forward", lambda: [random(2, 3, 8).transpose(1, 2), random(2, 8, 3)], "strides: they are ignored")
    yield Case("backward", lambda: backward(0, 5, 6, True), "no clouds")
    yield Case("backward", lambda: [whole(2, 3, 8).transpose(1, 2), *backward(2, 8, 6, True)[1:]], "strides")
    yield Case("forward", lambda: [random(2, 5, 3).double(), random(2, 6, 3)], "double: refused")
    yield Case("forward", lambda: [random(2, 5, 3), random(2, 6, 3).half()], "half: refused")
    yield Case("forward", lambda: [random(5), random(2, 6, 3)], "one dimension: refused")
    yield Case(
        "backward",
        lambda: [a.long() if a.dtype == torch.int else a for a in backward(2, 5, 6, True)],
        "long indices: refused",
    )
    yield Case("backward", lambda: backward(2, 5, 6, True)[:5], "too few arguments: refused")
