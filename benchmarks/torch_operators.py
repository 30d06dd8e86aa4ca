"""Measure a call of a PyTorch operator: of cuda-wheel, of a C++ extension, of `torch.library.custom_op`, PyTorch's own.

`python benchmarks/torch_operators.py WHEEL [ROUNDS]`: WHEEL is a wheel of `fixtures/torch_op`. All contenders but
PyTorch's own run the same kernel on 32 x 32 elements, so that the time is the host's. The C++ extension needs nvcc,
Ninja and a host compiler; without them it is omitted.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from _interleave import compare
from _kernels import FIXTURES
from _results import Goal, Result
from launch import LAUNCHES, Call, microseconds
from startup import installed

import cuda_wheel
import cuda_wheel.torch

__all__ = ["measure"]

OURS, CPP, PYTHON = "cuda_wheel.torch.operator", "C++ extension", "torch.library.custom_op"
SIZE = 32
OPTIMISED = ["-O3", "-DNDEBUG"]
"""What setuptools' builds of extensions pass, and load_inline does not."""
EXTENSION = """
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

static void check(const at::Tensor& tensor, const at::Tensor& first)
{
    TORCH_CHECK(tensor.scalar_type() == at::kFloat, "takes float32, not ", tensor.scalar_type());
    TORCH_CHECK(tensor.device() == first.device(), "is on another device: ", tensor.device());
}

static at::Tensor forward(const at::Tensor& any_x, const at::Tensor& any_bias)
{
    check(any_x, any_x);
    check(any_bias, any_x);
    const c10::cuda::CUDAGuard guard(any_x.device());
    at::Tensor x = any_x.contiguous(), bias = any_bias.contiguous(), y = at::empty_like(x);
    int64_t n = x.numel();
    if (n) {
        gate<float><<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
            x.const_data_ptr<float>(), bias.const_data_ptr<float>(), y.mutable_data_ptr<float>(), n, bias.numel());
        C10_CUDA_KERNEL_LAUNCH_CHECK();
    }
    return y;
}

static at::Tensor gradient(const at::Tensor& any_grad, const at::Tensor& any_x, const at::Tensor& any_bias)
{
    check(any_grad, any_x);
    check(any_x, any_x);
    check(any_bias, any_x);
    const c10::cuda::CUDAGuard guard(any_x.device());
    at::Tensor grad_y = any_grad.contiguous(), x = any_x.contiguous(), bias = any_bias.contiguous();
    at::Tensor grad_x = at::empty_like(x);
    int64_t n = x.numel();
    if (n) {
        gate_gradient<float><<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
            grad_y.const_data_ptr<float>(), x.const_data_ptr<float>(), bias.const_data_ptr<float>(),
            grad_x.mutable_data_ptr<float>(), n, bias.numel());
        C10_CUDA_KERNEL_LAUNCH_CHECK();
    }
    return grad_x;
}

struct Gated : torch::autograd::Function<Gated> {
    static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& bias)
    {
        static auto gated = c10::Dispatcher::singleton()
                                .findSchemaOrThrow("cuda_wheel_benchmark::gated", "")
                                .typed<at::Tensor(const at::Tensor&, const at::Tensor&)>();
        at::AutoDispatchBelowADInplaceOrView guard;
        context->save_for_backward({x, bias});
        return gated.call(x, bias);
    }

    static torch::autograd::tensor_list backward(
        torch::autograd::AutogradContext* context, const torch::autograd::tensor_list& gradients)
    {
        static auto gradient = c10::Dispatcher::singleton()
                                   .findSchemaOrThrow("cuda_wheel_benchmark::gated_gradient", "")
                                   .typed<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&)>();
        auto saved = context->get_saved_variables();
        at::Tensor grad_x = gradient.call(gradients[0], saved[0], saved[1]);
        return {grad_x, grad_x.reshape({-1, saved[1].numel()}).sum(0)};
    }
};

static at::Tensor differentiable(const at::Tensor& x, const at::Tensor& bias)
{
    return Gated::apply(x, bias);
}

TORCH_LIBRARY(cuda_wheel_benchmark, m)
{
    m.def("plain(Tensor x, Tensor bias) -> Tensor");
    m.def("gated(Tensor x, Tensor bias) -> Tensor");
    m.def("gated_gradient(Tensor grad_y, Tensor x, Tensor bias) -> Tensor");
}

TORCH_LIBRARY_IMPL(cuda_wheel_benchmark, CUDA, m)
{
    m.impl("plain", forward);
    m.impl("gated", forward);
    m.impl("gated_gradient", gradient);
}

TORCH_LIBRARY_IMPL(cuda_wheel_benchmark, Autograd, m)
{
    m.impl("gated", differentiable);
}
"""
"""The kernel's source comes before it."""

ALLOCATING = "PyTorch's autograd.Function in Python, which only allocates"
LAUNCHING = "PyTorch's autograd.Function in Python, which allocates and launches"
LIMIT = (
    "without a gradient, the time is that of a function that allocates and launches, and of the questions whether "
    "anything but the launch wants to see the call. Where a gradient is wanted, PyTorch's autograd.Function in Python "
    "is added: the table shows it without a kernel, and with the kernels but without an operator. The C++ extension "
    "has no Python in either pass."
)

Operator = Callable[[Any, Any], Any]


class Contender(NamedTuple):
    """The same operator twice: without and with a gradient."""

    plain: Operator
    differentiable: Operator


@cache
def extension() -> Contender:
    """Build the C++ extension, once for each process."""
    from torch.utils.cpp_extension import load_inline

    (source,) = (FIXTURES / "torch_op").rglob("gated.cu")
    text = source.read_text() + EXTENSION
    with tempfile.TemporaryDirectory() as folder:
        load_inline(
            "cuda_wheel_benchmark",
            "",
            cuda_sources=text,
            extra_cflags=OPTIMISED,
            extra_cuda_cflags=OPTIMISED,
            is_python_module=False,
            build_directory=folder,
        )
    operators = torch.ops.cuda_wheel_benchmark
    return Contender(operators.plain.default, operators.gated.default)


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
def in_python() -> Contender:
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
    return Contender(plain, gated)


@cache
def ours() -> Contender:
    import torch_op_demo

    plain = cuda_wheel.torch.operator(
        "cuda_wheel_benchmark::ours",
        kernel={torch.float32: "gate<float>", torch.float16: "gate<__half>"},
        arguments="x, bias, y, n, columns",
        outputs={"y": "x"},
        **torch_op_demo.SHAPE,
    )
    return Contender(plain, torch_op_demo.gated)


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
