"""The operator swish, y = x * sigmoid(beta * x), with its gradient, made of kernels that compute in Python."""

from __future__ import annotations

import re
from typing import Any

import cuda_wheel
from tests.torch.quiet_pytorch import torch
from tests.torch.stand_in_kernels import StandIn

__all__ = [
    "SWISH",
    "SWISH_TYPES",
    "blocks",
    "differentiable",
    "on_gpu",
    "schema_of",
    "swish",
    "swish_kernel",
]


def swish_kernel(element: str = "float") -> StandIn:
    def compute(x: Any, y: Any, n: int, beta: float) -> None:
        assert x.numel() == n and x.is_contiguous() and y.is_contiguous()
        y.copy_(x * torch.sigmoid(beta * x))

    return StandIn(f"swish<{element}>", f"const {element}*, {element}*, int, float", compute)


def swish_backward_kernel() -> StandIn:
    def compute(grad: Any, x: Any, out: Any, n: int, beta: float) -> None:
        s = torch.sigmoid(beta * x)
        out.copy_(grad * (s + beta * x * s * (1 - s)))

    return StandIn("swish_backward", "const float*, const float*, float*, int, float", compute)


def blocks(n: int) -> int:
    return -(-n // 256)


SWISH: dict[str, Any] = {
    "arguments": "x, y, n, beta",
    "outputs": {"y": "x"},
    "values": {"n": lambda x: x.numel()},
    "grid": blocks,
    "block": 256,
}


SWISH_TYPES = "const float*, float*, int, float"


def swish(name: str, **more: Any) -> tuple[Any, StandIn]:
    kernel = more.get("kernel", swish_kernel())
    return cuda_wheel.torch.operator(name, **{**SWISH, "kernel": kernel, **more}), kernel


def schema_of(operator: Any) -> str:
    return re.sub(r"^[^(]*", "", str(operator._schema))


def on_gpu() -> Any:
    """Return a mode in which tensors have no memory, and may be on a GPU that is not there."""
    from torch._subclasses import FakeTensorMode

    return FakeTensorMode()


def differentiable(name: str, **more: Any) -> Any:
    backward = cuda_wheel.torch.operator(
        f"{name}_backward",
        kernel=swish_backward_kernel(),
        arguments="grad, x, out, n, beta",
        outputs={"out": "x"},
        values={"n": lambda x: x.numel()},
        grid=blocks,
        block=256,
    )
    return swish(name, backward=lambda grad_y, x, beta: backward(grad_y, x, beta), defaults={"beta": 1.0}, **more)[0]
