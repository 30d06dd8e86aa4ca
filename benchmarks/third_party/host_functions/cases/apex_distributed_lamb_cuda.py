"""Calls of apex's distributed LAMB: the update term, and the update of the weights.

Both read the first tensors of the lists before they check them: no list is empty here, and all are there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from cases import DEVICE, Case, on_gpu, random

TERM, UPDATE = "multi_tensor_lamb_compute_update_term", "multi_tensor_lamb_update_weights"
TYPES = (torch.float, torch.half)

Sizes = Sequence[tuple[int, ...]]
SIZES: dict[str, Sizes] = {
    "one number": [(1,)],
    "a few": [(3, 5), (64,), (4, 4, 4), (1000,)],
    "several chunks": [(2049,), (4096,), (10000,)],
    "many tensors": [(n % 7 + 1,) for n in range(120)],
    "many chunks": [(64 * 700,)],
}


def of(sizes: Sizes, seed: int, dtype: torch.dtype, scale: float = 1.0, shift: float = 0.0) -> list[Tensor]:
    return [
        random(*size, seed=seed + 5 * n, dtype=torch.float).mul(scale).add(shift).to(dtype)
        for n, size in enumerate(sizes)
    ]


def per_tensor(count: int, value: float, dtype: torch.dtype, step: float = 0.0) -> Tensor:
    return (torch.arange(count, device=DEVICE) * step + value).to(dtype)


def flag(value: int = 0) -> Tensor:
    return on_gpu([value], dtype=torch.int)


def term(
    sizes: Sizes = SIZES["a few"],
    types: Sequence[torch.dtype] = (torch.float, torch.float, torch.float),
    chunk: int = 2048,
    step: int = 3,
    mode: int = 1,
    norm: float = 1.0,
    noop: int = 0,
) -> list[Any]:
    """`types` are those of the parameters, of the gradients, and of the arithmetic."""
    dtype, gradient, math = types
    count = len(sizes)
    update = [torch.zeros(size, dtype=math, device=DEVICE) for size in sizes]
    moments = of(sizes, 2, dtype, 0.2, -0.1), of(sizes, 3, dtype, 0.1)
    correction = torch.arange(count, device=DEVICE, dtype=torch.int) % 2
    return [
        chunk,
        flag(noop),
        [of(sizes, 0, gradient, 8, -4), of(sizes, 1, dtype, 2, -1), *moments, update],
        per_tensor(count, 0.9, math),
        per_tensor(count, 0.99, math),
        per_tensor(count, 0.1, math),
        correction,
        flag(step),
        per_tensor(count, 1e-3, math),
        mode,
        per_tensor(count, 0.0, math, 0.01),
        on_gpu([2.0], dtype=math),
        on_gpu([5.0], dtype=math),
        norm,
    ]


def update(
    sizes: Sizes = SIZES["a few"],
    types: Sequence[torch.dtype] = (torch.float, torch.float, torch.float),
    chunk: int = 2048,
    nvlamb: bool = False,
    noop: int = 0,
) -> list[Any]:
    """`types` are those of the parameters, of their copies, and of the arithmetic."""
    dtype, copy, math = types
    count = len(sizes)
    offsets = torch.arange(count, device=DEVICE).flip(0)
    copies = [torch.zeros(size, dtype=copy, device=DEVICE) for size in sizes]
    return [
        chunk,
        flag(noop),
        [of(sizes, 4, math), of(sizes, 1, dtype, 2, -1), copies],
        per_tensor(count, 0.0, math, 0.5),
        per_tensor(count, 3.0, math, -0.25),
        offsets,
        on_gpu([0.01], dtype=math),
        (torch.arange(count, device=DEVICE) % 2).to(math),
        on_gpu([5.0], dtype=math),
        nvlamb,
    ]


MAKES = {TERM: term, UPDATE: update}


def changed(arguments: list[Any], place: int, value: Any) -> list[Any]:
    arguments[place] = value(arguments[place])
    return arguments


def of_lists(arguments: list[Any], number: int, value: Any, tensor: int = 0) -> list[Any]:
    """Change one tensor of one of the lists."""
    arguments[2][number][tensor] = value(arguments[2][number][tensor])
    return arguments


def not_aligned(arguments: list[Any]) -> list[Any]:
    """Put all tensors one element behind where memory begins."""
    arguments[2] = [[torch.cat([t.flatten()[:1], t.flatten()])[1:] for t in each] for each in arguments[2]]
    return arguments


def without(arguments: list[Any], number: int) -> list[Any]:
    """Leave out the first tensor of one of the lists."""
    del arguments[2][number][0]
    return arguments


def usual() -> Iterator[Case]:
    for function, make in MAKES.items():
        for what, sizes in SIZES.items():
            for chunk in (64, 2048):
                if not (what == "many chunks" and chunk == 2048):
                    yield Case(function, lambda m=make, s=sizes, c=chunk: m(s, chunk=c), f"{what}, chunks of {chunk}")
        yield Case(function, lambda m=make: m([(4097,)], chunk=1023), "odd chunks")
        yield Case(function, lambda m=make: not_aligned(m([(4096,), (64,)])), "not aligned")
        yield Case(function, lambda m=make: m([(8,), (0,), (9,)]), "no elements in the middle")
        yield Case(function, lambda m=make: m([(8,), (0,)]), "no elements at the end: nothing is done")
        yield Case(function, lambda m=make: m(noop=1), "nothing is done")
        yield Case(function, lambda m=make: m(noop=2), "a flag that is not 1")
    for types in itertools.product(TYPES, repeat=3):
        yield Case(TERM, lambda t=types: term(types=t), f"{types}")
    for types in itertools.product(TYPES, (*TYPES, torch.uint8), TYPES):
        for nvlamb in (False, True):
            yield Case(UPDATE, lambda t=types, n=nvlamb: update(types=t, nvlamb=n), f"{types} {nvlamb}")
        yield Case(UPDATE, lambda t=types: update([(65,), (3,)], types=t), f"{types}, odd sizes")
    for mode, norm, step in itertools.product((0, 1, 5), (0.0, 1.0, 100.0, -1.0), (1, 200)):
        options = {"mode": mode, "norm": norm, "step": step}
        yield Case(TERM, lambda o=options: term(**o), f"{options}")
    yield Case(TERM, lambda: changed(term(), 13, lambda _: 1), "an int as the norm")


def refused() -> Iterator[Case]:
    # The element types of the moments are not asked: narrower ones would be written beyond their ends.
    for function, make, lists, asked, tensors in (
        (TERM, term, 5, (0, 1, 4), (3, 4, 5, 6, 7, 8, 10, 11, 12)),
        (UPDATE, update, 3, (0, 1, 2), (3, 4, 5, 6, 7, 8)),
    ):
        for number in range(lists):
            yield Case(function, lambda m=make, n=number: of_lists(m(), n, Tensor.cpu), f"{number} on the CPU: refused")
            yield Case(function, lambda m=make, n=number: of_lists(m(), n, Tensor.t), f"{number} with gaps: refused")
            yield Case(
                function, lambda m=make, n=number: of_lists(m(), n, lambda t: t[1:]), f"{number} shorter: refused"
            )
            yield Case(function, lambda m=make, n=number: without(m(), n), f"{number} of fewer tensors: refused")
        for number in asked:
            yield Case(function, lambda m=make, n=number: of_lists(m(), n, Tensor.double), f"{number} double: refused")
            yield Case(
                function, lambda m=make, n=number: of_lists(m(), n, Tensor.bfloat16), f"{number} bfloat16: refused"
            )
        for place in tensors:
            other = lambda m=make, p=place: changed(m(), p, Tensor.double)  # noqa: E731
            yield Case(function, other, f"argument {place} double: refused")
        yield Case(function, lambda m=make: changed(m(), 2, lambda all_: [*all_, all_[0]]), "too many lists: refused")
        yield Case(function, lambda m=make: changed(m(), 1, Tensor.float), "a float flag: refused")
        yield Case(function, lambda m=make: changed(m(), 0, float), "a float as the chunks' size: refused")
    yield Case(TERM, lambda: changed(term(), 9, lambda _: 1.0), "a float as the mode: refused")
    yield Case(TERM, lambda: changed(term(), 13, str), "a text as the norm: refused")
    yield Case(UPDATE, lambda: of_lists(update(), 2, Tensor.int), "int copies: refused")
    yield Case(UPDATE, lambda: changed(update(), 5, Tensor.int), "int offsets: refused")


def cases() -> Iterator[Case]:
    yield from usual()
    yield from refused()
