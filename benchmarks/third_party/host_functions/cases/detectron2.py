"""Calls of detectron2's functions. `COCOevalAccumulate` and `COCOevalEvaluateImages` are for the CPU: left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cases import Case, on_gpu, random, whole


@dataclass(frozen=True)
class Convolution:
    """A deformable convolution: its sizes, (height, width) where there are two."""

    batch: int
    channels: int
    out: int
    image: tuple[int, int]
    kernel: tuple[int, int] = (3, 3)
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    offset_groups: int = 1
    step: int = 0
    """How many images at once; 0 for all, as the package calls it. With others, the input's functions refuse."""
    dtype: torch.dtype = torch.float
    is_whole: bool = False
    """Whether all numbers are whole and small, so that the sums of the atomics are exact."""

    def numbers(self, *shape: int, seed: int) -> Tensor:
        if self.is_whole:
            return whole(*shape, low=-1, high=2, dtype=self.dtype, seed=seed)
        return random(*shape, dtype=self.dtype, seed=seed) * 2 - 1

    @property
    def size(self) -> list[int]:
        return [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(self.image, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        ]

    def input(self) -> Tensor:
        return self.numbers(self.batch, self.channels, *self.image, seed=0)

    def weight(self) -> Tensor:
        return self.numbers(self.out, self.channels // self.groups, *self.kernel, seed=1)

    def offset(self) -> Tensor:
        """Some lie outside of the image."""
        channels = 2 * self.offset_groups * self.kernel[0] * self.kernel[1]
        return self.numbers(self.batch, channels, *self.size, seed=2) * 2

    def mask(self) -> Tensor:
        return self.numbers(self.batch, self.offset_groups * self.kernel[0] * self.kernel[1], *self.size, seed=3)

    def output(self) -> Tensor:
        return self.numbers(self.batch, self.out, *self.size, seed=4)

    def numbers_of(self, modulated: bool) -> list[int]:
        """The first version has the width before the height."""
        pairs = (self.kernel, self.stride, self.padding, self.dilation)
        flat = [n for pair in pairs for n in (pair if modulated else pair[::-1])]
        return [*flat, self.groups, self.offset_groups]

    def forward(self) -> list[Any]:
        buffers = [self.output(), random(0), random(0)]
        return [self.input(), self.weight(), self.offset(), *buffers, *self.numbers_of(False), self.step or self.batch]

    def backward_input(self) -> list[Any]:
        grads = [torch.zeros_like(self.input()), torch.zeros_like(self.offset())]
        tensors = [self.input(), self.offset(), self.output(), *grads, self.weight(), random(0)]
        return [*tensors, *self.numbers_of(False), self.step or self.batch]

    def backward_filter(self, scale: float = 1.0) -> list[Any]:
        tensors = [self.input(), self.offset(), self.output(), self.weight(), random(0), random(0)]
        return [*tensors, *self.numbers_of(False), scale, self.step or self.batch]

    def modulated(self, has_bias: bool = True) -> list[Any]:
        tensors = [self.input(), self.weight(), self.numbers(self.out, seed=5), random(0)]
        rest = [self.offset(), self.mask(), self.output(), random(0)]
        return [*tensors, *rest, *self.numbers_of(True), has_bias]

    def modulated_backward(self, has_bias: bool = True) -> list[Any]:
        inputs = [self.input(), self.weight(), self.numbers(self.out, seed=5), random(0), self.offset(), self.mask()]
        grads = [torch.zeros_like(a) for a in (*inputs[:3], *inputs[4:])]
        return [*inputs, random(0), *grads, self.output(), *self.numbers_of(True), has_bias]


def changed(arguments: list[Any], place: int, value: Any) -> list[Any]:
    return [*arguments[:place], value, *arguments[place + 1 :]]


def convolutions() -> Iterator[Case]:
    sizes: dict[str, dict[str, Any]] = {
        "one channel": {"batch": 1, "channels": 1, "out": 1, "image": (5, 5)},
        "step": {"batch": 4, "channels": 6, "out": 5, "image": (9, 14), "step": 2},
        "all at once": {"batch": 3, "channels": 4, "out": 8, "image": (11, 7), "stride": (2, 1)},
        "groups": {"batch": 2, "channels": 8, "out": 12, "image": (10, 13), "groups": 2, "offset_groups": 4},
        "height is not width": {
            "batch": 2,
            "channels": 3,
            "out": 2,
            "image": (20, 12),
            "kernel": (2, 5),
            "stride": (3, 2),
            "padding": (0, 2),
            "dilation": (2, 1),
        },
        "kernel of one": {
            "batch": 2,
            "channels": 16,
            "out": 16,
            "image": (33, 31),
            "kernel": (1, 1),
            "padding": (0, 0),
        },
    }
    for what, size in sizes.items():
        for dtype in (torch.float, torch.double, torch.half):
            for is_whole in (True, False):
                made = Convolution(**size, dtype=dtype, is_whole=is_whole)
                name = f"{what} {dtype}{' whole' if is_whole else ''}"
                # The gradient of the input is a sum of atomics.
                racy = not is_whole
                yield Case("deform_conv_forward", made.forward, name)
                yield Case("deform_conv_backward_input", made.backward_input, name, is_racy=racy)
                yield Case("deform_conv_backward_filter", made.backward_filter, name)
                for has_bias in (True, False):
                    biased = f"{name} bias {has_bias}"
                    yield Case("modulated_deform_conv_forward", lambda m=made, b=has_bias: m.modulated(b), biased)
                    yield Case(
                        "modulated_deform_conv_backward",
                        lambda m=made, b=has_bias: m.modulated_backward(b),
                        biased,
                        is_racy=racy,
                    )
    small = Convolution(2, 4, 6, (8, 9), is_whole=True)
    yield Case("deform_conv_backward_filter", lambda: small.backward_filter(0.25), "scale")

    def of_the_tests() -> Convolution:
        return Convolution(1, 1, 1, (5, 5))

    def half_offsets(modulated: bool) -> list[Any]:
        numbers, made = torch.arange(25, device=random(1).device), of_the_tests()
        image, ones = numbers.float().reshape(1, 1, 5, 5), torch.ones_like(made.weight())
        offset, mask = torch.full_like(made.offset(), 0.5), torch.full_like(made.mask(), 0.5)
        if modulated:
            return [image, ones, *made.modulated()[2:4], offset, mask, *made.modulated()[6:18], False]
        return [image, ones, offset, *made.forward()[3:]]

    yield Case("deform_conv_forward", lambda: half_offsets(False), "as in the package's tests")
    yield Case("modulated_deform_conv_forward", lambda: half_offsets(True), "as in the package's tests")

    def three() -> list[Any]:
        """An image without batch, which is as high as it has channels: the function gives the caller's image one."""
        made = Convolution(1, 6, 4, (6, 9))
        return changed(made.forward(), 0, made.input()[0])

    yield Case("deform_conv_forward", three, "three dimensions")

    def strided(arguments: list[Any], *places: int) -> list[Any]:
        for place in places:
            a = arguments[place]
            arguments = changed(arguments, place, a.transpose(2, 3).contiguous().transpose(2, 3))
        return arguments

    yield Case("deform_conv_forward", lambda: strided(small.forward(), 0, 2), "strides")
    yield Case("deform_conv_backward_input", lambda: strided(small.backward_input(), 0, 1, 2), "strides")
    yield Case("deform_conv_backward_filter", lambda: strided(small.backward_filter(), 0, 1, 2), "strides")
    for function, make, weight, offset in (
        ("deform_conv_forward", small.forward, 1, 2),
        ("deform_conv_backward_input", small.backward_input, 5, 1),
        ("deform_conv_backward_filter", small.backward_filter, 3, 1),
        ("modulated_deform_conv_forward", small.modulated, 1, 4),
        ("modulated_deform_conv_backward", small.modulated_backward, 1, 4),
    ):
        refused = {
            "input on the CPU": (0, Tensor.cpu),
            "offset on the CPU": (offset, Tensor.cpu),
            "image of two dimensions": (0, lambda a: a[0, 0]),
            "weight with gaps": (weight, lambda a: a.transpose(2, 3)),
            "weight of three dimensions": (weight, lambda a: a[0]),
            "other kernel": (weight, lambda a: a[..., :2].contiguous()),
            "other offset": (offset, lambda a: a[:, 1:]),
            "offset of other size": (offset, lambda a: a[..., 1:]),
            "other channels": (0, lambda a: a[:, 1:]),
            "bfloat16": (0, lambda a: a.bfloat16()),
        }
        for what, (place, change) in refused.items():

            def wrong(m: Any = make, p: int = place, c: Any = change) -> list[Any]:
                made = m()
                return changed(made, p, c(made[p]))

            yield Case(function, wrong, f"{what}: refused")
    yield Case("modulated_deform_conv_forward", lambda: strided(small.modulated(), 0), "image with gaps: refused")
    yield Case("deform_conv_forward", lambda: changed(small.forward(), 6, 3.5), "a float as a size: refused")


def boxes(count: int, dtype: torch.dtype = torch.float, seed: int = 0) -> Tensor:
    """(x, y, width, height, angle in degrees)"""
    scale = on_gpu([100.0, 100.0, 40.0, 40.0, 360.0], dtype=dtype)
    return random(count, 5, dtype=dtype, seed=seed) * scale


def rois(count: int, batch: int, dtype: torch.dtype) -> Tensor:
    image = whole(count, 1, low=0, high=batch, dtype=dtype, seed=8)
    return torch.cat([image, boxes(count, dtype, seed=9)], 1)


def operators() -> Iterator[Case]:
    nms, iou = "detectron2::nms_rotated", "detectron2::box_iou_rotated"
    forward, backward = "detectron2::roi_align_rotated_forward", "detectron2::roi_align_rotated_backward"
    double = torch.double
    for dtype in (torch.float, double):
        for count in (1, 7, 64, 65, 1000):
            for threshold in (0.0, 0.2, 0.5, 0.8):
                yield Case(
                    nms,
                    lambda n=count, d=dtype, t=threshold: [boxes(n, d), random(n, dtype=d, seed=1), t],
                    f"{count} {dtype} {threshold}",
                )
    yield Case(nms, lambda: [boxes(80).t().contiguous().t(), random(160)[::2], 0.3], "strides")
    yield Case(nms, lambda: [boxes(40).half(), random(40), 0.3], "half: refused")
    yield Case(nms, lambda: [boxes(40), random(40), "a"], "a text as the threshold: refused")

    for n, m in ((1, 1), (33, 17), (200, 150), (0, 5), (5, 0), (0, 0)):
        yield Case(iou, lambda n=n, m=m: [boxes(n), boxes(m, seed=1)], f"{n} {m}")
    yield Case(iou, lambda: [boxes(40), boxes(40)], "the same boxes")
    yield Case(iou, lambda: [boxes(2), boxes(65535 * 16 + 3, seed=1)], "so many that they change places")
    yield Case(iou, lambda: [on_gpu([[0.5, 0.5, 1.0, 1.0, 0.0]]), on_gpu([[0.25, 0.5, 0.5, 1.0, 0.0]])], "half a box")
    yield Case(
        iou,
        lambda: [on_gpu([[0.5, 0.5, 1.0, 1.0, 45.0]]), on_gpu([[0.5, 0.5, 0.0, 1.0, 0.0], [9.0, 9.0, 1.0, 1.0, 0.0]])],
        "no area, and apart",
    )
    yield Case(iou, lambda: [boxes(20).t().contiguous().t(), boxes(30)[::2]], "strides")
    yield Case(iou, lambda: [boxes(20, double), boxes(30, double)], "double: refused")

    for dtype in (torch.float, double):
        for ratio in (0, 1, 2):
            for n, c, r, high, wide in ((1, 1, 1, 1, 1), (2, 3, 9, 7, 5), (3, 17, 40, 2, 14)):
                size = f"{n} {c} {r} {high} {wide} {dtype} ratio {ratio}"
                yield Case(
                    forward,
                    lambda n=n, c=c, r=r, h=high, w=wide, d=dtype, s=ratio: [
                        random(n, c, 50, 60, dtype=d),
                        rois(r, n, d),
                        0.5,
                        h,
                        w,
                        s,
                    ],
                    size,
                )
                yield Case(
                    backward,
                    lambda n=n, c=c, r=r, h=high, w=wide, d=dtype, s=ratio: [
                        random(r, c, h, w, dtype=d),
                        rois(r, n, d),
                        0.5,
                        h,
                        w,
                        n,
                        c,
                        50,
                        60,
                        s,
                    ],
                    size,
                    is_racy=True,
                )

        def one_bin_each(d: torch.dtype = dtype) -> list[Any]:
            """One thread adds to each image and channel."""
            at = torch.cat([torch.arange(3, device=random(1).device)[:, None].to(d), boxes(3, d, seed=9)], 1)
            return [random(3, 5, 1, 1, dtype=d), at, 0.5, 1, 1, 3, 5, 50, 60, 1]

        yield Case(backward, one_bin_each, f"one bin for each image {dtype}")
    yield Case(forward, lambda: [random(2, 3, 20, 30), random(0, 6), 1.0, 4, 4, 0], "no regions")
    yield Case(forward, lambda: [random(2, 0, 20, 30), rois(5, 2, torch.float), 1.0, 4, 4, 0], "no channels")
    yield Case(backward, lambda: [random(0, 3, 4, 4), random(0, 6), 1.0, 4, 4, 2, 3, 20, 30, 0], "no regions")
    yield Case(forward, lambda: [random(2, 20, 30, 3).permute(0, 3, 1, 2), random(6, 5).t(), 1.0, 4, 4, 0], "strides")
    yield Case(forward, lambda: [random(2, 3, 20, 30), rois(5, 2, double), 1.0, 4, 4, 0], "float and double: refused")
    yield Case(forward, lambda: [random(2, 3, 20, 30), rois(5, 2, double).cpu(), 1.0, 4, 4, 0], "on the CPU: refused")
    yield Case(
        forward, lambda: [random(2, 3, 20, 30).half(), rois(5, 2, torch.float).half(), 1.0, 4, 4, 0], "half: refused"
    )
    yield Case(
        backward, lambda: [random(5, 3, 4, 4), rois(5, 2, double), 1.0, 4, 4, 2, 3, 20, 30, 0], "float and double"
    )


def cases() -> Iterator[Case]:
    for function in ("get_compiler_version", "get_cuda_version", "has_cuda"):
        yield Case(function, lambda: [])
    yield from convolutions()
    yield from operators()
