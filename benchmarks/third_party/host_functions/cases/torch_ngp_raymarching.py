"""Calls of torch-ngp's ray marching, as in its `raymarching/raymarching.py`: cubes of side 16, rays towards them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, on_gpu, random, whole

SIDE = 16
STEPS = 64


def zeros(*shape: int, dtype: Any = torch.float) -> Tensor:
    return torch.zeros_like(whole(*shape, dtype=dtype))


def rays(count: int, dtype: torch.dtype = torch.float) -> tuple[Tensor, Tensor]:
    """Return origins at a distance of 1.5, and directions to near the middle."""
    origins = torch.nn.functional.normalize(random(count, 3, seed=1) - 0.5, dim=-1) * 1.5
    targets = random(count, 3, seed=2) * 1.2 - 0.6
    return origins.to(dtype), torch.nn.functional.normalize(targets - origins, dim=-1).to(dtype)


def bits(cascades: int) -> Tensor:
    return whole(cascades * SIDE**3 // 8, low=0, high=256, dtype=torch.uint8)


def ends(count: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    nears = random(count, seed=3) * 0.5 + 0.3
    return nears.to(dtype), (nears + random(count, seed=4) * 2).to(dtype)


def box(count: int, dtype: torch.dtype) -> list[Any]:
    corners = on_gpu([-1, -0.5, -1, 1, 0.75, 1], dtype=dtype)
    return [*rays(count, dtype), corners, count, 0.2, zeros(count, dtype=dtype), zeros(count, dtype=dtype)]


def train(count: int, cascades: int = 1, gamma: float = 0.0, dtype: torch.dtype = torch.float) -> list[Any]:
    points = count * STEPS
    buffers = [zeros(points, 3, dtype=dtype), zeros(points, 3, dtype=dtype), zeros(points, 2, dtype=dtype)]
    lists = [zeros(count, 3, dtype=torch.int), zeros(2, dtype=torch.int), random(count, dtype=dtype, seed=5)]
    return [
        *rays(count, dtype),
        bits(cascades),
        float(2 ** (cascades - 1)),
        gamma,
        STEPS,
        *(count, cascades, SIDE, points),
        *ends(count, dtype),
        *buffers,
        *lists,
    ]


def march(alive: int, count: int, steps: int, cascades: int, gamma: float, dtype: torch.dtype) -> list[Any]:
    nears, fars = ends(count, dtype)
    points = alive * steps
    buffers = [zeros(points, 3, dtype=dtype), zeros(points, 3, dtype=dtype), zeros(points, 2, dtype=dtype)]
    return [
        alive,
        steps,
        chosen(alive, count),
        nears.clone(),
        *rays(count, dtype),
        float(2 ** (cascades - 1)),
        gamma,
        *(STEPS, cascades, SIDE, bits(cascades), nears, fars),
        *buffers,
        random(alive, dtype=dtype, seed=5),
    ]


def chosen(alive: int, count: int) -> Tensor:
    order = torch.randperm(count, generator=torch.Generator().manual_seed(7))[:alive]
    return on_gpu(order.tolist(), dtype=torch.int)


def segments(count: int, dtype: torch.dtype) -> tuple[int, list[Tensor]]:
    """Return the number of points and, of `count` rays, densities, colours, steps, and the list of rays."""
    steps = torch.randint(0, 30, (count,), generator=torch.Generator().manual_seed(9))
    starts = steps.cumsum(0) - steps
    points = int(steps.sum())
    order = chosen(count, count)
    table = torch.stack((order.cpu(), starts, steps), 1).tolist()
    values = [random(points, dtype=dtype, seed=1) * 5, random(points, 3, dtype=dtype, seed=2)]
    return points, [*values, random(points, 2, dtype=dtype, seed=3) * 0.2 + 0.01, on_gpu(table, dtype=torch.int)]


def composite(count: int, dtype: torch.dtype, cut: int = 0, threshold: float = 1e-4) -> list[Any]:
    points, values = segments(count, dtype)
    results = [random(count, dtype=dtype), random(count, dtype=dtype), random(count, 3, dtype=dtype)]
    return [*values, points - cut, count, threshold, *results]


def composite_backward(count: int, dtype: torch.dtype, threshold: float = 1e-4) -> list[Any]:
    points, values = segments(count, dtype)
    gradients = [random(count, dtype=dtype), random(count, 3, dtype=dtype, seed=4)]
    outputs = [random(count, dtype=dtype, seed=5), random(count, 3, dtype=dtype, seed=6)]
    return [
        *gradients,
        *values,
        *outputs,
        points,
        count,
        threshold,
        *(zeros(points, dtype=dtype), zeros(points, 3, dtype=dtype)),
    ]


def composite_step(alive: int, count: int, steps: int, dtype: torch.dtype, threshold: float = 1e-2) -> list[Any]:
    points = alive * steps
    deltas = random(points, 2, dtype=dtype, seed=3) * 0.2 + 0.01
    deltas[steps - 1 :: 3 * steps] = 0
    values = [random(points, dtype=dtype, seed=1) * 5, random(points, 3, dtype=dtype, seed=2), deltas]
    sums = [random(count, dtype=dtype) * 0.9, random(count, dtype=dtype), random(count, 3, dtype=dtype)]
    return [alive, steps, threshold, chosen(alive, count), random(count, dtype=dtype, seed=4), *values, *sums]


def cases() -> Iterator[Case]:
    for count in (1, 5, 128, 1003):
        coordinates = lambda n=count: whole(n, 3, low=0, high=1024, dtype=torch.int)  # noqa: E731
        indices = lambda n=count: whole(n, low=0, high=1 << 30, dtype=torch.int)  # noqa: E731
        yield Case("morton3D", lambda n=count, c=coordinates: [c(), n, zeros(n, dtype=torch.int)], f"{count}")
        yield Case("morton3D_invert", lambda n=count, i=indices: [i(), n, zeros(n, 3, dtype=torch.int)], f"{count}")
    for dtype in (torch.float, torch.half, torch.double):
        for count in (1, 37, 500):
            what = f"{dtype} {count}"
            grid = lambda n=count, d=dtype: [random(8 * n, dtype=d), n, 0.4, zeros(n, dtype=torch.uint8)]  # noqa: E731
            yield Case("packbits", grid, what)
            yield Case("near_far_from_aabb", lambda n=count, d=dtype: box(n, d), what)
            yield Case("sph_from_ray", lambda n=count, d=dtype: [*rays(n, d), 2.5, n, zeros(n, 2, dtype=d)], what)
            yield Case("composite_rays_train_forward", lambda n=count, d=dtype: composite(n, d), what)
            yield Case("composite_rays_train_backward", lambda n=count, d=dtype: composite_backward(n, d), what)
            yield Case("composite_rays", lambda n=count, d=dtype: composite_step(n, n + 3, 4, d), what)
            for cascades, gamma in ((1, 0.0), (2, 1 / 64)):
                more = f"{what}, {cascades} cascades, gamma {gamma}"
                arguments = lambda a=(count, cascades, gamma, dtype): train(*a)  # noqa: E731
                # Rays take their places in the lists in any order.
                yield Case("march_rays_train", arguments, more, is_racy=count > 1)
                yield Case("march_rays", lambda a=(count, count + 4, 5, cascades, gamma, dtype): march(*a), more)
    yield Case("composite_rays_train_forward", lambda: composite(64, torch.float, cut=40), "points cut off")
    yield Case("composite_rays_train_forward", lambda: composite(64, torch.float, threshold=0.5), "early end")
    yield Case("composite_rays_train_backward", lambda: composite_backward(64, torch.float, 0.5), "early end")
    yield Case("composite_rays", lambda: composite_step(10, 40, 1, torch.float, 0.5), "one step of few rays")
    yield Case("march_rays", lambda: march(3, 50, 8, 1, 0.0, torch.float), "few rays alive")

    def full() -> list[Any]:
        arguments = train(1)
        arguments[9] = 2
        return arguments

    yield Case("march_rays_train", full, "more steps than places", is_racy=True)  # places are taken by atomics
    yield Case("packbits", lambda: [whole(64, dtype=torch.int), 8, 0.5, zeros(8, dtype=torch.uint8)], "int: refused")
    yield Case("packbits", lambda: [random(64), 8, 0.5, zeros(8, dtype=torch.int)], "bits as int: refused")
    yield Case(
        "near_far_from_aabb", lambda: [box(4, torch.float)[0].double(), *box(4, torch.float)[1:]], "two types: refused"
    )
    yield Case("sph_from_ray", lambda: [*rays(4), 2.5, 4, zeros(4, 2, dtype=torch.double)], "two types: refused")
    yield Case("morton3D", lambda: [random(4, 3), 4, zeros(4, dtype=torch.int)], "float: refused")
    yield Case("morton3D_invert", lambda: [random(4), 4, zeros(4, 3, dtype=torch.int)], "float: refused")
    for function, make in (
        ("march_rays_train", lambda: train(4)),
        ("composite_rays_train_forward", lambda: composite(4, torch.float)),
        ("composite_rays_train_backward", lambda: composite_backward(4, torch.float)),
    ):
        yield Case(function, lambda m=make: [m()[0].double(), *m()[1:]], "two types: refused")
    step = lambda: composite_step(4, 4, 2, torch.float)  # noqa: E731
    yield Case("composite_rays", lambda: [*step()[:-1], step()[-1].int()], "int: refused")
    yield Case(
        "march_rays", lambda: [*march(4, 4, 2, 1, 0.0, torch.float)[:17], zeros(4, dtype=torch.int)], "int: refused"
    )
