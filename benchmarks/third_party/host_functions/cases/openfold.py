"""Calls of openfold's softmax in place: rows of at most 1,024 columns, as in its `attention_core`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from cases import Case, random


def forward(rows: int, columns: int, dtype: torch.dtype) -> list[Any]:
    return [(random(rows, columns) * 4 - 2).to(dtype), rows, columns]


def backward(batch: int, rows: int, width: int, dtype: torch.dtype) -> list[Any]:
    """Return a softmax of `batch` square matrices, the gradient of its product with the values, and the values."""
    output = random(batch, rows, rows).softmax(-1).to(dtype)
    gradient = (random(batch, rows, width, seed=1) - 0.5).to(dtype)
    values = (random(batch, rows, width, seed=2) - 0.5).to(dtype)
    return [output, gradient, values, batch * rows, rows, width]


def cases() -> Iterator[Case]:
    for dtype in (torch.float, torch.bfloat16):
        for rows, columns in ((1, 1), (5, 7), (4, 32), (37, 33), (64, 100), (13, 257), (3, 1024)):
            yield Case("forward_", lambda r=rows, c=columns, d=dtype: forward(r, c, d), f"{dtype} {rows} x {columns}")
        for batch, rows, width in ((1, 1, 1), (2, 7, 5), (3, 32, 16), (2, 45, 24), (1, 130, 33)):
            yield Case(
                "backward_", lambda a=(batch, rows, width, dtype): backward(*a), f"{dtype} {batch} of {rows} x {width}"
            )
    yield Case("forward_", lambda: [random(6, 4, 9), 24, 9], "three dimensions")
    yield Case("forward_", lambda: [random(9, 17), 4, 17], "the first rows")
    yield Case("forward_", lambda: [random(9, 17).t(), 17, 9], "columns: refused")
    yield Case("forward_", lambda: [random(9, 17).cpu(), 9, 17], "on the CPU: refused")
    yield Case(
        "backward_", lambda: [t.cpu() for t in backward(1, 4, 2, torch.float)[:3]] + [4, 4, 2], "on the CPU: refused"
    )
    yield Case("backward_", lambda: [random(8, 8), random(3, 8).t(), random(8, 3), 8, 8, 3], "columns: refused")
    yield Case("forward_", lambda: [random(9, 17), 9.5, 17], "a float in place of a whole number: refused")
