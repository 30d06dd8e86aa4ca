"""Calls of fused-dense-lib, which calls cuBLASLt: the sizes are multiples of 8, of 128 for the bit mask of ReLU."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from cases import Case, random, whole


def factor(*shape: int, dtype: torch.dtype, seed: int = 0) -> Tensor:
    return random(*shape, dtype=dtype, seed=seed) - 0.5


def mask(*shape: int) -> Tensor:
    return whole(*shape, low=0, high=256, dtype=torch.uint8)


def cases() -> Iterator[Case]:
    for dtype in (torch.half, torch.bfloat16):
        for batch, width, out in ((64, 64, 128), (16, 128, 256), (104, 256, 384), (512, 1024, 1024)):

            def pair(b: int = batch, i: int = width, o: int = out, d: torch.dtype = dtype) -> tuple[Tensor, Tensor]:
                return factor(b, i, dtype=d), factor(b, o, dtype=d, seed=1)

            def layer(b: int = batch, i: int = width, o: int = out, d: torch.dtype = dtype) -> list[Tensor]:
                return [factor(b, i, dtype=d), factor(o, i, dtype=d, seed=1), factor(o, dtype=d, seed=2)]

            def back(b: int = batch, i: int = 2 * width, o: int = out, d: torch.dtype = dtype) -> list[Tensor]:
                return [factor(o, i, dtype=d), factor(b, o, dtype=d, seed=1), factor(b, i, dtype=d, seed=2)]

            size = f"{dtype} {batch} {width} {out}"
            for has_bias in (True, False):
                yield Case("linear_bias_wgrad", lambda p=pair, h=has_bias: [*p(), h], f"{size} bias {has_bias}")
            for is_gelu in (True, False):
                for saves in (True, False):
                    yield Case(
                        "linear_act_forward",
                        lambda la=layer, g=is_gelu, s=saves: [*la(), g, s, 0],
                        f"{size} gelu {is_gelu} saves {saves}",
                    )
                yield Case(
                    "linear_act_forward",
                    lambda la=layer, g=is_gelu: [*la()[:2], None, g, False, 0],
                    f"{size} gelu {is_gelu} without bias",
                )
            yield Case("bias_act_linear_dgrad_bgrad", lambda b=back: [*b(), True, 0], f"{size} gelu")
            yield Case(
                "bias_act_linear_dgrad_bgrad",
                lambda b=back: [*b()[:2], mask(b()[2].shape[0], b()[2].shape[1] // 8), False, 0],
                f"{size} relu",
            )
    half = torch.half
    yield Case(
        "linear_bias_wgrad",
        lambda: [whole(7, 33, dtype=half), whole(7, 5, dtype=half), True],
        "odd sizes: cuBLAS may refuse",
    )
    yield Case("linear_bias_wgrad", lambda: [random(8, 16), random(8, 16), True], "float: refused")
    yield Case(
        "linear_bias_wgrad", lambda: [random(8, 16, dtype=half), random(8, 16), True], "two types of elements: refused"
    )
    yield Case(
        "linear_bias_wgrad",
        lambda: [random(16, 8, dtype=half).t(), random(8, 16, dtype=half), True],
        "not contiguous: refused",
    )
    yield Case(
        "linear_act_forward",
        lambda: [random(8, 16, dtype=half), random(8, 24, dtype=half), None, True, False, 0],
        "other width: refused",
    )
    yield Case(
        "linear_act_forward",
        lambda: [random(8, 16, dtype=half), random(8, 16, dtype=half), random(9, dtype=half), True, False, 0],
        "other bias: refused",
    )
    yield Case(
        "bias_act_linear_dgrad_bgrad",
        lambda: [random(8, 16, dtype=half), random(8, 8, dtype=half), random(8, 16, dtype=half), False, 0],
        "no mask for relu: refused",
    )
    yield Case(
        "bias_act_linear_dgrad_bgrad",
        lambda: [random(8, 16, dtype=half), random(8, 8, dtype=half), random(8, 16, dtype=half).cpu(), True, 0],
        "on the CPU: refused",
    )
