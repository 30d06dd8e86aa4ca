"""Calls of flownet2's resampling of images by a flow, and of its gradients.

The gradient of the image is a sum of atomics. A kernel of more than one reads beyond the right and the lower border of
an image whose pixels it moves there: its images are larger than its flows here, and its flows small.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import DEVICE, Case, random, whole


def image(batch: int, channels: int, height: int, width: int) -> Tensor:
    return random(batch, channels, height, width)


def flow(batch: int, height: int, width: int, reach: float = 6.0, is_whole: bool = False) -> Tensor:
    if is_whole:
        return whole(batch, 2, height, width, low=-3, high=4, seed=1)
    return (random(batch, 2, height, width, seed=1) - 0.5) * reach


def forward(size: tuple[int, ...], kernel: int = 1, bilinear: bool = True, **options: Any) -> list[Any]:
    batch, channels, height, width = size
    border = 4 * (kernel > 1)
    source = image(batch, channels, height + border, width + border)
    if border:
        options["reach"] = 2.0
    return [source, flow(batch, height, width, **options), torch.zeros(size, device=DEVICE), kernel, bilinear]


def backward(size: tuple[int, ...], kernel: int = 1, bilinear: bool = True, **options: Any) -> list[Any]:
    source, flows, *_ = forward(size, kernel, bilinear, **options)
    gradient = whole(*size, low=-2, high=3, seed=2) if options.get("is_whole") else random(*size, seed=2)
    return [source, flows, gradient, torch.zeros_like(source), torch.zeros_like(flows), kernel, bilinear]


def changed(arguments: list[Any], place: int, value: Any) -> list[Any]:
    arguments[place] = value(arguments[place])
    return arguments


def columns(t: Tensor) -> Tensor:
    return t.transpose(2, 3).contiguous().transpose(2, 3)


def cases() -> Iterator[Case]:
    for size in ((1, 1, 1, 1), (2, 3, 8, 16), (1, 5, 33, 31), (3, 2, 64, 7)):
        for bilinear in (True, False):
            what = f"{size} bilinear {bilinear}"
            yield Case("forward", lambda s=size, b=bilinear: forward(s, bilinear=b), what)
            yield Case("backward", lambda s=size, b=bilinear: backward(s, bilinear=b, is_whole=True), f"{what} whole")
        yield Case("backward", lambda s=size: backward(s), f"{size} fractions", is_racy=True)
    for kernel in (2, 3):
        for bilinear in (True, False):
            what = f"kernel {kernel} bilinear {bilinear}"
            yield Case("forward", lambda k=kernel, b=bilinear: forward((2, 3, 9, 14), k, b), what)
            yield Case("backward", lambda k=kernel, b=bilinear: backward((2, 3, 9, 14), k, b), what, is_racy=True)
    usual = (2, 3, 9, 14)
    yield Case("forward", lambda: forward(usual, reach=100.0), "far away")
    yield Case("forward", lambda: changed(forward(usual), 0, columns), "strides of the image")
    yield Case("forward", lambda: changed(forward(usual), 1, columns), "strides of the flow")
    last = {"memory_format": torch.channels_last}
    yield Case("forward", lambda: changed(forward(usual), 0, lambda t: t.contiguous(**last)), "channels last")
    yield Case(
        "forward", lambda: changed(forward(usual), 1, lambda t: t.repeat(1, 2, 1, 1)), "a flow with more channels"
    )
    yield Case("forward", lambda: forward(usual, 0), "kernel of none")
    yield Case("forward", lambda: forward(usual, bilinear=1), "an int for a bool")
    made = lambda: backward(usual, is_whole=True)  # noqa: E731
    for place, what in ((0, "the image"), (1, "the flow"), (2, "the gradient")):
        yield Case("backward", lambda p=place: changed(made(), p, columns), f"strides of {what}")
    yield Case("backward", lambda: changed(made(), 3, columns), "strides of the image's gradient")
    for function, make, count in (("forward", forward, 3), ("backward", backward, 5)):
        for place in range(count):
            usually = lambda m=make: m(usual)  # noqa: E731
            yield Case(function, lambda u=usually, p=place: changed(u(), p, Tensor.double), f"{place} double: refused")
            yield Case(function, lambda u=usually, p=place: changed(u(), p, Tensor.half), f"{place} half: refused")
            yield Case(
                function, lambda u=usually, p=place: changed(u(), p, lambda t: t[0]), f"{place} 3-dimensional: refused"
            )
        yield Case(function, lambda m=make: changed(m(usual), -2, float), "a float as the kernel: refused")
        yield Case(function, lambda m=make: m(usual)[:-1], "too few arguments: refused")
    # At the end: the originals leave the error of an empty grid behind.
    yield Case("forward", lambda: forward((0, 3, 9, 14)), "no images")
    yield Case("backward", lambda: backward((0, 3, 9, 14)), "no images")
