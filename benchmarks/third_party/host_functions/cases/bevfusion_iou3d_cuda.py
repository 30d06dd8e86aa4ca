"""Calls of bevfusion's overlaps of rotated boxes, and of its two non-maximum suppressions.

A box is (left, top, right, bottom, angle). `keep` is written in host memory, behind the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import DEVICE, Case, on_gpu, random

OVERLAPS = ("boxes_overlap_bev_gpu", "boxes_iou_bev_gpu")
SUPPRESSIONS = ("nms_gpu", "nms_normal_gpu")


def boxes(count: int, seed: int = 0, spread: float = 40.0) -> Tensor:
    """Return boxes of 1 to 9 a side, whose corners lie within about `spread`, in any direction."""
    numbers = random(count, 5, seed=seed)
    corner = numbers[:, :2] * spread
    return torch.cat([corner, corner + 1 + numbers[:, 2:4] * 8, (numbers[:, 4:] - 0.5) * 6.5], 1)


def pair(a: int, b: int, **options: Any) -> list[Any]:
    return [boxes(a, **options), boxes(b, seed=1, **options), torch.zeros(a, b, device=DEVICE)]


def kept(count: int, threshold: Any = 0.3, **options: Any) -> list[Any]:
    return [boxes(count, **options), torch.zeros(count, dtype=torch.long), threshold, 0]


def changed(arguments: list[Any], place: int, value: Any) -> list[Any]:
    arguments[place] = value(arguments[place])
    return arguments


def overlaps() -> Iterator[Case]:
    for function in OVERLAPS:
        for a, b in ((1, 1), (16, 16), (17, 33), (150, 201), (1, 300)):
            yield Case(function, lambda n=a, m=b: pair(n, m), f"{a} x {b}")
        yield Case(function, lambda: pair(40, 40, spread=3.0), "crowded")
        yield Case(function, lambda: [boxes(30), boxes(30), torch.zeros(30, 30, device=DEVICE)], "the same boxes")
        upright = [[0.0, 0.0, 4.0, 4.0, 0.0], [2.0, 2.0, 6.0, 6.0, 0.0], [1.0, 1.0, 1.0, 5.0, 0.0]]
        yield Case(
            function, lambda u=upright: [on_gpu(u), on_gpu(u), torch.zeros(3, 3, device=DEVICE)], "upright, no area"
        )
        yield Case(function, lambda: changed(pair(6, 7), 2, lambda t: t.view(7, 6)), "the result in other sizes")
        yield Case(function, lambda: changed(pair(20, 30), 0, lambda t: t[::2]), "rows with gaps: refused")
        yield Case(function, lambda: changed(pair(20, 30), 1, lambda t: t.t().contiguous().t()), "columns: refused")
        yield Case(function, lambda: changed(pair(20, 30), 2, lambda t: t.t()), "the result with gaps: refused")
        yield Case(function, lambda: changed(pair(20, 30), 0, Tensor.double), "double: refused")
        yield Case(function, lambda: changed(pair(20, 30), 2, Tensor.half), "half result: refused")
        yield Case(function, lambda: changed(pair(20, 30), 1, Tensor.cpu), "on the CPU: refused")


def suppressions() -> Iterator[Case]:
    for function in SUPPRESSIONS:
        for count in (1, 7, 63, 64, 65, 129, 500):
            for threshold in (0.0, 0.25, 0.7):
                yield Case(function, lambda n=count, t=threshold: kept(n, t), f"{count} {threshold}")
        yield Case(function, lambda: kept(200, 0.1, spread=5.0), "crowded")
        yield Case(function, lambda: kept(200, 1, spread=5.0), "an int as the threshold")
        yield Case(function, lambda: kept(50, -1.0), "a negative threshold")
        yield Case(function, lambda: [boxes(60), torch.full((80,), 9), 0.2, 0], "more room than boxes")
        yield Case(function, lambda: changed(kept(40), 0, lambda t: t[::2]), "rows with gaps: refused")
        yield Case(function, lambda: changed(kept(40), 1, lambda t: t.repeat(2)[::2]), "keep with gaps: refused")
        yield Case(function, lambda: changed(kept(40), 1, Tensor.int), "int keep: refused")
        yield Case(function, lambda: changed(kept(40), 0, Tensor.half), "half: refused")
        yield Case(function, lambda: changed(kept(40), 0, Tensor.cpu), "on the CPU: refused")
        yield Case(function, lambda: changed(kept(40), 2, str), "a text as the threshold: refused")
        yield Case(function, lambda: changed(kept(40), 3, float), "a float as the device: refused")
    for function in SUPPRESSIONS:
        yield Case(function, lambda: kept(0), "no boxes")


def cases() -> Iterator[Case]:
    yield from overlaps()
    yield from suppressions()
    # At the end, and without a number that a kernel would make: the originals leave the error of an empty grid behind.
    yield Case(OVERLAPS[0], lambda: pair(0, 5), "no boxes in the first")
    for function in OVERLAPS:
        yield Case(function, lambda: pair(0, 0), "no boxes")
