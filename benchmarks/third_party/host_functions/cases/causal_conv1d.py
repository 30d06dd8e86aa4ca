"""Calls of causal-conv1d: widths 2 to 4, both layouts, states before and after, as in its tests.

The gradients of weights and bias add up by atomics: whole numbers without SiLU give exact sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cases import DEVICE, Case, on_gpu, random, whole

TYPES = (torch.float, torch.half, torch.bfloat16)


@dataclass(frozen=True)
class Problem:
    """Sizes, types and options of a convolution."""

    batch: int = 2
    dim: int = 64
    length: int = 151
    width: int = 4
    dtype: torch.dtype = torch.float
    weights: torch.dtype = torch.float
    last: bool = False
    """Whether the channels are the innermost dimension."""
    bias: bool = True
    silu: bool = False
    groups: bool = False
    """Whether rows consist of several sequences (`seq_idx`)."""
    states: bool = False
    is_whole: bool = False

    def values(self, *shape: int, dtype: torch.dtype | None = None, seed: int = 0) -> Tensor:
        dtype = dtype or self.dtype
        return (
            whole(*shape, low=-3, high=4, dtype=dtype, seed=seed)
            if self.is_whole
            else random(*shape, dtype=dtype, seed=seed) - 0.5
        )

    def sequence(self, length: int, seed: int = 0) -> Tensor:
        if self.last:
            return self.values(self.batch, length, self.dim, seed=seed).transpose(1, 2)
        return self.values(self.batch, self.dim, length, seed=seed)

    def weight(self) -> Tensor:
        return self.values(self.dim, self.width, dtype=self.weights, seed=1)

    def biases(self) -> Tensor | None:
        return self.values(self.dim, dtype=self.weights, seed=2) if self.bias else None

    def indices(self) -> Tensor | None:
        if not self.groups:
            return None
        steps = (random(self.batch, self.length, seed=3) > 0.9).cumsum(1)
        return steps.to(torch.int)

    def state(self, seed: int) -> Tensor | None:
        return self.sequence(self.width - 1, seed) if self.states else None

    def forward(self) -> list[Any]:
        x = self.sequence(self.length)
        final = torch.zeros_like(self.sequence(self.width - 1)) if self.states else None
        return [x, self.weight(), self.biases(), self.indices(), self.state(4), torch.zeros_like(x), final, self.silu]

    def backward(self) -> list[Any]:
        x = self.sequence(self.length)
        dweight = torch.zeros(self.dim, self.width, device=DEVICE)
        dbias = torch.zeros(self.dim, device=DEVICE) if self.bias else None
        before = torch.zeros_like(self.sequence(self.width - 1)) if self.states else None
        return [
            x,
            self.weight(),
            self.biases(),
            self.sequence(self.length, 5),
            self.indices(),
            self.state(4),
            self.state(6),
            torch.zeros_like(x),
            dweight,
            dbias,
            before,
            self.silu,
        ]

    def update(self, state: int, circular: bool = False, entries: int = 0) -> list[Any]:
        x = self.sequence(self.length)
        starts = whole(self.batch, low=0, high=3 * state, dtype=torch.int) if circular else None
        places = torch.randperm(entries, generator=torch.Generator().manual_seed(8))[: self.batch] if entries else None
        chosen = None if places is None else on_gpu(places.tolist(), dtype=torch.int)
        before = self.values(entries or self.batch, self.dim, state, seed=7)
        return [x, before, self.weight(), self.biases(), torch.zeros_like(x), self.silu, starts, chosen]


def changed(arguments: list[Any], place: int, value: Any) -> list[Any]:
    arguments[place] = value(arguments[place])
    return arguments


def of_widths() -> Iterator[Case]:
    for width in (2, 3, 4):
        for last in (False, True):
            for bias in (False, True):
                for length in (1, 8, 128, 372, 1024):
                    what = f"width {width}, channels last {last}, bias {bias}, {length} long"
                    for dtype in (torch.float, torch.half):
                        options = {"width": width, "last": last, "bias": bias, "length": length, "dtype": dtype}
                        yield Case("causal_conv1d_fwd", Problem(**options).forward, f"{what}, {dtype}")
                        yield Case("causal_conv1d_bwd", Problem(**options, is_whole=True).backward, f"{what}, {dtype}")
        for length in (5, 200):
            for options in (
                {"groups": True},
                {"states": True},
                {"groups": True, "silu": True},
                {"states": True, "silu": True},
            ):
                problem = Problem(width=width, last=True, length=length, **options)
                yield Case("causal_conv1d_fwd", problem.forward, f"width {width}, {length} long, {options}")
                exact = Problem(width=width, last=True, length=length, is_whole=True, **options)
                yield Case(
                    "causal_conv1d_bwd",
                    exact.backward,
                    f"width {width}, {length} long, {options}",
                    is_racy="silu" in options,
                )
        for length, state, circular, entries in (
            (1, width - 1, False, 0),
            (3, 7, False, 0),
            (1, 6, True, 0),
            (4, 9, True, 5),
        ):
            for bias in (False, True):
                problem = Problem(width=width, dim=72, length=length, bias=bias, silu=bias)
                yield Case(
                    "causal_conv1d_update",
                    lambda a=(problem, state, circular, entries): a[0].update(*a[1:]),
                    f"width {width}, {length} long, state {state}, circular {circular}, of {entries}, bias {bias}",
                )


def cases() -> Iterator[Case]:
    for dtype in TYPES:
        for weights in TYPES:
            for last in (False, True):
                problem = Problem(dtype=dtype, weights=weights, last=last, silu=True)
                exact = Problem(dtype=dtype, weights=weights, last=last, is_whole=True)
                what = f"{dtype}, weights {weights}, channels last {last}"
                yield Case("causal_conv1d_fwd", problem.forward, what)
                yield Case("causal_conv1d_bwd", exact.backward, what)
            update = Problem(dtype=dtype, weights=weights, length=1, silu=True)
            yield Case("causal_conv1d_update", lambda p=update: p.update(3), f"{dtype}, weights {weights}")
    yield from of_widths()
    yield Case("causal_conv1d_bwd", Problem(silu=True).backward, "SiLU", is_racy=True)
    yield Case("causal_conv1d_bwd", Problem(last=True, silu=True).backward, "SiLU, channels last", is_racy=True)
    yield Case("causal_conv1d_fwd", Problem(batch=1, dim=3, length=77).forward, "three channels")
    yield Case("causal_conv1d_update", lambda: Problem(length=2, last=True).update(5), "channels last")

    def gradient_last() -> list[Any]:
        return changed(Problem(is_whole=True).backward(), 3, lambda t: t.transpose(1, 2).contiguous().transpose(1, 2))

    yield Case("causal_conv1d_bwd", gradient_last, "a gradient in the other layout")

    def slices() -> list[Any]:
        arguments = Problem(dim=128, length=96).forward()
        return [
            arguments[0][:, 32:64],
            arguments[1][32:64],
            arguments[2][32:64],
            None,
            None,
            torch.zeros_like(arguments[0])[:, 32:64],
            None,
            True,
        ]

    yield Case("causal_conv1d_fwd", slices, "some of the channels")
    for function, make in (
        ("causal_conv1d_fwd", lambda: Problem().forward()),
        ("causal_conv1d_bwd", lambda: Problem().backward()),
        ("causal_conv1d_update", lambda: Problem(length=1).update(3)),
    ):
        yield Case(function, lambda m=make: changed(m(), 0, lambda t: t.double()), "double: refused")
        yield Case(function, lambda m=make: changed(m(), 0, lambda t: t.cpu()), "on the CPU: refused")
        yield Case(function, lambda m=make: changed(m(), 0, lambda t: t[None]), "four dimensions: refused")
        weight = 2 if function.endswith("update") else 1
        yield Case(
            function, lambda m=make, w=weight: changed(m(), w, lambda t: t[1:]), "weights of other size: refused"
        )
        yield Case(function, lambda m=make, w=weight: changed(m(), w + 1, lambda t: t.half()), "bias in half: refused")
    yield Case("causal_conv1d_fwd", Problem(width=5).forward, "width 5: refused")
    yield Case("causal_conv1d_fwd", Problem(dim=12, last=True).forward, "twelve channels, last: refused")
    yield Case("causal_conv1d_fwd", Problem(groups=True).forward, "seq_idx with channels first: refused")
    yield Case("causal_conv1d_fwd", Problem(states=True).forward, "states with channels first: refused")
    yield Case("causal_conv1d_bwd", lambda: changed(Problem().backward(), 9, lambda t: None), "no dbias: refused")
    yield Case("causal_conv1d_update", lambda: Problem(length=1).update(2), "a short state: refused")
