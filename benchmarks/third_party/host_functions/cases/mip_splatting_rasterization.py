"""Calls of mip-splatting's rasterizer of Gaussians, as in its `diff_gaussian_rasterization/__init__.py`.

`rasterize_gaussians` returns its buffers, whose padding stays unwritten. `rasterize_gaussians_backward` takes them:
they are made here as `rasterizer_impl.cu` lays them out, of values that need not come from a picture.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from cases import DEVICE, Case, on_gpu, random, whole


def nothing() -> Tensor:
    """Return no value, in place of what is not given (a null pointer in C++)."""
    return torch.empty(0, device=DEVICE)


def camera() -> tuple[Tensor, Tensor]:
    """Return the transposed matrices of a camera that looks along z, with tangents of 0.5."""
    view = [[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0.5, 1]]
    projection = [[2.0, 0, 0, 0], [0, 2, 0, 0], [0, 0, 1.0001, 1], [0, 0, 0.4, 0.5]]
    return on_gpu(view), on_gpu(projection)


def means(count: int, behind: bool = False) -> Tensor:
    points = random(count, 3) * on_gpu([2.0, 2.0, 3.0]) + on_gpu([-1.0, -1.0, 1.0])
    if behind:
        points[::3, 2] *= -1
    return points


def turns(count: int) -> Tensor:
    return torch.nn.functional.normalize(random(count, 4, seed=4) - 0.5, dim=-1)


def forward(
    count: int,
    height: int,
    width: int,
    degree: int = 3,
    colors: bool = False,
    covariance: bool = False,
    debug: bool = False,
    filtered: bool = False,
) -> list[Any]:
    view, projection = camera()
    scales, rotations = (nothing(), nothing()) if covariance else (random(count, 3, seed=3) * 0.1 + 0.01, turns(count))
    return [
        on_gpu([0.1, 0.2, 0.3]),
        means(count, not filtered),
        random(count, 3, seed=1) if colors else nothing(),
        random(count, 1, seed=2),
        *(scales, rotations, 1.0),
        covariances(count) if covariance else nothing(),
        *(view, projection, 0.5, 0.5, 0.1),
        random(height, width, 2, seed=5) - 0.5,
        *(height, width),
        nothing() if colors else random(count, 16, 3, seed=6) - 0.5,
        *(degree, on_gpu([0.0, 0.0, -0.5]), filtered, debug),
    ]


def covariances(count: int) -> Tensor:
    diagonal, other = random(count, 3, seed=7) * 0.01 + 0.005, random(count, 3, seed=8) * 0.002
    return torch.stack((diagonal[:, 0], other[:, 0], other[:, 1], diagonal[:, 1], other[:, 2], diagonal[:, 2]), 1)


def laid_out(*values: Tensor) -> Tensor:
    """Return the bytes of the values, each at a multiple of 128, and a rest that the function does not read."""
    parts = []
    for value in values:
        data = value.contiguous().view(-1).view(torch.uint8)
        parts += [data, data.new_zeros(-data.numel() % 128)]
    return torch.cat([*parts, parts[0].new_zeros(1 << 16)])


def backward(
    count: int, height: int, width: int, degree: int = 3, colors: bool = False, debug: bool = False
) -> list[Any]:
    """Return a picture in whose tiles all Gaussians stand, in their order."""
    view, projection = camera()
    pixels = height * width
    tiles = ((height + 15) // 16) * ((width + 15) // 16)
    centers = random(count, 2, seed=9) * on_gpu([float(width), float(height)])
    conics = on_gpu([[0.02, 0.001, 0.03]]).repeat(count, 1) + random(count, 3, seed=10) * 0.01
    geometry = laid_out(
        random(count, seed=11) + 1,
        whole(count * 3, low=0, high=2, dtype=torch.bool),
        whole(count, low=1, high=9, dtype=torch.int),
        centers,
        covariances(count),
        torch.cat((conics, random(count, 1, seed=12) * 0.5), 1),
        random(count, 3, seed=13),
    )
    binning = laid_out(torch.arange(count, dtype=torch.int, device=DEVICE).repeat(tiles))
    starts = torch.arange(tiles, dtype=torch.int, device=DEVICE) * count
    ranges = torch.zeros(pixels, 2, dtype=torch.int, device=DEVICE)
    ranges[:tiles] = torch.stack((starts, starts + count), 1)
    image = laid_out(random(pixels, seed=14), whole(pixels, low=1, high=count + 1, dtype=torch.int), ranges)
    return [
        on_gpu([0.1, 0.2, 0.3]),
        means(count),
        whole(count, low=0, high=9, dtype=torch.int),
        random(count, 3, seed=1) if colors else nothing(),
        *(random(count, 3, seed=3) * 0.1 + 0.01, turns(count), 1.0, nothing()),
        *(view, projection, 0.5, 0.5, 0.1),
        random(height, width, 2, seed=5) - 0.5,
        random(3, height, width, seed=15) - 0.5,
        nothing() if colors else random(count, 16, 3, seed=6) - 0.5,
        *(degree, on_gpu([0.0, 0.0, -0.5]), geometry, count * tiles, binning, image, debug),
    ]


def changed(arguments: list[Any], place: int, value: Any) -> list[Any]:
    arguments[place] = value
    return arguments


def cases() -> Iterator[Case]:
    padded = "parts of the buffers stay unwritten"
    for size in ((1, 16, 16), (50, 33, 47), (700, 100, 75)):
        for degree in (0, 1, 2, 3):
            yield Case(
                "rasterize_gaussians",
                lambda s=size, d=degree: forward(*s, d),
                f"{size} degree {degree}; {padded}",
                is_racy=True,
            )
        for options in ({"colors": True}, {"covariance": True}, {"debug": True}, {"filtered": True}):
            yield Case(
                "rasterize_gaussians",
                lambda s=size, o=options: forward(*s, **o),
                f"{size} {options}; {padded}",
                is_racy=True,
            )
    for size in ((1, 16, 16), (20, 33, 47), (300, 64, 75)):
        for options in ({"degree": 0}, {"degree": 1}, {"degree": 2}, {}, {"colors": True}, {"debug": True}):
            yield Case(
                "rasterize_gaussians_backward",
                lambda s=size, o=options: backward(*s, **o),
                f"{size} {options}",
                is_racy=True,
            )
    # One pixel, and one Gaussian in it: nothing is added twice.
    yield Case("rasterize_gaussians_backward", lambda: backward(1, 1, 1), "one pixel")
    usual = (20, 20, 30)
    yield Case("rasterize_gaussians", lambda: forward(0, 20, 30), "no Gaussians")
    yield Case("rasterize_gaussians_backward", lambda: changed(backward(1, 20, 30), 1, means(1)[:0]), "no Gaussians")
    yield Case("rasterize_gaussians", lambda: changed(forward(*usual), 1, random(20, 4)), "four columns: refused")
    yield Case("rasterize_gaussians", lambda: changed(forward(*usual), 3, random(20, 1).double()), "double: refused")
    yield Case("rasterize_gaussians", lambda: changed(forward(*usual), 17, 1.5), "a float: refused")
    yield Case("rasterize_gaussians_backward", lambda: changed(backward(*usual), 2, random(20)), "radii: refused")
    for count in (1, 37, 1000):
        yield Case("mark_visible", lambda n=count: [means(n, behind=True), *camera()], f"{count} points")
    yield Case("mark_visible", lambda: [random(3, 50).t() - 0.5, *(m.t() for m in camera())], "columns")
    yield Case("mark_visible", lambda: [means(0), *camera()], "no points")
    yield Case("mark_visible", lambda: [means(9).double(), *camera()], "double: refused")
