"""Python calls operators without PyTorch's dispatcher, unless something wants to see the call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    pytest.mark.filterwarnings("ignore:.*Profiler clears events"),  # which PyTorch says once in a process
]


@pytest.fixture(params=["recognised", "new"])
def plain(
    name: str, on_cpu: None, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> tuple[Any, Callable[[], int]]:
    """Return an operator of one tensor that adds n, and a function that returns how often the dispatcher was called.

    The operator recognises calls with tensors such as torch.ones(3), or never recognises one.
    """
    if not hasattr(torch.library, "get_kernel"):
        pytest.skip("with PyTorch before 2.9, the dispatcher gets all calls")
    calls = []
    original = torch.library.Library.impl

    def impl(library: Any, op_name: Any, function: Any, key: str = "", **more: Any) -> Any:
        def counted(*args: Any, **kwargs: Any) -> Any:
            calls.append(key)
            return function(*args, **kwargs)

        return original(library, op_name, counted, key, **more)

    monkeypatch.setattr(torch.library.Library, "impl", impl)

    @cuda_wheel.torch.operator(name, autocast=torch.float16, backward=lambda grad_output: grad_output)
    def operator(x: Tensor, n: int = 1, scale: float = 1.0) -> Tensor:
        return x.detach() * scale + n

    def count() -> int:
        found = len(calls)
        calls.clear()
        return found

    is_recognised = request.param == "recognised"
    monkeypatch.setattr(Recogniser, "MOST", 64 if is_recognised else 0)
    for _ in range(3):
        operator(torch.ones(3))
    seen = Recognised(*type(operator).__call__.__globals__["_seen"])
    assert seen.matches(torch.ones(5)) is is_recognised
    count()
    return operator, count


def test_plain_tensors_are_not_dispatched(plain: tuple[Any, Callable[[], int]]) -> None:
    operator, count = plain
    x = torch.ones(3)
    for _ in range(3):
        assert operator(x).tolist() == [2] * 3
        assert operator(x=x, scale=2.0, n=4).tolist() == [6] * 3
        assert operator(torch.nn.Parameter(x, requires_grad=False), 2).tolist() == [3] * 3
    assert count() == 0
    leaf = x.clone().requires_grad_()
    result = operator(leaf, 2)
    result.sum().backward()
    assert leaf.grad.tolist() == [1] * 3 and count() == 0
    assert type(result.grad_fn).__name__.endswith("Backward")
    assert type(result.grad_fn).apply.__name__ == "_differentiate"  # without a step of PyTorch's before it
    assert isinstance(operator, torch._ops.OpOverload) and repr(operator).startswith(
        "<OpOverload(op='cuda_wheel_tests."
    )
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        operator()


class Subclass(torch.Tensor):  # type: ignore[misc]
    pass


@contextmanager
def autocasting() -> Iterator[None]:
    torch.set_autocast_enabled("cuda", True)  # torch.autocast does nothing without a GPU
    try:
        yield
    finally:
        torch.set_autocast_enabled("cuda", False)


def watchers(seen: list[Any]) -> dict[str, Callable[[], Any]]:
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Dispatch(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return function(*args, **(kwargs or {}))

    class Function(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(function)
            return function(*args, **(kwargs or {}))

    return {
        "a dispatch mode": Dispatch,
        "a function mode": Function,
        "autocast": autocasting,
        "a profile": torch.profiler.profile,
        "forward mode": torch.autograd.forward_ad.dual_level,
    }


@pytest.mark.parametrize("what", list(watchers([])))
def test_who_wants_to_see_a_call_sees_it(plain: tuple[Any, Callable[[], int]], what: str) -> None:
    operator, count = plain
    x = torch.ones(3)
    operator(x)
    assert count() == 0
    seen: list[Any] = []
    with watchers(seen)[what]():
        assert operator(x).tolist() == [2] * 3
    # A function mode gets the operator from PyTorch's own function, and calls it as one that nothing watches.
    assert operator in seen if what == "a function mode" else count() > 0
    operator(x)
    assert count() == 0


@pytest.mark.parametrize(
    "arguments",
    [
        lambda: (torch.ones(3).as_subclass(Subclass),),
        lambda: (torch._neg_view(-torch.ones(3)),),
        lambda: (torch.ones(3), True),
        lambda: (torch.ones(3), 1, 1),
        lambda: (torch.ones(1, dtype=torch.float64).expand(3).float(), 1, torch.tensor(1.0)),
    ],
)
def test_what_the_dispatcher_converts_is_dispatched(plain: tuple[Any, Callable[[], int]], arguments: Any) -> None:
    operator, count = plain
    assert operator(*arguments()).tolist() == [2] * 3
    assert count() > 0


def test_a_trace_has_the_operator(plain: tuple[Any, Callable[[], int]], name: str) -> None:
    operator, count = plain
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit is deprecated
        traced = torch.jit.trace(lambda x: operator(x) * 2, (torch.ones(3),))
    assert count() > 0 and name in str(traced.graph)


def test_compiled_programs_call_the_operator(plain: tuple[Any, Callable[[], int]]) -> None:
    operator, _ = plain
    graphs = []

    def backend(module: Any, inputs: Any) -> Any:
        graphs.append(module)
        return module.forward

    compiled = torch.compile(lambda x: operator(x * 2) + 1, fullgraph=True, backend=backend)
    assert compiled(torch.ones(3)).tolist() == [4] * 3
    assert [node.target for node in graphs[0].graph.nodes if node.op == "call_function"].count(operator) == 1


def test_sparse_and_nested_tensors_are_refused(plain: tuple[Any, Callable[[], int]]) -> None:
    operator, _ = plain
    operator(torch.ones(2, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both are prototypes
        nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
        sparse = torch.ones(2, 2).to_sparse(), torch.ones(2, 2).to_sparse_csr()
    for tensor in sparse:
        with pytest.raises(ArgumentError, match="takes tensors"):
            operator(tensor)
    with pytest.raises(NotImplementedError, match="Could not run"):  # PyTorch's own message
        operator(nested)
