"""Kernels with shared memory, a device function and atomics."""

from numba import cuda, float64

THREADS = 128


@cuda.jit(device=True)
def bin_of(value, low, high, count):
    return int((value - low) / (high - low) * count)


@cuda.jit
def column_sums(sums, x):
    """Write the sum of each column, one block for each."""
    parts = cuda.shared.array(THREADS, float64)
    at, column = cuda.threadIdx.x, cuda.blockIdx.x
    total = float64(0.0)
    for row in range(at, x.shape[0], THREADS):
        total += x[row, column]
    parts[at] = total
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if at < step:
            parts[at] += parts[at + step]
        cuda.syncthreads()
        step //= 2
    if at == 0:
        sums[column] = parts[0]


@cuda.jit
def histogram(counts, x, low, high):
    i = cuda.grid(1)
    if i < x.size:
        at = bin_of(x[i], low, high, counts.size)
        if 0 <= at < counts.size:
            cuda.atomic.add(counts, at, 1)
