"""Derivatives that an operator has are right in every mode and transform, and those it does not have are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import cuda_wheel.torch
from cuda_wheel.runtime.errors import ArgumentError
from tests.torch.quiet_pytorch import MARKS, FlopCounterMode, Tensor, torch

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


def test_a_default_that_no_schema_can_have_reaches_fake_tensors(name: str, on_cpu: None) -> None:
    @cuda_wheel.torch.operator(name, backward=lambda grad_output: grad_output, jvp=lambda tangent_x: tangent_x)
    def limited(x: Tensor, limit: float = float("inf")) -> Tensor:
        return x.clamp(max=limit) + (0 if limit > 0 else 1)

    with torch._subclasses.FakeTensorMode():
        assert limited(torch.empty(3)).shape == (3,)


def test_random_numbers_of_batches(name: str, on_cpu: None) -> None:
    @cuda_wheel.torch.operator(name, random=True)
    def noise(x: Tensor) -> Tensor:
        return torch.rand_like(x)

    found = torch.func.vmap(noise, randomness="different")(torch.zeros(2, 3))
    assert not found[0].equal(found[1])
    for randomness in ("error", "same"):
        with pytest.raises(ArgumentError, match=f'^{name} draws random numbers .* needs randomness="different", not'):
            torch.func.vmap(noise, randomness=randomness)(torch.zeros(2, 3))


def test_batches_of_results_that_cannot_be_stacked(name: str, on_cpu: None) -> None:
    @cuda_wheel.torch.operator(name)
    def some(x: Tensor) -> Tensor:
        return x[: int(x[0])] + 0

    with pytest.raises(
        ArgumentError, match=f"^{name}: torch.vmap cannot stack results of 2 shapes: declare it with vmap"
    ):
        torch.func.vmap(some)(torch.tensor([[1.0, 0], [2.0, 0]]))


@pytest.mark.parametrize("result", [lambda x: None, lambda x: 3.0, lambda x: (x + 1, x + 2), lambda x: [x + 1]])
def test_results_of_other_kinds_than_the_annotation_says(name: str, on_cpu: None, result: Callable[[Any], Any]) -> None:
    @cuda_wheel.torch.operator(name)
    def wrong(x: Tensor) -> Tensor:
        return result(x)

    for _ in range(2):
        with pytest.raises(
            ArgumentError, match=rf"^{name}: its function returned \(.*\), but its annotation says \(Tensor"
        ):
            wrong(X)
