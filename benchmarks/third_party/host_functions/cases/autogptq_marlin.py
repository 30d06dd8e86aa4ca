"""Calls of AutoGPTQ's Marlin kernels: half times 4-bit weights, one scale a column or one for each 128 rows.

`gptq_repack` checks its argument by `assert`, which ends the process: no tensor is given that it refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from cases import Case, random, whole

INTEGERS = {"low": -(1 << 31), "high": 1 << 31, "dtype": torch.int}


def product(m: int, k: int, n: int, groups: int = 1, tile: tuple[int, int] = (-1, -1), sms: int = -1) -> list[Any]:
    """Return `A` (m, k), packed weights (k, n), the result, the scales, the locks, and how to cut the problem."""
    return [
        random(m, k, dtype=torch.half) - 0.5,
        whole(k // 16, n * 2, **INTEGERS),
        torch.zeros_like(random(m, n, dtype=torch.half)),
        random(groups, n, dtype=torch.half, seed=1) * 0.1,
        torch.zeros_like(whole(n // 128 * 16, dtype=torch.int)),
        *tile,
        sms,
        16,
    ]


def cases() -> Iterator[Case]:
    for m in (1, 5, 16, 17, 32, 47, 64, 100, 200, 1100):
        for k, n in ((256, 256), (1024, 512), (4096, 1024)):
            for groups in (1, k // 128):
                # Thread blocks add parts of a column: two calls of the original tell whether their order matters.
                more = f"{m} x {k} x {n}, {groups} groups"
                yield Case("mul", lambda a=(m, k, n, groups): product(*a), more, is_racy=True)
    for tile in ((128, 128), (64, 256)):
        for sms in (1, 7, 108):
            yield Case("mul", lambda t=tile, s=sms: product(16, 1024, 512, 8, t, s), f"tile {tile}, {sms} SMs")

    def less_room() -> list[Any]:
        arguments = product(130, 512, 256)
        arguments[-1] = 1
        return arguments

    yield Case("mul", less_room, "max_par 1")
    yield Case("mul", lambda: product(0, 256, 256), "no rows")
    yield Case("mul", lambda: product(8, 256, 192), "192 columns: refused")
    yield Case("mul", lambda: product(8, 256, 256, 1, (256, 64)), "a tile without kernel: refused")
    yield Case("mul", lambda: product(8, 256, 256, 3), "three groups: refused")
    yield Case("mul", lambda: product(8, 256, 256, 4), "groups of 64: refused")

    def few_locks() -> list[Any]:
        arguments = product(8, 256, 256)
        arguments[4] = arguments[4][:3]
        return arguments

    yield Case("mul", few_locks, "few locks: refused")
    yield Case("mul", lambda: product(8, 256, 256)[:5], "no defaults: refused")
    weights = lambda rows, columns: whole(rows, columns, **INTEGERS)  # noqa: E731
    for rows, columns in ((2, 64), (16, 64), (32, 320), (512, 1024)):
        yield Case("gptq_repack", lambda s=(rows, columns): [weights(*s)], f"{rows} x {columns}")
    yield Case("gptq_repack", lambda: [[[1, 2]]], "a list: refused")
