"""Calls of AutoGPTQ's exllama (version 1).

`make_q4` returns the address of an object, and `q4_matmul` takes one: it is called here only with arguments that it
refuses before it reads the object, as a case is one call. `column_remap` of the C++ has no definition in Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, random, whole


def weights(height: int, width: int, groups: int, order: Tensor | None = None) -> list[Any]:
    """Return the arguments of `make_q4`; `order` has the group of each row, on the CPU."""
    integers = {"low": -(1 << 31), "high": 1 << 31, "dtype": torch.int}
    scales = random(groups, width, dtype=torch.half)
    if order is None:
        order = torch.empty(1, 1, device="meta", dtype=torch.int)
    return [whole(height // 8, width, **integers), whole(groups, width // 8, **integers, seed=1), scales, order, 0]


def shuffled(height: int, groups: int) -> Tensor:
    rows = torch.randperm(height, generator=torch.Generator().manual_seed(3))
    return (rows // (height // groups)).int()


def changed(arguments: list[Any], place: int, value: Any) -> list[Any]:
    arguments[place] = value
    return arguments


def cases() -> Iterator[Case]:
    for threshold, fused, no_half2 in ((8, False, False), (0, True, True), (-1, False, True)):
        yield Case(
            "set_tuning_params", lambda o=(threshold, fused, no_half2): list(o), f"{threshold} {fused} {no_half2}"
        )
    yield Case("set_tuning_params", lambda: [1.5, False, False], "a float: refused")
    yield Case("cleanup_buffers_cuda", list, "nothing to free")
    buffers = lambda: [torch.device("cuda:0"), random(1, 4096, dtype=torch.half), random(1, 512, dtype=torch.half)]  # noqa: E731
    yield Case("prepare_buffers", buffers)
    yield Case("prepare_buffers", lambda: [torch.device("cuda"), *buffers()[1:]], "no index: refused")
    yield Case("prepare_buffers", lambda: [torch.device("cuda:16"), *buffers()[1:]], "index 16: refused")
    yield Case("cleanup_buffers_cuda", list, "frees the buffers")
    yield Case("prepare_buffers", buffers, "again")
    for height, width, groups in ((128, 64, 1), (256, 128, 2), (1024, 520, 8)):
        what = f"{height} x {width}, {groups} groups; the result is an address"
        size = (height, width, groups)
        yield Case("make_q4", lambda s=size: weights(*s), what, is_racy=True)
        yield Case(
            "make_q4", lambda s=size: weights(*s, shuffled(s[0], s[2])), f"in another order, {what}", is_racy=True
        )
    usual = (256, 128, 2)
    yield Case("make_q4", lambda: changed(weights(*usual), 0, random(32, 128)), "float weights: refused")
    yield Case("make_q4", lambda: changed(weights(*usual), 2, random(2, 128)), "float scales: refused")
    yield Case("make_q4", lambda: changed(weights(*usual), 2, random(2, 64, dtype=torch.half)), "narrow: refused")
    yield Case("make_q4", lambda: changed(weights(*usual), 2, random(3, 128, dtype=torch.half)), "groups: refused")
    yield Case("make_q4", lambda: changed(weights(*usual), 3, shuffled(256, 2).long()), "long order: refused")
    half = lambda *shape: random(*shape, dtype=torch.half)  # noqa: E731
    yield Case("q4_matmul", lambda: [random(3, 256), 0, half(3, 128)], "float: refused")
    yield Case("q4_matmul", lambda: [half(3, 256), 0, random(3, 128)], "float result: refused")
    yield Case("q4_matmul", lambda: [half(3, 256), 0, half(4, 128)], "other number of rows: refused")
    yield Case("cleanup", list, "frees all")
