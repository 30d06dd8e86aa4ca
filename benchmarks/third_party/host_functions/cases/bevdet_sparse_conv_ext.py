"""Calls of BEVDet's sparse convolutions.

The search for pairs of voxels numbers them in the order of its atomics: it is exact only where each place of the
kernel has one pair. The pairs of the other functions are made here: for each place of the kernel, no input and no
output twice, as their additions without atomics need it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import torch
from torch import Tensor

from cases import DEVICE, Case, on_gpu, random, whole


def voxels(count: int, batch: int, *size: int, seed: int = 0) -> Tensor:
    """Different ones: (batch, z, y, x)."""
    place = torch.randperm(batch * prod(size), generator=torch.Generator().manual_seed(seed))[:count]
    return torch.stack(torch.unravel_index(place, (batch, *size)), 1).int().to(DEVICE)


def one_of_each(batch: int, *kernel: int) -> Tensor:
    """For strides of the kernel's size: one voxel at each place of the kernel."""
    place = torch.stack(torch.unravel_index(torch.arange(prod(kernel)), kernel), 1)
    block = torch.randint(0, 3, place.shape, generator=torch.Generator().manual_seed(0))
    image = torch.arange(len(place))[:, None] % batch
    return torch.cat([image, place + block * torch.tensor(kernel)], 1).int().to(DEVICE)


def search(
    at: Tensor,
    batch: int,
    size: list[int],
    kernel: int,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    extra: int = 0,
    same: bool = False,
    transposed: bool = False,
) -> list[Any]:
    if same:
        out = size
    elif transposed:
        out = [(n - 1) * stride - 2 * padding + kernel + extra for n in size]
    else:
        out = [(n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1 for n in size]
    shapes = [[value] * len(size) for value in (kernel, stride, padding, dilation, extra)]
    return [at, batch, out, size, *shapes, int(same), int(transposed)]


def with_grid(arguments: list[Any], more: int = 0) -> list[Any]:
    """The grid follows the voxels; the function leaves it at -1."""
    at, batch, out, *rest = arguments
    grid = torch.full((batch * prod(out) + more,), -1, dtype=torch.int, device=DEVICE)
    return [at, grid, batch, out, *rest]


def pairs(places: int, inputs: int, outputs: int, most: int, same: bool = False) -> list[Tensor]:
    """For each place of the kernel, up to `most` pairs; the middle one of `same` has all voxels, in order."""
    random_of = torch.Generator().manual_seed(places)
    made = torch.full((places, 2, max(inputs, outputs)), -1)
    counts = torch.randint(0, min(most, inputs, outputs) + 1, (places,), generator=random_of)
    counts[0] = min(most, inputs, outputs) - (1 if same else 0)
    if same:
        counts = counts.clamp(max=inputs - 1)
        counts[places // 2] = inputs
    for place, count in enumerate(counts.tolist()):
        for side, rows in enumerate((inputs, outputs)):
            made[place, side, :count] = torch.randperm(rows, generator=random_of)[:count]
    if same:
        made[places // 2] = torch.arange(inputs)
    return [made.int().to(DEVICE), counts.int().to(DEVICE)]


def searches() -> Iterator[Case]:
    for dimensions in (2, 3, 4):
        size = [12, 10, 9, 6][:dimensions]

        def some(count: int = 60, s: list[int] = size) -> Tensor:
            return voxels(count, 2, *s)

        def exact(kernel: int, d: int = dimensions) -> list[Any]:
            return search(one_of_each(2, *[kernel] * d), 2, [3 * kernel] * d, kernel, stride=kernel)

        options: dict[str, dict[str, Any]] = {
            "same": {"kernel": 3, "same": True},
            "same, dilated": {"kernel": 3, "dilation": 2, "same": True},
            "stride": {"kernel": 3, "stride": 2, "padding": 1},
            "dilated": {"kernel": 2, "dilation": 2, "padding": 1},
            "transposed": {"kernel": 3, "stride": 2, "padding": 1, "extra": 1, "transposed": True},
        }
        names = [f"get_indice_pairs_{dimensions}d"]
        if dimensions < 4:
            names.append(f"get_indice_pairs_grid_{dimensions}d")
        for name in names:
            grid = with_grid if "grid" in name else list
            for kernel in (1, 2, 3) if dimensions < 4 else (1, 2):
                yield Case(name, lambda g=grid, e=exact, k=kernel: g(e(k)), f"stride of the kernel's size {kernel}")
            for what, option in options.items():
                for count, racy in ((60, True), (1, False), (0, False)):
                    yield Case(
                        name,
                        lambda g=grid, v=some, n=count, s=size, o=option: g(search(v(n), 2, s, **o)),
                        f"{what}, {count} voxels",
                        is_racy=racy,
                    )
            odd = on_gpu([[0] + [1] * dimensions], dtype=torch.int)
            yield Case(
                name,
                lambda g=grid, v=odd, s=size: g(search(v.clone(), 2, s, 1, stride=2)),
                "no output at all: refused",
            )
            yield Case(
                name, lambda g=grid, v=some, s=size: g(search(v().long(), 2, s, 3, same=True)), "long voxels: refused"
            )
            yield Case(
                name,
                lambda g=grid, v=some, s=size: g(search(v(), 2, [*s, 5], 3, same=True)),
                "sizes of other dimensions: refused",
            )
            yield Case(
                name,
                lambda g=grid, v=some, s=size: g(search(v()[:, 1:].contiguous(), 2, s, 3, same=True)),
                "voxels of other dimensions: refused",
            )
            big = {2: 65, 3: 17, 4: 9}[dimensions]
            yield Case(
                name, lambda g=grid, v=some, s=size, k=big: g(search(v(), 2, s, k, same=True)), "large kernel: refused"
            )
            if grid is with_grid:
                yield Case(
                    name, lambda v=some, s=size: with_grid(search(v(1), 2, s, 3, same=True), more=50), "larger grid"
                )
                yield Case(
                    name,
                    lambda v=some, s=size: with_grid(search(v(), 2, s, 3, same=True), more=-1),
                    "grid too small: refused",
                )


def convolutions() -> Iterator[Case]:
    for name, dtype in (("fp32", torch.float), ("half", torch.half)):
        for width, out in ((3, 5), (16, 32), (64, 48), (80, 16), (33, 64), (128, 128)):
            for places, inputs, outputs, most in ((8, 150, 90, 80), (27, 300, 301, 200), (9, 20, 30, 16)):

                def ends(
                    w: int = width, o: int = out, p: int = places, t: torch.dtype = dtype, rows: int = inputs
                ) -> list[Tensor]:
                    return [random(rows, w, dtype=t) - 0.5, random(p, w, o, dtype=t, seed=1) - 0.5]

                def forward(
                    ends: Any = ends, p: int = places, i: int = inputs, o: int = outputs, m: int = most, kind: str = ""
                ) -> list[Any]:
                    if kind == "same":
                        return [*ends(rows=i), *pairs(p, i, i, m, same=True), i, 0, 1]
                    if kind == "inverse":
                        return [*ends(rows=o), *pairs(p, i, o, m), i, 1, 0]
                    return [*ends(rows=i), *pairs(p, i, o, m), o, 0, 0]

                def backward(forward: Any = forward, o: int = out, t: torch.dtype = dtype, kind: str = "") -> list[Any]:
                    *four, rows, inverse, same = forward(kind=kind)
                    return [*four[:2], random(rows, o, dtype=t, seed=2) - 0.5, *four[2:], inverse, same]

                def fused(forward: Any = forward, o: int = out, t: torch.dtype = dtype, kind: str = "") -> list[Any]:
                    made = forward(kind=kind)
                    return [*made[:2], random(o, dtype=t, seed=3), *made[2:]]

                size = f"{width} {out} {places} {most}"
                for kind in ("", "same", "inverse"):
                    yield Case(f"indice_conv_{name}", lambda f=forward, k=kind: f(kind=k), f"{size} {kind}")
                    yield Case(f"indice_conv_backward_{name}", lambda f=backward, k=kind: f(kind=k), f"{size} {kind}")
                    yield Case(f"fused_indice_conv_{name}", lambda f=fused, k=kind: f(kind=k), f"{size} {kind}")


def refused_convolutions() -> Iterator[Case]:
    for name, dtype in (("fp32", torch.float), ("half", torch.half)):

        def small(t: torch.dtype = dtype) -> list[Any]:
            return [random(20, 5, dtype=t), random(3, 3, 5, 7, dtype=t), *pairs(9, 20, 30, 16), 30, 0, 0]

        def grads(small: Any = small, t: torch.dtype = dtype) -> list[Any]:
            made = small()
            return [*made[:2], random(30, 7, dtype=t), *made[2:4], 0, 0]

        def biased(small: Any = small, t: torch.dtype = dtype) -> list[Any]:
            made = small()
            return [*made[:2], random(7, dtype=t), *made[2:]]

        other = torch.half if dtype == torch.float else torch.float
        for function, make, counts in (
            (f"indice_conv_{name}", small, 3),
            (f"indice_conv_backward_{name}", grads, 4),
            (f"fused_indice_conv_{name}", biased, 4),
        ):

            def changed(make: Any = make, place: int = 0, value: Any = None) -> list[Any]:
                made = make()
                made[place] = value(made[place])
                return made

            yield Case(function, lambda m=make: m(), "kernel of two dimensions")
            yield Case(function, lambda c=changed, p=counts: c(place=p, value=torch.zeros_like), "no pairs")
            yield Case(function, lambda c=changed, t=other: c(value=lambda a: a.to(t)), "other features: refused")
            yield Case(function, lambda c=changed: c(value=lambda a: a[:, 1:]), "other width: refused")
            yield Case(function, lambda c=changed, p=counts: c(place=p, value=Tensor.long), "long counts: refused")
            yield Case(function, lambda c=changed, p=counts - 1: c(place=p, value=Tensor.long), "long pairs: refused")


def pools() -> Iterator[Case]:
    for name, dtype in (("fp32", torch.float), ("half", torch.half)):
        for width in (1, 5, 16, 32, 64, 96, 130):
            for places, inputs, outputs, most in ((8, 150, 90, 80), (27, 300, 301, 200), (9, 20, 30, 16)):

                def forward(
                    w: int = width, p: int = places, i: int = inputs, o: int = outputs, m: int = most, t: Any = dtype
                ) -> list[Any]:
                    return [random(i, w, dtype=t) - 0.3, *pairs(p, i, o, m), o]

                def backward(forward: Any = forward, w: int = width, t: Any = dtype) -> list[Any]:
                    """Few different numbers, so that many inputs are equal to their output."""
                    features, at, counts, rows = forward()
                    values = [whole(a, w, low=0, high=4, dtype=t, seed=a) for a in (len(features), rows)]
                    return [*values, random(rows, w, dtype=t, seed=4), at, counts]

                yield Case(f"indice_maxpool_{name}", forward, f"{width} {places} {most}")
                yield Case(f"indice_maxpool_backward_{name}", backward, f"{width} {places} {most}")

        def small(t: Any = dtype) -> list[Any]:
            return [random(20, 5, dtype=t), *pairs(9, 20, 30, 16), 30]

        def grads(t: Any = dtype) -> list[Any]:
            return [random(20, 5, dtype=t), random(30, 5, dtype=t), random(30, 5, dtype=t), *pairs(9, 20, 30, 16)]

        other = torch.half if dtype == torch.float else torch.float
        for function, make in ((f"indice_maxpool_{name}", small), (f"indice_maxpool_backward_{name}", grads)):
            yield Case(
                function,
                lambda m=make: [torch.zeros_like(a) if isinstance(a, Tensor) and a.dim() == 1 else a for a in m()],
                "no pairs",
            )
            yield Case(function, lambda m=make, t=other: [m()[0].to(t), *m()[1:]], "other features: refused")
            yield Case(function, lambda m=make: [m()[0].double(), *m()[1:]], "double: refused")
            yield Case(
                function,
                lambda m=make: [a.long() if isinstance(a, Tensor) and a.dtype == torch.int else a for a in m()],
                "long pairs: refused",
            )


def cases() -> Iterator[Case]:
    yield from searches()
    yield from convolutions()
    yield from refused_convolutions()
    yield from pools()
