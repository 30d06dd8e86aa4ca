"""Calls of warp-rnnt: dense and compact losses of log-probabilities, with labels that are not blank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case, on_gpu, random, whole


def integers(values: list[int]) -> Tensor:
    return on_gpu(values, dtype=torch.int)


def probabilities(*shape: int) -> Tensor:
    return random(*shape).log_softmax(-1)


def dense(frames: list[int], labels: list[int], width: int = 7, blank: int = 0, weight: float = 0.0) -> list[Any]:
    """Return the arguments of `rnnt_loss`; with `blank` -1, `xs` has the gathered values of blank and label."""
    most_frames, most_labels = max(frames), max(labels)
    xs = probabilities(len(frames), most_frames, most_labels + 1, width)
    ys = whole(len(frames), most_labels, low=1, high=width, dtype=torch.int)
    return [xs, ys, integers(frames), integers(labels), blank, weight]


def compact(frames: list[int], labels: list[int], width: int = 7, blank: int = 0, weight: float = 0.0) -> list[Any]:
    rows = sum(t * (u + 1) for t, u in zip(frames, labels, strict=True))
    ys = whole(sum(labels), low=1, high=width, dtype=torch.int)
    return [probabilities(rows, width), ys, integers(frames), integers(labels), blank, weight]


def compact_backward(frames: list[int], labels: list[int], width: int = 7, blank: int = 0) -> list[Any]:
    lengths = [t * (u + 1) for t, u in zip(frames, labels, strict=True)]
    rows = sum(lengths)
    ends = integers(lengths).cumsum(0, dtype=torch.int)
    places = whole(rows, low=0, high=width, dtype=torch.long)
    return [random(len(frames)), random(rows, 2, seed=1) - 1, ends, places, width, blank]


def sample(values: list[list[list[list[float]]]]) -> Tensor:
    return on_gpu(values, dtype=torch.float).log_softmax(-1)


ROW = [[0.1, 0.6, 0.1, 0.1, 0.1], [0.1, 0.1, 0.6, 0.1, 0.1], [0.1, 0.1, 0.2, 0.8, 0.1]]
ROW2 = [[0.1, 0.6, 0.1, 0.1, 0.1], [0.1, 0.1, 0.2, 0.1, 0.1], [0.7, 0.1, 0.2, 0.1, 0.1]]
SIZES: list[tuple[list[int], list[int]]] = [
    ([5], [3]),
    ([1], [0]),
    ([1, 4], [2, 1]),
    ([33, 64, 7], [5, 17, 2]),
    ([150, 31, 97, 1], [40, 39, 1, 3]),
    ([1030], [3]),
]


def cases() -> Iterator[Case]:
    def tested(xs: list[Any], labels: list[list[int]], frames: list[int]) -> list[Any]:
        lengths = integers([len(line) for line in labels])
        return [sample(xs), on_gpu(labels, dtype=torch.int), integers(frames), lengths, 0, 0.0]

    yield Case("rnnt_loss", lambda: tested([[ROW]], [[1, 2]], [1]), "one frame, two labels")
    yield Case("rnnt_loss", lambda: tested([[[ROW[0]]]], [[]], [1]), "no labels")
    yield Case("rnnt_loss", lambda: tested([[ROW, ROW2]], [[1, 2]], [2]), "two frames")
    yield Case("rnnt_loss", lambda: tested([[ROW, ROW2], [ROW2, ROW]], [[1, 2], [1, 1]], [2, 2]), "two samples")
    for frames, labels in SIZES:
        what = f"{frames} frames, {labels} labels"
        yield Case("rnnt_loss", lambda t=frames, u=labels: dense(t, u), what)
        yield Case("rnnt_loss", lambda t=frames, u=labels: dense(t, u, 2, -1, 0.01), f"{what}, gathered")
        # Without `required_grad` the second result is another name of a buffer that is written whole; with it, the
        # label half of the last row stays unwritten (torch::empty_like).
        yield Case("rnnt_loss_compact", lambda t=frames, u=labels: [*compact(t, u), False], f"{what}, no gradients")
        yield Case(
            "rnnt_loss_compact",
            lambda t=frames, u=labels: [*compact(t, u), True],
            f"{what}; some gradients stay unwritten",
            is_racy=True,
        )
        yield Case("rnnt_loss_compact_backward", lambda t=frames, u=labels: compact_backward(t, u), what)
    usual = SIZES[3]
    yield Case("rnnt_loss", lambda: dense(*usual, width=29, blank=0, weight=0.25), "29 labels, FastEmit")
    yield Case("rnnt_loss", lambda: dense(*usual)[:4], "defaults")
    yield Case("rnnt_loss_compact", lambda: [*compact(*usual, blank=6, weight=0.5), False], "blank at the end")
    yield Case("rnnt_loss_compact", lambda: compact(*usual)[:4], "defaults", is_racy=True)
    yield Case("rnnt_loss_compact_backward", lambda: compact_backward(*usual, blank=3), "blank 3")
    yield Case("rnnt_loss_compact_backward", lambda: compact_backward(*usual)[:5], "defaults")

    def strided() -> list[Any]:
        xs, *others = dense(*usual)
        return [xs.transpose(0, 1), *others]

    yield Case("rnnt_loss", strided, "strides: refused")
    yield Case("rnnt_loss", lambda: [v.cpu() for v in dense(*usual)[:4]], "on the CPU: refused")
    yield Case("rnnt_loss", lambda: [dense(*usual)[0].double(), *dense(*usual)[1:]], "double: refused")
    yield Case("rnnt_loss", lambda: [dense(*usual)[0], dense(*usual)[1].long(), *dense(*usual)[2:]], "long: refused")
    yield Case("rnnt_loss", lambda: [dense(*usual)[0][0], *dense(*usual)[1:]], "three dimensions: refused")
    yield Case(
        "rnnt_loss",
        lambda: [dense(*usual)[0], dense(*usual)[1][:, :2].contiguous(), *dense(*usual)[2:]],
        "fewer labels: refused",
    )
    yield Case("rnnt_loss", lambda: dense(*usual, width=3, blank=-1), "gathered with three values: refused")
    yield Case("rnnt_loss_compact", lambda: [compact(*usual)[0][1:], *compact(*usual)[1:]], "a row less: refused")
    yield Case(
        "rnnt_loss_compact",
        lambda: [compact(*usual)[0], compact(*usual)[1][1:], *compact(*usual)[2:]],
        "a label less: refused",
    )
    yield Case(
        "rnnt_loss_compact_backward",
        lambda: [compact_backward(*usual)[0][None], *compact_backward(*usual)[1:]],
        "two dimensions: refused",
    )
