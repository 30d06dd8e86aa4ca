"""A kernel of Triton, which it compiles at the first launch."""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = ["saxpy"]


@triton.jit
def saxpy(a, x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < n
    y = tl.load(y_ptr + index, inside)
    tl.store(y_ptr + index, a * tl.load(x_ptr + index, inside) + y, inside)
