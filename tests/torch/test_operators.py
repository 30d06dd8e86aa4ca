"""Declarations of PyTorch operators: schemas, shapes, gradients, and what reaches the kernel.

Without a GPU, operators run here on tensors in host memory, and stand-ins compute what the kernels would.
`tests/gpu/test_torch_operators.py` runs real ones.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel.runtime.errors import ArgumentError, ImageError, UnknownKernelError
from cuda_wheel.torch import functions as operator_functions
from tests.torch.quiet_pytorch import MARKS, torch
from tests.torch.stand_in_kernels import StandIn

pytestmark = MARKS


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


# --- what an operator computes --------------------------------------------------------------------------


def test_an_operator_launches_its_kernel(name: str, on_cpu: None) -> None:
    operator, kernel = swish(name, defaults={"beta": 1.0}, shared_memory=lambda n: 4 * n, cooperative=True)
    assert schema_of(operator) == "(Tensor x, float beta=1.) -> Tensor"
    x = torch.linspace(-2, 2, 300)
    for arguments, beta in (((x,), 1.0), ((x, 0.5), 0.5)):
        y = operator(*arguments)
        assert torch.allclose(y, x * torch.sigmoid(beta * x))
        grid, block, given, more, _ = kernel.launched[-1]
        assert (grid, block, more) == (2, 256, {"shared_memory": 1200, "cooperative": True})
        assert given[0] is x and given[1].data_ptr() == y.data_ptr() and given[2:] == (300, beta)
    assert operator(x=x, beta=0.5).equal(operator(x, 0.5))


def test_launches_check_tensors_until_ones_of_their_types_were_accepted(name: str, on_cpu: None) -> None:
    kernel = StandIn("k", "const float*, const float*, float*, float*")
    operator = cuda_wheel.torch.operator(
        name,
        kernel=kernel,
        arguments="x, bias, y, z",
        outputs={"y": "x", "z": lambda x: x.new_zeros(2)},
        defaults={"bias": None},
        grid=lambda x: x.numel(),
        block=1,
    )
    x = torch.ones(3)
    calls: list[tuple[tuple[Any, ...], int]] = [
        ((x,), 0),
        ((x,), 2),  # x and y; each z may be of another type
        ((x, x), 0),
        ((x, x), 3),
        ((x, x.double()), 0),
        ((x.half(), x), 0),
        ((x, x), 3),
    ]
    for arguments, addresses in calls:
        operator(*arguments)
        operator(torch.ones(0))
        assert kernel.launched[-1].addresses == addresses
    with cuda_wheel.launch_stream(99):  # its memory belongs to PyTorch's stream, which the stand-in expects
        operator(x)


@pytest.mark.usefixtures("on_cpu")
def test_a_kernel_gets_tensors_for_its_accessors(name: str) -> None:
    def compute(x: Any, y: Any, z: Any, scale: float) -> None:
        assert x.stride() == (1, 2)
        y.copy_(x * scale)
        z += 1

    accessor = "at::PackedTensorAccessor32<{},1>"
    types = f"{accessor.format('const float')}, {accessor.format('float')}, float*, float"
    kernel = StandIn("k", types, compute)
    operator = cuda_wheel.torch.operator(
        name, kernel=kernel, arguments="x, y, z, scale", outputs={"y": "x"}, grid=1, block=1, non_contiguous="pass"
    )
    assert schema_of(operator) == "(Tensor x, Tensor(z!) z, float scale) -> Tensor"
    x, z = torch.ones(3, 2).t(), torch.zeros(3)
    for number in range(1, 4):
        y = operator(x, z, 3.0)
        assert torch.equal(y, x * 3) and y.is_contiguous()
        assert z.tolist() == [number] * 3
        assert kernel.launched[-1].addresses == (number > 1)  # of z alone


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


def test_an_empty_grid_launches_nothing(name: str, on_cpu: None) -> None:
    operator, kernel = swish(name)
    y = operator(torch.empty(0, 3), 1.0)
    assert y.shape == (0, 3) and not kernel.launched
    tuples, kernel = swish(f"{name}b", grid=lambda x: (4, x.shape[0]))
    tuples(torch.empty(0, 3), 1.0)
    assert not kernel.launched
    tuples(torch.empty(2, 3), 1.0)
    assert kernel.launched[0].grid == (4, 2)


def test_the_element_type_decides_which_kernel_runs(name: str, on_cpu: None) -> None:
    kernels = {torch.float32: swish_kernel(), torch.float16: swish_kernel("__half")}
    operator, _ = swish(name, kernel=kernels)
    for dtype, kernel in kernels.items():
        assert operator(torch.zeros(3, dtype=dtype), 1.0).dtype is dtype
        assert len(kernel.launched) == 1
    message = rf"^{name} takes x of float32 or float16, not of float64$"
    with pytest.raises(ArgumentError, match=message):
        operator(torch.zeros(3, dtype=torch.float64), 1.0)
    with on_gpu(), pytest.raises(ArgumentError, match=message):
        operator(torch.empty(3, dtype=torch.float64, device="cuda"), 1.0)


def test_the_element_types_of_several_tensors_may_decide(name: str, on_cpu: None) -> None:
    types = "const float*, const int*, float*"
    first, second = StandIn("a", types), StandIn("b", types)
    kernels = {(torch.float32, torch.int32): first, (torch.float32, torch.int64): second}
    operator = cuda_wheel.torch.operator(
        name, kernel=kernels, arguments="x, index, y", outputs={"y": "x"}, grid=1, block=1
    )
    operator(torch.zeros(3), torch.zeros(3, dtype=torch.int64))
    assert not first.launched and len(second.launched) == 1
    with pytest.raises(
        ArgumentError, match=r"takes x, index of float32, int32 or float32, int64, not of float32, int8"
    ):
        operator(torch.zeros(3), torch.zeros(3, dtype=torch.int8))


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


def test_several_outputs_made_by_functions(name: str, on_cpu: None) -> None:
    def compute(x: Any, low: Any, place: Any, rows: int, columns: int) -> None:
        assert (rows, columns) == tuple(x.shape) and place.eq(7).all()
        low.copy_(x.min(dim=1).values)
        place.copy_(x.argmin(dim=1))

    operator = cuda_wheel.torch.operator(
        name,
        kernel=StandIn("lowest", "const float*, float*, int*, int, int", compute),
        arguments=["x", "low", "place", "rows", "columns"],
        values={"rows": lambda x: x.shape[0], "columns": lambda x, rows: x.numel() // rows},
        outputs={
            "low": lambda x, columns: x.new_empty(x.numel() // columns),  # columns needs rows
            "place": lambda x: torch.full((x.shape[0],), 7, dtype=torch.int32, device=x.device),
        },
        grid=lambda low: low.shape[0],
        block=32,
    )
    assert schema_of(operator) == "(Tensor x) -> (Tensor, Tensor)"
    x = torch.tensor([[3.0, 1.0, 2.0], [5.0, 6.0, 4.0]])
    low, place = operator(x)
    assert low.tolist() == [1, 4] and place.tolist() == [1, 2]
    with on_gpu():
        low, place = operator(torch.empty(5, 9, device="cuda"))
        assert (low.shape, low.dtype, str(low.device)) == ((5,), torch.float32, "cuda:0")
        assert (place.shape, place.dtype, str(place.device)) == ((5,), torch.int32, "cuda:0")
    torch.library.opcheck(operator, (x,))


def test_a_tensor_that_the_kernel_writes_is_changed_in_place(name: str, on_cpu: None) -> None:
    def compute(a: float, x: Any, y: Any, n: int) -> None:
        y.numpy()[:] += a * x.numpy()  # PyTorch does not see this change, nor that of a kernel

    kernel = StandIn("axpy", "float, const float*, float*, int", compute)
    operator = cuda_wheel.torch.operator(
        name, kernel=kernel, arguments="a, x, y, n", values={"n": lambda x: x.numel()}, grid=blocks, block=256
    )
    assert schema_of(operator) == "(float a, Tensor x, Tensor(y!) y) -> ()"
    x, y = torch.ones(4), torch.zeros(4)
    version = y._version
    assert operator(2.0, x, y) is None
    assert y.tolist() == [2] * 4 and y._version > version
    with pytest.raises(
        ArgumentError, match=r"y must be contiguous, because the operator writes it: pass y\.contiguous"
    ):
        operator(2.0, x, torch.zeros(4, 2)[:, 0])
    with torch.inference_mode():
        inference = torch.zeros(4)
        operator(2.0, torch.ones(4), inference)
    assert inference.tolist() == [2] * 4
    torch.library.opcheck(operator, (2.0, torch.ones(4), torch.zeros(4)))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):  # PyTorch notices the change
        leaf = torch.ones(4, requires_grad=True)
        squared = leaf * 1
        product = squared * squared
        operator(1.0, x, squared.detach())
        product.sum().backward()


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


# --- PyTorch's systems ------------------------------------------------------------------------------------


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


def test_modes_and_transforms_of_pytorch_see_the_operator(name: str, on_cpu: None) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.checkpoint import checkpoint

    seen = []

    class Log(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(function)
            return function(*args, **(kwargs or {}))

    operator = differentiable(name)
    x = torch.linspace(-2, 2, 12).reshape(3, 4)
    expected = x * torch.sigmoid(x)
    tracked = x.clone().requires_grad_()
    with Log():
        operator(tracked).sum().backward()
    assert seen[0] is operator and any(str(each).endswith("_backward.default") for each in seen)
    assert torch.allclose(torch.vmap(operator)(x), expected)
    assert torch.allclose(torch.func.functionalize(operator)(x), expected)
    assert torch.allclose(operator(torch._neg_view(-x)), expected)
    with torch.inference_mode():
        assert torch.allclose(operator(x), expected)

    def twice(x: Any) -> Any:
        return checkpoint(lambda x: operator(operator(x)), x, use_reentrant=False)

    (found,) = torch.autograd.grad(twice(tracked).sum(), tracked)
    inner = tracked * torch.sigmoid(tracked)
    assert torch.allclose(found, torch.autograd.grad((inner * torch.sigmoid(inner)).sum(), tracked)[0], atol=1e-6)


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


def test_torch_compile_keeps_the_operator_in_one_graph(name: str, on_cpu: None) -> None:
    operator = differentiable(name)
    compiled = torch.compile(lambda x: operator(x * 2, 0.5) + 1, fullgraph=True, backend="aot_eager")
    for size in (10, 20, 30):  # PyTorch compiles for any size at the second one
        x = torch.linspace(-1, 1, size, requires_grad=True)
        y = compiled(x)
        y.sum().backward()
        assert torch.allclose(y, 2 * x * torch.sigmoid(x) + 1, atol=1e-6)
        assert x.grad is not None


def test_compiled_autograd_runs_the_gradient(name: str, on_cpu: None) -> None:
    operator = differentiable(name)
    x = torch.linspace(-1, 1, 10, requires_grad=True)

    def step() -> None:
        operator(x).sum().backward()

    with torch._dynamo.config.patch(compiled_autograd=True):
        torch.compile(step, backend="eager")()
    (wanted,) = torch.autograd.grad((x * torch.sigmoid(x)).sum(), x)
    assert x.grad is not None and torch.allclose(x.grad, wanted, atol=1e-6)


def test_torch_export_keeps_the_operator(name: str) -> None:
    operator = differentiable(name)

    class Model(torch.nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, x: Any) -> Any:
            return operator(x, 0.5) + 1

    size = torch.export.Dim("size", min=2)
    with on_gpu():
        x = torch.empty(8, 5, device="cuda")
    program = torch.export.export(Model(), (x,), dynamic_shapes=({0: size},))
    calls = [node for node in program.graph.nodes if node.target is operator]
    assert len(calls) == 1 and calls[0].meta["val"].shape[1] == 5 and calls[0].meta["val"].device.type == "cuda"


def test_autocast_is_registered(name: str) -> None:
    def has(operator: str) -> bool:
        return bool(torch._C._dispatch_has_kernel_for_dispatch_key(operator, "AutocastCUDA"))

    swish(name, autocast=torch.float16)
    swish(f"{name}without")
    assert has(name) and not has(f"{name}without")


def test_tensors_on_other_devices_are_refused(name: str) -> None:
    operator, kernel = swish(name)
    with pytest.raises(ArgumentError, match=rf"^{name} takes tensors on a GPU of CUDA, not on cpu$"):
        operator(torch.ones(3), 1.0)
    assert not kernel.launched


# --- declarations -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"arguments": "x, y, n"},
            r"swish<float> takes 4 arguments, \(const float\*, float\*, int, float\), but .* 3: x",
        ),
        ({"arguments": "x, y, n, n"}, "'n' in arguments is no name of its own"),
        ({"arguments": "x, y, n, class-"}, "'class-' in arguments is no name of its own"),
        ({"arguments": "x, y, n, class"}, "'class' in arguments is a keyword of Python"),
        ({"arguments": "x, y, n, _n"}, "'_n' in arguments begins with an underscore"),
        ({"outputs": {"z": "x"}}, "outputs names 'z', which is not one of x, y, n, beta"),
        ({"outputs": {"x": "y"}}, r"the output x is const float\* in swish<float>, which does not write it"),
        ({"outputs": {"n": "x"}}, r"the output n is int in swish<float>, which does not write it"),
        ({"outputs": {"y": "z"}}, "the output y must be the name of an input that it is like, or a function"),
        ({"outputs": {"y": (3, 4)}}, "the output y must be the name of an input that it is like, or a function"),
        (
            {"outputs": {"y": lambda z: z}},
            "the output y is a function of z: its parameters must be names among beta, n",
        ),
        ({"values": {"n": lambda m: m}}, "the value n is a function of m: its parameters must be names among beta, x"),
        ({"values": {"m": 1}}, "values names 'm', which is not one of"),
        ({"grid": lambda *sizes: 1}, "grid is a function of sizes: its parameters must be names among beta, n, x, y"),
        ({"grid": max}, r"grid is <built-in function max>, whose parameters Python does not know"),
        ({"defaults": {"beta": None}}, "the default of a pointer is None, that of a number is not: beta is float"),
        ({"defaults": {"x": 1}}, r"the default of a pointer is None, that of a number is not: x is const float\*"),
        ({"defaults": {"x": None}}, "kernel names the element types of more arrays than the operator always takes"),
        ({"kernel": 5}, "kernel takes kernels of cuda-wheel, not 5"),
        ({"kernel": {}}, "kernel must map element types, or tuples of as many each, to kernels"),
        ({"kernel": "swish"}, r"'swish' is the name of a kernel: name its module too, by module='\.\.\.'"),
        ({"backward": lambda grad_z: grad_z}, "backward is a function of grad_z: its parameters must be names among"),
        ({"backward": lambda x: x}, "backward must be a function of grad_y"),
        ({"outputs": {}, "backward": lambda x: x}, "cannot have a gradient, because it writes y: PyTorch"),
        ({"non_contiguous": "no"}, 'non_contiguous is "copy", "refuse" or "pass", not \'no\''),
        (
            {"kernel": StandIn("k", "const float*, float*, int, struct"), "values": {"n": 1}},
            "beta is struct in k, which does not tell what to pass: compute it in values",
        ),
    ],
)
def test_a_declaration_that_does_not_fit_is_refused(name: str, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{name}(:| cannot).*{message}|^{name}: {message}|^{name} {message}"):
        swish(name, **more)
    namespace, _, short = name.partition("::")
    assert not hasattr(getattr(torch.ops, namespace), short)  # nothing was registered


def test_kernels_of_one_operator_take_the_same_kinds_of_arguments(name: str) -> None:
    kernels = {torch.float32: swish_kernel(), torch.float64: StandIn("d", "const double*, double*, double, double")}
    with pytest.raises(ArgumentError, match=r"different kinds of arguments: swish<float> takes .* and d takes \(const"):
        swish(name, kernel=kernels)


def test_an_operators_name_has_a_namespace() -> None:
    for bad in ("swish", "a::b::c", "::x", "a b::c"):
        with pytest.raises(ArgumentError, match="is not an operator's name, such as 'demo::swish'"):
            swish(bad)


def test_read_only_names_tensors_that_the_kernel_does_not_declare_const(name: str) -> None:
    kernel = StandIn("k", "float*, float*")
    operator = cuda_wheel.torch.operator(
        name, kernel=kernel, arguments="x, y", outputs={"y": "x"}, read_only=["x"], grid=1, block=1
    )
    assert schema_of(operator) == "(Tensor x) -> Tensor"


# --- what is refused, and what is not ---------------------------------------------------------------------


@pytest.mark.parametrize("grid", [None, "ab", 2.5, -1, True, (), (1, -2), (0, 2.5), [0.0], (1, 2, 3, 4)])
def test_a_grid_that_is_none_is_refused(name: str, on_cpu: None, grid: Any) -> None:
    operator, kernel = swish(name, grid=lambda n: grid if n == 3 else 1)
    for _ in range(2):  # also with tensors that were checked before
        with pytest.raises(ArgumentError, match=r"grid (takes integers|must be one to three numbers)"):
            operator(torch.ones(3), 1.0)
        operator(torch.ones(4), 1.0)
    assert len(kernel.launched) == 2


def test_with_a_zero_in_the_grid_nothing_is_launched(name: str, on_cpu: None) -> None:
    grids = [0, (4, 0), [0], torch.tensor(0)]
    operator, kernel = swish(name, grid=lambda: grids.pop())
    while grids:
        assert operator(torch.ones(3), 1.0).shape == (3,)
    assert not kernel.launched


def test_outputs_are_dense_whatever_reaches_the_kernel(name: str, on_cpu: None) -> None:
    x = torch.arange(12.0).reshape(3, 4).t()
    kernel = StandIn("k", SWISH_TYPES, lambda x, y, n, beta: y.copy_(x))
    dense, _ = swish(name, non_contiguous="pass", kernel=kernel)
    assert dense(x, 1.0).is_contiguous() and dense(x, 1.0).equal(x)
    with on_gpu():
        assert dense(torch.empty(4, 5, device="cuda").t(), 1.0).stride() == (4, 1)
    strided, _ = swish(f"{name}s", non_contiguous="pass", kernel=kernel, outputs={"y": lambda x: torch.empty_like(x)})
    assert strided(x, 1.0).stride() == x.stride()
    refused, _ = swish(f"{name}r", kernel=kernel, outputs={"y": lambda x: torch.empty_like(x.t())})
    with pytest.raises(ArgumentError, match="the function of the output y returned a tensor that is not contiguous"):
        refused(x, 1.0)


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x.view(-1), lambda x: x[1:], lambda x: x.detach()])
def test_an_input_is_no_output(name: str, on_cpu: None, make: Callable[..., Any]) -> None:
    operator, kernel = swish(name, outputs={"y": make})
    message = f"^{name}: the output y shares the memory of x, but PyTorch's operators return new tensors"
    with pytest.raises(ArgumentError, match=message):
        operator(torch.ones(3), 1.0)
    assert not kernel.launched
    traced, _ = swish(f"{name}t", outputs={"y": lambda x: x})
    with on_gpu(), pytest.raises(ArgumentError, match="the output y shares the memory of x"):
        traced(torch.ones(3, device="cuda"), 1.0)
    none, _ = swish(f"{name}n", outputs={"y": lambda: None})
    with pytest.raises(ArgumentError, match="the function of the output y must return a tensor, not None"):
        none(torch.ones(3), 1.0)


def test_two_outputs_do_not_share_memory(name: str, on_cpu: None) -> None:
    operator = cuda_wheel.torch.operator(
        name,
        kernel=StandIn("k", "const float*, float*, float*, float*"),
        arguments="x, both, y, z",
        values={"both": lambda x: x.new_empty(2, *x.shape)},
        outputs={"y": lambda both: both[0], "z": lambda both: both[1]},
        grid=1,
        block=1,
    )
    with pytest.raises(ArgumentError, match="the output z shares the memory of y"):
        operator(torch.ones(3))


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


@pytest.mark.parametrize(
    ("defaults", "message"),
    [
        ({"beta": "1"}, "the default of beta must be a number, not '1'"),
        ({"beta": "inf"}, "the default of beta must be a number, not 'inf'"),
        ({"n": 1.5}, "the default of n must be an integer, not 1.5"),
        ({"n": 2**63}, "the default of n is 9223372036854775808, but PyTorch's integers are signed and have 64 bits"),
        ({"n": float("nan")}, "the default of n must be an integer, not nan"),
    ],
)
def test_a_default_of_another_type_is_refused(name: str, defaults: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{name}: {message}"):
        swish(name, values={}, grid=1, defaults=defaults)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"grid": 0}, "grid takes integers of 1 and more, not 0"),
        ({"grid": None}, "an operator with kernel needs grid"),
        ({"grid": (1, None)}, "grid takes integers, not None"),
        ({"outputs": "y"}, "outputs maps names to what makes them, not 'y'"),
        ({"writes": "x", "fake": len}, "writes and fake belong to an operator without kernel, but kernel is given"),
        ({"backward": 3}, "backward takes a function, not 3"),
        ({"block": (1, -2)}, "block takes integers of 1 and more, not -2"),
        ({"cluster": "ab"}, "cluster takes integers, not 'a'"),
        ({"shared_memory": 1.5}, "shared_memory takes integers, not 1.5"),
        ({"outputs": {"y": "n"}}, "the output y must be .*, not 'n', which is no array that is always passed"),
        ({"outputs": {"y": "beta"}}, "the output y must be .*, not 'beta', which is no array that is always passed"),
        ({"values": {"n": 1, "y": 1}}, "y is in outputs and in values"),
        ({"defaults": {"n": 1}}, "defaults names 'n', which is no argument of the operator"),
        ({"arguments": "x, y, n, Ellipsis"}, "PyTorch cannot read the schema .*: expected ident"),
        ({"arguments": "x, y, n, β"}, "PyTorch cannot read the schema "),
        ({"arguments": "grad_y, y, n, beta", "outputs": {"y": "grad_y"}, "values": {"n": 1}, "backward": lambda grad_y: grad_y},
         "grad_y is an argument, and to backward the gradient of y: rename one"),
    ],
)  # fmt: skip
def test_more_declarations_that_do_not_fit(name: str, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{name}: {message}"):
        swish(name, **more)


def test_declaring_an_operator_again_replaces_it(name: str, on_cpu: None) -> None:
    first, _ = swish(name, defaults={"beta": 1.0})
    kernel = StandIn("other", "const float*, float*, int, float", lambda x, y, n, beta: y.fill_(beta))
    second, _ = swish(name, kernel=kernel)
    assert schema_of(second) == "(Tensor x, float beta) -> Tensor"
    assert second(torch.ones(2), 5.0).tolist() == [5, 5]
    assert getattr(torch.ops.cuda_wheel_tests, name.partition("::")[2])(torch.ones(2), 3.0).tolist() == [3, 3]
    with pytest.raises(ArgumentError, match="an operator with kernel needs block"):
        swish(name, block=None)
    assert second(torch.ones(2), 5.0).tolist() == [5, 5]  # a declaration that fails changes nothing
    assert first(torch.ones(2), 3.0).tolist() == [3, 3]  # who holds the earlier one gets the new one


def test_a_name_that_pytorch_has_is_refused() -> None:
    for name in (
        "aten::relu",
        "cuda_wheel_tests::name",
        "cuda_wheel_tests::__init__",
        "loaded_libraries::x",
    ):
        with pytest.raises(ArgumentError, match=f"^{name}: torch.ops.{name.replace('::', '.')} exists already"):
            swish(name)


# --- modules ----------------------------------------------------------------------------------------------


def test_a_modules_manifest_is_enough(
    name: str, fixture_wheel: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import zipfile

    zipfile.ZipFile(fixture_wheel("torch_op")).extractall(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    module = "torch_op_demo.kernels.gated"
    types = {torch.float32: "gate<float>", torch.float16: "gate<__half>"}
    declaration: dict[str, Any] = {
        "arguments": "x, bias, y, n, columns",
        "values": {"n": 1, "columns": 1},
        "outputs": {"y": "x"},
        "grid": 1,
        "block": 1,
    }
    operator = cuda_wheel.torch.operator(name, module=module, kernel=types, **declaration)
    assert schema_of(operator) == "(Tensor x, Tensor bias) -> Tensor"
    with pytest.raises(UnknownKernelError, match="gate<int>"):
        cuda_wheel.torch.operator(f"{name}b", module=module, kernel="gate<int>", **declaration)
    with pytest.raises(ImageError, match=r"torch_op_demo\.kernels\.none"):
        cuda_wheel.torch.operator(f"{name}c", module="torch_op_demo.kernels.none", kernel="k", **declaration)
    import torch_op_demo

    if torch.version.cuda:
        with on_gpu():
            x = torch.empty(6, 8, device="cuda", dtype=torch.float16)
            assert torch_op_demo.gated(x, x[0]).shape == (6, 8)
    for loaded in [key for key in sys.modules if key.startswith("torch_op_demo")]:
        del sys.modules[loaded]
