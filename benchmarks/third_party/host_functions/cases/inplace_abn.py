"""Calls of inplace_abn. Without images or channels its host functions divide by zero: left out."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
from torch import Tensor

from cases import Case, on_gpu, random, whole

SHAPES = ((2, 3), (1, 1, 1), (4, 5, 6), (33, 7, 300), (2, 16, 9, 11), (5, 40, 3, 4, 5), (8, 32, 40, 41))
TYPES: tuple[tuple[torch.dtype, torch.dtype | None], ...] = (  # of the elements, and of the weights
    (torch.float, torch.float),
    (torch.float, None),
    (torch.double, torch.double),
    (torch.double, None),
    (torch.half, torch.half),
    (torch.half, torch.float),
    (torch.half, None),
)


@cache
def activation(name: str) -> Any:
    """Return a member of the enumeration of the extension that this process has loaded."""
    classes = [each for each in gc.get_objects() if issubclass(type(each), type) and each.__name__ == "Activation"]
    return next(getattr(each, name) for each in classes if hasattr(each, name))


def statistic(count: int, dtype: torch.dtype, seed: int) -> Tensor:
    """Those of halves are floats."""
    return random(count, dtype=torch.float if dtype == torch.half else dtype, seed=seed)


def weights(count: int, dtype: torch.dtype | None) -> list[Tensor | None]:
    """The weight, which may be negative, and the bias; None without a type."""
    return [None, None] if dtype is None else [random(count, dtype=dtype, seed=s) - 0.3 for s in (3, 4)]


def values(shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0) -> Tensor:
    return random(*shape, dtype=dtype, seed=seed) * 4 - 2


def forward(shape: tuple[int, ...], dtype: torch.dtype, of_weights: torch.dtype | None) -> list[Any]:
    c = shape[1]
    return [values(shape, dtype), statistic(c, dtype, 1), statistic(c, dtype, 2), *weights(c, of_weights), 1e-5]


def reduced(shape: tuple[int, ...], dtype: torch.dtype, of_weights: torch.dtype | None) -> list[Any]:
    return [values(shape, dtype), values(shape, dtype, 1), *weights(shape[1], of_weights), 1e-5]


def trained(shape: tuple[int, ...], dtype: torch.dtype, of_weights: torch.dtype | None) -> list[Any]:
    c = shape[1]
    count = on_gpu([values(shape, dtype).numel() // c])
    sums = [statistic(c, dtype, 5), statistic(c, dtype, 6)]
    tensors = [values(shape, dtype), values(shape, dtype, 1), statistic(c, dtype, 2), count, *sums]
    return [*tensors, weights(c, of_weights)[0], 1e-5]


def tested(shape: tuple[int, ...], dtype: torch.dtype, of_weights: torch.dtype | None) -> list[Any]:
    c = shape[1]
    return [values(shape, dtype), statistic(c, dtype, 2), weights(c, of_weights)[0], 1e-3]


ACTIVATIONS = (("LeakyReLU", 0.01), ("ELU", 1.0), ("Identity", 1))


def whole_calls() -> Iterator[Case]:
    for shape in SHAPES:
        for dtype, kind in TYPES:
            what = f"{shape} {dtype} weights {kind}"
            for name, slope in ACTIVATIONS:
                for function, make in (("forward", forward), ("backward_reduce", reduced)):
                    yield Case(
                        function,
                        lambda m=make, s=shape, d=dtype, k=kind, n=name, p=slope: [*m(s, d, k), activation(n), p],
                        f"{what} {name}",
                    )
            yield Case("backward_train", lambda s=shape, d=dtype, k=kind: trained(s, d, k), what)
            yield Case("backward_test", lambda s=shape, d=dtype, k=kind: tested(s, d, k), what)
        for dtype in (torch.float, torch.double, torch.half):
            yield Case("statistics", lambda s=shape, d=dtype: [values(s, d)], f"{shape} {dtype}")
    for dtype in (torch.float, torch.double):
        for n, c in ((1, 1), (4, 33), (8, 1000), (3, 512)):
            yield Case("reduce_statistics", lambda n=n, c=c, d=dtype: all_statistics(n, c, d), f"{n} {c} {dtype}")


def all_statistics(n: int, c: int, dtype: torch.dtype = torch.float) -> list[Tensor]:
    counts = whole(n, 1, low=1, high=1000, dtype=torch.long)
    return [random(n, c, dtype=dtype), random(n, c, dtype=dtype, seed=1), counts]


def with_strides() -> Iterator[Case]:
    def changed(a: Tensor, kind: str) -> Tensor:
        if kind == "channels last":
            return a.to(memory_format=torch.channels_last)
        return a.transpose(2, 3).contiguous().transpose(2, 3)

    # The height and the width of the second cannot be seen as one dimension.
    for kind in ("channels last", "columns: refused"):
        for function, make, places in (
            ("forward", forward, 1),
            ("backward_reduce", reduced, 2),
            ("backward_train", trained, 2),
            ("backward_test", tested, 1),
            ("statistics", lambda s, d, _: [values(s, d)], 1),
        ):

            def strided(m: Any = make, p: int = places, k: str = kind, f: str = function) -> list[Any]:
                made = m((2, 6, 4, 5), torch.float, torch.float)
                ends = [activation("LeakyReLU"), 0.2] if f in ("forward", "backward_reduce") else []
                return [*(changed(a, k) for a in made[:p]), *made[p:], *ends]

            yield Case(function, strided, kind)
    yield Case(
        "reduce_statistics", lambda: [random(9, 4).t(), random(4, 18)[:, ::2], all_statistics(4, 9)[2]], "strides"
    )


def refused() -> Iterator[Case]:
    shape, f32, f16 = (2, 6, 4), torch.float, torch.half

    def changed(make: Any, place: int, value: Any, dtype: torch.dtype = f32) -> list[Any]:
        made = [*make(shape, dtype, dtype), *([activation("ELU"), 1.0] if make in (forward, reduced) else [])]
        made[place] = value
        return made

    wrong: list[tuple[str, str, Any, int, Any]] = [
        ("one dimension", "forward", forward, 0, lambda: random(6)),
        ("mean of other size", "forward", forward, 1, lambda: random(5)),
        ("half variance", "forward", forward, 2, lambda: random(6, dtype=f16)),
        ("no weight", "forward", forward, 3, lambda: None),
        ("double bias", "forward", forward, 4, lambda: random(6).double()),
        ("bfloat16", "forward", forward, 0, lambda: random(*shape).bfloat16()),
        ("a number as the activation", "forward", forward, 6, lambda: 1),
        ("other size", "backward_reduce", reduced, 1, lambda: random(2, 6, 5)),
        ("half gradient", "backward_reduce", reduced, 1, lambda: random(*shape, dtype=f16)),
        ("no bias", "backward_reduce", reduced, 3, lambda: None),
        ("other gradient", "backward_train", trained, 1, lambda: random(2, 6)),
        ("int count", "backward_train", trained, 3, lambda: on_gpu([8], dtype=torch.int)),
        ("two counts", "backward_train", trained, 3, lambda: on_gpu([8, 8])),
        ("other sums", "backward_train", trained, 5, lambda: random(7)),
        ("other weight", "backward_test", tested, 2, lambda: random(5)),
        ("two-dimensional variance", "backward_test", tested, 1, lambda: random(6, 1)),
    ]
    for what, function, make, place, value in wrong:
        yield Case(function, lambda m=make, p=place, v=value: changed(m, p, v()), f"{what}: refused")
    yield Case("forward", lambda: changed(forward, 1, random(6, dtype=f16), f16), "half mean of halves: refused")
    yield Case("statistics", lambda: [random(5)], "one dimension: refused")
    yield Case("statistics", lambda: [random(0, 3, 4)], "no elements: refused")
    yield Case("statistics", lambda: [whole(2, 3, 4, dtype=torch.int)], "int: refused")
    yield Case("statistics", lambda: [random(2, 3, 4).bfloat16()], "bfloat16: refused")
    for what, place, value in (
        ("half", 0, lambda: random(4, 9, dtype=f16)),
        ("double and float", 1, lambda: random(4, 9).double()),
        ("on the CPU", 0, lambda: random(4, 9).cpu()),
        ("count on the CPU", 2, lambda: all_statistics(4, 9)[2].cpu()),
        ("int count", 2, lambda: all_statistics(4, 9)[2].int()),
        ("counts in a row", 2, lambda: all_statistics(4, 9)[2].t()),
        ("other channels", 1, lambda: random(4, 8)),
    ):

        def statistics(p: int = place, v: Any = value) -> list[Any]:
            made = all_statistics(4, 9)
            made[p] = v()
            return made

        yield Case("reduce_statistics", statistics, f"{what}: refused")


def cases() -> Iterator[Case]:
    yield from whole_calls()
    yield from with_strides()
    yield from refused()
