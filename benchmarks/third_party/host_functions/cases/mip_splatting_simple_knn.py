"""Calls of mip-splatting's mean squared distance to the three nearest points."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from cases import Case, random, whole


def cases() -> Iterator[Case]:
    for count in (4, 5, 33, 1024, 1025, 5000):
        yield Case("distCUDA2", lambda n=count: [random(n, 3) * 4 - 2], f"{count} points")
    # With fewer than four points, and with all at one place, distances stay infinite or codes are of NaN.
    yield Case("distCUDA2", lambda: [random(3, 3)], "three points: FLT_MAX stays")
    yield Case("distCUDA2", lambda: [whole(700, 3, low=0, high=4)], "points at the same places")
    yield Case("distCUDA2", lambda: [random(3, 100).t()], "columns")
    yield Case("distCUDA2", lambda: [random(100, 3, dtype=torch.double)], "double: refused")
    yield Case("distCUDA2", lambda: [random(100, 3, dtype=torch.half)], "half: refused")
    yield Case("distCUDA2", lambda: [[1.0, 2.0]], "a list: refused")
