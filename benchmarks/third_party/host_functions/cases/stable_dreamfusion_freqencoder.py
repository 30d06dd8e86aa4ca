"""Calls of stable-dreamfusion's frequency encoder, as in its `freqencoder/freq.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from cases import Case, random


def forward(batch: int, dims: int, degree: int) -> list[Any]:
    width = dims + dims * degree * 2
    return [random(batch, dims) * 2 - 1, batch, dims, degree, width, torch.zeros_like(random(batch, width))]


def backward(batch: int, dims: int, degree: int) -> list[Any]:
    width = dims + dims * degree * 2
    gradient, outputs = random(batch, width), random(batch, width, seed=1) * 2 - 1
    return [gradient, outputs, batch, dims, degree, width, torch.zeros_like(random(batch, dims))]


def cases() -> Iterator[Case]:
    for size in ((1, 1, 1), (4, 3, 6), (129, 3, 4), (1000, 2, 0), (333, 5, 10)):
        yield Case("freq_encode_forward", lambda s=size: forward(*s), f"{size}")
        yield Case("freq_encode_backward", lambda s=size: backward(*s), f"{size}")
    usual = (64, 3, 6)
    yield Case("freq_encode_forward", lambda: [random(7, 9, 3), 63, 3, 2, 15, random(63, 15)], "three dimensions")
    for function, make in (("freq_encode_forward", forward), ("freq_encode_backward", backward)):
        yield Case(function, lambda m=make: [m(*usual)[0].double(), *m(*usual)[1:]], "double: refused")
        yield Case(function, lambda m=make: [m(*usual)[0].half(), *m(*usual)[1:]], "half: refused")
        yield Case(function, lambda m=make: [m(*usual)[0].int(), *m(*usual)[1:]], "int: refused")
        yield Case(function, lambda m=make: [m(*usual)[0].cpu(), *m(*usual)[1:]], "on the CPU: refused")
        yield Case(function, lambda m=make: [*m(*usual)[:-1], m(*usual)[-1].t()], "strides: refused")
    yield Case(
        "freq_encode_forward",
        lambda: [forward(*usual)[0], -1, *forward(*usual)[2:]],
        "a negative size, which no uint32_t holds: refused",
    )
