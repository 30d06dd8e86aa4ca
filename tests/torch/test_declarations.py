"""Declarations of operators, without PyTorch: schemas and errors."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from cuda_wheel.operators.declarations import KernelInstances, OperatorArguments, launch_settings, operator_arguments
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.torch.functions import schema as schema_of
from cuda_wheel.torch.gradients import Gradients
from cuda_wheel.torch.operators import _elsewhere as refusing
from tests.support.processes import run
from tests.torch.stand_in_kernels import StandIn

pytestmark = pytest.mark.one_toolchain


def declared(types: str, arguments: str, **more: Any) -> OperatorArguments:
    kernels = KernelInstances("a::b", more.pop("kernel", None) or StandIn("k", types), None)
    given = [more.pop(name, {}) for name in ("outputs", "values", "defaults", "read_only")]
    return operator_arguments("a::b", kernels, arguments, *given)


@pytest.mark.parametrize(
    ("types", "arguments", "more", "schema"),
    [
        ("const float*, float*, int", "x, y, n", {"outputs": {"y": "x"}}, "(Tensor x, SymInt n) -> Tensor"),
        ("const float*, float*, int", "x y n", {"values": {"n": 5}}, "(Tensor x, Tensor(y!) y) -> ()"),
        ("float*, float*", "x, y", {"outputs": {"y": "x"}, "read_only": ["x"]}, "(Tensor x) -> Tensor"),
        (
            "const float*, const float*, double, bool, float*, float*",
            "x, bias, scale, flag, y, z",
            {"outputs": {"z": "x", "y": "x"}, "defaults": {"bias": None, "flag": False}},
            "(Tensor x, float scale, Tensor? bias=None, bool flag=False) -> (Tensor, Tensor)",
        ),
    ],
)
def test_schemas(types: str, arguments: str, more: dict[str, Any], schema: str) -> None:
    assert schema_of("b", declared(types, arguments, **more)) == f"b{schema}"


ACCESSOR = "at::PackedTensorAccessor32<{},1>"


def test_an_accessor_is_a_tensor() -> None:
    types = f"{ACCESSOR.format('const float')}, {ACCESSOR.format('float')}, {ACCESSOR.format('float')}, c10::Half"
    roles = declared(types, "x, y, z, n", outputs={"y": "x"})
    assert schema_of("b", roles) == "b(Tensor x, Tensor(z!) z, float n) -> Tensor"
    assert roles.accessors == ("x", "y", "z")
    with pytest.raises(ArgumentError, match=r"^a::b: the output x is at::Packed.*, which does not write it"):
        declared(types, "x, y, z, n", outputs={"x": "y"})
    with pytest.raises(ArgumentError, match=r"^a::b: x is an accessor, which has no default: it cannot be None"):
        declared(types, "x, y, z, n", defaults={"x": None})
    roles = declared(types, "x, y, z, n", outputs={"y": "x"}, values={"z": b"bytes"})
    assert schema_of("b", roles) == "b(Tensor x, float n) -> Tensor"


def test_the_order_of_outputs_is_the_declarations() -> None:
    roles = declared("const float*, float*, float*", "x, y, z", outputs={"z": "x", "y": "x"})
    assert list(roles.outputs) == ["z", "y"]


@pytest.mark.parametrize(
    ("types", "more", "message"),
    [
        ("const float*", {}, r"k takes 1 arguments, \(const float\*\), but arguments names 2: x, y"),
        (
            "const float*, float*",
            {"outputs": {"x": "y"}},
            r"the output x is const float\* in k, which does not write it",
        ),
        ("const float*, struct", {}, "y is struct in k, which does not tell what to pass"),
        (
            "const float*, long",
            {"values": {"y": lambda q: q}},
            "the value y is a function of q: its parameters must be",
        ),
        ("int, float", {}, "kernel names the element types of more arrays than the operator always takes"),
    ],
)
def test_declarations_that_do_not_fit(types: str, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^a::b: {message}"):
        declared(types, "x, y", **more)


@pytest.mark.parametrize("block", [5000, (64, 32), (1, 1, 65)])
def test_a_block_that_no_gpu_has_is_refused_where_it_is_declared(block: Any) -> None:
    roles = declared("const float*, float*", "x, y", outputs={"y": "x"})
    with pytest.raises(ArgumentError, match=r"^a::b: a block of .* is too large: no GPU has blocks of more than 1024"):
        launch_settings("a::b", roles, {"grid": 1, "block": block})
    assert launch_settings("a::b", roles, {"grid": 1, "block": (16, 1, 64)})["block"].value == (16, 1, 64)


def test_settings_that_launches_need_not_be_given_are_left_out() -> None:
    roles = declared("const float*, float*", "x, y", outputs={"y": "x"})
    given = {"grid": 4, "block": lambda y: y, "shared_memory": 0, "cluster": None, "cooperative": False}
    assert {name: each.names for name, each in launch_settings("a::b", roles, given).items()} == {
        "grid": None,
        "block": ("y",),
    }


def test_an_operator_without_outputs_has_no_gradient() -> None:
    with pytest.raises(ArgumentError, match=r"^a::b cannot have a gradient, because it writes y: PyTorch diff"):
        Gradients("a::b", declared("const float*, float*", "x, y").inputs, [], lambda x: x)


@pytest.mark.parametrize(
    ("device", "layout", "message"),
    [
        ("cuda:0", "torch.sparse_coo", "a::b takes .* neither sparse nor quantized, not sparse_coo of float32$"),
        ("cpu", "torch.strided", "a::b takes tensors on a GPU of CUDA, not on cpu$"),
    ],
)
def test_what_the_implementation_for_gpus_does_not_take_is_refused(device: str, layout: str, message: str) -> None:
    tensor = SimpleNamespace(device=device, is_cuda=device != "cpu", layout=layout, dtype="torch.float32")
    with pytest.raises(ArgumentError, match=message):
        refusing("a::b")(tensor, 1.0, weight=tensor)


def test_without_pytorch_the_error_says_so() -> None:
    program = """
import sys
import cuda_wheel
import cuda_wheel.torch
assert "torch" not in sys.modules
sys.modules["torch"] = None
try:
    cuda_wheel.torch.operator("a::b", kernel=None, arguments="", grid=1, block=1)
except ImportError as error:
    print(error)
"""
    result = run(sys.executable, "-c", program)
    assert result.stdout.startswith("cuda_wheel.torch makes operators of PyTorch, which cannot be imported"), result
