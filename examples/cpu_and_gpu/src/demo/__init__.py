"""demo::scaled_add: its schema, and what all devices share."""

import sys
from importlib.util import find_spec

import torch
from torch import Tensor

library = torch.library.Library("demo", "FRAGMENT")

if find_spec("demo_cpu"):
    import demo_cpu  # defines the operator, and implements it for the CPU
else:
    library.define("scaled_add(Tensor x, Tensor y, float scale=1.0) -> Tensor")

    def missing(x: Tensor, y: Tensor, scale: float = 1.0) -> Tensor:
        raise NotImplementedError(
            "demo::scaled_add has no implementation for the CPU: pip install demo-cpu",
        )

    library.impl("scaled_add", missing, "CPU")

if sys.platform != "darwin":
    from demo import cuda  # implements it for CUDA


def fake(x: Tensor, y: Tensor, scale: float = 1.0) -> Tensor:
    torch._check(x.shape == y.shape, lambda: "x and y must have the same shape")
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def setup_context(ctx, inputs, output):
    ctx.scale = inputs[2]


def backward(ctx, grad):
    return grad, grad * ctx.scale, None


torch.library.register_fake("demo::scaled_add", fake, lib=library)
torch.library.register_autograd(
    "demo::scaled_add",
    backward,
    setup_context=setup_context,
    lib=library,
)

scaled_add = torch.ops.demo.scaled_add
