"""Calls of pointnet2-ops. A launch without blocks would end the process, so that no batch is empty here."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from cases import Case, random, whole


def index(*shape: int, below: int, seed: int = 0) -> Tensor:
    return whole(*shape, low=0, high=below, dtype=torch.int, seed=seed)


def cases() -> Iterator[Case]:
    for b, c, n, m, k in ((2, 9, 100, 30, 16), (1, 1, 1, 1, 1), (3, 5, 7, 33, 3), (2, 70, 1025, 515, 4)):
        size = f"{b} {c} {n} {m} {k}"
        yield Case("gather_points", lambda b=b, c=c, n=n, m=m: [random(b, c, n), index(b, m, below=n)], size)
        yield Case(
            "gather_points_grad", lambda b=b, c=c, n=n, m=m: [whole(b, c, m), index(b, m, below=n), n], f"{size} whole"
        )
        yield Case(
            "gather_points_grad",
            lambda b=b, c=c, n=n, m=m: [random(b, c, m), index(b, m, below=n), n],
            size,
            is_racy=True,
        )
        yield Case("group_points", lambda b=b, c=c, n=n, m=m, k=k: [random(b, c, n), index(b, m, k, below=n)], size)
        yield Case(
            "group_points_grad",
            lambda b=b, c=c, n=n, m=m, k=k: [whole(b, c, m, k), index(b, m, k, below=n), n],
            f"{size} whole",
        )
        yield Case("furthest_point_sampling", lambda b=b, n=n, m=m: [random(b, n, 3), m], size)
        yield Case("three_nn", lambda b=b, n=n, m=m: [random(b, n, 3), random(b, m, 3, seed=1)], size)
        yield Case(
            "three_interpolate",
            lambda b=b, c=c, n=n, m=m: [random(b, c, m), index(b, n, 3, below=m), random(b, n, 3, seed=1)],
            size,
        )
        yield Case(
            "three_interpolate_grad",
            lambda b=b, c=c, n=n, m=m: [whole(b, c, n), index(b, n, 3, below=m), whole(b, n, 3, seed=1), m],
            f"{size} whole",
        )
        yield Case(
            "three_interpolate_grad",
            lambda b=b, c=c, n=n, m=m: [random(b, c, n), index(b, n, 3, below=m), random(b, n, 3, seed=1), m],
            size,
            is_racy=True,
        )
        for radius in (0.1, 0.3, 2):
            yield Case(
                "ball_query",
                lambda b=b, n=n, m=m, k=k, r=radius: [random(b, m, 3, seed=1), random(b, n, 3), r, k],
                f"{size} radius {radius}",
            )
    for n in (2, 4, 8, 16, 32, 64, 128, 256, 512, 2000):
        yield Case("furthest_point_sampling", lambda n=n: [random(2, n, 3) * 2 - 1, max(n // 4, 1)], f"block for {n}")
    yield Case("furthest_point_sampling", lambda: [random(2, 40, 3) * 0.01, 5], "all points near the origin")
    yield Case("furthest_point_sampling", lambda: [random(2, 40, 3), 0], "no samples")
    yield Case("three_nn", lambda: [random(1, 5, 3), random(1, 2, 3)], "less than three known points")
    yield Case("ball_query", lambda: [random(1, 5, 3), random(1, 0, 3), 1.0, 4], "no points")
    yield Case("ball_query", lambda: [random(1, 5, 3), random(1, 9, 3), 1.0, 0], "no samples")

    points, at, weight = lambda: random(2, 3, 8), lambda: index(2, 4, below=8), lambda: random(2, 4, 3)
    yield Case("gather_points", lambda: [points(), at().long()], "long indices: refused")
    yield Case("gather_points", lambda: [points().half(), at()], "half: refused")
    yield Case("gather_points", lambda: [points().cpu(), at().cpu()], "on the CPU: refused")
    yield Case("gather_points_grad", lambda: [random(2, 3, 4), at().cpu(), 8], "indices on the CPU: refused")
    yield Case("group_points", lambda: [random(2, 8, 3).transpose(1, 2), index(2, 4, 2, below=8)], "strides: refused")
    yield Case(
        "group_points_grad", lambda: [random(2, 3, 4, 2).double(), index(2, 4, 2, below=8), 8], "double: refused"
    )
    yield Case("furthest_point_sampling", lambda: [random(2, 9, 3).cpu(), 3], "on the CPU: refused")
    yield Case("three_nn", lambda: [random(2, 9, 3), random(2, 9, 3).half()], "half: refused")
    yield Case("three_interpolate", lambda: [points(), index(2, 4, 3, below=8), weight().double()], "double: refused")
    yield Case(
        "three_interpolate_grad", lambda: [random(2, 3, 4), index(2, 4, 3, below=8), weight().cpu(), 8], "CPU: refused"
    )
    yield Case("ball_query", lambda: [random(2, 3, 4).transpose(1, 2), random(2, 9, 3), 1.0, 4], "strides: refused")
