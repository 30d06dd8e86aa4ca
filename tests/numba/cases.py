"""Numba kernels: what a build or a launch has to know of each is another. The tests copy this file into a project."""

import math

import absent_plots  # not installed, and no kernel needs it
import numba
import numpy as np
from numba import cuda, float32

TILE = 16
WEIGHTS = np.array([0.5, 1.0, 2.0, 4.0], dtype=np.float32)


@cuda.jit
def saxpy(out, x, y, a, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a * x[i] + y[i]


@cuda.jit
def scale_matrix(out, x, factor):
    row, column = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = x[row, column] * factor


@cuda.jit
def block_sums(sums, x):
    shared = cuda.shared.array(256, dtype=float32)
    at = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[at] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if at < step:
            shared[at] += shared[at + step]
        cuda.syncthreads()
        step //= 2
    if at == 0:
        sums[cuda.blockIdx.x] = shared[0]


@cuda.jit
def matmul(c, a, b):
    tile_a = cuda.shared.array((TILE, TILE), dtype=numba.float32)
    tile_b = cuda.shared.array((TILE, TILE), dtype=numba.float32)
    row, column = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = numba.float32(0.0)
    for start in range(0, a.shape[1], TILE):
        tile_a[tx, ty] = a[row, start + ty] if row < a.shape[0] and start + ty < a.shape[1] else 0.0
        tile_b[tx, ty] = b[start + tx, column] if start + tx < b.shape[0] and column < b.shape[1] else 0.0
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[tx, k] * tile_b[k, ty]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@cuda.jit
def all_scalars(out, flag, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, c64, c128):
    out[0] = 1.0 if flag else 0.0
    out[1] = i8
    out[2] = i16
    out[3] = i32
    out[4] = i64
    out[5] = u8
    out[6] = u16
    out[7] = u32
    out[8] = u64
    out[9] = float32(f16)
    out[10] = f32
    out[11] = f64
    out[12] = c64.real
    out[13] = c64.imag
    out[14] = c128.real
    out[15] = c128.imag


@cuda.jit
def histogram(counts, x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(counts, x[i] % counts.size, 1)


@cuda.jit(device=True)
def weighted(x, at):
    return x * cuda.const.array_like(WEIGHTS)[at % 4]


@cuda.jit(device=True, inline="always")
def squared(x):
    return x * x


@cuda.jit
def device_functions(out, x):
    i = cuda.grid(1)
    local = cuda.local.array(4, dtype=float32)
    if i < x.size:
        for at in range(4):
            local[at] = weighted(x[i], at)
        total = float32(0.0)
        for at in range(4):
            total += squared(local[at])
        out[i] = math.sqrt(total) + math.sin(x[i])


@cuda.jit
def reverse_blocks(out, x):
    shared = cuda.shared.array(0, dtype=float32)
    i = cuda.grid(1)
    shared[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    out[i] = shared[cuda.blockDim.x - 1 - cuda.threadIdx.x]


@cuda.jit("void(float32[::1], int64)", fastmath=True, max_registers=32, launch_bounds=(128, 2))
def inverse(x, n=8):
    i = cuda.grid(1)
    if i < n:
        x[i] = 1.0 / math.sqrt(x[i])


@cuda.jit
def conjugated(out, x):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i].conjugate()


def benchmark():
    absent_plots.show(saxpy)


stream = cuda.stream() if numba.__name__ == "" else None
absent_plots.configure(cuda.get_current_device().name)
