"""Filter a noisy image and compare with NumPy: `python -m denoise_demo`; `--picture FILE.svg` draws both images."""

import argparse
import sys
from pathlib import Path

import numpy as np

from denoise_demo.picture import svg

NOISE, CONTRAST, RADIUS = 0.2, 0.4, 4
GREYS = [f"#{level:02x}{level:02x}{level:02x}" for level in range(16, 256, 26)]


def scene(size):
    """Return an image without noise: a disc, and a stripe, on a background that gets brighter to the right."""
    y, x = np.mgrid[:size, :size] / size
    image = 0.1 + 0.3 * x
    image[(x - 0.4) ** 2 + (y - 0.45) ** 2 < 0.07] = 0.9
    image[abs(x + 0.5 * y - 1) < 0.06] = 0.7
    return image.astype(np.float32)


def expected(image):
    """Return what the filter computes, by NumPy in double precision."""
    image = image.astype(np.float64)
    padded = np.pad(image, RADIUS, constant_values=np.nan)
    sums, weights = np.zeros_like(image), np.zeros_like(image)
    for row in range(2 * RADIUS + 1):
        for column in range(2 * RADIUS + 1):
            values = padded[row : row + len(image), column : column + len(image)]
            likeness = 1 / (1 + ((values - image) / CONTRAST) ** 2)
            distance = (row - RADIUS) ** 2 + (column - RADIUS) ** 2
            weight = likeness**2 / (1 + distance / RADIUS)
            sums += np.nan_to_num(weight * values)
            weights += np.nan_to_num(weight)
    return sums / weights


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, metavar="FILE.svg")
    picture = parser.parse_args().picture

    import cupy

    from denoise_demo import denoise

    for size in (64, 1000):
        clean = scene(size)
        noisy = clean + np.random.default_rng(1).uniform(-NOISE, NOISE, clean.shape).astype(np.float32)
        result = cupy.asnumpy(denoise(cupy.asarray(noisy), CONTRAST))
        error = abs(result - expected(noisy)).max()
        left = ((result - clean) ** 2).mean() / ((noisy - clean) ** 2).mean()
        print(f"{size} x {size}: largest error {error:.2g}; {left:.0%} of the noise's power is left")
        if not (error < 1e-5 and left < 0.25):
            return 1
        if picture and size == 64:
            panels = {"with noise": noisy, "filtered": result}
            levels = {title: (image.clip(0, 0.999) * len(GREYS)).astype(int) for title, image in panels.items()}
            picture.write_text(svg(levels, GREYS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
