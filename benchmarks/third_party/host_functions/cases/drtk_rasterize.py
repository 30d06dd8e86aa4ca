"""Calls of drtk's rasterizer. Vertices lie in pixels, and all indices of vertices are inside of `v`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, on_gpu, random, whole


def vertices(batch: int, count: int, height: int, width: int, dtype: torch.dtype = torch.float) -> Tensor:
    """Some lie outside of the image, and some behind the camera (z < 0)."""
    return random(batch, count, 3, dtype=dtype) * on_gpu([1.4 * width, 1.4 * height, 3.0], dtype=dtype) - on_gpu(
        [0.2 * width, 0.2 * height, 0.2], dtype=dtype
    )


def triangles(batch: int, faces: int, count: int) -> Tensor:
    return whole(batch, faces, 3, low=0, high=count, dtype=torch.int, seed=1)


def edges(batch: int, faces: int) -> Tensor:
    """The three highest bits below the sign of a face's first index: which of its edges are visible."""
    return whole(batch, faces, 3, low=0, high=8, dtype=torch.int, seed=2) * on_gpu([1 << 28, 0, 0], dtype=torch.int)


def cases() -> Iterator[Case]:
    function = "rasterize_ext::rasterize"

    def given(
        batch: int = 2,
        count: int = 9,
        faces: int = 7,
        height: int = 20,
        width: int = 30,
        dtype: torch.dtype = torch.float,
        wireframe: bool = False,
    ) -> list[Any]:
        at = triangles(batch, faces, count)
        if wireframe:
            at += edges(batch, faces)
        return [vertices(batch, count, height, width, dtype), at, height, width, wireframe]

    for wireframe in (False, True):
        for dtype in (torch.float, torch.double):
            for size in ((1, 3, 1, 8, 8), (2, 40, 60, 64, 48), (3, 200, 1000, 33, 129), (1, 5, 4, 1, 1)):
                yield Case(
                    function, lambda s=size, d=dtype, w=wireframe: given(*s, d, w), f"{size} {dtype} lines {wireframe}"
                )
        yield Case(function, lambda w=wireframe: [*given()[:4], w], f"no visible edges, lines {wireframe}")
        yield Case(function, lambda w=wireframe: given(faces=0, wireframe=w), f"no faces, lines {wireframe}")

        def whole_pixels(w: bool = wireframe) -> list[Any]:
            _, at, *rest = given(1, 30, 50, 16, 16, wireframe=w)
            return [whole(1, 30, 3, low=0, high=17) + on_gpu([0, 0, 0.5]), at, *rest]

        yield Case(function, whole_pixels, f"edges through pixels, lines {wireframe}")

        def strided(w: bool = wireframe) -> list[Any]:
            v, at, *rest = given(2, 40, 60, 32, 32, wireframe=w)
            v = v.permute(2, 0, 1).contiguous().permute(1, 2, 0)
            return [v, at.transpose(1, 2).contiguous().transpose(1, 2), *rest]

        yield Case(function, strided, f"strides, lines {wireframe}")

    def shared() -> list[Any]:
        v, at, *rest = given(1, 40, 60, 32, 32)
        return [v.expand(3, -1, -1), at.expand(3, -1, -1), *rest]

    yield Case(function, shared, "the same mesh for all images")
    yield Case(function, lambda: [given()[0].requires_grad_(), *given()[1:]], "vertices with a gradient")

    def changed(place: int, value: object) -> list[Any]:
        made = given()
        made[place] = value
        return made

    yield Case(function, lambda: changed(0, given()[0].half()), "half: refused")
    yield Case(function, lambda: changed(0, given()[0].int()), "whole vertices: refused")
    yield Case(function, lambda: changed(0, random(9, 3)), "two dimensions: refused")
    yield Case(function, lambda: changed(0, random(2, 9, 4)), "four coordinates: refused")
    yield Case(function, lambda: changed(1, given()[1].long()), "long indices: refused")
    yield Case(function, lambda: changed(1, triangles(3, 7, 9)), "other batch size: refused")
    yield Case(function, lambda: changed(1, given()[1].cpu()), "indices on the CPU: refused")
    yield Case(function, lambda: changed(2, 0), "no height: refused")
