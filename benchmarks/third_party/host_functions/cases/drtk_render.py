"""Calls of drtk's rendering. The backward function has no definition; only PyTorch's autograd calls it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, random, whole


def index(*shape: int, low: int = 0, below: int, seed: int = 0) -> Tensor:
    return whole(*shape, low=low, high=below, dtype=torch.int, seed=seed)


def given(
    batch: int = 2, count: int = 9, faces: int = 7, height: int = 20, width: int = 30, dtype: torch.dtype = torch.float
) -> list[Any]:
    """The index of no face is -1."""
    v = random(batch, count, 3, dtype=dtype) * 40 - 5
    return [v, index(batch, faces, 3, below=count, seed=1), index(batch, height, width, low=-1, below=faces, seed=2)]


def cases() -> Iterator[Case]:
    function = "render_ext::render"
    for dtype in (torch.float, torch.double):
        for size in ((1, 3, 1, 8, 8), (2, 40, 60, 64, 48), (3, 200, 1000, 33, 129), (1, 5, 4, 1, 1)):
            yield Case(function, lambda s=size, d=dtype: given(*s, d), f"{size} {dtype}")

    def strided() -> list[Any]:
        v, vi, at = given(2, 40, 60, 32, 48)
        return [
            v.permute(2, 0, 1).contiguous().permute(1, 2, 0),
            vi.transpose(1, 2).contiguous().transpose(1, 2),
            at.transpose(1, 2),
        ]

    yield Case(function, strided, "strides")
    yield Case(function, lambda: [a.expand(3, -1, -1) for a in given(batch=1)], "the same image three times")
    yield Case(function, lambda: given(height=0), "no pixels")
    yield Case(function, lambda: given(batch=0), "no images")
    yield Case(function, lambda: [*given()[:2], index(2, 5, 6, low=-1, below=0)], "no faces in the image")
    yield Case(function, lambda: [torch.zeros_like(given()[0]), *given()[1:]], "faces without area")
    yield Case(function, lambda: [given()[0].requires_grad_(), *given()[1:]], "vertices with a gradient")

    def changed(place: int, value: object) -> list[Any]:
        made = given()
        made[place] = value
        return made

    yield Case(function, lambda: changed(0, given()[0].half()), "half: refused")
    yield Case(function, lambda: changed(0, random(2, 9, 4)), "four coordinates: refused")
    yield Case(function, lambda: changed(0, random(3, 9, 3)), "other batch size: refused")
    yield Case(function, lambda: changed(1, given()[1].long()), "long indices: refused")
    yield Case(function, lambda: changed(2, given()[2].long()), "long image: refused")
    yield Case(function, lambda: changed(2, given()[2][0]), "one image: refused")
    yield Case(function, lambda: changed(2, given()[2].cpu()), "image on the CPU: refused")
