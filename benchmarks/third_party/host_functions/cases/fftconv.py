"""Calls of safari's fftconv: all sizes of its transform, the element types, heads (1 or 8), and both layouts.

Eight heads need `v` and `q`, and the backward function writes where `u`'s strides say, so that `u` has no gaps there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, random


def signal(b: int, h: int, length: int, dtype: torch.dtype, seed: int, by_head: bool = False) -> Tensor:
    if by_head:
        return (random(h, b, length, dtype=dtype, seed=seed) - 0.5).permute(1, 0, 2)
    return random(b, h, length, dtype=dtype, seed=seed) - 0.5


def forward(
    fft: int,
    b: int = 2,
    h: int = 8,
    length: int = 0,
    dtype: torch.dtype = torch.float,
    heads: int = 1,
    gated: bool = False,
    dropout: bool = False,
    gelu: bool = True,
    half_output: bool = False,
    by_head: bool = False,
) -> list[Any]:
    length = length or fft // 2
    kernel = torch.complex(random(h // heads, fft // 2 + 1, seed=1), random(h // heads, fft // 2 + 1, seed=2))
    gates = [signal(b, h, length, dtype, seed) if gated or heads > 1 else None for seed in (3, 4)]
    mask = random(b, h, seed=5).round() * 2 if dropout else None
    u = signal(b, h, length, dtype, 0)
    weight = random(h // heads, seed=6)
    return [u, kernel, weight, gates[0], heads, gates[1], mask, gelu, False, False, fft, half_output, by_head, False]


def backward(fft: int, by_head: bool = False, half_output: bool = False, **options: Any) -> list[Any]:
    made = forward(fft, by_head=by_head, **options)
    u = made[0]
    grad = signal(*u.shape, torch.half if half_output else u.dtype, 7, by_head)
    return [grad, *made[:11], by_head, False]


def cases() -> Iterator[Case]:
    for power in range(4, 15):
        fft = 1 << power
        for dtype in (torch.float, torch.half, torch.bfloat16):
            for made in (
                {"dropout": True},
                {"gated": True, "gelu": False},
                {"heads": 8, "h": 16, "dropout": True},
                {"length": fft // 2 - 2, "b": 3, "h": 5, "by_head": True},
            ):
                options = {"dtype": dtype, **made}
                what = f"{fft} {dtype} {made}"
                yield Case("fftconv_fwd", lambda f=fft, o=options: forward(f, **o), what)
                # The gradient of `v` is a sum of 8 heads in any order.
                is_racy = "heads" in made
                yield Case("fftconv_bwd", lambda f=fft, o=options: backward(f, **o), what, is_racy=is_racy)
    for half in (torch.float, torch.half, torch.bfloat16):
        yield Case(
            "fftconv_fwd", lambda d=half: forward(64, dtype=d, half_output=True, gated=True), f"{half} to half output"
        )
    yield Case("fftconv_bwd", lambda: backward(64, half_output=True, gated=True), "float from half gradient")
    # Nothing is launched: the results are what the comparison fills uninitialized memory with.
    yield Case("fftconv_fwd", lambda: [*forward(64, heads=8)[:-1], True], "half transform")
    yield Case("fftconv_bwd", lambda: [*backward(64, heads=8)[:-1], True], "half transform")
    yield Case("fftconv_fwd", lambda: forward(32, length=2, b=1, h=1), "two numbers")
    yield Case("fftconv_bwd", lambda: backward(32, length=2, b=1, h=1, by_head=True), "two numbers")

    def strided(back: bool) -> list[Any]:
        made = backward(64, gated=True) if back else forward(64, gated=True)
        for place, seed in ((1, 0), (4, 3), (6, 4)) if back else ((0, 0), (3, 3), (5, 4)):
            made[place] = signal(2, 8, 32, torch.float, seed, by_head=True)
        return made

    yield Case("fftconv_fwd", lambda: strided(False), "heads before batches")
    yield Case("fftconv_bwd", lambda: strided(True), "heads before batches")
    yield Case("fftconv_fwd", lambda: [random(2, 8, 100)[:, :, :32], *forward(64)[1:]], "rows with gaps")

    def changed(place: int, value: object, back: bool = False) -> list[Any]:
        made = backward(64) if back else forward(64)
        made[place] = value
        return made

    def spectrum(*shape: int) -> Tensor:
        return torch.complex(random(*shape), random(*shape))

    refused = {
        "double signal": (0, lambda: random(2, 8, 32, dtype=torch.double)),
        "columns": (0, lambda: random(2, 32, 8).transpose(1, 2)),
        "odd length": (0, lambda: random(2, 8, 31)),
        "longer than half of the transform": (0, lambda: random(2, 8, 34)),
        "other filter": (1, lambda: spectrum(8, 32)),
        "filter with gaps": (1, lambda: spectrum(8, 66)[:, ::2]),
        "half weight": (2, lambda: random(8, dtype=torch.half)),
        "other gate": (3, lambda: random(2, 8, 30)),
        "filter for other heads": (4, lambda: 2),
        "mask of other size": (6, lambda: random(2, 7)),
        "gelu of the input": (8, lambda: True),
        "no power of two": (10, lambda: 63),
        "half transform with one head": (13, lambda: True),
    }
    for what, (place, value) in refused.items():
        yield Case("fftconv_fwd", lambda p=place, v=value: changed(p, v()), f"{what}: refused")
        yield Case("fftconv_bwd", lambda p=place + (place < 11), v=value: changed(p, v(), True), f"{what}: refused")
    yield Case("fftconv_fwd", lambda: forward(64, heads=2), "no kernel for two heads: refused")
    yield Case("fftconv_bwd", lambda: backward(64, heads=2), "no kernel for two heads: refused")
    yield Case("fftconv_fwd", lambda: changed(0, random(2, 8, 32).cpu()), "on the CPU: refused")
    yield Case("fftconv_bwd", lambda: changed(0, random(2, 32, 8).transpose(1, 2), True), "gradient's columns: refused")
    yield Case("fftconv_bwd", lambda: changed(0, random(2, 8, 32).cpu(), True), "gradient on the CPU: refused")
