"""What the generated functions of all operators do: arguments, GPUs, lost derivatives, and batches one by one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.torch import functions as operator_functions
from tests.torch.quiet_pytorch import MARKS, Tensor, torch
from tests.torch.stand_in_kernels import StandIn
from tests.torch.swish import SWISH_TYPES, differentiable, on_gpu, schema_of, swish

pytestmark = MARKS


def test_numbers_booleans_and_missing_tensors(name: str, on_cpu: None) -> None:
    kernel = StandIn("k", "const float*, const float*, double, int, bool, float*")
    operator = cuda_wheel.torch.operator(
        name,
        kernel=kernel,
        arguments="x, bias, scale, count, flag, y",
        outputs={"y": "x"},
        defaults={"bias": None, "flag": True, "count": 3},
        grid=1,
        block=1,
    )
    assert schema_of(operator) == "(Tensor x, float scale, Tensor? bias=None, SymInt count=3, bool flag=True) -> Tensor"
    x = torch.ones(2)
    operator(x, 2.5)
    assert kernel.launched[-1].arguments[:5] == (x, None, 2.5, 3, True)
    operator(x, 2.5, x, 4, False)
    assert kernel.launched[-1].arguments[:5] == (x, x, 2.5, 4, False)
    operator(x, 1.0, bias=torch.ones(4)[::2])
    assert kernel.launched[-1].arguments[1].is_contiguous()


def test_any_name_may_be_an_arguments(name: str, on_cpu: None) -> None:
    kernel = StandIn("k", "const float*, const float*, float*, float, int", lambda x, w, y, s, n: y.copy_(x + w * s))
    operator = cuda_wheel.torch.operator(
        name,
        kernel=kernel,
        arguments="kernel, keys, output, ctx, device",
        outputs={"output": "kernel"},
        values={"device": lambda kernel: kernel.numel()},
        grid=lambda device: device,
        block=1,
        backward=lambda grad_output, keys, ctx: (grad_output, grad_output * ctx),
    )
    kernel_, keys = (torch.rand(5, requires_grad=True) for _ in "xw")
    for _ in range(2):
        output = operator(kernel_, keys, 3.0)
        assert torch.allclose(output, kernel_ + keys * 3)
        assert torch.autograd.grad(output.sum(), keys)[0].tolist() == [3] * 5
    torch.library.opcheck(operator, (kernel_, keys, 3.0))


NAMES = ["len", "type", "int", "tuple", "isinstance", "range", "self", "match", "print", "torch", "ctx", "launch"]


def test_arguments_may_have_the_names_of_builtins(name: str, on_cpu: None) -> None:
    count = len(NAMES)

    def compute(x: Any, y: Any, *numbers: float) -> None:
        y.copy_(x * sum(numbers))

    operator = cuda_wheel.torch.operator(
        name,
        kernel=StandIn("k", "const float*, float*" + ", float" * count, compute),
        arguments=["list", "object", *NAMES],
        outputs={"object": "list"},
        defaults={"print": 2.0},
        grid=lambda len, type: (1, 1) if len == type else 1,
        block=lambda object: object.numel(),
        backward=lambda grad_object, len, list, object: grad_object * count,
    )
    x = torch.ones(3, requires_grad=True)
    for _ in range(2):
        operator(x, *[1.0] * (count - 1), print=1.0).sum().backward()
        assert operator(x.detach(), *range(count - 1)).equal((sum(range(count - 1)) + 2) * x.detach())
    assert x.grad is not None and x.grad.equal(torch.full((3,), 2.0 * count))
    torch.library.opcheck(operator, (x, *[1.0] * count))


@pytest.mark.parametrize("default", [float("inf"), float("-inf"), float("nan"), 5e-324, -0.0, 1e-300, 1e300, 7, True])
def test_any_number_is_a_default(name: str, on_cpu: None, default: float) -> None:
    seen = []
    operator, kernel = swish(
        name,
        kernel=StandIn("k", "const float*, float*, long, double", lambda x, y, n, beta: y.copy_(x)),
        values={},
        defaults={"beta": default, "n": -(2**63)},
        grid=lambda n, beta: seen.append(beta) or 1,  # type: ignore[func-returns-value]
        backward=lambda grad_y, beta, n: seen.append(beta) or grad_y,  # type: ignore[func-returns-value]
    )
    x = torch.ones(3, requires_grad=True)
    operator(x).sum().backward()
    operator(x.detach(), -(2**63), 2.0)
    torch._dynamo.reset()
    torch.compile(lambda x: operator(x), fullgraph=True, backend="aot_eager")(x).sum().backward()
    assert [str(each) for each in seen[:2]] == [str(float(default))] * 2 and seen[2] == 2.0
    assert {str(each) for each in seen[3:]} == {str(float(default))}
    assert str(kernel.launched[0].arguments[3]) == str(float(default)) and kernel.launched[0].arguments[2] == -(2**63)


def test_tensors_that_are_not_contiguous(name: str, on_cpu: None) -> None:
    x = torch.arange(12.0).reshape(3, 4).t()
    copied, _ = swish(f"{name}copy")
    assert torch.allclose(copied(x, 1.0), x * torch.sigmoid(x)) and copied(x, 1.0).is_contiguous()
    refused, kernel = swish(f"{name}refuse", non_contiguous="refuse")
    message = rf"^{name}refuse: x must be contiguous: pass x\.contiguous\(\)$"
    with pytest.raises(ArgumentError, match=message):
        refused(x, 1.0)
    if torch.version.cuda:
        with on_gpu():
            assert copied(torch.empty(4, 5, device="cuda").t(), 1.0).stride() == (4, 1)
            with pytest.raises(ArgumentError, match=message):
                refused(torch.empty(4, 5, device="cuda").t(), 1.0)
    assert not kernel.launched
    passed, kernel = swish(f"{name}pass", non_contiguous="pass", kernel=StandIn("p", SWISH_TYPES))
    passed(x, 1.0)


def test_with_several_gpus_that_of_the_tensors_is_current(
    name: str, on_cpu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    current = 0

    @contextmanager
    def device(number: int) -> Iterator[None]:
        nonlocal current
        before, current = current, number
        yield
        current = before

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: current, raising=False)
    monkeypatch.setattr(torch.cuda, "device", device)
    contexts: list[int] = []
    monkeypatch.setattr(operator_functions, "device_with_context", lambda number: contexts.append(number))
    seen: list[int] = []
    operator, kernel = swish(name, kernel=StandIn("k", SWISH_TYPES, lambda *arguments: seen.append(current)))
    operator(torch.ones(3), 1.0)  # host memory has the number -1, which is of no GPU
    monkeypatch.setattr(torch.Tensor, "get_device", lambda tensor: 1)
    for _ in range(3):
        operator(torch.ones(3), 1.0)
    assert seen == [0, 1, 1, 1] and current == 0
    assert [each.addresses for each in kernel.launched] == [0, 0, 2, 2]
    # A thread that has no context yet gets one, on the GPU that PyTorch calls current too.
    current, before = 1, len(contexts)
    for thread in [threading.Thread(target=lambda: [operator(torch.ones(3), 1.0) for _ in range(3)]) for _ in range(2)]:
        thread.start()
        thread.join()
    assert contexts[before:] == [1, 1] and len(kernel.launched) == 10


def test_forward_mode_derivatives_are_refused(name: str, on_cpu: None) -> None:
    from torch.autograd import forward_ad

    x, message = torch.ones(3), "has no forward-mode derivative"
    plain, _ = swish(name, defaults={"beta": 1.0})
    for operator in (plain, differentiable(f"{name}d")):
        for requires_grad in (False, True):
            with forward_ad.dual_level(), pytest.raises(ArgumentError, match=message):
                operator(forward_ad.make_dual(torch.ones(3, requires_grad=requires_grad), x))
        with forward_ad.dual_level():
            assert operator(x).shape == x.shape  # not a function of what is differentiated
        if hasattr(torch.library, "get_kernel"):
            for transform in (torch.func.jacfwd(operator), lambda x, f=operator: torch.func.jvp(f, (x,), (x,))):
                with pytest.raises(ArgumentError, match=message):
                    transform(x)
            found = torch.func.jvp(lambda t, f=operator: t * f(x), (x,), (x,))
            assert found[1].equal(operator(x))


@pytest.mark.skipif(not hasattr(torch.library, "get_kernel"), reason="PyTorch 2.9 lets operators see transforms")
def test_a_gradient_that_there_is_not_is_no_zero_for_torch_func(name: str, on_cpu: None) -> None:
    operator, _ = swish(name, defaults={"beta": 1.0})
    with pytest.raises(ArgumentError, match="has no gradient, but a tensor requires one"):
        torch.func.grad(lambda x: operator(x).sum())(torch.ones(3))
    x = torch.ones(3)
    assert torch.func.grad(lambda t: (t * operator(x)).sum())(x).equal(operator(x))


def test_an_operator_that_writes_its_input_drops_no_gradient(name: str, on_cpu: None) -> None:
    kernel = StandIn("k", "const float*, float*", lambda x, y: y.add_(x))
    operator = cuda_wheel.torch.operator(name, kernel=kernel, arguments="x, y", grid=1, block=1)
    x, y = torch.ones(3), torch.ones(3)
    compiled = torch.compile(lambda x, y: operator(x, y), fullgraph=True, backend="aot_eager")
    for arguments in ((x.clone().requires_grad_(), y), (x, y.clone().requires_grad_())):
        with pytest.raises(ArgumentError, match=f"^{name} writes y, so it has no gradient, but a tensor requires one"):
            operator(*arguments)
        with pytest.raises(Exception, match="writes y, so it has no gradient"):
            compiled(*arguments)
    assert not kernel.launched
    leaf = y.clone().requires_grad_()
    version, square = leaf._version, (leaf * leaf).sum()
    with torch.no_grad():
        operator(x, leaf[:])  # a view
    assert leaf._version > version and leaf.detach().equal(x + y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.backward()
    with torch.inference_mode():
        written = torch.ones(3)
        operator(x, written)
        assert written.equal(x + y)


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
