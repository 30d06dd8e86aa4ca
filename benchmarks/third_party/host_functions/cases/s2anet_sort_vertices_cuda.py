"""Calls of s2anet's order of the vertices of polygons: 24 candidates, at most 8 of them valid, as of two boxes.

No coordinate y is 0, for which the original's comparison returns nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, random


def polygons(batch: int, count: int, candidates: int = 24) -> list[Tensor]:
    """Return vertices, which of them are valid (0 to 8 of a polygon), and how many."""
    order = random(batch, count, candidates, seed=1).argsort(-1)
    valid = (random(batch, count, 1, seed=2) * 8.999).int()
    mask = order < valid
    vertices = random(batch, count, candidates, 2) - 0.5
    vertices += (vertices[..., 1:] == 0) * 0.25
    return [vertices, mask, mask.sum(-1).int()]


def box() -> list[Any]:
    """Return two equal boxes: the corners stand twice among the candidates."""
    corners = [[0.5, 0.4], [-0.5, 0.4], [-0.5, -0.4], [0.5, -0.4]]
    vertices = torch.zeros(1, 1, 24, 2)
    vertices[0, 0, :8] = torch.tensor(corners * 2)
    vertices[0, 0, 8:, 1] = 1
    mask = torch.arange(24).lt(8).view(1, 1, 24)
    like = random(1)
    return [vertices.to(like), mask.to(like.device), mask.sum(-1).int().to(like.device)]


def cases() -> Iterator[Case]:
    function = "sort_vertices_forward"
    for batch, count in ((1, 1), (2, 5), (3, 130), (1, 1000), (7, 512)):
        yield Case(function, lambda b=batch, n=count: polygons(b, n), f"{batch} x {count}")
    yield Case(function, lambda: polygons(2, 40, 17), "17 candidates")
    yield Case(function, box, "two equal boxes")
    usual = lambda: polygons(2, 6)  # noqa: E731
    yield Case(function, lambda: [usual()[0].double(), *usual()[1:]], "double: refused")
    yield Case(function, lambda: [usual()[0], usual()[1].int(), usual()[2]], "int mask: refused")
    yield Case(function, lambda: [*usual()[:2], usual()[2].long()], "long: refused")
    yield Case(function, lambda: [usual()[0].cpu(), *usual()[1:]], "on the CPU: refused")
    yield Case(function, lambda: [usual()[0].transpose(0, 1), *usual()[1:]], "strides: refused")
