"""Derivatives that an operator has are right in every mode and transform, and those it does not have are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import cuda_wheel.torch
from cuda_wheel.runtime.errors import ArgumentError
from tests.torch.quiet_pytorch import MARKS, FlopCounterMode, Tensor, torch
from tests.torch.stand_in_kernels import StandIn
from tests.torch.swish import differentiable, swish

pytestmark = MARKS
forward_ad = torch.autograd.forward_ad


@pytest.fixture
def cube(name: str, on_cpu: None) -> Any:
    """Return an operator that computes x^3, with both derivatives."""
    if not hasattr(torch.library, "get_kernel"):
        pytest.skip("PyTorch before 2.9 has no derivatives in transforms")
    backward = lambda grad_output, x: 3 * x * x * grad_output  # noqa: E731
    jvp = lambda tangent_x, x: 3 * x * x * tangent_x  # noqa: E731

    @cuda_wheel.torch.operator(name, backward=backward, jvp=jvp, autocast=torch.bfloat16)
    def cube(x: Tensor) -> Tensor:
        return x.detach() ** 3

    return cube


X, T = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 1.0, 2.0])


def tangent_of(function: Callable[[Any], Any], x: Any) -> Any:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(function(forward_ad.make_dual(x, T))).tangent


def test_forward_mode_is_right_or_refused(cube: Any) -> None:
    assert tangent_of(cube, X).equal(3 * X * X * T)
    assert torch.func.jvp(cube, (X,), (T,))[1].equal(3 * X * X * T)

    def counted(x: Any) -> Any:
        with FlopCounterMode(display=False):
            return cube(x)

    compiled = torch.compile(cube, backend="aot_eager")
    refused: list[Callable[[], Any]] = [
        lambda: tangent_of(counted, X),
        lambda: tangent_of(lambda x: cube(torch._neg_view(x)), X),
        lambda: tangent_of(compiled, X),
        lambda: torch.func.linearize(cube, X)[1](T),
        lambda: torch.func.jacfwd(torch.func.jacfwd(cube))(X),
        lambda: torch.func.jvp(lambda x: torch.func.jvp(cube, (x,), (T,))[1], (X,), (T,)),
    ]
    for call in refused:
        with pytest.raises(Exception, match=r"which would be zero in silence|but would be zero"):
            call()


@pytest.mark.parametrize("transforms", ["jacrev jacrev", "jacfwd jacrev", "jacrev jacfwd"])
def test_second_derivatives(cube: Any, transforms: str) -> None:
    first, second = (getattr(torch.func, each) for each in transforms.split())
    assert torch.allclose(first(second(cube))(X), first(second(lambda x: x**3))(X))


def test_gradients_of_batches_and_of_zero_tensors(cube: Any, name: str) -> None:
    @cuda_wheel.torch.operator(f"{name}_gradient")
    def gradient(grad_output: Tensor, x: Tensor) -> Tensor:
        assert grad_output.data_ptr()  # a kernel needs memory
        return 3 * x * x * grad_output

    @cuda_wheel.torch.operator(f"{name}_with_kernel", backward=gradient)
    def with_kernel(x: Tensor) -> Tensor:
        return x.detach() ** 3

    leaf = X.clone().requires_grad_()
    with_kernel(leaf).sum().backward()
    batches = torch.autograd.grad(with_kernel(leaf), leaf, torch.eye(3), is_grads_batched=True)[0]
    assert batches.equal(torch.diag(3 * X * X))
    jacobian = torch.autograd.functional.jacobian(with_kernel, X, vectorize=True)
    assert jacobian.equal(torch.diag(3 * X * X))
    leaf.grad = None
    torch.sgn(with_kernel(leaf)).sum().backward()  # the gradient of sgn is a tensor without memory
    assert leaf.grad.tolist() == [0, 0, 0]


def test_a_graph_that_records_before_autograd_has_the_operator(cube: Any) -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(lambda x: cube(x) + 1, tracing_mode="real", pre_dispatch=True)(X)
    assert cube in [node.target for node in graph.graph.nodes]


def test_autocast_converts_inside_transforms(cube: Any) -> None:
    torch.set_autocast_enabled("cuda", True)  # torch.autocast does nothing without a GPU
    try:
        assert torch.func.jvp(cube, (X,), (T,))[1].dtype is torch.bfloat16
        seen = []
        torch.func.grad(lambda x: (seen.append(cube(x)), seen[0].float().sum())[1])(X)
        assert seen[0].dtype is torch.bfloat16
    finally:
        torch.set_autocast_enabled("cuda", False)


def test_results_that_are_not_all_tensors_lose_no_gradient(name: str, on_cpu: None) -> None:
    @cuda_wheel.torch.operator(name)
    def parts(x: Tensor) -> list[Tensor]:
        return [x * 2]

    assert parts(X)[0].tolist() == [2, 4, 6]
    for _ in range(2):
        with pytest.raises(ArgumentError, match=f"^{name} has no gradient, but a tensor requires one"):
            parts(X.clone().requires_grad_())


@pytest.mark.parametrize("rule", ["backward", "jvp"])
def test_operators_of_lists_have_no_derivative_of_their_own(name: str, on_cpu: None, rule: str) -> None:
    rules = {"backward": lambda grad_output: [grad_output], "jvp": lambda tangent_xs: tangent_xs}
    with pytest.raises(ArgumentError, match=f"^{name} cannot have a derivative of its own, because it takes a list"):

        @cuda_wheel.torch.operator(name, **{rule: rules[rule]})
        def total(xs: list[Tensor]) -> Tensor:
            return xs[0] + 0


def test_tangents_that_are_no_tensors(name: str, on_cpu: None) -> None:
    @cuda_wheel.torch.operator(
        name,
        outputs="y, z",
        backward=lambda grad_y: grad_y,
        jvp=lambda tangent_x, x: (tangent_x, None if x[0] > 1 else tangent_x),
    )
    def both(x: Tensor) -> tuple[Tensor, Tensor]:
        return x + 0, x + 1

    assert [each.tolist() for each in torch.func.jvp(both, (X,), (T,))[1]] == [T.tolist()] * 2
    with pytest.raises(ArgumentError, match=f"^{name}: jvp must return a tensor for each output, not None"):
        torch.func.jvp(both, (X + 1,), (T,))


def test_gradients_by_a_backward_kernel(name: str, on_cpu: None) -> None:
    operator = differentiable(name)
    x = torch.linspace(-2, 2, 64, requires_grad=True)
    operator(x, 0.5).square().sum().backward()
    found, x.grad = x.grad, None
    (x * torch.sigmoid(0.5 * x)).square().sum().backward()
    assert torch.allclose(found, x.grad, atol=1e-6)
    torch.library.opcheck(operator, (torch.linspace(-2, 2, 64, requires_grad=True), 0.5))
    torch.library.opcheck(operator, (torch.linspace(-2, 2, 64),))
    torch.library.opcheck(operator, (torch.empty(0, 4),))
    torch.library.opcheck(operator, (torch.ones(6, 4).t().requires_grad_(),))


def test_gradients_by_an_operator_that_names_what_it_needs(name: str, on_cpu: None) -> None:
    def compute(y: Any, grad_y: Any, factor: float, out: Any) -> None:
        out.copy_(grad_y * y * factor)

    gradient = cuda_wheel.torch.operator(
        f"{name}_gradient",
        kernel=StandIn("b", "const float*, const float*, float, float*", compute),
        arguments="y, grad_y, factor, out",
        outputs={"out": "y"},
        defaults={"factor": 1.0},
        grid=1,
        block=1,
    )
    declaration: dict[str, Any] = {
        "kernel": StandIn("k", "const float*, float*, float", lambda x, y, factor: y.copy_((factor * x).exp())),
        "arguments": "x, y, factor",
        "outputs": {"y": "x"},
        "grid": 1,
        "block": 1,
    }
    operator = cuda_wheel.torch.operator(name, **declaration, backward=gradient)
    x = torch.rand(5, requires_grad=True)
    (found,) = torch.autograd.grad(operator(x, 2.0).sum(), x)
    assert torch.allclose(found, 2 * (2 * x).exp())
    torch.library.opcheck(operator, (x, 2.0))
    with pytest.raises(ArgumentError, match="backward is a function of y, grad_y, factor: its parameters must be"):
        declaration["arguments"] = "x, y, scale"
        cuda_wheel.torch.operator(f"{name}b", **declaration, backward=gradient)


def test_gradients_by_a_formula_of_inputs_and_outputs(name: str, on_cpu: None) -> None:
    def compute(x: Any, w: Any, y: Any, z: Any) -> None:
        y.copy_(x * w)
        z.copy_(x.exp())

    operator = cuda_wheel.torch.operator(
        name,
        kernel=StandIn("k", "const float*, const float*, float*, float*", compute),
        arguments="x, w, y, z",
        outputs={"y": "x", "z": "x"},
        grid=1,
        block=1,
        backward=lambda grad_y, grad_z, x, w, z: (grad_y * w + grad_z * z, grad_y * x),
    )
    x, w = (torch.rand(5, requires_grad=True) for _ in "xw")
    y, z = operator(x, w)
    (y + 2 * z).sum().backward()
    assert torch.allclose(x.grad, w + 2 * x.exp()) and torch.allclose(w.grad, x)
    wrong, _ = swish(f"{name}wrong", backward=lambda grad_y: (grad_y, grad_y))
    with pytest.raises(ArgumentError, match=r"backward returned 2 gradients for 1 tensors: x$"):
        wrong(x, 1.0).sum().backward()


def test_an_output_whose_gradient_backward_does_not_take_has_none(name: str, on_cpu: None) -> None:
    operator = cuda_wheel.torch.operator(
        name,
        kernel=StandIn("k", "const float*, float*, float*", lambda x, y, z: (y.copy_(x * 2), z.copy_(x.exp()))),
        arguments="x, y, z",
        outputs={"y": "x", "z": "x"},
        grid=1,
        block=1,
        backward=lambda grad_y: 2 * grad_y,
    )
    x = torch.rand(5, requires_grad=True)
    compiled = torch.compile(lambda x: operator(x), fullgraph=True, backend="aot_eager")
    for function in (operator, compiled):
        y, z = function(x)
        assert y.requires_grad and not z.requires_grad
        assert torch.autograd.grad((y * z.sum()).sum(), x)[0].allclose(2 * z.sum())
    torch.library.opcheck(operator, (x,))


def test_plain_tensors_take_the_short_way_to_their_gradient(name: str, on_cpu: None) -> None:
    operator = differentiable(name)
    x = torch.ones(3, requires_grad=True)
    y = operator(x)
    assert type(y.grad_fn).__name__ == f"{name.partition('::')[2]}Backward"
    y.sum().backward()
    assert x.grad is not None
    with torch.no_grad():
        assert operator(x).grad_fn is None
    assert not operator(x.detach()).requires_grad


def test_without_gradients_backward_says_so(name: str, on_cpu: None) -> None:
    operator, _ = swish(name)
    y = operator(torch.ones(3, requires_grad=True), 1.0)
    with pytest.raises(
        ArgumentError, match=f"^{name} has no gradient, but one is asked for, which would count as zero"
    ):
        y.sum().backward()
    # Of gradients of gradients, too: that of the gradient's operator is not zero.
    x = torch.ones(3, requires_grad=True)
    (gradient,) = torch.autograd.grad(differentiable(f"{name}d")(x, 0.5).sum(), x, create_graph=True)
    with pytest.raises(ArgumentError, match=f"^{name}d_backward has no gradient"):
        gradient.sum().backward()
