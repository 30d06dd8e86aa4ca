"""Calls of bevfusion's voxelization and of its reduction of points to voxels.

The second version of `hard_voxelize` numbers voxels and their points by atomics, and sums add up by atomics: whole
numbers give exact ones. Points of the first version are read as floats, whatever they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import DEVICE, Case, random, whole

SIZE, RANGE = [0.5, 0.5, 1.0], [0.0, -2.0, -1.0, 4.0, 2.0, 1.0]


def points(count: int, features: int = 4, dtype: torch.dtype = torch.float, seed: int = 0) -> Tensor:
    """Return points, some of which are outside of the range."""
    numbers = random(count, features, seed=seed) * 6 - 1.5
    return numbers.to(dtype)


def hard(
    count: int,
    most_points: int = 5,
    most_voxels: int = 300,
    features: int = 4,
    deterministic: bool = True,
    dtype: torch.dtype = torch.float,
    room: torch.dtype | None = None,
) -> list[Any]:
    options = {"device": DEVICE, "dtype": torch.int}
    return [
        points(count, features, dtype),
        torch.zeros(most_voxels, most_points, features, device=DEVICE, dtype=room or dtype),
        torch.zeros(most_voxels, 3, **options),
        torch.zeros(most_voxels, **options),
        SIZE,
        RANGE,
        most_points,
        most_voxels,
        3,
        deterministic,
    ]


def dynamic(count: int, features: int = 4, dtype: torch.dtype = torch.float) -> list[Any]:
    coordinates = torch.zeros(count, 3, device=DEVICE, dtype=torch.int)
    return [points(count, features, dtype), coordinates, SIZE, RANGE, 3]


def coordinates(count: int, dimensions: int = 3, high: int = 4) -> Tensor:
    """Return coordinates of voxels, some of which are no voxels."""
    return whole(count, dimensions, low=-1, high=high, dtype=torch.int, seed=5)


def reduced(
    count: int, features: int, kind: str, dtype: torch.dtype = torch.float, is_whole: bool = True, **options: int
) -> list[Any]:
    numbers = whole(count, features, dtype=dtype) if is_whole else random(count, features, dtype=dtype) - 0.5
    return [numbers, coordinates(count, **options), kind]


def backward(count: int, voxels: int, features: int, kind: str, dtype: torch.dtype = torch.float) -> list[Any]:
    """Return consistent arguments: which point is in which voxel, and what `forward` reduced."""
    feats = whole(count, features, low=-3, high=3, dtype=dtype)
    map_ = whole(count, low=-1, high=voxels, dtype=torch.int, seed=6)
    map_[:voxels] = torch.arange(voxels, device=DEVICE, dtype=torch.int)  # no voxel is empty
    place = map_.long().clamp(min=0)[:, None].expand(-1, features)
    amount = {"max": "amax", "sum": "sum", "mean": "sum"}[kind]
    zeros = torch.full((voxels, features), -99.0, dtype=dtype)
    host = feats.cpu().where((map_ >= 0)[:, None].cpu(), torch.tensor(-99.0, dtype=dtype))
    high = zeros.scatter_reduce(0, place.cpu(), host, amount, include_self=False)
    count_of = torch.bincount(map_[map_ >= 0].cpu().long(), minlength=voxels).int()
    gradient = random(voxels, features, dtype=dtype, seed=7)
    return [torch.ones_like(feats), gradient, feats, high.to(DEVICE), map_, count_of.to(DEVICE), kind]


def changed(arguments: list[Any], place: int, value: Any) -> list[Any]:
    arguments[place] = value(arguments[place])
    return arguments


def voxelizations() -> Iterator[Case]:
    f = "hard_voxelize"
    for count, most_points, most_voxels, features in (
        (1, 1, 1, 3),
        (100, 5, 300, 4),
        (513, 3, 40, 5),
        (3000, 35, 200, 7),
    ):
        size = (count, most_points, most_voxels, features)
        yield Case(f, lambda s=size: hard(*s), f"{size}")
        yield Case(f, lambda s=size: hard(*s, deterministic=False), f"{size} in any order", is_racy=True)
    yield Case(f, lambda: hard(200, most_points=1, most_voxels=300, deterministic=False), "one a voxel", is_racy=True)
    yield Case(f, lambda: hard(200)[:8], "too few arguments: refused")
    yield Case(f, lambda: changed(hard(200), 4, tuple), "a tuple of sizes")
    yield Case(
        f,
        lambda: changed(hard(300), 1, lambda t: t.transpose(0, 1).contiguous().transpose(0, 1)),
        "voxels with gaps: they stay",
    )
    yield Case(f, lambda: changed(hard(300), 5, lambda _: [9.0, 9.0, 9.0, 12.0, 12.0, 12.0]), "all outside")
    yield Case(f, lambda: hard(100, dtype=torch.double, deterministic=False), "double in any order", is_racy=True)
    yield Case(f, lambda: hard(100, dtype=torch.int, deterministic=False), "int in any order", is_racy=True)
    yield Case(f, lambda: hard(0, deterministic=False), "no points in any order")
    yield Case(f, lambda: hard(100, dtype=torch.double), "double: refused")
    yield Case(f, lambda: hard(100, dtype=torch.half), "half: refused")
    yield Case(f, lambda: hard(100, room=torch.double), "double voxels: refused")
    yield Case(f, lambda: changed(hard(100), 0, lambda t: t[::2]), "points with gaps: refused")
    yield Case(f, lambda: changed(hard(100), 3, Tensor.long), "long counts: refused")
    yield Case(f, lambda: changed(hard(100), 4, lambda _: ["a", "b", "c"]), "texts as sizes: refused")
    yield Case(f, lambda: hard(0), "no points: refused")
    f = "dynamic_voxelize"
    for count, features in ((1, 3), (64, 4), (65, 3), (1000, 9)):
        for dtype in (torch.float, torch.double, torch.int, torch.long, torch.int16, torch.uint8):
            yield Case(f, lambda n=count, k=features, d=dtype: dynamic(n, k, d), f"{count} {features} {dtype}")
    yield Case(f, lambda: dynamic(70)[:4], "too few arguments: refused")
    yield Case(f, lambda: changed(dynamic(70), 1, lambda t: t.t().contiguous().t()), "a result with gaps: it stays")
    yield Case(f, lambda: changed(dynamic(70), 0, lambda t: t.t().contiguous().t()), "points with gaps: refused")
    yield Case(f, lambda: dynamic(70, dtype=torch.half), "half: refused")
    yield Case(f, lambda: changed(dynamic(70), 1, Tensor.long), "long result: refused")
    yield Case(f, lambda: dynamic(0), "no points: refused")


def reductions() -> Iterator[Case]:
    f, b = "dynamic_point_to_voxel_forward", "dynamic_point_to_voxel_backward"
    for kind in ("max", "sum", "mean"):
        for dtype in (torch.float, torch.double):
            for count, features in ((1, 1), (33, 4), (512, 3), (1500, 17)):
                what = f"{kind} {count} {features} {dtype}"
                yield Case(f, lambda a=(count, features, kind, dtype): reduced(*a), what)
                size = (count, min(count, 20), features, kind, dtype)
                yield Case(b, lambda s=size: backward(*s), what)
        racy = kind != "max"
        yield Case(f, lambda k=kind: reduced(800, 5, k, is_whole=False), f"{kind} of fractions", is_racy=racy)
        yield Case(f, lambda k=kind: reduced(90, 5, k, dimensions=1), f"{kind} on a line")
        yield Case(f, lambda k=kind: reduced(90, 5, k, dimensions=5, high=2), f"{kind} in five dimensions")
        yield Case(f, lambda k=kind: reduced(0, 5, k), f"{kind} of no points")
        yield Case(f, lambda k=kind: changed(reduced(70, 5, k), 1, lambda t: t.clamp(min=0)), f"{kind}, all are voxels")
        yield Case(f, lambda k=kind: changed(reduced(70, 5, k), 1, Tensor.long), f"{kind}, long coordinates")
        yield Case(f, lambda k=kind: changed(reduced(70, 5, k), 0, Tensor.half), f"{kind} of halves: refused")
        yield Case(f, lambda k=kind: changed(reduced(70, 5, k), 0, lambda t: t[:, ::2]), f"{kind}, gaps: refused")
        yield Case(f, lambda k=kind: changed(reduced(70, 5, k), 1, Tensor.t), f"{kind}, columns: refused")
        yield Case(f, lambda k=kind: changed(reduced(70, 5, k), 1, Tensor.cpu), f"{kind}, on the CPU: refused")
        for place in range(6):
            usual = lambda k=kind: backward(70, 9, 5, k)  # noqa: E731
            yield Case(b, lambda u=usual, p=place: changed(u(), p, Tensor.cpu), f"{kind} {place} on the CPU: refused")
        yield Case(b, lambda k=kind: changed(backward(70, 9, 5, k), 1, Tensor.double), f"{kind}, other types: refused")
        yield Case(b, lambda k=kind: changed(backward(70, 9, 5, k), 4, Tensor.long), f"{kind}, long map: refused")
        yield Case(
            b,
            lambda k=kind: changed(backward(70, 9, 5, k), 1, lambda t: t.t().contiguous().t()),
            f"{kind}, columns: refused",
        )
        empty = lambda k=kind: [t[:0] if isinstance(t, Tensor) else t for t in backward(70, 9, 5, k)]  # noqa: E731
        yield Case(b, empty, f"{kind}, no points")
    yield Case(f, lambda: reduced(70, 5, "min"), "another kind: refused")
    yield Case(b, lambda: changed(backward(70, 9, 5, "sum"), 6, lambda _: "SUM"), "another kind: refused")
    yield Case(f, lambda: changed(reduced(70, 5, "max"), 0, Tensor.cpu), "features on the CPU: refused")


def cases() -> Iterator[Case]:
    yield from voxelizations()
    yield from reductions()
