"""The CUDA half: the kernel of scaled_add.cu, launched as its host function does."""

import torch
from torch import Tensor

import cuda_wheel.torch

kernels = cuda_wheel.torch.kernels("demo.scaled_add")


def scaled_add(x: Tensor, y: Tensor, scale: float = 1.0) -> Tensor:
    if x.shape != y.shape or x.dtype != y.dtype:
        raise ValueError("x and y must have the same shape and element type")
    with torch.cuda.device(x.device):
        x, y = x.contiguous(), y.contiguous()
        result = torch.empty_like(x)
        n = x.numel()
        kernel = kernels["scaled_add_kernel", x.dtype]
        kernel.launch((n + 255) // 256, 256, x, y, result, scale, n)
    return result


library = torch.library.Library("demo", "IMPL")
library.impl("scaled_add", scaled_add, "CUDA")
