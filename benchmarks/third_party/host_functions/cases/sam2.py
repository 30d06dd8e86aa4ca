"""Calls of sam2's connected components."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from cases import Case, random, whole


def image(*shape: int, share: float, seed: int = 0) -> Tensor:
    return (random(*shape, seed=seed) < share).to(torch.uint8)


def cases() -> Iterator[Case]:
    function = "get_connected_componnets"
    for shape in ((2, 1, 2, 2), (1, 1, 32, 32), (3, 1, 34, 18), (1, 1, 2, 130), (2, 1, 256, 200)):
        for share in (0.2, 0.5, 0.65, 0.9):
            yield Case(function, lambda s=shape, p=share: [image(*s, share=p)], f"{shape} {share}")
    yield Case(function, lambda: [image(1, 1, 64, 64, share=2)], "one component")
    yield Case(function, lambda: [image(1, 1, 64, 64, share=0)], "no component")
    yield Case(function, lambda: [whole(1, 1, 40, 40, low=0, high=3, dtype=torch.uint8)], "values other than 1")
    yield Case(function, lambda: [image(2, 1, 24, 40, share=0.6).transpose(2, 3)], "strides: they are ignored")
    yield Case(function, lambda: [image(0, 1, 16, 16, share=0.5)], "no images")
    yield Case(function, lambda: [image(1, 1, 15, 16, share=0.5)], "odd height: refused")
    yield Case(function, lambda: [image(1, 1, 16, 15, share=0.5)], "odd width: refused")
    yield Case(function, lambda: [image(1, 2, 16, 16, share=0.5)], "two channels: refused")
    yield Case(function, lambda: [image(16, 16, share=0.5)], "two dimensions: refused")
    yield Case(function, lambda: [random(1, 1, 16, 16)], "float: refused")
    yield Case(function, lambda: [image(1, 1, 16, 16, share=0.5).cpu()], "on the CPU: refused")
