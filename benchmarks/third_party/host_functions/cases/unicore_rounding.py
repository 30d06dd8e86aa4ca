"""Calls of Uni-Core's rounding: its random numbers come from the GPU's generator."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from cases import Case, random


def cases() -> Iterator[Case]:
    function, bf16 = "fp32_to_bf16_sr", torch.bfloat16
    for size in (1, 33, 512, 513, 100003):
        yield Case(function, lambda n=size: [random(n) * 20 - 10, random(n, dtype=bf16)], f"{size}")
    yield Case(function, lambda: [random(7, 5, 3), random(7, 5, 3, dtype=bf16)], "three dimensions")
    yield Case(function, lambda: [random(6, 4), random(4, 6, dtype=bf16)], "other shape")
    yield Case(function, lambda: [random(8)[1:], random(8, dtype=bf16)[1:]], "not at the start of its memory")
    yield Case(function, lambda: [random(0), random(0, dtype=bf16)], "no elements: a launch without blocks")
    yield Case(function, lambda: [random(4), random(5, dtype=bf16)], "other size: refused")
    yield Case(function, lambda: [random(4), random(4)], "float output: refused")
    yield Case(function, lambda: [random(4, dtype=torch.half), random(4, dtype=bf16)], "half: refused")
    yield Case(function, lambda: [random(8)[::2], random(4, dtype=bf16)], "not contiguous: refused")
    yield Case(function, lambda: [random(4), random(4, dtype=bf16).cpu()], "on the CPU: refused")
