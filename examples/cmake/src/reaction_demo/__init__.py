"""Patterns of a reaction of two substances, each by a kernel of its own."""

import cupy

import cuda_wheel

PATTERNS = {"spots": (0.035, 0.065), "stripes": (0.035, 0.06), "holes": (0.039, 0.058)}
"""The rates at which the first substance is fed and the second is removed, as CMakeLists.txt has them."""


def react(pattern, u, v, steps):
    """Return both substances after an even number of steps; u and v are square matrices of floats on the GPU."""
    kernel = cuda_wheel.load(f"reaction_demo.patterns.{pattern}")["react"]
    now, then = (u.copy(), v.copy()), (cupy.empty_like(u), cupy.empty_like(v))
    groups = -(-len(u) // 16)
    there = kernel.bind((groups, groups), (16, 16), *now, *then, len(u))
    back = kernel.bind((groups, groups), (16, 16), *then, *now, len(u))
    for _ in range(steps // 2):
        there()
        back()
    return now
