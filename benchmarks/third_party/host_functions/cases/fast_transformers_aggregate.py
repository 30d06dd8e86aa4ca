"""Calls of fast-transformers' aggregation. Groups outside of 0 to C - 1 are left out by its kernels.

It checks nothing: a tensor on the CPU would be read by the GPU, and a launch without blocks would fail unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from cases import Case, random, whole


def groups(*shape: int, count: int) -> Tensor:
    """Some are left out."""
    return whole(*shape, low=-1, high=count + 1, dtype=torch.int, seed=2)


def cases() -> Iterator[Case]:
    for n, h, length, width, count in ((1, 1, 1, 1, 1), (2, 4, 100, 32, 10), (3, 5, 37, 7, 40), (2, 8, 1025, 64, 1)):
        size = f"{n} {h} {length} {width} {count}"

        def gathered(
            n: int = n, h: int = h, w: int = width, c: int = count, start: int = 3, long: int = length
        ) -> list[Tensor]:
            own = whole(n, h, long, w)
            return [own, groups(n, h, long, count=c), whole(n, h, c, seed=1), whole(n, h, c, w, seed=start)]

        def any_gathered(n: int = n, h: int = h, w: int = width, c: int = count, long: int = length) -> list[Tensor]:
            own = random(n, h, long, w)
            return [own, groups(n, h, long, count=c), random(n, h, c, seed=1), torch.zeros_like(own[:, :, :1])]

        def spread(n: int = n, h: int = h, w: int = width, c: int = count, long: int = length) -> list[Tensor]:
            own = random(n, h, c, w)
            return [own, groups(n, h, long, count=c), random(n, h, c, seed=1), random(n, h, long, w, seed=3)]

        yield Case("aggregate", gathered, f"{size} whole")
        yield Case("aggregate", any_gathered, f"{size} one group", is_racy=True)
        yield Case("broadcast", spread, size)

    def strided(function: str) -> list[Tensor]:
        long, few = whole(2, 9, 3, 8).transpose(1, 2), whole(2, 4, 3, 16, seed=1).transpose(1, 2)[..., ::2]
        ends = [long, few] if function == "aggregate" else [few, long]
        return [ends[0], groups(3, 2, 9, count=4).transpose(0, 1), whole(2, 4, 3).transpose(1, 2), ends[1]]

    def small() -> list[Tensor]:
        return [random(2, 3, 4, 5), groups(2, 3, 4, count=4), random(2, 3, 4), random(2, 3, 4, 5)]

    for function in ("aggregate", "broadcast"):
        yield Case(function, lambda f=function: strided(f), "strides")
        yield Case(
            function, lambda: [small()[0][..., :0], *small()[1:3], small()[3][..., :0]], "vectors without elements"
        )
        yield Case(function, lambda: [small()[0].double(), *small()[1:]], "double: refused")
        yield Case(function, lambda: [*small()[:3], small()[3].half()], "half: refused")
        yield Case(function, lambda: [small()[0], small()[1].long(), *small()[2:]], "long groups: refused")
        yield Case(function, lambda: [*small()[:2], small()[2][0], small()[3]], "factors of two dimensions: refused")
