"""Calls of TorchANI's atomic environment vectors, with the constants of ANI-1x.

The last argument is an object of the library's class, which the library itself registers: a port needs the same name.
Neighbors are listed in any order, so that sums over more than two of them may differ in their last bits. Gradients are
not called: they come with `backward()` of a result only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import DEVICE, Case, random, whole


def computer(dtype: torch.dtype, cosine: bool, etas: int = 1) -> Any:
    def values(*numbers: float) -> Tensor:
        return torch.tensor(numbers, dtype=dtype, device=DEVICE)

    radial = [0.9 + 0.26875 * i for i in range(16)]
    angles = [0.19634954 + 0.3926991 * i for i in range(8)]
    constants = [values(*[16.0] * etas), values(*radial), values(8.0), values(32.0)]
    shifts = [values(0.9, 1.55, 2.2, 2.85), values(*angles)]
    return torch.classes.cuaev.CuaevComputer(5.2, 3.5, *constants, *shifts, 4, cosine)


def atoms(molecules: int, count: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return coordinates at distances of about 1, and species."""
    coordinates = random(molecules, count, 3, dtype=dtype) * (count ** (1 / 3) * 1.5)
    return coordinates, whole(molecules, count, low=0, high=4, dtype=torch.int)


def run(
    molecules: int, count: int, dtype: torch.dtype = torch.float, cosine: bool = True, padded: bool = False
) -> list[Any]:
    coordinates, species = atoms(molecules, count, dtype)
    if padded:
        species[:, count - 2 :] = -1
    return [coordinates, species, computer(dtype, cosine)]


def half(molecules: int, count: int, dtype: torch.dtype = torch.float, cosine: bool = True) -> list[Any]:
    coordinates, species = atoms(molecules, count, dtype)
    pairs = torch.triu_indices(count, count, 1, device=DEVICE)
    starts = torch.arange(molecules, device=DEVICE).view(-1, 1) * count
    pairs = torch.stack([(row + starts).flatten() for row in pairs])
    flat = coordinates.view(-1, 3)
    deltas = flat[pairs[0]] - flat[pairs[1]]
    distances = (deltas * deltas).sum(-1).sqrt()
    return [coordinates, species, pairs.int().contiguous(), deltas, distances, computer(dtype, cosine)]


def full(count: int, dtype: torch.dtype = torch.float, cosine: bool = True, molecules: int = 1) -> list[Any]:
    coordinates, species = atoms(molecules, count, dtype)
    order = torch.arange(count, dtype=torch.int, device=DEVICE)
    others = order.repeat(count, 1)[order.view(-1, 1) != order]
    return [coordinates, species, order, others, torch.full_like(order, count - 1), computer(dtype, cosine)]


def changed(arguments: list[Any], place: int, value: Any) -> list[Any]:
    arguments[place] = value(arguments[place])
    return arguments


def cases() -> Iterator[Case]:
    for dtype in (torch.float, torch.double):
        for cosine in (False, True):
            options = (dtype, cosine)
            for molecules, count in ((1, 2), (3, 3), (2, 5), (5, 21), (1, 60)):
                what, racy = f"{molecules} x {count}, {dtype}, cosine {cosine}", count > 3
                size = (molecules, count, *options)
                yield Case("cuaev::run", lambda s=size: run(*s), what, racy)
                yield Case("cuaev::run_with_half_nbrlist", lambda s=size: half(*s), what, racy)
                if molecules == 1:
                    yield Case("cuaev::run_with_full_nbrlist", lambda s=size[1:]: full(*s), what, racy)
            yield Case("cuaev::run", lambda o=options: run(4, 9, *o, padded=True), f"padding, {options}", True)
    yield Case("cuaev::run", lambda: run(8, 0), "no atoms")
    yield Case("cuaev::run", lambda: changed(run(1, 3), 1, lambda t: t.long()), "long species: refused")
    yield Case("cuaev::run", lambda: changed(run(1, 3), 1, lambda t: t.cpu()), "two devices: refused")
    yield Case("cuaev::run", lambda: changed(run(3, 3), 0, lambda t: t.transpose(0, 1)), "strides: refused")
    yield Case("cuaev::run", lambda: [*atoms(1, 3, torch.float), computer(torch.float, True, 2)], "two etas: refused")
    yield Case(
        "cuaev::run_with_half_nbrlist", lambda: changed(half(1, 3), 2, lambda t: t.t()), "(P, 2) and P = 3: refused"
    )
    yield Case("cuaev::run_with_half_nbrlist", lambda: changed(half(1, 3), 1, lambda t: t.long()), "long: refused")
    yield Case("cuaev::run_with_full_nbrlist", lambda: full(3, molecules=2), "two molecules: refused")
    yield Case("cuaev::run_with_full_nbrlist", lambda: changed(full(3), 4, lambda t: t[1:]), "other sizes: refused")
