"""Operators that are Python functions: several launches, lists, flags, gradients, transforms, and what is refused.

Without a GPU, they run on tensors in host memory, and stand-ins compute what the kernels would.
`tests/gpu/test_torch_functions.py` runs real ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import cuda_wheel.torch
from cuda_wheel.runtime.errors import ArgumentError
from tests.torch.quiet_pytorch import MARKS, Tensor, torch
from tests.torch.stand_in_kernels import ADD, SCALE, Make, StandIn, add, scale
from tests.torch.swish import schema_of

pytestmark = MARKS


@pytest.fixture
def scaled_sum(name: str, module: Make) -> Any:
    """Return an operator of two launches with a scratch buffer, and PyTorch's exp between them."""
    kernels = module(StandIn("add", ADD, add), StandIn("scale", SCALE, scale))

    @cuda_wheel.torch.operator(
        name,
        backward=lambda grad_output, x, y, factor: (
            grad_output * factor * (x + y).exp(),
            grad_output * factor * (x + y).exp(),
        ),
        jvp=lambda tangent_x, tangent_y, x, y, factor: factor * (x + y).exp() * (tangent_x + tangent_y),
    )
    def function(x: Tensor, y: Tensor, factor: float = 2.0) -> Tensor:
        """Return factor * exp(x + y)."""
        n = x.numel()
        scratch = torch.empty_like(x)
        kernels["add"].launch(n, 1, x, y, scratch, n)
        scratch = scratch.exp()
        result = torch.empty_like(x)
        kernels["scale"].launch((n, 1), 1, scratch, result, factor, n)
        return result

    return function


def test_a_function_launches_several_kernels(scaled_sum: Any) -> None:
    assert schema_of(scaled_sum) == "(Tensor x, Tensor y, float factor=2.) -> Tensor"
    assert scaled_sum.__doc__ == "Return factor * exp(x + y)."
    x, y = torch.rand(5), torch.rand(5)
    for _ in range(3):
        assert torch.allclose(scaled_sum(x, y), 2 * (x + y).exp())
        assert torch.allclose(scaled_sum(y=y, x=x, factor=0.5), 0.5 * (x + y).exp())
    assert scaled_sum(torch.empty(0), torch.empty(0)).shape == (0,)
    assert torch.allclose(scaled_sum(torch.ones(4, 4).t()[:2], torch.ones(2, 4)), torch.full((2, 4), 2.0).exp() * 2)
    torch.library.opcheck(scaled_sum, (x, y))
    torch.library.opcheck(scaled_sum, (x.requires_grad_(), y, 3.0))


def test_derivatives_of_a_function(scaled_sum: Any) -> None:
    def wanted(x: Any, y: Any) -> Any:
        return 2 * (x + y).exp()

    x, y = torch.rand(4), torch.rand(4)
    arguments = (x.clone().requires_grad_(), y.clone().requires_grad_())
    for _ in range(2):
        found = torch.autograd.grad(scaled_sum(*arguments).sum(), arguments, create_graph=True)
        expected = torch.autograd.grad(wanted(*arguments).sum(), arguments, create_graph=True)
        assert all(map(torch.allclose, found, expected))
        second = torch.autograd.grad(found[0].sum(), arguments), torch.autograd.grad(expected[0].sum(), arguments)
        assert all(map(torch.allclose, *second))
    tangents = torch.rand(4), torch.rand(4)
    primal, tangent = torch.func.jvp(scaled_sum, (x, y), tangents)
    expected_primal, expected_tangent = torch.func.jvp(wanted, (x, y), tangents)
    assert torch.allclose(primal, expected_primal) and torch.allclose(tangent, expected_tangent)
    with torch.autograd.forward_ad.dual_level():
        dual = scaled_sum(torch.autograd.forward_ad.make_dual(x, tangents[0]), y)  # y has no tangent
        found_tangent = torch.autograd.forward_ad.unpack_dual(dual).tangent
    assert torch.allclose(found_tangent, torch.func.jvp(lambda x: wanted(x, y), (x,), tangents[:1])[1])
    for transform in (
        lambda f: torch.func.grad(lambda x: f(x, y).sum())(x),
        lambda f: torch.func.jacfwd(lambda x: f(x, y))(x),
        lambda f: torch.func.hessian(lambda x: f(x, y).sum())(x),
        lambda f: torch.func.vmap(torch.func.grad(lambda x: f(x, y).sum()))(torch.stack([x, 2 * x])),
        lambda f: torch.func.vmap(f, (0, None))(torch.stack([x, 2 * x]), y),
        lambda f: torch.func.grad(lambda xs: torch.func.vmap(f, (0, None))(xs, y).sum())(torch.stack([x, 2 * x])),
    ):
        assert torch.allclose(transform(scaled_sum), transform(wanted))


def test_compiled_functions(scaled_sum: Any) -> None:
    compiled = torch.compile(lambda x, y: scaled_sum(x * 2, y) + 1, fullgraph=True, backend="aot_eager", dynamic=True)
    for size in (3, 5, 8):
        x, y = torch.rand(size, requires_grad=True), torch.rand(size)
        found = compiled(x, y)
        assert torch.allclose(found, 2 * (2 * x + y).exp() + 1)
        assert torch.allclose(torch.autograd.grad(found.sum(), x)[0], 4 * (2 * x + y).exp())


# --- arguments ------------------------------------------------------------------------------------------


def test_lists_flags_and_missing_tensors(name: str, module: Make) -> None:
    kernel = StandIn(
        "add", "const float*, const float*, float*, int", lambda x, y, out, n: out.copy_(x + (0 if y is None else y))
    )
    kernels = module(kernel)

    @cuda_wheel.torch.operator(name, outputs="total, count")
    def total(
        parts: list[Tensor], bias: Tensor | None, train: bool = True, mode: str = "sum", limit: float = float("inf")
    ) -> tuple[Tensor, Tensor]:
        result = torch.zeros_like(parts[0])
        for part in parts:
            kernels["add"].launch(part.numel(), 1, part, result, result, part.numel())
        if train:
            kernels["add"].launch(result.numel(), 1, result, bias, result, result.numel())
        assert mode == "sum" and limit == float("inf")
        return result, torch.tensor([len(parts)])

    assert schema_of(total) == (
        '(Tensor[] parts, Tensor? bias, bool train=True, str mode="sum", float? limit=None) -> (Tensor, Tensor)'
    )
    parts = [torch.ones(4), torch.ones(4, 2)[:, 0] * 2]
    assert total(parts, torch.ones(4))[0].tolist() == [4] * 4
    assert total(parts, None)[0].tolist() == [3] * 4
    assert total(parts, torch.ones(4), train=False)[0].tolist() == [3] * 4
    with pytest.raises(ArgumentError, match=f"^{name} takes tensors on a GPU of CUDA, but got none"):
        total([], None)
    torch.library.opcheck(total, (parts, None), test_utils=("test_schema", "test_faketensor"))


def test_a_function_that_writes_its_inputs(name: str, module: Make) -> None:
    def increase(x: Any, y: Any, n: int) -> None:
        y.numpy()[:] += x.numpy()

    kernels = module(StandIn("increase", "const float*, float*, int", increase))

    @cuda_wheel.torch.operator(name, writes="y")
    def increment(x: Tensor, y: Tensor) -> None:
        kernels["increase"].launch(1, 1, x, y, x.numel())

    assert schema_of(increment) == "(Tensor x, Tensor(a1!) y) -> ()"
    x, y = torch.ones(3), torch.zeros(3)
    for count in (1, 2):
        version = y._version
        assert increment(x, y) is None
        assert y.tolist() == [count] * 3 and y._version > version
    with pytest.raises(ArgumentError, match="y must be contiguous, because the operator writes it"):
        increment(x, torch.zeros(3, 2)[:, 0])
    with pytest.raises(ArgumentError, match="writes y, so it has no gradient, but a tensor requires one"):
        increment(x.clone().requires_grad_(), y)
    torch.library.opcheck(increment, (x, torch.zeros(3)))
    batch = torch.zeros(2, 3)
    torch.func.vmap(lambda x, y: (increment(x, y), y)[1], (None, 0))(x, batch)
    assert batch.tolist() == [[1] * 3] * 2
    with pytest.raises(ArgumentError, match="maps other inputs but not y, which each element would write"):
        torch.func.vmap(lambda x, y: (increment(x, y), x)[1], (0, None))(torch.ones(2, 3), torch.zeros(3))


# --- declarations -----------------------------------------------------------------------------------------


def no_tensor(n: int) -> Tensor: ...
def no_result(x: Tensor): ...  # type: ignore[no-untyped-def]
def no_type(x, y: Tensor) -> Tensor: ...  # type: ignore[no-untyped-def]
def strange(x: Tensor, y: complex) -> Tensor: ...
def by_name(x: Tensor, *, y: int) -> Tensor: ...
def several(x: Tensor, *more: int) -> Tensor: ...
def underscore(_x: Tensor) -> Tensor: ...
def unknown(x: Missing) -> Tensor: ...  # type: ignore[name-defined] # noqa: F821
def right(x: Tensor, n: int = 3) -> Tensor: ...
def lists(x: list[Tensor] | None) -> Tensor: ...


@pytest.mark.parametrize(
    ("function", "more", "message"),
    [
        (no_tensor, {}, " takes no tensor, so PyTorch cannot know"),
        (no_result, {}, ": the annotations of its function are not those of an operator: its result has no annotation"),
        (no_type, {}, ": the annotations of its function are not those of an operator: "),
        (strange, {}, ": the annotations of its function are not those of an operator: "),
        (unknown, {}, ": the annotations of its function are not those of an operator: .*Missing"),
        (by_name, {}, ": y must be a parameter that is passed by position and by name"),
        (several, {}, r": more must be a parameter"),
        (underscore, {}, ": the parameter _x begins with an underscore"),
        (lists, {}, ": the annotations of its function are not those of an operator: Parameter x has unsupported type"),
        (3, {}, ": operator without kernel decorates a function, not 3"),
        (right, {"writes": "y"}, ": writes names 'y', which is not one of x, n"),
        (right, {"writes": "x", "read_only": ["x"]}, ": x is in writes and in read_only"),
        (right, {"writes": ["n"]}, ": "),
        (right, {"outputs": "a, b"}, " returns 1 results, but outputs names 2: a, b"),
        (right, {"outputs": "x"}, ": x is a parameter and in outputs: rename one"),
        (right, {"outputs": "class"}, ": 'class' in outputs is a keyword of Python"),
        (right, {"outputs": "_y"}, ": '_y' in outputs begins with an underscore"),
        (right, {"outputs": [3]}, ": outputs takes names, such as 'x, y' or .*, not 3"),
        (right, {"read_only": 3}, ": read_only takes names, such as 'x, y' or .*, not 3"),
        (right, {"outputs": {"y": "x"}}, ": outputs of an operator without kernel are names"),
        (right, {"grid": 3, "module": "a.b"}, ": module and grid belong to an operator with kernel"),
        (right, {"backward": lambda x: x}, ": backward must be a function of grad_output"),
        (right, {"backward": lambda grad_output, z: z}, ": backward is a function of grad_output, z: its parameters"),
        (right, {"jvp": lambda x: x}, ": jvp must be a function of tangent_x too, which would count as zero"),
        (right, {"jvp": 3}, ": jvp takes a function, not 3"),
        (right, {"writes": "x", "backward": lambda grad_output: 1}, " cannot have a gradient, because it writes x"),
        (right, {"non_contiguous": "maybe"}, ': non_contiguous is "copy", "refuse" or "pass", not \'maybe\''),
    ],
)  # fmt: skip
def test_declarations_that_are_wrong(name: str, function: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{name}{message}"):
        cuda_wheel.torch.operator(name, function, **more) if function != 3 else cuda_wheel.torch.operator(name)(3)
    assert not hasattr(torch.ops.cuda_wheel_tests, name.partition("::")[2])


def test_a_rule_of_its_own_for_batches(name: str, module: Make) -> None:
    kernel = StandIn("scale", SCALE, scale)
    kernels = module(kernel)

    def batched(info: Any, in_dims: Any, x: Any, factor: float) -> Any:
        return operator(x.movedim(in_dims[0], 0), factor), 0

    @cuda_wheel.torch.operator(name, vmap=batched)
    def operator(x: Tensor, factor: float) -> Tensor:
        out = torch.empty_like(x)
        kernels["scale"].launch(1, 1, x, out, factor, x.numel())
        return out

    x = torch.rand(3, 4)
    assert torch.allclose(torch.func.vmap(lambda x: operator(x, 2.0), 1, 1)(x), 2 * x)
    assert len(kernel.launched) == 1


@pytest.mark.parametrize("result", [lambda x: None, lambda x: 3.0, lambda x: (x + 1, x + 2), lambda x: [x + 1]])
def test_results_of_other_kinds_than_the_annotation_says(name: str, on_cpu: None, result: Callable[[Any], Any]) -> None:
    @cuda_wheel.torch.operator(name)
    def wrong(x: Tensor) -> Tensor:
        return result(x)

    for _ in range(2):
        with pytest.raises(
            ArgumentError, match=rf"^{name}: its function returned \(.*\), but its annotation says \(Tensor"
        ):
            wrong(torch.ones(3))
