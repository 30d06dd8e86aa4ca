"""Triton kernels: what a launch has to know of each is another. The tests copy this file into a project."""

import triton
import triton.language as tl


@triton.jit
def scale(out_ptr, x_ptr, n, factor, BLOCK: tl.constexpr = 256):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * factor, mask=mask)


@triton.jit
def strided(out_ptr, x_ptr, bias_ptr, stride, n, NEGATE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets.to(tl.int64) * stride, mask=mask)
    if bias_ptr is not None:
        x += tl.load(bias_ptr + offsets, mask=mask)
    if NEGATE:
        x = -x
    tl.store(out_ptr + offsets, x, mask=mask)


@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def total(out_ptr, x_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        if EVEN:
            sums += tl.load(x_ptr + start + offsets)
        else:
            sums += tl.load(x_ptr + start + offsets, mask=start + offsets < n, other=0.0)
    tl.store(out_ptr, tl.sum(sums, axis=0))


@triton.autotune(configs=[triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 256})], key=["n"])
@triton.jit
def tuned_copy(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


@triton.jit
def transposed(out_ptr, x_ptr, m, n, BLOCK: tl.constexpr):
    # A descriptor that the kernel makes lies in global scratch memory.
    x = tl.make_tensor_descriptor(x_ptr, shape=[m, n], strides=[n, 1], block_shape=[BLOCK, BLOCK])
    out = tl.make_tensor_descriptor(out_ptr, shape=[n, m], strides=[m, 1], block_shape=[BLOCK, BLOCK])
    row, column = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    out.store([column, row], tl.trans(x.load([row, column])))


@triton.jit
def doubled_rows(out_ptr, x_ptr, n: tl.constexpr):
    offsets = tl.program_id(0) * n + tl.arange(0, n)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) * 2)


@triton.jit
def product(c_ptr, a_ptr, b_ptr, SIZE: tl.constexpr, PRECISION: tl.constexpr, OUT: tl.constexpr):
    rows, columns = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    a, b = tl.load(a_ptr + rows * SIZE + columns), tl.load(b_ptr + rows * SIZE + columns)
    tl.store(c_ptr + rows * SIZE + columns, tl.dot(a, b, input_precision=PRECISION).to(OUT))


@triton.jit
def copied_tiles(out, x, rows, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    if row < rows:
        out.store([row, column], x.load([row, column]))


@triton.jit
def copied_line(out_ptr, x, SIZE: tl.constexpr):
    start = tl.program_id(0) * SIZE
    tl.store(out_ptr + start + tl.arange(0, SIZE), x.load([start]))


@triton.jit
def product_of_tiles(c, a, b, size, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    sums = tl.zeros((M, N), tl.float32)
    for k in range(0, size, K):
        sums = tl.dot(a.load([m, k]), b.load([k, n]), sums)
    c.store([m, n], sums.to(c.dtype))
