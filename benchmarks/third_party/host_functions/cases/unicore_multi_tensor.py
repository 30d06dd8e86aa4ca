"""Calls of Uni-Core's l2norm: launches of up to 110 tensors and 320 chunks each."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from cases import Case, random


def lists(*sizes: int, dtype: torch.dtype = torch.float) -> list[list[Tensor]]:
    return [[random(n, dtype=dtype, seed=i) - 0.5 for i, n in enumerate(sizes)]]


def cases() -> Iterator[Case]:
    for dtype in (torch.float, torch.half, torch.bfloat16):
        for what, sizes in {
            "one number": (1,),
            "few": (4, 33, 2048, 2049),
            "two launches by tensors": tuple(range(1, 131)),
            "all places for tensors": (5,) * 110,
            "several blocks of a tensor": (200000, 65536, 7),
            "empty tensors between": (12, 0, 30, 0, 0, 9),
            "empty tensor at the end: it is not launched": (12, 0),
        }.items():
            for chunk in (65536, 2048, 37):
                if chunk == 37 and what.startswith("several"):
                    continue
                yield Case(
                    "l2norm", lambda c=chunk, s=sizes, d=dtype: [c, lists(*s, dtype=d)], f"{dtype} {what} chunk {chunk}"
                )
        yield Case("l2norm", lambda d=dtype: [64, lists(30000, 5, dtype=d)], f"{dtype} more than 320 chunks")
        yield Case(
            "l2norm", lambda d=dtype: [64, [[random(257, dtype=d)[1:], random(3, 5, dtype=d)]]], f"{dtype} not aligned"
        )
    yield Case("l2norm", lambda: [64, lists(30, dtype=torch.double)], "double: nothing is added")
    yield Case("l2norm", lambda: [64, [[random(6, 4).t()]]], "not contiguous: refused")
    yield Case("l2norm", lambda: [64, [[random(6), random(6, dtype=torch.half)]]], "two types of elements: refused")
    yield Case("l2norm", lambda: [64, [[random(6)], [random(6)]]], "two lists: refused")
    yield Case("l2norm", lambda: [64, [[random(6).cpu()]]], "on the CPU: refused")
    yield Case("l2norm", lambda: [64, [[random(6), random(6).cpu()]]], "two devices: refused")
