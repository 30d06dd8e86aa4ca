"""Calls of AutoAWQ's second kernels: half times 4-bit weights, packed for them, in groups of 128.

`gemm_forward_cuda_prefill` needs at least 768 rows of weights, as its first stages are read whatever the size. The
launches of `gemv_forward_cuda_decode` ask for no shared memory, though its kernel writes some: only what it refuses is
called.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from cases import Case, random, whole


def prefill(shape: tuple[int, ...], out: int) -> list[Any]:
    inner = shape[-1]
    return [
        random(*shape, dtype=torch.half) - 0.5,
        whole(out // 4, inner, low=-(1 << 15), high=1 << 15, dtype=torch.short),
        random(inner // 128, out, dtype=torch.half, seed=1) * 0.1,
        -random(inner // 128, out, dtype=torch.half, seed=2),
    ]


def decode(batch: int, group: int) -> list[Any]:
    weights = whole(32, 1024 // 2, low=-(1 << 31), high=1 << 31, dtype=torch.int)
    scales = random(8, 128, dtype=torch.half)
    return [random(batch, 1024, dtype=torch.half), weights, scales, scales.clone(), batch, 128, 1024, group]


def changed(arguments: list[Any], place: int, value: Any) -> list[Any]:
    arguments[place] = value
    return arguments


def cases() -> Iterator[Case]:
    function = "gemm_forward_cuda_prefill"
    for rows in (1, 16, 17, 32, 33, 64, 65, 100, 128, 129, 192, 193, 500):
        for inner, out in ((1024, 128), (2048, 384)):
            yield Case(function, lambda s=(rows, inner), n=out: prefill(s, n), f"{rows} x {inner} x {out}")
    yield Case(function, lambda: prefill((2, 7, 1024), 256), "three dimensions, 14 rows")
    yield Case(function, lambda: prefill((3, 70, 1024), 256), "three dimensions, 210 rows")
    usual = ((8, 1024), 128)
    for place, name in enumerate(("inputs", "weights", "scales", "zeros")):
        yield Case(function, lambda p=place: changed(prefill(*usual), p, random(8, 1024)), f"float {name}: refused")
    yield Case("gemv_forward_cuda_decode", lambda: decode(8, 128), "eight rows: refused")
    yield Case("gemv_forward_cuda_decode", lambda: decode(1, 64), "groups of 64: refused")
    yield Case("gemv_forward_cuda_decode", lambda: changed(decode(1, 128), 0, random(1, 1024)), "float: refused")
    yield Case("gemv_forward_cuda_decode", lambda: changed(decode(1, 128), 3, random(8, 128)), "zeros: refused")
