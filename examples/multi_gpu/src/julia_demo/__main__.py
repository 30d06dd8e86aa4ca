"""Compute an image by one GPU and by all; compare with NumPy: `python -m julia_demo`; `--picture FILE.svg` draws."""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from julia_demo.picture import svg

SHADES = 8
RAMPS = [(0, 70, 140), (170, 80, 0), (0, 120, 60), (130, 30, 120)]
"""The darkest colour of the bands of GPUs 0, 1, 2 and 3, of 4, 5, 6 and 7, and so on."""


def expected(height, width, c, limit):
    """Return the steps of each pixel, by NumPy."""
    row, column = np.mgrid[:height, :width]
    z = 3.2 * (column + 0.5) / width - 1.6 + 1j * (2.0 * (row + 0.5) / height - 1.0)
    steps, inside = np.zeros(z.shape, int), np.ones(z.shape, bool)
    for _ in range(limit):
        inside &= z.real**2 + z.imag**2 <= 4
        steps += inside
        z[inside] = z[inside] ** 2 + c
    return steps


def drawn(steps, edges):
    """Return the picture of an image: a ramp of colours for each band, and more steps darker."""
    shade = (np.log2(1 + steps) * (SHADES - 1) / np.log2(1 + steps.max())).astype(int)
    gpu = np.searchsorted(edges, np.arange(len(steps)), side="right") - 1
    colours = [
        "#" + "".join(f"{255 - (255 - part) * number // (SHADES - 1):02x}" for part in ramp)
        for ramp in RAMPS
        for number in range(SHADES)
    ]
    title = f"the rows of {len(edges) - 1} GPUs" if len(edges) > 2 else "the rows of 1 GPU"
    return svg({title: shade + (SHADES * (gpu % len(RAMPS)))[:, None]}, colours)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, metavar="FILE.svg")
    picture = parser.parse_args().picture

    import cupy

    from julia_demo import LIMIT, C, bands, julia, start

    all_gpus = cupy.cuda.runtime.getDeviceCount()
    height, width = 100, 160
    right = expected(height, width, C, LIMIT)
    for gpus in sorted({1, all_gpus}):
        steps = julia(height, width, gpus)
        other = (steps != right).mean()  # the GPU rounds a product and a sum once, NumPy twice
        print(f"{gpus} of {all_gpus} GPUs: {other:.2%} of the pixels differ from NumPy's")
        if not other < 0.02:
            return 1
        if not np.array_equal(julia(1000, 1600, gpus), julia(1000, 1600, 1)):
            return 1
        for _ in range(2):  # the first time loads the kernel and allocates memory
            before = time.perf_counter()
            for part in start(8000, 12800, gpus):
                with part.device:
                    cupy.cuda.runtime.deviceSynchronize()
            elapsed = time.perf_counter() - before
        print(f"  12800 x 8000 pixels in {elapsed * 1000:.1f} ms")
    if picture:
        picture.write_text(drawn(steps, bands(height, all_gpus)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
