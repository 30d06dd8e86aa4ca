"""Calls of hqq's unpacking and dequantization: 8 to 1 bits, all element types of the scales.

`dequantize` asserts that the axis is 0, and its C++ is compiled without assertions: other axes are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, random, whole

TYPES = (torch.float, torch.double, torch.half, torch.bfloat16)
PACKED = {"8bit_u8": 1, "4bit_u8": 2, "3bit_32": 10, "2bit_u8": 4, "1bit_u8": 8}
"""How many numbers are packed in one."""


def packed(packing: str, height: int, width: int) -> Tensor:
    if packing == "3bit_32":
        return whole(height, width, low=-(1 << 31), high=1 << 31, dtype=torch.int)
    return whole(height, width, low=0, high=256, dtype=torch.uint8)


def all_of(packing: str, height: int, width: int, dtype: torch.dtype = torch.float) -> list[Any]:
    scale = random(1, width, dtype=dtype, seed=1) / 8
    return [packed(packing, height, width), scale, random(1, width, dtype=dtype, seed=2) * 15]


def whole_call(packing: str, height: int, width: int, rows: int, group: int = 0, nbits: int = 0) -> list[Any]:
    """Return the arguments of `dequantize`, whose result has `rows` rows."""
    numbers = group if nbits == 3 and group > 0 else height * PACKED[packing]
    return [*all_of(packing, height, width), rows, numbers * width // rows, group, nbits, 0, packing]


def changed(arguments: list[Any], place: int, value: Any) -> list[Any]:
    arguments[place] = value(arguments[place])
    return arguments


def of_a_packing(packing: str) -> Iterator[Case]:
    sizes = ((1, 1), (8, 32), (3, 257), (64, 65))
    f = f"dequantize_{packing}"
    for height, width in sizes:
        for dtype in TYPES:
            yield Case(f, lambda s=(packing, height, width, dtype): all_of(*s), f"{height} x {width} {dtype}")
    yield Case(f, lambda: changed(all_of(packing, 8, 32), 1, Tensor.flatten), "a scale in one dimension")
    yield Case(f, lambda: changed(all_of(packing, 8, 32), 0, lambda t: t.view(8, 8, 4)), "three dimensions")
    yield Case(f, lambda: changed(all_of(packing, 8, 32), 0, Tensor.t), "columns: refused")
    yield Case(f, lambda: changed(all_of(packing, 8, 64), 1, lambda t: t.expand(2, -1)[:, ::2]), "gaps: refused")
    yield Case(f, lambda: changed(all_of(packing, 8, 32), 2, Tensor.half), "zeros of another type: refused")
    yield Case(f, lambda: changed(all_of(packing, 8, 32), 0, Tensor.short), "short: refused")
    yield Case(f, lambda: [t.int() for t in all_of(packing, 8, 32)], "int scales: refused")
    for place in range(3):
        yield Case(f, lambda p=place: changed(all_of(packing, 8, 32), p, Tensor.cpu), f"{place} on the CPU: refused")
    yield Case(f, lambda: changed(all_of(packing, 8, 32), 0, Tensor.flatten), "one dimension: refused")
    yield Case(f, lambda: all_of(packing, 0, 32), "no elements: refused")
    if packing == "8bit_u8":
        return
    f = f"unpack_{packing}"
    for height, width in sizes:
        yield Case(f, lambda s=(packing, height, width): [packed(*s)], f"{height} x {width}")
    yield Case(f, lambda: [packed(packing, 8, 32).t()], "columns: refused")
    yield Case(f, lambda: [packed(packing, 8, 32).short()], "short: refused")
    yield Case(f, lambda: [packed(packing, 8, 32).cpu()], "on the CPU: refused")
    yield Case(f, lambda: [packed(packing, 8, 32).flatten()], "one dimension: refused")
    yield Case(f, lambda: [packed(packing, 8, 0)], "no elements: refused")


def cases() -> Iterator[Case]:
    for packing in PACKED:
        yield from of_a_packing(packing)
    f = "dequantize"
    for packing in PACKED:
        for height, width, rows in ((8, 32, 16), (1, 1, 1), (7, 66, 11)):
            yield Case(f, lambda s=(packing, height, width, rows): whole_call(*s), f"{packing} {height} {width} {rows}")
        yield Case(f, lambda p=packing: whole_call(p, 8, 32, 16, 64, 4), f"{packing}, a group size that says nothing")
        yield Case(
            f, lambda p=packing: changed(whole_call(p, 8, 32, 16), 4, lambda k: k + 1), f"{packing} too wide: refused"
        )
        yield Case(f, lambda p=packing: changed(whole_call(p, 8, 32, 16), 4, lambda _: -1), f"{packing}, the rest")
    for group in (64, 80, 78, 1):
        yield Case(f, lambda g=group: whole_call("3bit_32", 8, 32, 2, g, 3), f"3 bits, groups of {group}")
    yield Case(f, lambda: whole_call("2bit_u8", 8, 32, 2, 5, 3), "a group of other packings")
    yield Case(f, lambda: changed(whole_call("3bit_32", 8, 32, 2, 64, 3), 4, lambda k: k + 1), "too wide: refused")
    yield Case(f, lambda: changed(whole_call("4bit_u8", 8, 32, 16), 8, lambda _: "4bit"), "another packing: refused")
    yield Case(f, lambda: changed(whole_call("4bit_u8", 8, 32, 16), 3, float), "a float as a size: refused")
