"""Calls of GANet. It checks nothing, so that all tensors have the sizes that its Python code gives them.

A tensor on the CPU would be read by the GPU, and a launch without blocks would fail unnoticed: both are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, random, whole


def aggregation(n: int, c: int, d: int, h: int, w: int) -> list[Tensor]:
    """The input (N, C, D, H, W) and the weights of four directions (N, C, 5, H, W)."""
    return [random(n, c, d, h, w), *(random(n, c, 5, h, w, seed=1 + i) / 2.5 for i in range(4))]


def aggregation_back(*size: int) -> list[Tensor]:
    inputs = aggregation(*size)
    temp, grad = random(*size, seed=5), random(*size, seed=6)
    mask = whole(*size, low=0, high=4, seed=7)
    results = [torch.zeros_like(a) for a in (inputs[0], *inputs)]
    return [*inputs, temp, mask, torch.zeros_like(inputs[0][:, :, 0]), grad, *results]


def cases() -> Iterator[Case]:
    for size in ((1, 1, 1, 1, 1), (2, 3, 5, 7, 9), (1, 2, 12, 33, 70), (2, 2, 9, 40, 3)):

        def forward(s: tuple[int, ...] = size) -> list[Tensor]:
            return [*aggregation(*s), *(torch.zeros(s, device=random(1).device) for _ in range(3))]

        yield Case("sga_cuda_forward", forward, f"{size}")
        yield Case("sga_cuda_backward", lambda s=size: aggregation_back(*s), f"{size}")
        yield Case(
            "sga_cuda_backward",
            lambda s=size: [*aggregation_back(*s)[:9], *(random(*a.shape, seed=8) for a in aggregation_back(*s)[9:])],
            f"{size} results hold numbers",
        )
    for radius in (0, 1, 2):
        for n, c, d, h, w in ((1, 1, 1, 1, 1), (2, 3, 5, 7, 9), (1, 2, 24, 33, 50)):
            k, size = 3 * (2 * radius + 1) ** 2, f"{n} {c} {d} {h} {w} radius {radius}"
            flat, filters = (n, d, h, w), (n, k, h, w)
            for function, shape, weights in (
                ("lga_cuda", flat, filters),
                ("lga3d_cuda", (n, c, d, h, w), (n, c, k, h, w)),
            ):

                def guided(
                    s: tuple[int, ...] = shape, f: tuple[int, ...] = weights, r: int = radius, seed: int = 2
                ) -> list[Any]:
                    return [random(*s), random(*f, seed=1), random(*s, seed=seed), r]

                def guided_back(s: tuple[int, ...] = shape, f: tuple[int, ...] = weights, r: int = radius) -> list[Any]:
                    inputs = [random(*s), random(*f, seed=1), random(*s, seed=2)]
                    return [*inputs, random(*s, seed=3), random(*f, seed=4), r]

                yield Case(f"{function}_forward", guided, f"{size} output holds numbers")
                yield Case(f"{function}_backward", guided_back, f"{size} results hold numbers")
    half, double = torch.half, torch.double
    for function, shape in (("lga_cuda", (2, 4, 6, 5)), ("lga3d_cuda", (2, 3, 4, 6, 5))):
        weights = (*shape[:-3], 27, *shape[-2:])
        yield Case(
            f"{function}_forward",
            lambda s=shape, f=weights: [random(*s).transpose(-1, -2), random(*f), random(*s).transpose(-1, -2), 1],
            "strides: they are ignored",
        )
        yield Case(
            f"{function}_forward",
            lambda s=shape, f=weights: [random(*s), random(*f, dtype=half), random(*s), 1],
            "half",
        )
        yield Case(
            f"{function}_backward",
            lambda s=shape, f=weights: [random(*s, dtype=double), random(*f), random(*s), random(*s), random(*f), 1],
            "double: refused",
        )
    yield Case(
        "sga_cuda_forward",
        lambda: [a.half() for a in (*aggregation(1, 2, 3, 4, 5), *(random(1, 2, 3, 4, 5) for _ in range(3)))],
        "half: refused",
    )
    yield Case("sga_cuda_backward", lambda: [a.double() for a in aggregation_back(1, 2, 3, 4, 5)], "double: refused")
    yield Case(
        "sga_cuda_forward", lambda: [*aggregation(1, 2, 3, 4, 5), random(1, 2, 3, 4, 5)], "too few arguments: refused"
    )
