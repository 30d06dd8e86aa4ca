"""Calls of croco's rotary position embedding in two dimensions, which changes the tokens in place.

The kernel loads the next head into shared memory while other warps may still read the one before: where a token is not
within one warp, heads are compared as racy ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, random, whole

FUNCTION = "rope_2d"


def call(
    batch: int,
    count: int,
    heads: int,
    size: int,
    dtype: torch.dtype = torch.float,
    base: float = 100.0,
    forward: float = 1.0,
) -> list[Any]:
    tokens = random(batch, count, heads, size, dtype=dtype) * 2 - 1
    return [tokens, whole(batch, count, 2, low=0, high=30, dtype=torch.long, seed=1), base, forward]


def changed(arguments: list[Any], place: int, value: Any) -> list[Any]:
    arguments[place] = value(arguments[place])
    return arguments


def heads_first(arguments: list[Any]) -> list[Any]:
    """Return the call as the package makes it: the tokens are a view of (batch, heads, count, size)."""
    return changed(arguments, 0, lambda t: t.transpose(1, 2).contiguous().transpose(1, 2))


def cases() -> Iterator[Case]:
    sizes = (
        (1, 1, 1, 4),
        (2, 9, 3, 64),
        (3, 17, 5, 12),
        (1, 196, 12, 64),
        (2, 5, 1, 1024),
        (2, 3, 1, 36),
        (2, 5, 3, 128),
    )
    for size in sizes:
        is_racy = size[2] > 1 and size[3] > 64
        for dtype in (torch.float, torch.double, torch.half, torch.bfloat16):
            yield Case(FUNCTION, lambda s=size, d=dtype: call(*s, d), f"{size} {dtype}", is_racy=is_racy)
    usual = (2, 9, 3, 64)
    yield Case(FUNCTION, lambda: call(*usual, forward=-1.0), "backward")
    yield Case(FUNCTION, lambda: call(*usual, base=10000.0, forward=0.5), "another base")
    yield Case(FUNCTION, lambda: call(*usual, base=100, forward=1), "ints as the base and the factor")
    yield Case(FUNCTION, lambda: changed(call(*usual), 1, lambda t: t - 15), "negative positions")
    yield Case(FUNCTION, lambda: changed(call(*usual), 1, lambda t: t * 100003), "far positions")
    # Several batches lie in a larger tensor: its first two strides are not asked.
    yield Case(FUNCTION, lambda: [call(4, 9, 3, 64)[0][::2], *call(2, 9, 3, 64)[1:]], "every second of a batch")
    yield Case(FUNCTION, lambda: [call(2, 18, 3, 64)[0][:, ::2], *call(2, 9, 3, 64)[1:]], "every second token")
    yield Case(FUNCTION, lambda: heads_first(call(2, 9, 1, 64)), "one head, heads first")
    yield Case(FUNCTION, lambda: heads_first(call(*usual)), "heads first: refused")
    yield Case(FUNCTION, lambda: changed(call(2, 9, 3, 128), 0, lambda t: t[..., ::2]), "gaps: refused")
    yield Case(
        FUNCTION,
        lambda: changed(call(*usual), 1, lambda t: t.transpose(0, 1).contiguous().transpose(0, 1)),
        "positions with gaps: refused",
    )
    yield Case(FUNCTION, lambda: changed(call(*usual), 1, Tensor.int), "int positions: refused")
    yield Case(FUNCTION, lambda: changed(call(*usual), 0, Tensor.int), "int tokens: refused")
    yield Case(FUNCTION, lambda: call(2, 9, 3, 66), "66 wide: refused")
    yield Case(FUNCTION, lambda: changed(call(*usual), 0, lambda t: t[0]), "three dimensions: refused")
    yield Case(FUNCTION, lambda: changed(call(*usual), 1, lambda t: t[0]), "positions of two dimensions: refused")
    yield Case(FUNCTION, lambda: changed(call(*usual), 0, lambda t: t[:1]), "another batch: refused")
    yield Case(FUNCTION, lambda: changed(call(*usual), 0, lambda t: t[:, :8]), "another length: refused")
    yield Case(FUNCTION, lambda: changed(call(*usual), 1, lambda t: torch.cat([t, t], 2)), "four numbers: refused")
    yield Case(FUNCTION, lambda: changed(call(*usual), 1, Tensor.cpu), "positions on the CPU: refused")
    yield Case(FUNCTION, lambda: changed(call(*usual), 2, str), "a text as the base: refused")
    # At the end: the original leaves the errors of these launches behind.
    yield Case(FUNCTION, lambda: call(0, 9, 3, 64), "no batch")
    yield Case(FUNCTION, lambda: call(2, 0, 3, 64), "no tokens")
