"""Calls of slayerPytorch's spikes of Loihi neurons: whole numbers in floats."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from cases import Case, whole


def cases() -> Iterator[Case]:
    for size in ((1, 1, 1, 1, 1), (2, 3, 1, 1, 100), (3, 2, 5, 7, 131), (1, 600, 1, 1, 20)):
        for options in (
            (0, 80 * 64, 1024, 128, 1),
            (2, 5000, 4096, 4096, 3),
            (0, 100, 64, 0, 7),
            (0, 1000, 512, 8, 200),
        ):
            yield Case("getSpikes", lambda s=size, o=options: [whole(*s, low=-20, high=60), *o], f"{size} {options}")
    usual = (0, 5120, 1024, 128, 1)
    yield Case("getSpikes", lambda: [whole(9, 30, low=-20, high=60) + 0.5, *usual], "two dimensions, halves")
    yield Case("getSpikes", lambda: [whole(40, low=-20, high=60), *usual], "one dimension")
    yield Case("getSpikes", lambda: [whole(4, 5).cpu(), *usual], "on the CPU: refused")
    yield Case("getSpikes", lambda: [whole(4, 5).t(), *usual], "strides: refused")
    yield Case("getSpikes", lambda: [whole(4, 5, dtype=torch.double), *usual], "double: refused")
    yield Case("getSpikes", lambda: [whole(4, 5), -1, *usual[1:]], "a negative exponent: refused")
