"""A fatbin contains every image, byte for byte."""

from __future__ import annotations

from collections.abc import Callable

from cuda_wheel.builder.images.bundling import bundle
from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.workers.pool import Workers

PLAIN = "__global__ void k(float* x) { x[threadIdx.x] *= 2; }"


def test_the_fatbin_contains_every_image_byte_for_byte(compiled: Callable[..., Compiled], workers: Workers) -> None:
    images = tuple((("ptx", arch, compiled(PLAIN, arch).ptx), "k") for arch in ("80", "90a", "120"))
    bundled = workers.submit(bundle, ("k", images, "none")).result()
    for ((_, _, content), _), offset in zip(images, bundled.offsets, strict=True):
        assert bundled.content[offset : offset + len(content)] == content
        # Of the entry's flags, before the image: nvFatbin would mark those that it makes on Windows with 0x40.
    assert b"\x41\0\0\0\0\0\0\0" not in bundled.content[: bundled.offsets[0]]
    assert b"\x11\0\0\0\0\0\0\0" in bundled.content[: bundled.offsets[0]]
