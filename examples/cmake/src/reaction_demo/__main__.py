"""Compute each pattern and compare with NumPy: `python -m reaction_demo`; `--picture FILE.svg` draws them."""

import argparse
import sys
from pathlib import Path

import numpy as np

from reaction_demo.picture import svg

SIZE, CHECKED, STEPS = 80, 200, 8000
COLOURS = ["#fff7ec", "#fee0b5", "#fdbb7d", "#f57d4a", "#cf3020", "#7f0000"]


def start():
    """Return both substances at the beginning: the second in small squares at random places."""
    u, v = np.ones((SIZE, SIZE), np.float32), np.zeros((SIZE, SIZE), np.float32)
    for x, y in np.random.default_rng(1).integers(0, SIZE - 6, (14, 2)):
        u[y : y + 6, x : x + 6], v[y : y + 6, x : x + 6] = 0.5, 0.25
    return u, v


def expected(u, v, steps, feed, kill):
    """Return both substances after the steps, by NumPy in double precision."""
    u, v = u.astype(np.float64), v.astype(np.float64)

    def spread(a):
        return np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a

    for _ in range(steps):
        reaction = u * v * v
        u, v = (
            u + 0.16 * spread(u) - reaction + feed * (1 - u),
            v + 0.08 * spread(v) + reaction - (feed + kill) * v,
        )
    return u, v


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, metavar="FILE.svg")
    picture = parser.parse_args().picture

    import cupy

    from reaction_demo import PATTERNS, react

    u, v = start()
    panels = {}
    for pattern, rates in PATTERNS.items():
        found = react(pattern, cupy.asarray(u), cupy.asarray(v), CHECKED)
        right = expected(u, v, CHECKED, *rates)
        error = max(abs(cupy.asnumpy(a) - b).max() for a, b in zip(found, right, strict=True))
        print(f"{pattern}: largest error after {CHECKED} steps {error:.2g}")
        if not error < 1e-4:
            return 1
        result = cupy.asnumpy(react(pattern, *found, STEPS - CHECKED)[1])
        panels[pattern] = (result.clip(0, 0.399) / 0.4 * len(COLOURS)).astype(int)
    if picture:
        picture.write_text(svg(panels, COLOURS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
