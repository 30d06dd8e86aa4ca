"""Declarations of PyTorch operators: schemas, shapes, gradients, and what reaches the kernel.

Without a GPU, operators run here on tensors in host memory, and stand-ins compute what the kernels would.
`tests/gpu/test_torch_operators.py` runs real ones.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel.runtime.errors import ArgumentError, ImageError, UnknownKernelError
from cuda_wheel.torch import operators as torch_operators
from tests.support.threads import in_threads
from tests.torch.quiet_pytorch import MARKS, torch
from tests.torch.stand_in_kernels import StandIn
from tests.torch.swish import differentiable, on_gpu, schema_of, swish, swish_kernel

pytestmark = MARKS


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


# --- PyTorch's systems ------------------------------------------------------------------------------------


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


def test_threads_declare_an_operator_one_after_the_other(
    name: str, on_cpu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    registering, register = list[int](), torch_operators._register

    def slowly(*args: Any) -> Any:
        registering.append(1)
        time.sleep(0.02)
        made = register(*args)
        assert registering.pop() and not registering
        return made

    monkeypatch.setattr(torch_operators, "_register", slowly)
    in_threads(4, lambda number: swish(name, defaults={"beta": float(number)}))
    assert getattr(torch.ops.cuda_wheel_tests, name.partition("::")[2])(torch.zeros(2)).tolist() == [0, 0]


def test_a_name_that_pytorch_has_is_refused() -> None:
    for name in (
        "aten::relu",
        "cuda_wheel_tests::name",
        "cuda_wheel_tests::__init__",
        "loaded_libraries::x",
    ):
        wanted = (
            f"^{name}: torch.ops.{name.replace('::', '.')} exists already: choose another name, or implement .*impl$"
        )
        with pytest.raises(ArgumentError, match=wanted):
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
