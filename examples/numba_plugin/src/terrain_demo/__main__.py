"""Make terrain with kernels of Numba's and the package's own, and compare with NumPy: `python -m terrain_demo`.

`--picture FILE.svg` draws it.
"""

import argparse
import math
import sys
from pathlib import Path

import numpy as np

from terrain_demo.picture import svg

SIZE, CELL, OCTAVES, TERRACES = 80, 16, 4, 8
STOPS = np.array([(20, 60, 110), (80, 150, 190), (230, 220, 170), (100, 160, 90), (130, 110, 80), (250, 250, 250)])
"""Colours of heights from 0 to 1."""
SHADES = 40


def terrain():
    """Return heights that Numba computes with the package's device function, and terraces of them, from the GPU."""
    from numba import cuda, float32

    from terrain_demo import NOISE, shape

    noise = cuda.declare_device("noise", "float32(float32, float32)")

    # With lto=True, Numba inlines `noise`, if its nvJitLink has the major version of the wheel's toolchain.
    @cuda.jit(link=[NOISE], lto=False)
    def rise(heights):
        row, column = cuda.grid(2)
        if row < heights.shape[0] and column < heights.shape[1]:
            height = float32(0)
            for octave in range(OCTAVES):
                scale = float32(2**octave) / float32(CELL)
                height += noise(float32(column) * scale, float32(row) * scale) / float32(2 ** (octave + 1))
            heights[row, column] = height

    def profile(height):
        return float32(math.floor(height * float32(TERRACES))) / float32(TERRACES)

    # output="ltoir" would be inlined, but links only with LTO-IR of the same major version of CUDA; PTX always links.
    capability = cuda.get_current_device().compute_capability
    form = {"abi": "c", "abi_info": {"abi_name": "profile"}, "output": "ptx"}
    compiled = cuda.compile(profile, float32(float32), device=True, cc=tuple(capability), **form)

    heights = cuda.device_array((SIZE, SIZE), np.float32)
    rise[(SIZE // 16, SIZE // 16), (16, 16)](heights)
    natural = heights.copy_to_host()
    shape(heights, compiled)
    return natural, heights.copy_to_host()


def expected():
    """Return the heights, by NumPy."""

    def height_at(x, y):
        hashed = np.uint32(374761393) * x.astype(np.uint32) + np.uint32(668265263) * y.astype(np.uint32)
        hashed = (hashed ^ hashed >> np.uint32(13)) * np.uint32(1274126177)
        return (hashed >> np.uint32(8)) / 2**24

    def noise(x, y):
        left, top = np.floor(x).astype(int), np.floor(y).astype(int)
        u, v = ((t * t * (3 - 2 * t)) for t in (x - left, y - top))
        above = height_at(left, top) * (1 - u) + height_at(left + 1, top) * u
        below = height_at(left, top + 1) * (1 - u) + height_at(left + 1, top + 1) * u
        return above * (1 - v) + below * v

    row, column = np.mgrid[:SIZE, :SIZE]
    scales = [2**octave / CELL for octave in range(OCTAVES)]
    return sum(noise(column * scale, row * scale) / 2 ** (octave + 1) for octave, scale in enumerate(scales))


def drawn(heights):
    """Return the picture of terrains, given by their titles."""
    places = np.linspace(0, len(STOPS) - 1, SHADES)
    parts = [np.interp(places, range(len(STOPS)), STOPS[:, part]).astype(int) for part in range(3)]
    colours = [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in zip(*parts, strict=True)]
    return svg({title: (values * SHADES).astype(int) for title, values in heights.items()}, colours)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--picture", type=Path, metavar="FILE.svg")
    picture = parser.parse_args().picture
    natural, terraces = terrain()
    error = abs(natural - expected()).max()
    print(f"noise in a kernel of Numba's: largest error {error:.2g}")
    same = np.array_equal(terraces, np.floor(natural * np.float32(TERRACES)) / np.float32(TERRACES))
    print(f"a function of Numba's in the package's kernel: {'as' if same else 'NOT as'} by NumPy")
    if picture:
        picture.write_text(drawn({"noise": natural, "terraces": terraces}))
    return int(not (error < 1e-5 and same))


if __name__ == "__main__":
    sys.exit(main())
