"""Compare products with CuPy's in double precision, and measure one: `python -m gemm_demo`."""

import sys

import cupy

from gemm_demo import dense_relu

SHAPES = [(128, 128, 32), (1, 8, 8), (1000, 1032, 520), (4096, 4096, 4096)]
"""Rows, columns, and the length of each sum: a tile, less than a tile, no multiples of it, and one to measure."""


def main():
    random = cupy.random.default_rng(1)
    for m, n, k in SHAPES:
        a, b = (random.standard_normal(shape, cupy.float32).astype(cupy.float16) for shape in ((m, k), (k, n)))
        bias = random.standard_normal(n, cupy.float32)
        c = dense_relu(a, b, bias)
        exact = cupy.maximum(a.astype(cupy.float64) @ b.astype(cupy.float64) + bias, 0)
        error = float(abs(c - exact).max()) / k**0.5
        print(f"{m} x {n} x {k}: largest error {error:.2g}, relative to a typical sum")
        if not error < 1e-4:
            return 1
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    for _ in range(10):
        dense_relu(a, b, bias)
    end.record()
    end.synchronize()
    seconds = cupy.cuda.get_elapsed_time(start, end) / 1000 / 10
    print(f"{2 * m * n * k / seconds / 1e12:.0f} TFLOP/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
