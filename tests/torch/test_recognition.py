"""Calls with tensors like those of the call before are recognised, and no others."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import pytest

import cuda_wheel.torch
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.torch.recognition import Recognised, Recogniser

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch import Tensor  # noqa: E402

pytestmark = [
    pytest.mark.one_toolchain,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),  # PyTorch's own
]


@pytest.fixture
def recogniser() -> Recogniser:
    return Recogniser({})


def seen(recogniser: Recogniser) -> Any:
    return Recognised(*recogniser._namespace["_seen"])


def test_the_second_call_in_a_row_is_recognised_from_then_on(recogniser: Recogniser) -> None:
    x, y = torch.ones(2, 3), torch.ones(4, dtype=torch.int64)
    recogniser.note("key", 7, True, x, y)
    assert not seen(recogniser).matches(x, y)
    recogniser.note("key", 7, True, x, y)
    assert seen(recogniser)[1:] == ("key", 7, True, False, False)
    assert seen(recogniser).matches(torch.zeros(9, 1), torch.ones(0, dtype=torch.int64))
    recogniser.note("other", 7, True, y, y)
    assert seen(recogniser).key == "key"  # one call with other tensors changes nothing


@pytest.mark.parametrize(
    "other",
    [
        lambda: torch.ones(3),
        lambda: torch.ones(3, 3, dtype=torch.float64),
        lambda: torch.ones(3, 3, requires_grad=True),
        lambda: torch.nn.Parameter(torch.ones(3, 3), requires_grad=False),
        lambda: torch._neg_view(torch.ones(3, 3)),
        lambda: torch.ones(3, 3, dtype=torch.complex64).conj(),
        lambda: torch._efficientzerotensor((3, 3)),
        lambda: torch.ones(3, 3).to_sparse(),
        lambda: torch.ones(3, 3).to_sparse_csr(),
        lambda: torch.ones(3, 3).to_mkldnn(),
        lambda: torch.quantize_per_tensor(torch.ones(3, 3), 0.1, 0, torch.qint8),
        lambda: torch.ones(3, 3, device="meta"),
        lambda: torch._to_functional_tensor(torch.ones(3, 3)),
        lambda: torch._subclasses.FakeTensorMode().from_tensor(torch.ones(3, 3)),
        lambda: torch.ones(3, 3).as_subclass(type("Subclass", (Tensor,), {})),
        lambda: 3,
        lambda: None,
    ],
)
def test_other_tensors_are_not_recognised(recogniser: Recogniser, other: Any) -> None:
    x = torch.ones(2, 2)
    recogniser.note("key", 0, True, x)
    recogniser.note("key", 0, True, x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are prototypes
        assert seen(recogniser).matches(x) and not seen(recogniser).matches(other())


def test_modes_and_transforms_of_the_thread_are_seen(recogniser: Recogniser) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Dispatch(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return function(*args, **(kwargs or {}))

    x = torch.ones(2)
    recogniser.note("key", 0, True, x)
    recogniser.note("key", 0, True, x)
    matches, found = seen(recogniser).matches, []

    def look(tensor: Tensor) -> Tensor:
        found.append(matches(x))
        found.append(matches(tensor))
        return tensor * 1

    for mode in (Dispatch(), torch.inference_mode(), torch.autocast("cpu")):
        with mode:
            look(x)
    torch.func.vmap(look)(torch.ones(2, 2))
    torch.func.jvp(look, (x,), (x,))
    torch.func.grad(lambda y: look(y).sum())(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit is deprecated
        torch.jit.trace(look, (torch.ones(2),), check_trace=False)
    assert len(found) == 14 and not any(found)
    assert matches(x)
    others: list[bool] = []
    thread = threading.Thread(target=lambda: others.append(matches(x)))
    with Dispatch():
        thread.start()
        thread.join()
    assert others == [True]  # the mode is another thread's


@pytest.fixture
def warm(name: str, on_cpu: None) -> Any:
    """Return an operator that recognises calls with two plain tensors of float32, and writes the first."""

    @cuda_wheel.torch.operator(name, writes="x")
    def add_(x: Tensor, y: Tensor) -> None:
        x.add_(y)

    for _ in range(3):
        add_(torch.ones(2), torch.ones(2))
    assert seen_by(add_).matches(torch.ones(2), torch.ones(2))
    return add_


def test_tools_of_pytorch_that_trace_see_a_recognised_call(warm: Any) -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    y = torch.ones(2)

    def program(x: Tensor) -> Tensor:
        warm(x, y)
        return x

    graph = make_fx(program)(torch.ones(2))
    assert [node.target for node in graph.graph.nodes if node.op == "call_function"][:1] == [warm]

    class Module(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Tensor) -> Tensor:
            other = x.clone()
            warm(other, x)
            return other

    exported = torch.export.export(Module(), (torch.ones(2),), strict=False)
    assert "cuda_wheel_tests" in str(exported.graph)


def test_fake_and_functional_modes_see_a_recognised_call(warm: Any) -> None:
    x, y = torch.ones(2), torch.ones(2)
    with torch._subclasses.FakeTensorMode(), pytest.raises(AssertionError, match="Please convert all Tensors"):
        warm(x, y)
    assert x.tolist() == [1.0] * 2


def test_a_function_mode_sees_the_operator_and_nothing_else(warm: Any) -> None:
    from torch.overrides import TorchFunctionMode

    seen = []

    class Function(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(function)
            return function(*args, **(kwargs or {}))

    x, y = torch.ones(2), torch.ones(2)
    with Function():
        warm(x, y)
    assert seen == [warm]


def test_one_tensor_as_two_arguments_is_never_recognised(recogniser: Recogniser) -> None:
    x = torch.ones(2)
    for _ in range(3):
        recogniser.note("key", 0, True, x, x)
        assert not seen(recogniser).matches(x, x)
    assert not recogniser._made


def test_a_guard_that_does_not_recognise_the_call_is_made_once(recogniser: Recogniser) -> None:
    for _ in range(9):  # copies of a Parameter that is not contiguous
        recogniser.note("key", 0, True, torch.ones(2, 2))
        assert not seen(recogniser).matches(torch.nn.Parameter(torch.ones(2, 2).t()))
    assert len(recogniser._made) == 1


def test_a_guard_of_another_mode_is_replaced(recogniser: Recogniser) -> None:
    x = torch.ones(2)
    for mode in (torch.inference_mode, torch.no_grad, torch.inference_mode, torch.no_grad):
        with mode():
            for _ in range(2):
                recogniser.note("key", 0, True, x)
            assert seen(recogniser).matches(x)


def test_a_guard_is_made_once_for_kinds_that_take_turns(recogniser: Recogniser) -> None:
    x, y = torch.ones(2), torch.ones(2, requires_grad=True)
    found = []
    for _ in range(3):
        for tensor in (x, y):
            for _ in range(2):
                recogniser.note("key", 0, True, tensor)
            assert seen(recogniser).matches(tensor)
            found.append(seen(recogniser).matches)
    assert found == found[:2] * 3 and len(recogniser._made) == 2


def test_only_so_many_guards_are_made(recogniser: Recogniser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recogniser, "MOST", 3)
    for dimensions in range(1, 6):
        for _ in range(2):
            recogniser.note(dimensions, 0, True, torch.ones((1,) * dimensions))
    assert seen(recogniser).key == 3


def test_without_pytorchs_guards_nothing_is_recognised(recogniser: Recogniser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch._C._dynamo.guards, "TensorGuards")
    for _ in range(3):
        recogniser.note("key", 0, True, torch.ones(2))
    assert seen(recogniser) == Recogniser.NOTHING


def test_a_recognised_operator_checks_flags_and_gradients_of_each_call(name: str, on_cpu: None) -> None:
    @cuda_wheel.torch.operator(name, backward=lambda grad_output, x, y: (grad_output * y, grad_output * x))
    def product(x: Tensor, y: Tensor, negate: bool = False) -> Tensor:
        return x.detach() * (-y.detach() if negate else y.detach())

    x, y = torch.full((2,), 3.0), torch.full((2,), 5.0)
    for _ in range(4):
        assert product(x, y).tolist() == [15.0] * 2
        assert product(x, y, True).tolist() == [-15.0] * 2
    leaf = x.clone().requires_grad_()
    with torch.no_grad():
        for _ in range(3):
            assert not product(leaf, y).requires_grad
    product(leaf, y).sum().backward()
    assert leaf.grad.tolist() == [5.0] * 2
    assert product(x[:1].expand(2), y).tolist() == [15.0] * 2
    assert product(x.double(), y.double()).dtype == torch.float64


def test_a_tensor_that_may_be_missing(name: str, on_cpu: None) -> None:
    @cuda_wheel.torch.operator(name)
    def weighted(x: Tensor, weight: Tensor | None = None, more: Tensor | None = None) -> Tensor:
        total = x.detach().clone()
        for each in (weight, more):
            if each is not None:
                total *= each.detach()
        return total

    x = torch.full((2,), 3.0)
    for _ in range(4):
        assert weighted(x).tolist() == [3.0] * 2
        assert weighted(x, x, x).tolist() == [27.0] * 2  # one tensor as several arguments
        assert weighted(x, torch.full((2,), 5.0), torch.full((1,), 2.0)).tolist() == [30.0] * 2
        assert weighted(x, more=torch.full((2,), 7.0, dtype=torch.float64)).tolist() == [21.0] * 2
        assert weighted(x, torch._neg_view(torch.full((2,), 5.0)), x).tolist() == [-45.0] * 2
    for _ in range(3):
        weighted(x, torch.ones(2), torch.ones(2))
    seen = seen_by(weighted)
    assert seen.has_optional and seen.matches(x, torch.ones(2), torch.ones(2))
    assert weighted(x, torch.full((2,), 5.0)).tolist() == [15.0] * 2  # one of the two
    for _ in range(3):
        weighted(x)
    seen = seen_by(weighted)
    assert not seen.has_optional and seen.matches(x)
    assert weighted(x, torch.full((2,), 5.0, dtype=torch.float64)).tolist() == [15.0] * 2
    leaf = torch.ones(2, requires_grad=True)
    for arguments in ((x, leaf), (x, leaf, leaf), (x, None, leaf), (leaf,)):
        with pytest.raises(ArgumentError, match="has no gradient, but one is asked for"):
            weighted(*arguments).sum().backward()
    with torch.no_grad():
        for _ in range(3):
            weighted(x, leaf, x)
    with pytest.raises(ArgumentError, match="has no gradient, but one is asked for"):
        weighted(x, leaf, x.clone()).sum().backward()


def test_lists_of_tensors_are_checked_in_each_call(name: str, on_cpu: None) -> None:
    @cuda_wheel.torch.operator(name)
    def total(x: Tensor, others: list[Tensor]) -> Tensor:
        return x.detach() + sum(each.detach() for each in others)

    x = torch.ones(2)
    for _ in range(3):
        assert total(x, [x, x]).tolist() == [3.0] * 2
        assert total(x, [torch._neg_view(torch.ones(2))]).tolist() == [0.0] * 2
    leaf = torch.ones(2, requires_grad=True)
    with pytest.raises(ArgumentError, match="has no gradient, but one is asked for"):
        total(x, [x, leaf]).sum().backward()


@pytest.fixture
def double(name: str, on_cpu: None) -> Any:
    """Return a differentiable operator of one tensor."""

    @cuda_wheel.torch.operator(name, backward=lambda grad_output: 2 * grad_output)
    def double(x: Tensor) -> Tensor:
        return 2 * x.detach()

    return double


def seen_by(operator: Any) -> Any:
    return Recognised(*type(operator).__call__.__globals__["_seen"])


def test_calls_for_which_a_gradient_is_wanted_are_recognised(double: Any) -> None:
    leaf = torch.ones(2, requires_grad=True)
    for _ in range(3):
        double(leaf).sum().backward()
    assert leaf.grad.tolist() == [6.0] * 2
    seen = seen_by(double)
    assert seen.matches(leaf) and seen.requires_grad and not seen.is_below_autograd
    strided = torch.ones(2, 2, requires_grad=True)
    for _ in range(3):  # the guard is made of the tensor itself, not of its contiguous copy
        double(strided.t())
    assert seen_by(double).matches(strided.t())


@pytest.mark.parametrize("is_recognised", [True, False])
def test_a_call_below_autograd_records_no_gradient(
    double: Any, is_recognised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recogniser, "MOST", 64 if is_recognised else 0)
    leaf = torch.ones(2, requires_grad=True)
    with torch._C._AutoDispatchBelowAutograd():
        with torch.no_grad():
            for _ in range(3):
                double(leaf)
        seen = seen_by(double)
        assert seen.matches(leaf) is seen.is_below_autograd is is_recognised
        assert not double(leaf).requires_grad
    assert double(leaf).requires_grad


def test_sparse_tensors_are_not_noted(recogniser: Recogniser) -> None:
    for _ in range(3):
        recogniser.note("key", 0, True, torch.ones(2, 2).to_sparse())
    assert not recogniser._made
