"""Calls of chamferdist: all versions of the search for neighbours, which depend on D and K."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, random, whole


def lengths(batch: int, most: int, seed: int) -> Tensor:
    return whole(batch, low=0, high=most + 1, dtype=torch.long, seed=seed)


def clouds(batch: int, n: int, m: int, d: int, dtype: torch.dtype = torch.float) -> list[Tensor]:
    points = [random(batch, n, d, dtype=dtype), random(batch, m, d, dtype=dtype, seed=1)]
    return [*points, lengths(batch, n, 2), lengths(batch, m, 3)]


def full(batch: int, n: int, m: int, d: int) -> list[Tensor]:
    made = clouds(batch, n, m, d)
    return [*made[:2], torch.full_like(made[2], n), torch.full_like(made[3], m)]


def backward(batch: int, n: int, m: int, d: int, k: int, exact: bool = True) -> list[Any]:
    """Whole numbers, whose sums are exact, or any."""
    made = clouds(batch, n, m, d)
    nearest = whole(batch, n, k, low=0, high=m, dtype=torch.long, seed=4)
    if not exact:
        return [*made, nearest, random(batch, n, k, seed=5)]
    return [whole(batch, n, d), whole(batch, m, d, seed=1), *made[2:], nearest, whole(batch, n, k, seed=5)]


def cases() -> Iterator[Case]:
    for version in (-1, 0, 1, 2, 3, 4):
        for d, k in ((0, 1), (1, 1), (3, 1), (3, 4), (8, 5), (8, 32), (9, 33), (32, 1), (33, 2)):
            yield Case("knn_check_version", lambda v=version, d=d, k=k: [v, d, k], f"version {version} D {d} K {k}")
    for d, k in ((1, 1), (3, 1), (3, 4), (2, 5), (8, 32), (3, 40), (9, 3), (32, 2), (33, 2)):
        for version in (-1, 0, 1, 2, 3):
            for dtype in (torch.float, torch.double):
                yield Case(
                    "knn_points_idx",
                    lambda v=version, d=d, k=k, t=dtype: [*clouds(3, 70, 65, d, t), k, v],
                    f"version {version} D {d} K {k} {dtype}",
                )
    for version in (-1, 0, 1, 2):
        yield Case(
            "knn_points_idx", lambda v=version: [*full(2, 1000, 513, 3), 1, v], f"version {version} as its Python calls"
        )
    yield Case("knn_points_idx", lambda: [*full(2, 20, 3, 3), 8, -1], "more neighbours than points")
    yield Case(
        "knn_points_idx", lambda: [whole(2, 50, 3), whole(2, 40, 3, seed=1), *full(2, 50, 40, 3)[2:], 6, 2], "ties"
    )
    yield Case(
        "knn_points_idx",
        lambda: [random(2, 3, 50).transpose(1, 2), random(40, 2, 3).transpose(0, 1), *full(2, 50, 40, 3)[2:], 3, -1],
        "strides",
    )
    for size in ((0, 5, 6, 3), (2, 0, 6, 3), (2, 5, 0, 3)):
        yield Case("knn_points_idx", lambda s=size: [*full(*s), 2, -1], f"no elements {size}")
    yield Case("knn_points_idx", lambda: [*full(2, 5, 6, 3), 0, -1], "no neighbours")

    for size in ((1, 1, 1, 1, 1), (2, 300, 200, 3, 1), (3, 33, 45, 7, 5), (2, 20, 4, 3, 8), (2, 9, 8, 40, 2)):
        yield Case("knn_points_backward", lambda s=size: backward(*s), f"{size} whole")
        yield Case("knn_points_backward", lambda s=size: backward(*s, exact=False), f"{size}", is_racy=True)
    for size in ((0, 5, 6, 3, 2), (2, 0, 6, 3, 2)):
        yield Case("knn_points_backward", lambda s=size: backward(*s), f"no elements {size}")
    yield Case(
        "knn_points_backward",
        lambda: [whole(2, 3, 9).transpose(1, 2), *backward(2, 9, 8, 3, 4)[1:5], whole(2, 4, 9).transpose(1, 2)],
        "strides",
    )

    def changed(place: int, value: object, back: bool = False) -> list[Any]:
        made = backward(2, 9, 8, 3, 4) if back else [*full(2, 9, 8, 3), 4, -1]
        made[place] = value
        return made

    yield Case("knn_points_idx", lambda: changed(0, random(2, 9, 3).cpu()), "one cloud on the CPU: refused")
    yield Case("knn_points_idx", lambda: changed(2, lengths(2, 9, 0).cpu()), "lengths on the CPU: refused")
    yield Case("knn_points_idx", lambda: changed(1, random(2, 8, 3).double()), "float and double: refused")
    yield Case(
        "knn_points_idx", lambda: [a.half() for a in full(2, 9, 8, 3)[:2]] + full(2, 9, 8, 3)[2:] + [4, -1], "half"
    )
    yield Case("knn_points_idx", lambda: changed(2, lengths(2, 9, 0).int()), "int lengths: refused")
    yield Case("knn_points_backward", lambda: changed(4, whole(3, 9, 4, low=0, dtype=torch.long), True), "other batch")
    yield Case("knn_points_backward", lambda: changed(5, whole(2, 9, 5), True), "other K: refused")
    yield Case("knn_points_backward", lambda: changed(5, whole(2, 9, 4).cpu(), True), "on the CPU: refused")
    yield Case(
        "knn_points_backward",
        lambda: [a.double() if a.is_floating_point() else a for a in backward(2, 9, 8, 3, 4)],
        "double: refused",
    )
