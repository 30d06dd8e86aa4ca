"""Operators of PyTorch whose kernels were written in Triton and compiled when the wheel was built.

Neither a user of this package nor the GPU's machine needs Triton: nothing is compiled there.
"""

import torch

import cuda_wheel.torch

__all__ = ["add", "matmul", "softmax"]

elementwise = cuda_wheel.torch.kernels("triton_demo.kernels.elementwise")
rows = cuda_wheel.torch.kernels("triton_demo.kernels.softmax")
products = cuda_wheel.torch.kernels("triton_demo.kernels.matmul")


@cuda_wheel.torch.operator("triton_demo::add", read_only=["x", "y"])
def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return x + y."""
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    blocks = (x.numel() + 1023) // 1024
    elementwise["add"].launch((blocks,), x, y, out, x.numel(), BLOCK=1024)
    return out


@cuda_wheel.torch.operator("triton_demo::softmax", read_only="x")
def softmax(x: torch.Tensor) -> torch.Tensor:
    """Return the softmax of each row of a matrix with at most 4,096 columns."""
    x = x.contiguous()
    out = torch.empty_like(x)
    block = 1024 if x.size(1) <= 1024 else 4096
    rows["softmax"].launch((x.size(0),), out, x, x.stride(0), x.size(1), BLOCK=block)
    return out


@cuda_wheel.torch.operator("triton_demo::matmul", read_only=["a", "b"])
def matmul(a: torch.Tensor, b: torch.Tensor, leaky: bool = False) -> torch.Tensor:
    """Return the product of matrices of float16, with `leaky_relu` of its elements if `leaky`. Sizes must be divisible
    by 16."""
    a, b = a.contiguous(), b.contiguous()
    (m, k), n = a.shape, b.size(1)
    out = a.new_empty(m, n)
    blocks = ((m + 127) // 128) * ((n + 127) // 128)
    products["matmul"].launch(
        (blocks,), a, b, out, m, n, k, a.stride(0), b.stride(0), out.stride(0),
        BLOCK_M=128, BLOCK_N=128, BLOCK_K=32, GROUP_M=8, ACTIVATION="leaky_relu" if leaky else None,
    )  # fmt: skip
    return out
