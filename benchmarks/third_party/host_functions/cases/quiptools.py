"""Calls of quip-sharp's quiptools: sizes as its kernels and `assert`s need them (a failed one ends the process)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, random, whole

LONGS = {"low": -(1 << 63), "high": (1 << 63) - 1, "dtype": torch.long}


def half(*shape: int, seed: int = 0) -> Tensor:
    return random(*shape, dtype=torch.half, seed=seed) - 0.5


def zeros(*shape: int, dtype: Any = torch.half) -> Tensor:
    return torch.zeros_like(random(*shape, dtype=dtype))


def bytes_of(*shape: int) -> Tensor:
    return whole(*shape, low=0, high=256, dtype=torch.uint8)


def lookup(k: int, m: int, n: int) -> list[Any]:
    return [half(k, n), bytes_of(m, n // 4), half(256, 4, seed=1), zeros(k, m)]


def lookup_e81b(m: int, n: int) -> list[Any]:
    codebook = half(256, 8, seed=1)
    return [half(8, n), whole(m, n // 64, **LONGS), codebook, zeros(8, m, dtype=torch.float)]


def nibbles(m: int, n: int, mask: int, entries: int) -> list[Any]:
    """Return indices of 4 bits, below `entries` by the mask."""
    packed = whole(m, n // 8, low=-(1 << 31), high=1 << 31, dtype=torch.int) & mask
    return [packed, half(entries, 1), zeros(m, n)]


def codes(m: int, n: int) -> list[Tensor]:
    weights = whole(m // 16, n // 64, 8, 4, **LONGS)
    return [weights, whole(256, low=-(1 << 31), high=1 << 31, dtype=torch.int, seed=1)]


def cases() -> Iterator[Case]:
    for step in (8, 16, 32):
        function = f"lookupmatmul_d4_k{step}"
        for k, m, n in ((step, 32, 16), (step, 96, 80), (3 * step, 64, 256)):
            yield Case(function, lambda s=(k, m, n): lookup(*s), f"{k} x {n} x {m}")
        yield Case(function, lambda k=step: lookup(k, 32, 16)[:3], "no result: refused")
    for function in ("decompress_d4", "decompress_d4_origorder"):
        for m, n in ((16, 256), (64, 64), (128, 1024), (3, 2048)):
            yield Case(function, lambda s=(m, n): [bytes_of(s[0], s[1] // 4), half(256, 4), zeros(*s)], f"{m} x {n}")
        yield Case(function, lambda: [bytes_of(64, 16).int(), half(256, 4), zeros(64, 64)], "int: refused")
        yield Case(function, lambda: [bytes_of(64, 16), random(256, 4), zeros(64, 64)], "float: refused")
    for function, mask, entries in (
        ("decompress_hi4b1c_packed", -1, 16),
        ("decompress_hi3b1c_packed", 0x77777777, 8),
        ("decompress_hi2b1c_packed", 0x33333333, 4),
    ):
        for m, n in ((1, 1024), (16, 64), (64, 512), (5, 1000)):
            yield Case(function, lambda a=(m, n, mask, entries): nibbles(*a), f"{m} x {n}")
        yield Case(function, lambda e=entries: [bytes_of(16, 8), half(e, 1), zeros(16, 64)], "bytes: refused")
        yield Case(
            function, lambda e=entries: [bytes_of(16, 8).int() & 3, random(e, 1), zeros(16, 64)], "float: refused"
        )
    for m, n in ((1, 256), (4, 64), (64, 512), (5, 320)):
        yield Case(
            "decompress_e81b_packed",
            lambda s=(m, n): [whole(s[0], s[1] // 64, **LONGS), half(256, 8), zeros(*s)],
            f"{m} x {n}",
        )
    yield Case("decompress_e81b_packed", lambda: [bytes_of(4, 1).int(), half(256, 8), zeros(4, 64)], "int: refused")
    for m, n in ((32, 64), (96, 192), (256, 1024)):
        yield Case("lookupmatmul_e81b_k8", lambda s=(m, n): lookup_e81b(*s), f"8 x {n} x {m}")
    yield Case("lookupmatmul_e81b_k8", lambda: [*lookup_e81b(32, 64)[:3], zeros(8, 32)], "half result: refused")
    for m, n in ((16, 64), (48, 128), (256, 2112), (4096, 1024)):
        yield Case("decompress_packed_e8p", lambda s=(m, n): codes(*s), f"{m} x {n}")
        # Whole inputs: the sums of several warps are exact.
        yield Case("decode_matvec_e8p", lambda s=(m, n): [whole(s[1], dtype=torch.half), *codes(*s)], f"{m} x {n}")
    yield Case("decode_matvec_e8p", lambda: [half(4096), *codes(64, 4096)], "random inputs", is_racy=True)
    yield Case("decompress_packed_e8p", lambda: codes(0, 64), "no rows")
    for function, first in (("decompress_packed_e8p", False), ("decode_matvec_e8p", True)):
        inputs = lambda f=first: [half(64)] if f else []  # noqa: E731
        make = lambda i=inputs: [*i(), *codes(32, 64)]  # noqa: E731
        yield Case(function, lambda i=inputs: [*i(), codes(32, 64)[0].cpu(), codes(32, 64)[1]], "on the CPU: refused")
        yield Case(function, lambda i=inputs: [*i(), codes(32, 64)[0].int(), codes(32, 64)[1]], "int: refused")
        yield Case(
            function,
            lambda i=inputs: [*i(), codes(32, 64)[0].flatten(2), codes(32, 64)[1]],
            "three dimensions: refused",
        )
        yield Case(
            function, lambda i=inputs: [*i(), codes(32, 64)[0].transpose(0, 2), codes(32, 64)[1]], "strides: refused"
        )
        yield Case(function, lambda m=make: [*m()[:-1], m()[-1][:255]], "255 codes: refused")
    yield Case("decode_matvec_e8p", lambda: [half(128), *codes(32, 64)], "a longer vector: refused")
    yield Case("decode_matvec_e8p", lambda: [random(64), *codes(32, 64)], "float: refused")
    yield Case("decompress_packed_e8p", lambda: codes(16, 65536), "too many columns: refused")
