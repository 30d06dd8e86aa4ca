"""The table of ATen's functions, with the real schemas: PyTorch has every function it names, and they do the same."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.migrate.host_functions.aten import (
    DEVICE_TYPES,
    ELEMENT_TYPES,
    LAYOUTS,
    MEMORY_FORMATS,
    SCALAR_TYPES,
    SHORT_CONSTANTS,
    AtenCall,
    AtenTable,
)
from tests.torch.quiet_pytorch import MARKS, torch

torchgen = pytest.importorskip("torchgen", reason="this PyTorch has no native_functions.yaml")

pytestmark = MARKS

SCHEMAS = Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml"

VALUES: dict[str, Any] = {
    "int": 1,
    "SymInt": 1,
    "float": 1.5,
    "bool": True,
    "Scalar": 2,
    "str": "x",
    "ScalarType": torch.float32,
    "Layout": torch.strided,
    "Device": torch.device("cpu"),
    "MemoryFormat": torch.contiguous_format,
    "DeviceIndex": 0,
    "Dimname": "N",
    "QScheme": torch.per_tensor_affine,
}
OPTIONS = {
    "dtype": torch.float32,
    "layout": torch.strided,
    "device": "cpu",
    "pin_memory": False,
    "requires_grad": False,
}
UNSEEN = {"set_", "record_stream", "is_vulkan_available"}
"""Functions that do not ask modes for PyTorch's functions, or take what a CPU lacks."""


class ArgumentsAccepted(Exception):
    """PyTorch read the arguments of a function, and would call it."""


class StopBeforeCalls(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise ArgumentsAccepted


@pytest.fixture(scope="module")
def table() -> AtenTable:
    return AtenTable.read(SCHEMAS)


def function_of(call: AtenCall) -> Any:
    found: Any = torch.Tensor if call.kind in ("method", "attribute") else torch
    for name in call.python.removeprefix("torch.").split("."):
        found = getattr(found, name)
    return found


def value(type_: str) -> Any:
    type_ = type_.removesuffix("?")
    array = re.fullmatch(r"(.*)\[(\d*)\]", type_)
    if array:
        return [value(array[1])] * int(array[2] or 2)
    if type_ == "Tensor":
        return torch.zeros(2, 2)
    if type_ == "Generator":
        return torch.Generator()
    if type_ == "Storage":
        return torch.zeros(2).untyped_storage()
    return VALUES[type_]


def arguments(call: AtenCall) -> tuple[list[Any], dict[str, Any]]:
    """Return a value for every parameter, as the documentation of `Parameter` says to pass it."""
    positional: list[Any] = [value("Tensor")] if call.kind == "method" else []
    keywords: dict[str, Any] = {}
    outs: list[Any] = []
    for each in call.parameters:
        if each.type == "TensorOptions":
            keywords.update({name: OPTIONS[name] for name in call.options})
        elif each.name == "out" and each.is_keyword:
            outs.append(value(each.type))
        elif each.is_keyword:
            keywords[each.name] = value(each.type)
        else:
            positional.append(value(each.type))
    if outs:
        keywords["out"] = outs[0] if len(outs) == 1 else tuple(outs)
    return positional, keywords


def test_pytorch_has_every_function_and_method(table: AtenTable) -> None:
    calls = list(table)
    assert len(calls) > 3000
    missing = set()
    for call in calls:
        try:
            function_of(call)
        except AttributeError:
            missing.add((call.kind, call.python))
    assert not missing


def test_python_accepts_the_parameters_of_every_call(table: AtenTable) -> None:
    """A mode sees a call after PyTorch has read its arguments and before it runs, so that none of these runs."""
    refused: dict[str, str] = {}
    accepted = 0
    for call in table:
        if call.kind in ("operator", "attribute") or call.schema.partition("(")[0].partition(".")[0] in UNSEEN:
            continue
        positional, keywords = arguments(call)
        try:
            with StopBeforeCalls():
                function_of(call)(*positional, **keywords)
        except ArgumentsAccepted:
            accepted += 1
        except TypeError as error:
            refused[f"{call.kind} {call.python}: {call.schema}"] = str(error)
        else:
            refused[f"{call.kind} {call.python}: {call.schema}"] = "not seen by the mode"
    assert not refused
    assert accepted > 2500


@pytest.mark.filterwarnings("ignore:.*device type")
@pytest.mark.filterwarnings("ignore:.*mkldnn")
def test_names_of_types_exist() -> None:
    for name in (*SCALAR_TYPES.values(), *ELEMENT_TYPES.values(), *SHORT_CONSTANTS.values()):
        assert isinstance(getattr(torch, name), torch.dtype)
    for name in MEMORY_FORMATS.values():
        assert isinstance(getattr(torch, name), torch.memory_format)
    for name in LAYOUTS.values():
        assert isinstance(getattr(torch, name), torch.layout)
    for name in DEVICE_TYPES.values():
        assert torch.device(name).type == name or name == "privateuseone"


X = torch.tensor([[0.5, -1.25, 3.0], [2.0, 0.125, -0.75]])
Y = torch.tensor([[1.5, 2.0, -3.0], [0.25, -2.0, 0.5]])
N = torch.tensor([[1, 5, 3], [2, 0, 4]])
MASK = X > 0
IMAGE = torch.arange(32.0).reshape(1, 2, 4, 4)

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("add.Tensor", (X, Y), {"alpha": 2}),
    ("add.Scalar", (X, 3, 2), {}),
    ("add.Scalar", (N, 3, 2), {}),
    ("sub.Scalar", (X, 1.5, 2), {}),
    ("rsub.Scalar", (X, 2, 3), {}),
    ("mul.Scalar", (N, 3), {}),
    ("div.Tensor", (N, N + 1), {}),
    ("div.Tensor_mode", (N, N + 2), {"rounding_mode": "floor"}),
    ("div.Scalar_mode", (X, 2), {"rounding_mode": "trunc"}),
    ("floor_divide.Scalar", (N, 2), {}),
    ("remainder.Scalar", (X, 2), {}),
    ("fmod.Scalar", (X, 2), {}),
    ("pow.Tensor_Scalar", (X, 2), {}),
    ("pow.Scalar", (2, X), {}),
    ("clamp", (X, 0, 1), {}),
    ("clamp_min", (X, 0), {}),
    ("where.self", (MASK, X, Y), {}),
    ("where.ScalarSelf", (MASK, 1.5, Y), {}),
    ("where.Scalar", (MASK, 1.5, 2), {}),
    ("sum", (N,), {"dtype": torch.float64}),
    ("sum.dim_IntList", (X, [1], True), {"dtype": torch.float64}),
    ("mean.dim", (X, [0]), {}),
    ("prod.dim_int", (X, 1), {}),
    ("std", (X, False), {}),
    ("std.dim", (X, [1], False, True), {}),
    ("var.correction", (X, [1]), {"correction": 0}),
    ("std_mean.dim", (X, [1], False), {}),
    ("max", (X,), {}),
    ("max.dim", (X, 1, True), {}),
    ("max.other", (X, Y), {}),
    ("min.dim", (X, 0), {}),
    ("amax", (X, [1]), {}),
    ("argmax", (X, 1), {}),
    ("topk", (X, 2, 1), {}),
    ("sort", (X, 1, True), {}),
    ("sort.stable", (X,), {"stable": True, "dim": 0}),
    ("cumsum", (X, 1), {}),
    ("all.dim", (MASK, 1), {}),
    ("any", (MASK,), {}),
    ("norm.Scalar", (X, 2), {}),
    ("norm.ScalarOpt_dim", (X, 2, [1]), {}),
    ("softmax.int", (X, 1, torch.float64), {}),
    ("log_softmax.int", (X, 1), {}),
    ("matmul", (X, Y.t()), {}),
    ("addmm", (torch.eye(2), X, Y.t()), {"beta": 2, "alpha": 3}),
    ("einsum", ("ij,kj->ik", [X, Y]), {}),
    ("cat", ([X, Y], 1), {}),
    ("stack", ([X, Y], 2), {}),
    ("split.Tensor", (X, 2, 1), {}),
    ("split.sizes", (X, [1, 2], 1), {}),
    ("chunk", (X, 2, 1), {}),
    ("unbind.int", (X, 1), {}),
    ("index_select", (X, 1, torch.tensor([2, 0])), {}),
    ("gather", (X, 1, torch.tensor([[0], [2]])), {}),
    ("scatter.value", (X, 1, torch.tensor([[0], [2]]), 7), {}),
    ("masked_select", (X, MASK), {}),
    ("masked_fill.Scalar", (X, MASK, 9), {}),
    ("nonzero", (X,), {}),
    ("unique_consecutive", (N,), {"return_inverse": True}),
    ("_unique2", (N, True, True), {}),
    ("repeat_interleave.self_int", (X, 2, 1), {}),
    ("flip", (X, [0, 1]), {}),
    ("transpose.int", (X, 0, 1), {}),
    ("permute", (X, [1, 0]), {}),
    ("narrow", (X, 1, 1, 2), {}),
    ("meshgrid.indexing", ([X[0], Y[1]],), {"indexing": "ij"}),
    ("broadcast_tensors", ([X, Y[:1]],), {}),
    ("cdist", (X, Y, 2.0, None), {}),
    ("one_hot", (N, 6), {}),
    ("pad", (X, [1, 2], "constant", 3.0), {}),
    ("gelu", (X,), {"approximate": "tanh"}),
    ("silu", (X,), {}),
    ("glu", (IMAGE, 1), {}),
    ("leaky_relu", (X, 0.2), {}),
    ("softplus", (X, 2, 20), {}),
    ("mse_loss", (X, Y, 1), {}),
    ("avg_pool2d", (IMAGE, [2, 2]), {}),
    ("max_pool2d_with_indices", (IMAGE, [2, 2]), {}),
    ("upsample_bilinear2d", (IMAGE, [8, 8], False), {}),
    ("linalg_norm", (X, 1), {"dim": [1]}),
    ("linalg_inv", (torch.eye(3) * 2,), {}),
    ("fft_rfft", (X, 4, 1, "ortho"), {}),
    ("special_erf", (X,), {}),
    ("zeros", ([2, 3],), {"dtype": torch.int32}),
    ("full", ([2, 3], 7), {}),
    ("full", ([2, 3], 1.5), {"dtype": torch.float16}),
    ("full_like", (N, 7), {"dtype": torch.float64}),
    ("ones_like", (X,), {"memory_format": torch.contiguous_format}),
    ("arange", (5,), {}),
    ("arange.start", (1.5, 4), {}),
    ("arange.start_step", (1, 9, 3), {"dtype": torch.float32}),
    ("linspace", (0, 1, 5), {}),
    ("eye.m", (2, 3), {}),
    ("range.step", (0, 4, 2), {}),
    ("tril_indices", (3, 3), {}),
    ("new_full", (X, [2], 3), {"dtype": torch.int64}),
    ("new_zeros", (N, [2, 2]), {}),
    ("to.dtype", (X, torch.int64), {}),
    ("to.device", (X, torch.device("cpu"), torch.float64), {}),
    ("to.other", (X, N), {}),
    ("view", (X, [3, 2]), {}),
    ("view.dtype", (X, torch.int32), {}),
    ("expand", (X[:1], [4, 3]), {}),
    ("masked_fill_.Scalar", (X, MASK, 2), {}),
    ("index_add_", (X, 0, torch.tensor([1, 0]), Y), {"alpha": 2}),
    ("add_.Scalar", (X, 1, 2), {}),
    ("copy_", (X, Y), {}),
    ("mT", (X,), {}),
]


def copied(argument: Any) -> Any:
    if isinstance(argument, list):
        return [copied(each) for each in argument]
    return argument.clone() if isinstance(argument, torch.Tensor) else argument


def forms(table: AtenTable, operator: str) -> Iterator[AtenCall]:
    """Yield the forms of a schema in which each of its arguments is a parameter."""
    for call in table:
        if call.operator == operator and not call.options:
            yield call


@pytest.mark.parametrize(("name", "positional", "keywords"), CALLS, ids=[each[0] for each in CALLS])
def test_the_python_form_computes_what_the_operator_does(
    name: str, positional: tuple[Any, ...], keywords: dict[str, Any], table: AtenTable
) -> None:
    operator = f"torch.ops.aten.{name if '.' in name else f'{name}.default'}"
    found = list(forms(table, operator))
    assert found
    for call in found:
        packet, overload = operator.removeprefix("torch.ops.aten.").split(".")
        function = getattr(getattr(torch.ops.aten, packet), overload)
        expected = function(*copied(list(positional)), **keywords)
        given = copied(list(positional))
        if call.kind == "attribute":
            result = getattr(given[0], call.python)
        else:
            names = [each.name for each in function._schema.arguments]
            by_name = dict(zip(names, given, strict=False)) | keywords
            is_parameter = {"input", "self"} & {each.name for each in call.parameters}
            passed = [by_name["self"]] if "self" in names and not is_parameter else []
            passed_by_name = {}
            for each in call.parameters:
                own = "self" if each.name == "input" else each.name
                if own in by_name and each.is_keyword:
                    passed_by_name[each.name] = by_name[own]
                elif own in by_name:
                    passed.append(by_name[own])
            callee = getattr(torch.Tensor, call.python) if call.kind == "method" else function_of(call)
            result = callee(*passed, **passed_by_name)
        assert_same(result, expected)


def assert_same(result: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(result) == len(expected)
        for one, other in zip(result, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, torch.Tensor):
        assert result.dtype == expected.dtype and result.shape == expected.shape
        assert torch.equal(result, expected)
    else:
        assert result == expected or (math.isnan(result) and math.isnan(expected))
