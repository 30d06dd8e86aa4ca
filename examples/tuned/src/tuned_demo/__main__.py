"""Compare the sums with CuPy's: `python -m tuned_demo`."""

import sys

import cupy

import cuda_wheel
from tuned_demo import row_sums


def main():
    for shape in (1_000_000, 3), (50_000, 100), (4000, 4001):
        x = cupy.random.default_rng(1).random(shape, cupy.float32)
        problem = dict(zip(("rows", "columns"), shape, strict=True))
        choice = cuda_wheel.tuned("tuned_demo.kernels.row_sums", "row_sums", problem)
        wrong = not cupy.allclose(row_sums(x), x.sum(axis=1, dtype=cupy.float64), rtol=1e-4)
        print(f"{shape}: {choice}, as tuned for {choice.problem} on {choice.gpu}{': WRONG' if wrong else ''}")
        if wrong:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
