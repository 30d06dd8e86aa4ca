"""Measure a call of a PyTorch operator: of cuda-wheel, of a C++ extension, of `torch.library.custom_op`, PyTorch's own.

`python benchmarks/torch_operators.py WHEEL [ROUNDS]`: WHEEL is a wheel of `fixtures/torch_op`. All contenders but
PyTorch's own run the same kernel on 32 x 32 elements, so that the time is the host's. The C++ extensions need nvcc,
Ninja and a host compiler, and tvm-ffi also its distribution; without them they are omitted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from _extensions import Operators, pytorch_extension, stable_extension, tvm_ffi_module
from _interleave import compare
from _results import Goal, Result
from launch import LAUNCHES, Call, microseconds
from startup import installed

import cuda_wheel
import cuda_wheel.torch

__all__ = ["measure"]

OURS, CPP, PYTHON = "cuda_wheel.torch.operator", "C++ extension", "torch.library.custom_op"
STABLE, TVM = "C++ extension, stable ABI", "tvm-ffi, a function that allocates and launches"
SIZE = 32
ALLOCATING = "PyTorch's autograd.Function in Python, which only allocates"
LAUNCHING = "PyTorch's autograd.Function in Python, which allocates and launches"
LIMIT = (
    "without a gradient, the time is that of a function that allocates and launches, and of the questions whether "
    "anything but the launch wants to see the call. Where a gradient is wanted, PyTorch's autograd.Function in Python "
    "is added: the table shows it without a kernel, and with the kernels but without an operator. The C++ extension "
    "has no Python in either pass."
)

Operator = Callable[[Any, Any], Any]


def extension() -> Operators:
    operators = pytorch_extension()
    return Operators(operators.plain.default, operators.gated.default)


def with_tvm_ffi() -> Operator:
    launch = tvm_ffi_module().gate_tensors

    def call(x: Any, bias: Any) -> Any:
        y = torch.empty_like(x)
        launch(x, bias, y)
        return y

    return call


def launched(name: str) -> Callable[..., Any]:
    """Return the plain function that makes an output like x and launches a kernel of the fixture."""
    kernel = cuda_wheel.load("torch_op_demo.kernels.gated")[name]

    def call(*tensors: Any) -> Any:
        x, bias = tensors[-2:]
        y, n = torch.empty_like(x), x.numel()
        if n:
            kernel.launch(-(-n // 256), 256, *tensors, y, n, bias.numel())
        return y

    return call


@cache
def in_python() -> Operators:
    """Make the operators with `torch.library.custom_op`."""
    custom_op = partial(torch.library.custom_op, mutates_args=())
    schema, forward = "(Tensor x, Tensor bias) -> Tensor", launched("gate<float>")
    plain = custom_op("cuda_wheel_benchmark::python", forward, schema=schema)
    gated = custom_op("cuda_wheel_benchmark::python_gated", forward, schema=schema)
    gradient = custom_op(
        "cuda_wheel_benchmark::python_gradient",
        launched("gate_gradient<float>"),
        schema="(Tensor grad_y, Tensor x, Tensor bias) -> Tensor",
    )

    def backward(ctx: Any, grad_y: Any) -> tuple[Any, Any]:
        x, bias = ctx.saved_tensors
        grad_x = gradient(grad_y, x, bias)
        return grad_x, grad_x.reshape(-1, bias.numel()).sum(0)

    gated.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    return Operators(plain, gated)


@cache
def ours() -> Operators:
    import torch_op_demo

    plain = cuda_wheel.torch.operator(
        "cuda_wheel_benchmark::ours",
        kernel={torch.float32: "gate<float>", torch.float16: "gate<__half>"},
        arguments="x, bias, y, n, columns",
        outputs={"y": "x"},
        **torch_op_demo.SHAPE,
    )
    return Operators(plain, torch_op_demo.gated)


@cache
def allocating() -> Operator:
    """Return a PyTorch autograd.Function in Python that allocates the tensors, and launches only what PyTorch does."""

    return _function(lambda x, bias: torch.empty_like(x), lambda grad_y, x, bias: torch.empty_like(x))


@cache
def launching() -> Operator:
    """Return a PyTorch autograd.Function in Python that launches the kernels, without an operator."""
    return _function(launched("gate<float>"), launched("gate_gradient<float>"))


def _function(run: Callable[..., Any], gradient: Callable[..., Any]) -> Operator:
    """Return a PyTorch autograd.Function of x and bias. `run(x, bias)` makes the result, and
    `gradient(grad_y, x, bias)` the gradient of x."""

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, bias: Any) -> Any:
            ctx.save_for_backward(x, bias)
            return run(x, bias)

        @staticmethod
        def backward(ctx: Any, grad_y: Any) -> Any:
            x, bias = ctx.saved_tensors
            grad_x = gradient(grad_y, x, bias)
            return grad_x, grad_x.reshape(-1, bias.numel()).sum(0)

    apply: Operator = Function.apply
    return apply


@cache
def doing_nothing() -> Operator:
    """Return an operator in Python whose implementation returns an input."""
    library = _library()
    library.define("nothing(Tensor x, Tensor bias) -> Tensor")
    library.impl("nothing", lambda x, bias: x, "CUDA")
    operator: Operator = torch.ops.cuda_wheel_benchmark.nothing.default
    return operator


@cache
def _library() -> Any:
    return torch.library.Library("cuda_wheel_benchmark", "FRAGMENT")


def measure(wheel: Path, rounds: int | None = None) -> Iterator[Result]:
    with installed(wheel) as site:
        sys.path.insert(0, str(site))
        try:
            yield _without_gradient(rounds)
            yield from _differentiable(rounds)
        finally:
            sys.path.remove(str(site))


def _without_gradient(rounds: int | None) -> Result:
    def calls(operator: Callable[[], Operator]) -> Callable[[], float]:
        return microseconds(lambda: partial(operator(), *_tensors(False)))

    def launch_alone() -> Call:
        x, bias = _tensors(False)
        y, kernel = torch.empty_like(x), cuda_wheel.load("torch_op_demo.kernels.gated")["gate<float>"]
        return lambda: kernel.launch(4, 256, x, bias, y, x.numel(), SIZE)

    contenders = {
        OURS: calls(lambda: ours().plain),
        CPP: calls(lambda: extension().plain),
        STABLE: calls(stable_extension),
        TVM: calls(with_tvm_ffi),
        PYTHON: calls(lambda: in_python().plain),
        "PyTorch's silu(x)": calls(lambda: lambda x, bias: torch.nn.functional.silu(x)),
        "PyTorch's silu(x + bias)": calls(lambda: lambda x, bias: torch.nn.functional.silu(x + bias)),
        "a function that allocates and launches": calls(lambda: launched("gate<float>")),
        "kernel.launch alone": microseconds(launch_alone),
        "an operator in Python that does nothing": calls(doing_nothing),
    }
    about = "An operator that registers no gradient."
    return _compare("A PyTorch operator without a gradient", about, contenders, 1.5, rounds)


def _differentiable(rounds: int | None) -> Iterator[Result]:
    contenders: dict[str, Callable[[], Operator]] = {
        OURS: lambda: ours().differentiable,
        CPP: lambda: extension().differentiable,
        PYTHON: lambda: in_python().differentiable,
        "PyTorch's silu(x)": lambda: lambda x, bias: torch.nn.functional.silu(x),
        "PyTorch's silu(x + bias)": lambda: lambda x, bias: torch.nn.functional.silu(x + bias),
        ALLOCATING: allocating,
        LAUNCHING: launching,
    }

    def calls(operator: Callable[[], Operator], wanted: bool) -> Callable[[], float]:
        return microseconds(lambda: partial(operator(), *_tensors(wanted)))

    def both(operator: Callable[[], Operator]) -> Callable[[], float]:
        def prepare() -> Call:
            function, (x, bias), grad_y = operator(), _tensors(True), torch.ones(SIZE, SIZE, device="cuda")
            return lambda: torch.autograd.grad(function(x, bias), (x, bias), grad_y, allow_unused=True)

        return microseconds(prepare)

    title = "A differentiable PyTorch operator"
    for what, about, prepare, times in (
        ("no gradient wanted", "No input requires a gradient.", partial(calls, wanted=False), 1.5),
        ("forward", "Both inputs require a gradient.", partial(calls, wanted=True), 1.4),
        ("forward and backward", "Both inputs require a gradient, which is computed.", both, 1.3),
    ):
        timed = {name: prepare(operator) for name, operator in contenders.items()}
        yield _compare(f"{title}: {what}", about, timed, times, rounds)


def _tensors(grad: bool) -> tuple[Any, Any]:
    x = torch.randn(SIZE, SIZE, device="cuda", requires_grad=grad)
    return x, torch.randn(SIZE, device="cuda", requires_grad=grad)


def _compare(
    title: str, about: str, contenders: dict[str, Callable[[], float]], times: float, rounds: int | None
) -> Result:
    """Compare the contenders. `times`: goal for our median, in medians of the C++ extension."""
    about = f"{about} The host's time for one call, of {LAUNCHES} in a row, on {SIZE} x {SIZE} elements."
    goals = [Goal(OURS, PYTHON, 0.55, limit=LIMIT), Goal(OURS, CPP, times, limit=LIMIT)]
    return compare(title, about, contenders, rounds or 40, "µs", warm_up=3, digits=2, goals=goals)


if __name__ == "__main__":
    list(measure(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None))
