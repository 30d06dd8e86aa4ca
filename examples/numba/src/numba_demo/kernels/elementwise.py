"""Elementwise kernels."""

from numba import cuda


@cuda.jit
def add(out, x, y):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]
