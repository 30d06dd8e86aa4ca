"""Calls of the spatial correlation sampler on the GPU; tensors on the CPU go to its C++ for the CPU, which is left out.

The options are those of its module: sizes of kernel and patch, padding, dilation, dilation of the patch, and stride.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from cases import Case, random

# kH, kW, patchH, patchW, padH, padW, dilationH, dilationW, dilation_patchH, dilation_patchW, dH, dW
OPTIONS = (
    (1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1),
    (3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1),
    (1, 1, 9, 9, 0, 0, 1, 1, 2, 2, 1, 1),
    (3, 2, 5, 3, 2, 1, 2, 1, 1, 3, 2, 1),
    (1, 3, 2, 4, 3, 0, 1, 2, 2, 1, 3, 2),
)
SIZES = ((1, 1, 5, 5), (2, 3, 7, 9), (1, 40, 10, 11), (3, 65, 8, 6))


def forward(size: tuple[int, ...], options: tuple[int, ...], dtype: torch.dtype) -> list[Any]:
    return [random(*size, dtype=dtype) - 0.5, random(*size, dtype=dtype, seed=1) - 0.5, *options]


def backward(size: tuple[int, ...], options: tuple[int, ...], dtype: torch.dtype) -> list[Any]:
    kernel, patch, padding, dilation, stride = options[:2], options[2:4], options[4:6], options[6:8], options[10:]
    out = [(size[2 + i] + 2 * padding[i] - (kernel[i] - 1) * dilation[i] - 1) // stride[i] + 1 for i in range(2)]
    first, second, *rest = forward(size, options, dtype)
    return [first, second, random(size[0], *patch, *out, dtype=dtype, seed=2) - 0.5, *rest]


def cases() -> Iterator[Case]:
    for dtype in (torch.float, torch.double, torch.half, torch.bfloat16):
        for size in SIZES:
            for options in OPTIONS:
                yield Case("forward", lambda a=(size, options, dtype): forward(*a), f"{dtype} {size} {options}")
                yield Case("backward", lambda a=(size, options, dtype): backward(*a), f"{dtype} {size} {options}")
    usual = (SIZES[1], OPTIONS[1], torch.float)

    def strided_gradient() -> list[Any]:
        arguments = backward(*usual)
        arguments[2] = arguments[2].transpose(3, 4).contiguous().transpose(3, 4)
        return arguments

    yield Case("backward", strided_gradient, "a gradient with strides")
    for function, make in (("forward", forward), ("backward", backward)):
        yield Case(function, lambda m=make: [m(*usual)[0], m(*usual)[1].cpu(), *m(*usual)[2:]], "two devices: refused")
        yield Case(
            function, lambda m=make: [m(*usual)[0], m(*usual)[1].transpose(2, 3), *m(*usual)[2:]], "strides: refused"
        )
        yield Case(function, lambda m=make: [m(*usual)[0].int(), m(*usual)[1].int(), *m(*usual)[2:]], "int: refused")
        yield Case(function, lambda m=make: [m(*usual)[0], m(*usual)[1].double(), *m(*usual)[2:]], "two types: refused")
        yield Case(function, lambda m=make: m(*usual)[:-1], "an argument less: refused")
