"""Calls of fast-hadamard-transform: all block sizes of its five functions, padding, and strides of rows."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from cases import Case, random, whole

# The widths of each function are multiples of `step` (others are padded) up to `most`.
FUNCTIONS = {
    "fast_hadamard_transform": (8, 32768),
    "fast_hadamard_transform_12N": (48, 12 * 1024),
    "fast_hadamard_transform_20N": (80, 20 * 1024),
    "fast_hadamard_transform_28N": (112, 28 * 1024),
    "fast_hadamard_transform_40N": (160, 40 * 1024),
}


def cases() -> Iterator[Case]:
    for function, (step, most) in FUNCTIONS.items():
        for dtype in (torch.float, torch.half, torch.bfloat16):
            width = step
            while width <= most:
                yield Case(function, lambda n=width, d=dtype: [random(15, n, dtype=d) - 0.5, 0.125], f"{dtype} {width}")
                width *= 2
            for width in (1, 2, 4, 137, 3 * step + 1, step // 4 * 13, most - 1):
                yield Case(function, lambda n=width, d=dtype: [random(3, n, dtype=d) - 0.5, 1.0], f"{dtype} {width}")
        yield Case(function, lambda n=step: [random(2 * n), 1], "one row, whole scale")
        yield Case(function, lambda n=step: [random(2, 3, 5, 2 * n), -0.3], "four dimensions")
        yield Case(function, lambda n=step: [random(4, 4 * n)[:, : 2 * n], 0.5], "rows with gaps")
        yield Case(function, lambda n=step: [random(2 * n, 4).t(), 0.5], "columns")
        yield Case(function, lambda n=step: [random(4, 2, n).transpose(0, 1), 0.5], "transposed rows")
        yield Case(function, lambda n=step: [random(0, n), 0.5], "no rows: a launch without blocks")
        yield Case(function, lambda n=most: [random(2, n + 1), 0.5], "too wide")
        yield Case(function, lambda n=step: [random(4, n, dtype=torch.double), 0.5], "double: refused")
        yield Case(function, lambda n=step: [whole(4, n, dtype=torch.int), 0.5], "int: refused")
        yield Case(function, lambda n=step: [random(4, n).cpu(), 0.5], "on the CPU: refused")
