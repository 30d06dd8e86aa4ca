"""Calls of torch-ngp's encoder of directions by spherical harmonics, degrees 1 to 8."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, random


def directions(batch: int, dtype: torch.dtype) -> Tensor:
    return torch.nn.functional.normalize(random(batch, 3) * 2 - 1, dim=-1).to(dtype)


def zeros(*shape: int, dtype: torch.dtype) -> Tensor:
    return torch.zeros_like(random(*shape, dtype=dtype))


def forward(batch: int, degree: int, dtype: torch.dtype, with_gradient: bool) -> list[Any]:
    gradient = zeros(batch, 3 * degree * degree, dtype=dtype) if with_gradient else None
    return [directions(batch, dtype), zeros(batch, degree * degree, dtype=dtype), batch, 3, degree, gradient]


def backward(batch: int, degree: int, dtype: torch.dtype) -> list[Any]:
    gradient = random(batch, degree * degree, dtype=dtype)
    slopes = random(batch, 3 * degree * degree, dtype=dtype, seed=1)
    return [gradient, directions(batch, dtype), batch, 3, degree, slopes, random(batch, 3, dtype=dtype, seed=2)]


def cases() -> Iterator[Case]:
    for dtype in (torch.float, torch.half, torch.double):
        for degree in range(1, 9):
            for with_gradient in (False, True):
                yield Case(
                    "sh_encode_forward",
                    lambda a=(259, degree, dtype, with_gradient): forward(*a),
                    f"{dtype} degree {degree}, gradient {with_gradient}",
                )
            yield Case("sh_encode_backward", lambda a=(259, degree, dtype): backward(*a), f"{dtype} degree {degree}")
    yield Case("sh_encode_forward", lambda: forward(1, 4, torch.float, True), "one direction")
    yield Case("sh_encode_backward", lambda: backward(1, 4, torch.float), "one direction")
    for function, make in (
        ("sh_encode_forward", lambda: forward(8, 2, torch.float, True)),
        ("sh_encode_backward", lambda: backward(8, 2, torch.float)),
    ):
        yield Case(function, lambda m=make: [m()[0].int(), *m()[1:]], "int: refused")
        yield Case(function, lambda m=make: [m()[0].cpu(), *m()[1:]], "on the CPU: refused")
        yield Case(function, lambda m=make: [m()[0].t(), *m()[1:]], "strides: refused")
        yield Case(function, lambda m=make: [m()[0].double(), *m()[1:]], "two types: refused")
