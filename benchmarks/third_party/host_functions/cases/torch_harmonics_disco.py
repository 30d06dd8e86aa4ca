"""Calls of torch-harmonics' convolutions on the sphere: a sparse filter in rows of (kernel, latitude), shifted along
the longitudes.

A row's numbers are in the order of their columns, and no row is empty. The gradient adds up by atomics: whole numbers
give exact sums. `forward_kpacked` is for sm_90a: elsewhere its kernel does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cases import Case, on_gpu, random, whole

FORWARD, BACKWARD, PACKED = "disco_kernels::forward", "disco_kernels::backward", "disco_kernels::forward_kpacked"


@dataclass(frozen=True)
class Filter:
    """Sizes of a filter: it takes (batch, channels, *source) to (batch, channels, kernels, *target)."""

    source: tuple[int, int] = (6, 16)
    target: tuple[int, int] = (5, 8)
    kernels: int = 3
    batch: int = 2
    channels: int = 3
    width: int = 7
    """How many numbers the longest row has."""

    def csr(self, dtype: torch.dtype, is_whole: bool) -> list[Tensor]:
        """Return where the rows begin, and for each number its kernel, its latitude, its column and its value."""
        generator = torch.Generator().manual_seed(3)
        begins, kernels, rows, columns = [0], [], [], []
        for kernel in range(self.kernels):
            for row in range(self.target[0]):
                count = int(torch.randint(1, self.width + 1, (), generator=generator))
                places = torch.randperm(self.source[0] * self.source[1], generator=generator)[:count]
                columns += sorted(places.tolist())
                kernels += [kernel] * len(places)
                rows += [row] * len(places)
                begins.append(len(columns))
        values = whole(len(columns), low=-3, high=4, seed=4) if is_whole else random(len(columns), seed=4) - 0.5
        compute = torch.double if dtype == torch.double else torch.float
        indices = [on_gpu(each, dtype=torch.long) for each in (begins, kernels, rows, columns)]
        return [*indices, values.to(compute)]

    def numbers(self, *shape: int, dtype: torch.dtype, is_whole: bool) -> Tensor:
        return whole(*shape, low=-3, high=4, dtype=dtype) if is_whole else random(*shape, dtype=dtype) - 0.5

    def forward(self, dtype: torch.dtype = torch.float, is_whole: bool = False) -> list[Any]:
        source = self.numbers(self.batch, self.channels, *self.source, dtype=dtype, is_whole=is_whole)
        return [source, *self.csr(dtype, is_whole), self.kernels, *self.target]

    def backward(self, dtype: torch.dtype = torch.float, is_whole: bool = True) -> list[Any]:
        shape = (self.batch, self.channels, self.kernels, *self.target)
        gradient = self.numbers(*shape, dtype=dtype, is_whole=is_whole)
        return [gradient, *self.csr(dtype, is_whole), self.kernels, *self.source]

    def packed(self, dtype: torch.dtype = torch.half, room: int = 8, values: torch.dtype | None = None) -> list[Any]:
        """Return a filter whose kernels lie side by side, `room` of them: for each latitude and each of its numbers the
        place in the source, and the values of all kernels."""
        high = self.target[0]
        source = self.numbers(self.batch, self.channels, *self.source, dtype=dtype, is_whole=False)
        places = [
            whole(high, self.width, low=0, high=size, dtype=torch.long, seed=n) for n, size in enumerate(self.source)
        ]
        amounts = random(high, self.width, room, dtype=values or dtype, seed=5) - 0.5
        amounts[..., self.kernels :] = 0
        counts = whole(high, low=0, high=self.width + 1, dtype=torch.long, seed=6)
        return [source, torch.stack(places, 2), amounts, counts, self.kernels, *self.target]


def changed(arguments: list[Any], place: int, value: Any) -> list[Any]:
    arguments[place] = value(arguments[place])
    return arguments


def gaps(t: Tensor) -> Tensor:
    return torch.stack([t, t], -1)[..., 0]


TYPES = (torch.float, torch.double, torch.half, torch.bfloat16)
SIZES = {
    "usual": Filter(),
    "one number": Filter((1, 1), (1, 1), 1, 1, 1, 1),
    "as wide": Filter((5, 9), (5, 9)),
    "a third as wide": Filter((4, 36), (3, 12), kernels=2),
    "a fifth as wide": Filter((4, 45), (7, 9), kernels=4),
    "wide": Filter((3, 400), (2, 200), kernels=2, width=20),
    "odd": Filter((8, 129), (4, 129), kernels=5, channels=1, batch=1, width=60),
    "very wide": Filter((2, 2100), (2, 2100), kernels=2, channels=1, batch=1, width=9),
}


def cases() -> Iterator[Case]:
    for what, made in SIZES.items():
        for dtype in TYPES:
            yield Case(FORWARD, lambda m=made, d=dtype: m.forward(d), f"{what} {dtype}")
            yield Case(BACKWARD, lambda m=made, d=dtype: m.backward(d), f"{what} {dtype}")
        yield Case(BACKWARD, lambda m=made: m.backward(is_whole=False), f"{what}, fractions", is_racy=True)
    usual = Filter()
    names = ("numbers", "beginnings", "kernels", "rows", "columns", "values")
    for function, make in ((FORWARD, usual.forward), (BACKWARD, usual.backward)):
        for place, what in enumerate(names):
            yield Case(function, lambda m=make, p=place: changed(m(), p, Tensor.cpu), f"{what} on the CPU: refused")
            yield Case(function, lambda m=make, p=place: changed(m(), p, gaps), f"{what} with gaps: refused")
            if place in (1, 2, 3, 4):
                yield Case(function, lambda m=make, p=place: changed(m(), p, Tensor.int), f"int {what}: refused")
        yield Case(function, lambda m=make: changed(m(), 5, Tensor.double), "double values: refused")
        yield Case(function, lambda m=make: changed(m(torch.half), 5, Tensor.half), "half values: refused")
        yield Case(function, lambda m=make: changed(m(), 0, Tensor.int), "int numbers: refused")
        yield Case(function, lambda m=make: changed(m(), 8, lambda n: n - 1), "no multiple of the width: refused")
        yield Case(function, lambda m=make: changed(m(), 7, float), "a float as a size: refused")
        yield Case(function, lambda m=make: changed(m(), 0, lambda t: t[0, 0]), "too few dimensions: refused")
    for what, made in (
        ("usual", Filter()),
        ("twice as wide", Filter((6, 32), (5, 16), kernels=8, width=40)),
        ("many channels", Filter((9, 24), (4, 24), batch=3, channels=11, width=16)),
    ):
        for dtype in (torch.half, torch.bfloat16):
            for room in (8, 16):
                yield Case(PACKED, lambda m=made, d=dtype, r=room: m.packed(d, r), f"{what} {dtype} {room}")
            values = lambda m=made, d=dtype: m.packed(d, values=torch.float)  # noqa: E731
            yield Case(PACKED, values, f"{what} {dtype}, float values")
    for place, what in enumerate(("numbers", "places", "values", "counts")):
        yield Case(PACKED, lambda p=place: changed(usual.packed(), p, Tensor.cpu), f"{what} on the CPU: refused")
        yield Case(PACKED, lambda p=place: changed(usual.packed(), p, gaps), f"{what} with gaps: refused")
    yield Case(PACKED, lambda: changed(usual.packed(), 1, Tensor.int), "int places: refused")
    yield Case(PACKED, lambda: changed(usual.packed(), 3, Tensor.int), "int counts: refused")
    for dtype in (torch.float, torch.double):
        yield Case(PACKED, lambda d=dtype: usual.packed(d), f"{dtype}: refused")
    yield Case(PACKED, lambda: usual.packed(room=4), "room for 4: refused")
    yield Case(PACKED, lambda: Filter((6, 20), (5, 10)).packed(), "10 wide: refused")
    yield Case(PACKED, lambda: Filter((6, 20), (5, 8)).packed(), "no multiple of the width: refused")
