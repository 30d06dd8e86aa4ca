"""Calls of stable-dreamfusion's grid encoder: hashed and tiled grids, as in its `gridencoder/grid.py`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cases import Case, on_gpu, random, whole


@dataclass(frozen=True)
class Grid:
    """`levels` grids, `growth` (log2) apart, whose cells are cut at `most` entries."""

    dims: int = 3
    width: int = 2
    levels: int = 4
    base: int = 8
    growth: float = 0.5
    most: int = 1 << 12
    dtype: torch.dtype = torch.float

    def offsets(self) -> list[int]:
        offsets = [0]
        for level in range(self.levels):
            resolution = math.ceil(2 ** (level * self.growth) * self.base)
            offsets.append(offsets[-1] + math.ceil(min(self.most, resolution**self.dims) / 8) * 8)
        return offsets

    def embeddings(self, seed: int = 0) -> Tensor:
        return random(self.offsets()[-1], self.width, dtype=self.dtype, seed=seed) - 0.5

    def zeros(self, *shape: int) -> Tensor:
        return torch.zeros_like(random(*shape, dtype=self.dtype))


def positions(batch: int, dims: int) -> Tensor:
    """Return random positions, one of several outside of the grid."""
    result = random(batch, dims, seed=3)
    result[batch // 2 :][: batch > 1] = 1.5
    return result


def forward(
    grid: Grid, batch: int = 131, slopes: bool = False, kind: int = 0, corners: bool = False, smooth: int = 0
) -> list[Any]:
    return [
        positions(batch, grid.dims),
        grid.embeddings(),
        on_gpu(grid.offsets(), dtype=torch.int),
        grid.zeros(grid.levels, batch, grid.width),
        *(batch, grid.dims, grid.width, grid.levels, grid.levels, grid.growth, grid.base),
        grid.zeros(batch, grid.levels * grid.dims * grid.width) if slopes else None,
        *(kind, corners, smooth),
    ]


def backward(
    grid: Grid, batch: int = 131, slopes: bool = False, kind: int = 0, corners: bool = False, smooth: int = 0
) -> list[Any]:
    """Return whole gradients and positions in eighths, so that sums over a cell are exact with a growth of 0 or 1."""
    return [
        whole(grid.levels, batch, grid.width, low=-2, high=3, dtype=grid.dtype),
        whole(batch, grid.dims, low=0, high=9, seed=5) / 8,
        grid.embeddings(),
        on_gpu(grid.offsets(), dtype=torch.int),
        torch.zeros_like(grid.embeddings()),
        *(batch, grid.dims, grid.width, grid.levels, grid.levels, grid.growth, grid.base),
        whole(batch, grid.levels * grid.dims * grid.width, dtype=grid.dtype, seed=6) if slopes else None,
        grid.zeros(batch, grid.dims) if slopes else None,
        *(kind, corners, smooth),
    ]


def variation(grid: Grid, inputs: Tensor, kind: int = 0, corners: bool = False) -> list[Any]:
    offsets = on_gpu(grid.offsets(), dtype=torch.int)
    return [
        inputs.to(grid.dtype),
        grid.embeddings(),
        grid.embeddings(seed=8),
        offsets,
        0.25,
        len(inputs),
        *(grid.dims, grid.width, grid.levels, grid.growth, grid.base, kind, corners),
    ]


def decay(grid: Grid) -> list[Any]:
    embeddings = grid.embeddings()
    offsets = on_gpu(grid.offsets(), dtype=torch.int)
    return [embeddings, grid.embeddings(seed=8), offsets, 0.1, len(embeddings), grid.width, grid.levels]


def cells(count: int) -> Tensor:
    """Return the middles of `count` by `count` cells, so that no two positions share a cell."""
    steps = (torch.arange(count) + 0.5) / count
    return on_gpu(torch.cartesian_prod(steps, steps).tolist(), dtype=torch.float)


def refused(arguments: list[Any], place: int, value: Any) -> list[Any]:
    arguments[place] = value(arguments[place])
    return arguments


def cases() -> Iterator[Case]:
    for dtype in (torch.float, torch.half, torch.double):
        for dims in (2, 3, 4, 5):
            for width in (1, 2, 4, 8, 16, 32):
                grid = Grid(dims, width, levels=3, dtype=dtype)
                what = f"{dtype} {dims} dimensions, {width} wide"
                yield Case("grid_encode_forward", lambda g=grid: forward(g), what)
                # The original's atomicAdd of one half returns nothing, which is undefined.
                if width > 1 or dtype != torch.half:
                    exact = Grid(dims, width, levels=2, growth=1.0, dtype=dtype)
                    yield Case("grid_encode_backward", lambda g=exact: backward(g, slopes=True), what)
        for kind in (0, 1):
            for corners in (False, True):
                for smooth in (0, 1):
                    options = {"kind": kind, "corners": corners, "smooth": smooth}
                    yield Case(
                        "grid_encode_forward",
                        lambda d=dtype, o=options: forward(Grid(dtype=d), slopes=True, **o),
                        f"{dtype} slopes {options}",
                    )
                    yield Case(
                        "grid_encode_backward",
                        lambda d=dtype, o=options: backward(Grid(dtype=d), **o),
                        f"{dtype} {options}",
                        is_racy=True,
                    )
        yield Case("grad_weight_decay", lambda d=dtype: decay(Grid(dtype=d)), f"{dtype}")
        yield Case("grad_weight_decay", lambda d=dtype: decay(Grid(2, 1, 1, 5, dtype=d)), f"{dtype} one level")
    for dtype in (torch.float, torch.double):
        for kind in (0, 1):
            for corners in (False, True):
                options = {"kind": kind, "corners": corners}
                yield Case(
                    "grad_total_variation",
                    lambda d=dtype, o=options: variation(Grid(dtype=d), random(77, 3), **o),
                    f"{dtype} {options}",
                    is_racy=True,
                )
            for width in (1, 2, 4, 8, 16, 32):
                single = Grid(2, width, 1, 16, dtype=dtype)
                yield Case(
                    "grad_total_variation",
                    lambda g=single, k=kind: variation(g, cells(16), k),
                    f"{dtype} {width} wide, kind {kind}, one position a cell",
                )
        for dims in (4, 5):
            grid = Grid(dims, 2, 2, 4, dtype=dtype)
            yield Case(
                "grad_total_variation",
                lambda g=grid: variation(g, random(33, g.dims)),
                f"{dtype} {dims} D",
                is_racy=True,
            )

    def half_the_levels() -> list[Any]:
        arguments = forward(Grid())
        arguments[8] = 2
        return arguments

    yield Case("grid_encode_forward", half_the_levels, "two of four levels")
    yield Case("grid_encode_forward", lambda: forward(Grid(), batch=1), "one position")
    yield Case("grid_encode_forward", lambda: refused(forward(Grid()), 0, lambda t: t.cpu()), "on the CPU: refused")
    yield Case("grid_encode_forward", lambda: refused(forward(Grid()), 0, lambda t: t.double()), "double: refused")
    yield Case("grid_encode_forward", lambda: refused(forward(Grid()), 2, lambda t: t.long()), "long: refused")
    yield Case("grid_encode_forward", lambda: refused(forward(Grid()), 1, lambda t: t.t()), "strides: refused")
    yield Case("grid_encode_forward", lambda: refused(forward(Grid()), 5, lambda d: 6), "six dimensions: refused")
    yield Case("grid_encode_forward", lambda: refused(forward(Grid()), 6, lambda c: 3), "three wide: refused")
    yield Case("grid_encode_backward", lambda: refused(backward(Grid()), 0, lambda t: t.cpu()), "on the CPU: refused")
    yield Case("grid_encode_backward", lambda: refused(backward(Grid()), 7, lambda c: 3), "three wide: refused")
    tv = lambda: variation(Grid(), random(5, 3))  # noqa: E731
    yield Case("grad_total_variation", lambda: refused(tv(), 0, lambda t: t.double()), "two types: refused")
    yield Case("grad_total_variation", lambda: refused(tv(), 6, lambda d: 1), "one dimension: refused")
    yield Case("grad_weight_decay", lambda: refused(decay(Grid()), 0, lambda t: t.int()), "int: refused")
