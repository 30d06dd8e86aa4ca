"""Calls of fast-transformers' hashing with up to 63 planes, which fit with their bias into the shared memory.

It checks nothing: a tensor on the CPU would be read by the GPU, and a launch without blocks would fail unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, random, whole


def hashes(count: int) -> Tensor:
    return whole(count, low=1, high=99, dtype=torch.long)


def given(count: int, planes: int, width: int) -> list[Any]:
    return [random(count, width) - 0.5, random(planes, width + 1, seed=1) - 0.5, hashes(count)]


def cases() -> Iterator[Case]:
    function = "compute_hashes"
    for count in (1, 13, 1000, 4097):
        for planes in (1, 2, 3, 16, 32, 63):
            for width in (1, 8, 33, 64):
                yield Case(function, lambda s=(count, planes, width): given(*s), f"{count} {planes} {width}")
    yield Case(
        function,
        lambda: [whole(100, 6, low=-1, high=2), whole(8, 7, low=-1, high=2, seed=1), hashes(100)],
        "points on planes",
    )
    yield Case(
        function, lambda: [random(2 * 8, 200).t()[:, ::2], random(9, 6).t(), hashes(400)[::2]], "strides and columns"
    )
    yield Case(function, lambda: [*given(50, 4, 8)[:2], hashes(80)], "more hashes than points")
    yield Case(function, lambda: [a.double() if i < 2 else a for i, a in enumerate(given(5, 4, 8))], "double: refused")
    yield Case(function, lambda: [*given(5, 4, 8)[:2], hashes(5).int()], "int hashes: refused")
    yield Case(function, lambda: [random(5, 8, 2), *given(5, 4, 8)[1:]], "three dimensions: refused")
    yield Case(function, lambda: [*given(5, 4, 8)[:2], hashes(5)[None]], "hashes of two dimensions: refused")
