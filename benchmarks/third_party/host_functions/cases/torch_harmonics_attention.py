"""Calls of torch-harmonics' attention among neighbours on the sphere, whole and in steps of a ring.

A neighbourhood is a sparse matrix: for each latitude of the result (or of the source, where the result is finer) the
places that it sees, of the first longitude; the others see the same ones, shifted. Rows of 1,024 places and more are
split. Gradients of keys and values, results that are finer than their source, and rows that are split add up by
atomics. No size is zero: the originals end the process where a launch fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from cases import Case, on_gpu, random

TYPES = (torch.float, torch.half, torch.bfloat16, torch.double)
SPLIT, SHARE = 1024, 0.1
"""From which length on, and from which share of the longest one on, a row is split."""


def op(name: str) -> str:
    return f"attention_kernels::{name}"


def split(lengths: list[int]) -> tuple[int, int, int]:
    """Return how many rows are split, the length of the longest one, and that of the longest that is not split; the
    lengths are in falling order."""
    least = max(SPLIT, int(lengths[0] * SHARE))
    count = sum(length >= least for length in lengths)
    return count, lengths[0] if count else 0, lengths[count] if count < len(lengths) else 0


@dataclass(frozen=True)
class Sphere:
    """Sizes: (latitudes, longitudes) of the source and of the result, channels of keys and of values for each head."""

    source: tuple[int, int] = (6, 12)
    target: tuple[int, int] = (5, 12)
    keys: int = 8
    values: int = 12
    heads: int = 1
    batch: int = 2
    row: int = 9
    """The length of the longest row."""
    dtype: torch.dtype = torch.float

    @property
    def is_finer(self) -> bool:
        return self.target[1] > self.source[1]

    def csr(self) -> tuple[Tensor, list[int]]:
        """Return the places, and where the rows begin. Each place of the result sees something."""
        generator = torch.Generator().manual_seed(3)
        (here, _), seen = (self.source, self.target) if self.is_finer else (self.target, self.source)
        columns, begins = [], [0]
        for number in range(here):
            count = int(torch.randint(1, self.row + 1, (), generator=generator)) if number else self.row
            places = set(torch.randperm(seen[0] * seen[1], generator=generator)[:count].tolist())
            if self.is_finer:
                ratio = self.target[1] // self.source[1]
                mine = [row for row in range(seen[0]) if row % here == number]
                places |= {row * seen[1] + column for row in mine for column in range(ratio)}
            columns += sorted(places)
            begins.append(len(columns))
        return on_gpu(columns, dtype=torch.long), begins

    def numbers(self, size: tuple[int, int], channels: int, seed: int) -> Tensor:
        shape = (self.batch, *size, self.heads * channels)
        return (random(*shape, seed=seed) - 0.5).to(self.dtype)

    def tensors(self) -> list[Tensor]:
        """Return keys, values, queries and the gradient of the result."""
        sizes = (
            (self.source, self.keys),
            (self.source, self.values),
            (self.target, self.keys),
            (self.target, self.values),
        )
        return [self.numbers(size, channels, seed) for seed, (size, channels) in enumerate(sizes)]

    def weights(self) -> Tensor:
        return random(self.source[0], seed=7) + 0.5

    def forward(self) -> list[Any]:
        columns, begins = self.csr()
        rest = [self.weights(), columns, on_gpu(begins, dtype=torch.long), self.heads]
        return [*self.tensors()[:3], *rest, self.source[1], *self.target]

    def backward(self) -> list[Any]:
        keys, values, queries, *rest = self.forward()
        return [keys, values, queries, self.tensors()[3], *rest]


@dataclass(frozen=True)
class Step(Sphere):
    """One step of a ring: the source's longitudes from `begin` on, `width` of them, its latitudes from `above` on, and
    the first longitudes of the result, `local` of them."""

    begin: int = 4
    width: int = 5
    above: int = 1
    below: int = 1
    local: int = 0
    is_first: bool = False

    @property
    def high(self) -> int:
        return self.source[0] - self.above - self.below

    @property
    def wide(self) -> int:
        return self.local or self.target[1]

    def tensors(self) -> list[Tensor]:
        here, there = (self.high, self.width), (self.target[0], self.wide)
        sizes = ((here, self.keys), (here, self.values), (there, self.keys), (there, self.values))
        return [self.numbers(size, channels, seed) for seed, (size, channels) in enumerate(sizes)]

    def state(self, channels: int = 0, seed: int = 20, low: float = 1.0) -> Tensor:
        shape = (self.batch, self.target[0], self.wide, *([channels] if channels else []))
        return random(*shape, seed=seed) + low

    def begun(self) -> tuple[Tensor, Tensor]:
        """Return the sums and the greatest products so far."""
        sums, most = self.state(), self.state(seed=21, low=-0.5)
        return (torch.zeros_like(sums), torch.full_like(most, -torch.inf)) if self.is_first else (sums, most)

    def results(self, channels: int, seed: int) -> Tensor:
        values = self.state(channels, seed, -0.5)
        return torch.zeros_like(values) if self.is_first else values

    def neighbours(self) -> list[Any]:
        """Return the weights, the neighbourhood and the numbers that all functions take at last."""
        columns, begins = self.csr()
        ratio = self.source[1] // self.target[1] or 1
        lengths = [end - begin for begin, end in pairwise(begins)]
        if self.is_finer:  # the rows of the latitudes that are here
            kept = begins[self.above : self.above + self.high + 1]
            columns, begins = columns[kept[0] : kept[-1]].clone(), [begin - kept[0] for begin in kept]
            sparse = [self.weights(), columns, on_gpu(begins, dtype=torch.long)]
            sizes = [self.source[1], self.target[1], self.target[1] // self.source[1]]
            return [*sparse, *sizes, self.begin, self.above, self.target[0], self.wide]
        order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
        sparse = [self.weights(), columns, on_gpu(begins, dtype=torch.long), on_gpu(order, dtype=torch.int)]
        places = [self.source[1], ratio, self.begin, self.above, self.target[0], self.wide]
        return [*sparse, *places, *split([lengths[row] for row in order])]

    def forward(self) -> list[Any]:
        return [*self.tensors()[:3], self.results(self.values, 22), *self.begun(), *self.neighbours()]

    def pass1(self) -> list[Any]:
        sums, most = self.begun()
        stats = [self.state(seed=21, low=-0.5)] if self.is_finer else [sums, most]  # there, the final ones
        integrals = [self.results(0, 23), self.results(self.keys, 24), self.results(self.keys, 25)]
        return [*self.tensors(), *stats, *integrals, *self.neighbours()]

    def pass2(self) -> list[Any]:
        keys, values, *_ = made = self.tensors()
        gradients = [torch.zeros_like(each, dtype=torch.float) for each in (keys, values)]
        return [
            *made,
            self.state(),
            self.state(seed=21, low=-0.5),
            self.state(seed=26, low=-0.5),
            *gradients,
            *self.neighbours(),
        ]


def changed(arguments: list[Any], place: int, value: Any) -> list[Any]:
    arguments[place] = value(arguments[place])
    return arguments


def with_gaps(t: Tensor) -> Tensor:
    return t.transpose(1, 2).contiguous().transpose(1, 2)


CHANNELS = ((8, 12), (3, 5), (1, 1), (33, 20), (64, 64), (36, 132), (130, 7), (600, 520))
"""Of keys and values, for each way to use threads and vectors."""


def permutations() -> Iterator[Case]:
    for name in ("permute_to_nhwc", "permute_to_nchw"):
        f = op(name)
        for size in ((1, 1, 1, 1), (2, 3, 5, 7), (1, 64, 4, 96), (2, 33, 3, 31), (3, 32, 1, 64)):
            for dtype in TYPES:
                yield Case(f, lambda s=size, d=dtype: [random(*s, dtype=d)], f"{size} {dtype}")
        for dtype in (torch.int, torch.bool):
            yield Case(f, lambda d=dtype: [random(2, 3, 4, 5).to(d)], f"{dtype}: refused")
        yield Case(f, lambda: [random(2, 3, 4)], "three dimensions: refused")
        yield Case(f, lambda: [random(2, 3, 4, 5).transpose(1, 2)], "gaps: refused")
        yield Case(
            f, lambda: [random(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)], "channels last: refused"
        )
        yield Case(f, lambda: [random(65536, 1, 1, 1)], "too many: refused")
        yield Case(f, lambda: [1], "a number: refused")


def splits() -> Iterator[Case]:
    def call(lengths: list[int], count: int | None = None) -> list[Any]:
        order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
        begins = on_gpu([0, *torch.tensor(lengths).cumsum(0).tolist()], dtype=torch.long)
        return [on_gpu(order, dtype=torch.int), begins, len(lengths) if count is None else count]

    f = op("split_csr_rows")
    for lengths in ([1], [3, 1023, 7], [1024, 5, 2000], [20000, 1999, 2000, 1500], [4, 5] * 900, [5000, 5000]):
        yield Case(f, lambda n=lengths: call(n), f"{lengths[:4]}")
    yield Case(f, lambda: call([30, 20, 2000, 1100], 1), "the first of the rows")
    yield Case(f, lambda: call([30, 20], 0), "no rows")
    yield Case(f, lambda: call([30, 20], -1), "less than no rows")
    yield Case(f, lambda: [t.cpu() if isinstance(t, Tensor) else t for t in call([20000, 1999, 2000])], "on the CPU")
    yield Case(f, lambda: changed(call([30, 20]), 1, Tensor.cpu), "beginnings on the CPU: refused")
    yield Case(f, lambda: changed(call([30, 20]), 2, float), "a float as a number: refused")


def attentions() -> Iterator[Case]:
    spheres = {
        "as fine": Sphere(),
        "coarser": Sphere((8, 24), (3, 8)),
        "finer": Sphere((4, 6), (7, 18)),
        "two heads": Sphere(heads=2),
        "three heads, finer": Sphere((4, 6), (8, 12), heads=3),
        "one place": Sphere((1, 1), (1, 1), 4, 4, batch=1, row=1),
        "all places": Sphere((6, 10), (6, 10), row=60),
    }
    for dtype in TYPES:
        for what, sphere in spheres.items():
            made = replace(sphere, dtype=dtype)
            racy = made.is_finer
            yield Case(op("forward"), made.forward, f"{what} {dtype}", is_racy=racy)
            yield Case(op("backward"), made.backward, f"{what} {dtype}", is_racy=True)
    for keys, values in CHANNELS:
        for dtype in (torch.float, torch.half):
            for finer in (False, True):
                sizes = ((4, 4), (5, 8)) if finer else ((5, 8), (4, 8))
                made = Sphere(*sizes, keys, values, dtype=dtype)
                what = f"{keys} and {values} channels {dtype} finer {finer}"
                yield Case(op("forward"), made.forward, what, is_racy=finer)
                yield Case(op("backward"), made.backward, what, is_racy=True)
    usual = Sphere(heads=2)
    for name, make, tensors in (("forward", usual.forward, 3), ("backward", usual.backward, 4)):
        for place in range(tensors):
            for what, change in (
                ("on the CPU", Tensor.cpu),
                ("gaps", with_gaps),
                ("half", Tensor.half),
                ("int", Tensor.int),
            ):
                case = lambda m=make, p=place, c=change: changed(m(), p, c)  # noqa: E731
                yield Case(op(name), case, f"{place} {what}: refused")
        for place, what in ((tensors, "weights"), (tensors + 1, "places"), (tensors + 2, "beginnings")):
            yield Case(op(name), lambda m=make, p=place: changed(m(), p, Tensor.cpu), f"{what} on the CPU: refused")
        for heads in (0, -1, 3):
            case = lambda m=make, p=tensors + 3, h=heads: changed(m(), p, lambda _: h)  # noqa: E731
            yield Case(op(name), case, f"{heads} heads: refused")
        yield Case(op(name), lambda m=make: changed(m(), -1, lambda _: 7), "no multiple of the width: refused")
        ints = lambda m=make: [t.int() if isinstance(t, Tensor) else t for t in m()]  # noqa: E731
        yield Case(op(name), ints, "all int: refused")


def steps() -> Iterator[Case]:
    rings = {
        "as fine": Step(),
        "the first": Step(is_first=True),
        "all longitudes": Step(begin=0, width=12, above=0, below=0, is_first=True),
        "coarser": Step((8, 24), (3, 8), begin=10, width=9),
        "a part of the result": Step((8, 24), (3, 12), begin=0, width=12, local=7),
        "long rows": Step((24, 64), (3, 8), 4, 4, batch=1, row=1400, begin=20, width=40),
        "long rows, the first": Step((24, 64), (2, 4), 5, 3, row=1100, begin=0, width=64, is_first=True),
        "finer": Step((5, 6), (7, 18), begin=2, width=3),
        "finer, the first": Step((4, 6), (8, 12), begin=0, width=6, above=0, below=0, is_first=True),
        "finer, a part of the result": Step((5, 6), (6, 18), begin=1, width=4, local=7),
    }
    for what, ring in rings.items():
        ending = "_upsample" if ring.is_finer else ""
        is_racy = ring.is_finer or ring.row >= SPLIT
        for dtype in TYPES:
            made = replace(ring, dtype=dtype)
            yield Case(op(f"forward_ring_step{ending}"), made.forward, f"{what} {dtype}", is_racy=is_racy)
            yield Case(op(f"backward_ring_step{ending}_pass1"), made.pass1, f"{what} {dtype}", is_racy=is_racy)
            yield Case(
                op(f"backward_ring_step{ending}_pass2"), made.pass2, f"{what} {dtype}", is_racy=not ring.is_finer
            )
    for keys, values in CHANNELS:
        for dtype in (torch.float, torch.bfloat16):
            made = Step((6, 8), (4, 8), keys, values, begin=2, width=5, dtype=dtype)
            what = f"{keys} and {values} channels {dtype}"
            yield Case(op("forward_ring_step"), made.forward, what)
            yield Case(op("backward_ring_step_pass1"), made.pass1, what)
            yield Case(op("backward_ring_step_pass2"), made.pass2, what, is_racy=True)
    finer = Step((5, 6), (7, 18), begin=2, width=3)
    for ending, usual, counts in (("", Step(), (10, 13, 13)), ("_upsample", finer, (9, 11, 12))):
        for name, make, inputs, tensors in (
            (f"forward_ring_step{ending}", usual.forward, 3, counts[0]),
            (f"backward_ring_step{ending}_pass1", usual.pass1, 4, counts[1]),
            (f"backward_ring_step{ending}_pass2", usual.pass2, 4, counts[2]),
        ):
            for place in range(tensors):
                on_host = lambda m=make, p=place: changed(m(), p, Tensor.cpu)  # noqa: E731
                yield Case(op(name), on_host, f"{place} on the CPU: refused")
                if place < inputs:
                    yield Case(op(name), lambda m=make, p=place: changed(m(), p, with_gaps), f"{place} gaps: refused")
            ints = lambda m=make: [t.int() if isinstance(t, Tensor) else t for t in m()]  # noqa: E731
            yield Case(op(name), ints, "all int: refused")
            yield Case(op(name), lambda m=make: changed(m(), -1, float), "a float as a number: refused")
            yield Case(op(name), lambda m=make: m()[:-1], "too few arguments: refused")


def cases() -> Iterator[Case]:
    yield from permutations()
    yield from splits()
    yield from attentions()
    yield from steps()
