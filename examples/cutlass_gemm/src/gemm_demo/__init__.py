"""A layer of a neural network, relu(a @ b + bias), as one kernel of CUTLASS on tensor cores."""

import functools

import cupy

import cuda_wheel

TILE, THREADS = 128, 128
"""The rows and columns of a block's tile, and its threads, as gemm.cu has them."""


@functools.cache
def _kernel():
    """Return the kernel, and the bytes of shared memory that a block needs."""
    module = cuda_wheel.load("gemm_demo.gemm")
    return module["dense_relu"], int.from_bytes(module.globals["shared_memory"].read(), "little")


def dense_relu(a, b, bias):
    """Return relu(a @ b + bias) as floats: a and b are matrices of halves, bias is a vector of floats.

    Raises ValueError unless the arrays are contiguous, their shapes fit, and a and b have multiples of 8 columns.
    """
    (m, k), (rows, n) = a.shape, b.shape
    if rows != k or bias.shape != (n,) or k % 8 or n % 8:
        raise ValueError(f"shapes {a.shape}, {b.shape} and {bias.shape} do not fit, or columns are no multiples of 8")
    if not all(array.flags.c_contiguous for array in (a, b, bias)):
        raise ValueError("the arrays must be contiguous, by rows")
    c = cupy.empty((m, n), cupy.float32)
    kernel, shared_memory = _kernel()
    kernel.launch((-(-m // TILE), -(-n // TILE)), THREADS, a, b, bias, c, m, n, k, shared_memory=shared_memory)
    return c
