"""Calls of openpoints' earth mover's distance.

Where N1, rounded up to the block's 512 threads, is more than N1 + N2, the threads after the last point read behind
`temp`; the sizes here are others.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from cases import Case, random


def clouds(batch: int, n: int, m: int, dtype: torch.dtype = torch.float) -> list[Tensor]:
    return [random(batch, n, 3, dtype=dtype), random(batch, m, 3, dtype=dtype, seed=1)]


def cases() -> Iterator[Case]:
    functions = ("approxmatch_forward", "matchcost_forward", "matchcost_backward")
    for dtype in (torch.float, torch.double):
        for batch, n, m in ((1, 512, 1), (2, 512, 100), (3, 300, 300), (1, 1024, 1024), (34, 256, 260), (1, 500, 1100)):
            size = f"{batch} {n} {m} {dtype}"

            def pair(b: int = batch, n: int = n, m: int = m, d: torch.dtype = dtype) -> list[Tensor]:
                return clouds(b, n, m, d)

            def match(b: int = batch, n: int = n, m: int = m, d: torch.dtype = dtype) -> Tensor:
                return random(b, m, n, dtype=d, seed=2)

            def cost(b: int = batch, d: torch.dtype = dtype) -> Tensor:
                return random(b, dtype=d, seed=3)

            yield Case(functions[0], pair, size)
            yield Case(functions[1], lambda p=pair, q=match: [*p(), q()], size)
            yield Case(functions[2], lambda g=cost, p=pair, q=match: [g(), *p(), q()], size)
    # One point: these two read nothing outside of their tensors, whatever the size.
    yield Case(functions[1], lambda: [*clouds(2, 1, 1), random(2, 1, 1)], "one point")
    yield Case(functions[2], lambda: [random(2), *clouds(2, 5, 3), random(2, 3, 5)], "few points")
    yield Case(functions[0], lambda: clouds(0, 512, 512), "no clouds")

    def refused(change: str) -> list[Tensor]:
        first, second = clouds(2, 512, 20)
        return {
            "half": [first.half(), second.half()],
            "int": [first.int(), second.int()],
            "on the CPU": [first, second.cpu()],
            "strides": [random(2, 3, 512).transpose(1, 2), second],
            "double and float": [first.double(), second],
        }[change]

    for change in ("half", "int", "on the CPU", "strides", "double and float"):
        match = f"{change}: refused"
        yield Case(functions[0], lambda c=change: refused(c), match)
        yield Case(functions[1], lambda c=change: [*refused(c), random(2, 20, 512)], match)
        yield Case(functions[2], lambda c=change: [random(2), *refused(c), random(2, 20, 512)], match)
