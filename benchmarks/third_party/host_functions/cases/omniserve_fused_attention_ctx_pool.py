"""Calls of omniserve's pooling of keys: the least and the greatest of 16 or 32 tokens, written into the pages.

Other sizes of pools, and heads of other than 128 numbers, are not refused: nothing is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from cases import Case, on_gpu, random
from cases.omniserve_pages import memory_of, quantized, table

FUNCTION = "paged_min_max_pool"


def call(
    lengths: Sequence[int] = (70, 130, 1),
    heads: int = 4,
    pooled: Sequence[int] = (2, 0),
    pool: int = 16,
    tokens: int = 64,
    bits: int = 8,
    zeros: bool = True,
    size: int = 128,
    dtype: torch.dtype = torch.half,
) -> list[Any]:
    """`pooled` are the heads whose keys are pooled."""
    most, count = max(lengths), len(pooled)
    per_token = count * size * bits // 8
    pages = quantized(count, tokens, per_token, more=4 * (tokens // pool) * count * size)
    ends = [0, *torch.tensor(lengths).cumsum(0).tolist()]
    return [
        (random(sum(lengths), heads, size) * 2 - 1).to(dtype),
        table(len(lengths), -(-most // tokens), *pages),
        on_gpu(ends, dtype=torch.int),
        on_gpu(list(pooled), dtype=torch.int),
        most,
        pool,
        tokens,
        per_token,
        zeros,
    ]


def changed(arguments: list[Any], place: int, value: Any) -> list[Any]:
    arguments[place] = value(arguments[place])
    return arguments


def cases() -> Iterator[Case]:
    def case(what: str, **options: Any) -> Case:
        return Case(FUNCTION, lambda o=options: call(**o), what, after=memory_of)

    for pool in (16, 32):
        for zeros in (True, False):
            for bits in (4, 8):
                for lengths in ((1,), (64,), (15, 16, 17, 33), (1500, 3, 1024)):
                    yield case(f"{pool} {zeros} {bits} {lengths}", pool=pool, zeros=zeros, bits=bits, lengths=lengths)
    yield case("pages of 32", tokens=32)
    yield case("one head", heads=1, pooled=(0,))
    yield case("the same head three times", pooled=(1, 1, 1))
    yield case("pools of 8: nothing is done", pool=8)
    yield case("heads of 64: nothing is done", size=64)
    longer = lambda: changed(call(), 4, lambda n: n + 3000)  # noqa: E731
    yield Case(FUNCTION, longer, "a greater length than there is", after=memory_of)
    for dtype in (torch.float, torch.bfloat16):
        yield Case(FUNCTION, lambda d=dtype: call(dtype=d), f"{dtype}: refused")
    for place, what in enumerate(("keys", "a table", "lengths", "heads")):
        yield Case(FUNCTION, lambda p=place: changed(call(), p, Tensor.cpu), f"{what} on the CPU: refused")
    gaps = (lambda t: t[:, ::2], lambda t: t[..., ::2], lambda t: t.repeat(2)[::2], lambda t: t.repeat(2)[::2])
    for place, (what, with_gaps) in enumerate(zip(("keys", "a table", "lengths", "heads"), gaps, strict=True)):
        yield Case(FUNCTION, lambda p=place, g=with_gaps: changed(call(), p, g), f"{what} with gaps: refused")
    for place, what in ((2, "lengths"), (3, "heads")):
        yield Case(FUNCTION, lambda p=place: changed(call(), p, Tensor.long), f"long {what}: refused")
    yield Case(FUNCTION, lambda: changed(call(), 1, Tensor.int), "int table: refused")
    yield Case(FUNCTION, lambda: changed(call(), 5, float), "a float as the pool: refused")
    yield Case(FUNCTION, lambda: changed(call(), 1, lambda _: 5), "a number as the table: refused")
