"""Calls of apex's distributed Adam: lists of tensors (parameters, moments, gradients, results), as its optimizer does.

The first two functions read the first tensor of each list before they check them: no list is empty here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from cases import DEVICE, Case, on_gpu, random, whole

PLAIN, CAPTURABLE = "multi_tensor_fused_adam", "multi_tensor_fused_adam_capturable"
REMAINDERS = "multi_tensor_fused_adam_with_param_remainders"
TYPES = (torch.float, torch.half, torch.bfloat16)

Sizes = Sequence[tuple[int, ...]]
SIZES: dict[str, Sizes] = {
    "one number": [(1,)],
    "a few": [(3, 5), (64,), (4, 4, 4), (1000,)],
    "several chunks": [(2049,), (4096,), (10000,)],
    "many tensors": [(n % 7 + 1,) for n in range(120)],
    "many chunks": [(64 * 700,)],
}


def lists(sizes: Sizes, dtype: torch.dtype, gradient: torch.dtype, out: torch.dtype) -> list[list[Tensor]]:
    def of(seed: int, kind: torch.dtype, scale: float = 1.0, shift: float = 0.0) -> list[Tensor]:
        return [
            random(*size, seed=seed + 5 * n, dtype=torch.float).mul(scale).add(shift).to(kind)
            for n, size in enumerate(sizes)
        ]

    results = [torch.zeros(size, dtype=out, device=DEVICE) for size in sizes]
    return [of(0, dtype, 2, -1), of(1, dtype, 0.2, -0.1), of(2, dtype, 0.1), of(3, gradient, 8, -4), results]


def flag(value: int = 0) -> Tensor:
    return on_gpu([value], dtype=torch.int)


def plain(
    sizes: Sizes = SIZES["a few"],
    types: Sequence[torch.dtype] = (torch.float, torch.float, torch.float),
    chunk: int = 2048,
    step: int = 3,
    mode: int = 1,
    correction: int = 1,
    decay: float = 0.01,
) -> list[Any]:
    numbers = [0.001, 0.9, 0.999, 1e-8, step, mode, correction, decay]
    return [chunk, flag(), lists(sizes, *types), on_gpu([0.5]), *numbers]


def capturable(*args: Any, noop: int = 0, **options: Any) -> list[Any]:
    chunk, _, tensors, scale, rate, *betas, step, mode, correction, decay = plain(*args, **options)
    return [chunk, flag(noop), tensors, scale, on_gpu([rate]), *betas, flag(step), mode, correction, decay]


def remainders(sizes: Sizes = SIZES["a few"], gradient: torch.dtype = torch.float, **options: Any) -> list[Any]:
    chunk, noop, (_, first, second, gradients, _), *numbers = plain(
        sizes, (torch.float, gradient, torch.float), **options
    )
    high = [random(*size, seed=9, dtype=torch.bfloat16) for size in sizes]
    low = [whole(*size, low=-(1 << 15), high=1 << 15, dtype=torch.int16, seed=8) for size in sizes]
    results = [torch.zeros_like(each) for each in high]
    return [chunk, noop, [high, low, first, second, gradients, results], *numbers]


MAKES = {PLAIN: plain, CAPTURABLE: capturable, REMAINDERS: remainders}


def changed(arguments: list[Any], place: int, value: Any) -> list[Any]:
    arguments[place] = value(arguments[place])
    return arguments


def of_lists(arguments: list[Any], number: int, value: Any) -> list[Any]:
    """Change the first tensor of one of the lists."""
    arguments[2][number][0] = value(arguments[2][number][0])
    return arguments


def not_aligned(arguments: list[Any]) -> list[Any]:
    """Put all tensors one element behind where memory begins."""
    arguments[2] = [[torch.cat([t.flatten()[:1], t.flatten()])[1:] for t in each] for each in arguments[2]]
    return arguments


def channels_last(arguments: list[Any]) -> list[Any]:
    arguments[2] = [[t.contiguous(memory_format=torch.channels_last) for t in each] for each in arguments[2]]
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
        for mode, correction, decay in itertools.product((0, 1), (0, 1), (0.0, 0.1)):
            options = {"mode": mode, "correction": correction, "decay": decay}
            yield Case(function, lambda m=make, o=options: m(**o), f"{options}")
        for step in (1, 1000):
            yield Case(function, lambda m=make, s=step: m(step=s), f"step {step}")
        yield Case(function, lambda m=make: m(mode=7), "another mode")
        yield Case(function, lambda m=make: m([(4097,)], chunk=1023), "odd chunks")
        yield Case(function, lambda m=make: not_aligned(m([(4096,), (64,)])), "not aligned")
        yield Case(function, lambda m=make: m([(8,), (0,), (9,)]), "no elements in the middle")
        yield Case(function, lambda m=make: m([(8,), (0,)]), "no elements at the end: nothing is done")
        yield Case(function, lambda m=make: channels_last(m([(2, 3, 4, 5)])), "channels last")
    for types in itertools.product(TYPES, repeat=3):
        for function in (PLAIN, CAPTURABLE):
            yield Case(function, lambda m=MAKES[function], t=types: m(types=t), f"{types}")
    for gradient in TYPES:
        yield Case(REMAINDERS, lambda g=gradient: remainders(gradient=g), f"{gradient}")
    yield Case(CAPTURABLE, lambda: capturable(noop=1), "nothing is done")
    yield Case(PLAIN, lambda: changed(plain(), 1, lambda t: t + 1), "a flag that is not asked")


def refused() -> Iterator[Case]:
    for function, make in MAKES.items():
        for number in range(6 if function == REMAINDERS else 5):
            yield Case(function, lambda m=make, n=number: of_lists(m(), n, Tensor.cpu), f"{number} on the CPU: refused")
            yield Case(function, lambda m=make, n=number: of_lists(m(), n, Tensor.t), f"{number} with gaps: refused")
            yield Case(
                function, lambda m=make, n=number: of_lists(m(), n, lambda t: t[1:]), f"{number} shorter: refused"
            )
            yield Case(function, lambda m=make, n=number: without(m(), n), f"{number} of fewer tensors: refused")
        yield Case(function, lambda m=make: changed(m(), 2, lambda all_: all_[:-1]), "too few lists: refused")
        yield Case(function, lambda m=make: changed(m(), 2, lambda all_: [*all_, all_[0]]), "too many lists: refused")
        yield Case(function, lambda m=make: changed(m(), 2, lambda all_: all_[0]), "one list: refused")
        number = 4 if function == REMAINDERS else 3
        yield Case(function, lambda m=make, n=number: of_lists(m(), n, Tensor.double), "double gradients: refused")
        yield Case(function, lambda m=make: changed(m(), 1, Tensor.float), "a float flag: refused")
        yield Case(function, lambda m=make: changed(m(), 3, Tensor.double), "a double scale: refused")
        yield Case(function, lambda m=make: changed(m(), 0, float), "a float as the chunks' size: refused")
        yield Case(function, lambda m=make: changed(m(), 5, str), "a text as beta: refused")
    yield Case(PLAIN, lambda: of_lists(plain(), 0, Tensor.double), "double parameters: refused")
    yield Case(CAPTURABLE, lambda: of_lists(capturable(), 4, Tensor.int), "int results: refused")
    yield Case(CAPTURABLE, lambda: changed(capturable(), 4, Tensor.half), "a half rate: refused")
    yield Case(CAPTURABLE, lambda: changed(capturable(), 8, Tensor.long), "a long step: refused")
    yield Case(PLAIN, lambda: changed(plain(), 8, lambda _: 2.5), "a float as the step: refused")


def cases() -> Iterator[Case]:
    yield from usual()
    yield from refused()
