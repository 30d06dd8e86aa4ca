"""Declared operators of Triton kernels: what a call launches, known without a GPU. tests/gpu/test_triton.py has the
results."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.runtime.errors import ArgumentError, UnknownKernelError
from tests.support.driver import Driver

pytestmark = [
    pytest.mark.slow,
    pytest.mark.one_toolchain,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),  # those of JAX and PyTorch
]


@pytest.fixture
def output(cases: tuple[Path, Path, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the module demo.cases be imported from the folder of the build."""
    monkeypatch.syspath_prepend(str(cases[1]))
    monkeypatch.delitem(sys.modules, "demo", raising=False)
    yield
    monkeypatch.delitem(sys.modules, "demo", raising=False)


SCALE: dict[str, Any] = {
    "module": "demo.cases",
    "kernel": "scale",
    "outputs": {"out_ptr": "x_ptr"},
    "values": {"n": lambda x_ptr: x_ptr.numel() if hasattr(x_ptr, "numel") else x_ptr.size},
    "read_only": "x_ptr",
    "grid": lambda n, BLOCK: -(-n // BLOCK),
}


# --- JAX ------------------------------------------------------------------------------------------------


def jax_operator(**changes: Any) -> Any:
    pytest.importorskip("jax", reason="JAX is not installed")
    import cuda_wheel.jax

    return cuda_wheel.jax.operator("demo::triton", **SCALE | changes)


def launches_of(function: Callable[..., Any], *args: Any) -> list[dict[str, Any]]:
    """Return the launches in the program of a function."""
    import jax

    text = jax.jit(function).lower(*args).as_text()
    found = re.findall(r'launch = "((?:[^"\\]|\\.)*)"', text)
    return [json.loads(each.replace("\\22", '"').replace("\\5C", "\\").replace('\\"', '"')) for each in found]


def test_a_program_has_the_variant_for_shapes_and_numbers(output: None) -> None:
    operator = jax_operator()
    import jax.numpy as jnp

    (launch,) = launches_of(lambda x: operator(x, 0.5), jnp.zeros(1000))
    macros = dict(launch["macros"])
    assert (macros["n"], macros["x_ptr"], macros["BLOCK"]) == ("i32", "*fp32:16", "256")  # 1000 is no multiple of 16
    assert launch["grid"] == [4, 1, 1] and launch["block"] is None and launch["settings"] == {}
    arguments = [tuple(each) for each in launch["arguments"]]
    assert arguments[:4] == [("output", 0), ("input", 0), ("value", 1000), ("value", 0.5)]
    assert set(arguments[4:]) <= {("value", None)} and len(arguments) > 4
    (launch,) = launches_of(lambda x: operator(x, 0.5), jnp.zeros(1024))
    assert dict(launch["macros"])["n"] == "i32:16"
    (launch,) = launches_of(lambda x: operator(x, 0.5), jnp.zeros(1000, jnp.bfloat16))
    assert (
        dict(launch["macros"])["x_ptr"] == "*bf16:16"
        and launch["grid"] == [4, 1, 1]
        and launch["inputs"] == [["bfloat16", [1000]]]
    )
    assert launches_of(lambda x: operator(x, 0.5), jnp.zeros(0)) == []


def test_constants_options_and_tuned_parameters_choose(output: None) -> None:
    jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")
    larger = jax_operator(values=SCALE["values"] | {"BLOCK": 1024})
    (launch,) = launches_of(lambda x: larger(x, 0.5), jnp.zeros(1000))
    assert dict(launch["macros"])["BLOCK"] == "1024" and launch["grid"] == [1, 1, 1]
    copying: dict[str, Any] = {"kernel": "tuned_copy"}
    for variant, chosen in ((None, ("64", "2")), ({"num_warps": 4}, ("64", "4"))):
        copy = jax_operator(**copying, variant=variant)
        (launch,) = launches_of(copy, jnp.zeros(640))
        macros = dict(launch["macros"])
        assert (macros["BLOCK"], macros["num_warps"]) == chosen and launch["grid"] == [10, 1, 1]
    by_size = jax_operator(**copying, variant=lambda x_ptr: {"num_warps": 2 if x_ptr.size < 1000 else 4, "BLOCK": 256})
    assert [dict(launches_of(by_size, jnp.zeros(size))[0]["macros"])["num_warps"] for size in (640, 6400)] == ["2", "4"]
    other = jax_operator(**copying, variant={"num_warps": 16})
    with pytest.raises(ArgumentError, match=r"demo::triton: .*tuned_copy was not compiled for .*num_warps=16"):
        launches_of(other, jnp.zeros(640))


def test_optional_arrays_one_and_scratch_memory(output: None) -> None:
    jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")
    strided = jax_operator(
        kernel="strided",
        values={"n": lambda x_ptr: x_ptr.size, "stride": 1, "BLOCK": 128},
        defaults={"bias_ptr": None},
        read_only="x_ptr, bias_ptr",
    )
    x = jnp.zeros(500)
    (launch,) = launches_of(lambda x: strided(x, NEGATE=True), x)
    macros = dict(launch["macros"])
    assert (macros["bias_ptr"], macros["stride"], macros["NEGATE"]) == ("None", "i32:1", "1")
    assert [tuple(each) for each in launch["arguments"]][:3] == [("output", 0), ("input", 0), ("value", 500)]
    (launch,) = launches_of(lambda x, y: strided(x, False, y), x, x)
    assert dict(launch["macros"])["bias_ptr"] == "*fp32:16"
    assert [tuple(each) for each in launch["arguments"]][:3] == [("output", 0), ("input", 0), ("input", 1)]
    import jax

    transposed = jax_operator(
        kernel="transposed",
        outputs={"out_ptr": lambda x_ptr: jax.ShapeDtypeStruct(x_ptr.shape[::-1], x_ptr.dtype)},
        values={"m": lambda x_ptr: x_ptr.shape[0], "n": lambda x_ptr: x_ptr.shape[1], "BLOCK": 64},
        grid=lambda m, n, BLOCK: (m // BLOCK, n // BLOCK),
    )
    (launch,) = launches_of(transposed, jnp.zeros((256, 192), jnp.float16))
    (of_result, of_scratch) = launch["outputs"]
    assert of_result == ["float16", [192, 256]]
    assert of_scratch[0] == "uint8" and of_scratch[1][0] % (4 * 3 * 128) == 0 < of_scratch[1][0]
    assert [tuple(each) for each in launch["arguments"]][4] == ("output", 1)


def test_a_program_launches_with_the_images_own_configuration(
    output: None, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = jax_operator(kernel="tuned_copy")
    import jax
    import jax.numpy as jnp

    from cuda_wheel.jax import handler
    from tests.jax.host_kernels import launch_on_cpu

    driver = use((9, 0))
    driver.context.device = 0
    monkeypatch.setitem(handler.PLATFORMS, "cpu", launch_on_cpu)
    with jax.default_device(jax.devices("cpu")[0]):
        for _ in range(2):
            result = operator(jnp.ones(640))
            result.block_until_ready()
    assert [(each.grid, each.block, each.stream) for each in driver.launches] == [((10, 1, 1), (64, 1, 1), 5)] * 2


# --- PyTorch --------------------------------------------------------------------------------------------


@pytest.fixture
def torch_operator(output: None, request: pytest.FixtureRequest) -> Callable[..., Any]:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    import cuda_wheel.torch

    name = f"cuda_wheel_tests::triton{abs(hash(request.node.nodeid))}"
    return lambda **changes: cuda_wheel.torch.operator(name, **SCALE | changes)


def fake(*shape: int, **more: Any) -> Any:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.empty(*shape, device="cuda", **more)


def test_the_kernels_parameters_make_the_schema(torch_operator: Callable[..., Any]) -> None:
    assert str(torch_operator()._schema).endswith("(Tensor x_ptr, float factor) -> Tensor")
    written = torch_operator(outputs={}, read_only=(), values={"n": 8})
    assert str(written._schema).endswith("(Tensor(out_ptr!) out_ptr, Tensor(x_ptr!) x_ptr, float factor) -> ()")
    strided = torch_operator(
        kernel="strided", values={"n": 8, "stride": 1}, defaults={"bias_ptr": None}, read_only="x_ptr, bias_ptr",
        arguments="out_ptr, x_ptr, bias_ptr, stride, n, NEGATE, BLOCK",
    )  # fmt: skip
    expected = "(Tensor x_ptr, bool NEGATE, SymInt BLOCK, Tensor? bias_ptr=None) -> Tensor"
    assert str(strided._schema).endswith(expected)


def test_fake_tensors_are_checked_and_make_the_outputs(torch_operator: Callable[..., Any]) -> None:
    import torch

    scale = torch_operator()
    made = scale(fake(1000), 0.5)
    assert (made.shape, made.dtype, made.device.type) == ((1000,), torch.float32, "cuda")
    with pytest.raises(ArgumentError, match=r"scale was not compiled for out_ptr=\*fp16"):
        scale(fake(1000, dtype=torch.float16), 0.5)
    exact = torch_operator(values=SCALE["values"] | {"BLOCK": 512})
    with pytest.raises(ArgumentError, match=r"not compiled for .*BLOCK=512"):
        exact(fake(1000), 0.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"block": 256}, "block cannot be set for a Triton kernel"),
        ({"shared_memory": 1, "cluster": 2}, "shared_memory and cluster cannot be set"),
        ({"kernel": ["scale"]}, "kernel must be the name of a Triton kernel in demo.cases"),
        ({"grid": None}, "an operator with kernel needs grid"),
        ({"grid": lambda m: m}, "grid is a function of m: its parameters must be names among"),
        ({"arguments": "x, y"}, "the parameters of scale have names, out_ptr, x_ptr, n, factor, BLOCK: leave out"),
        ({"kernel": "total", "read_only": "x_ptr"}, "EVEN is computed by triton.heuristics"),
        ({"kernel": "product", "outputs": {}, "values": {}, "read_only": ""}, "PRECISION is .* compute it in values"),
        ({"variant": 3}, "variant must be a mapping of options of Triton, not 3"),
        ({"variant": lambda: 3}, "variant must be a mapping of options of Triton, not 3"),
        ({"variant": {"n": 3}}, "variant has n, which the operator passes"),
        ({"variant": lambda: {"n": 3}}, "variant has n, which the operator passes"),
        ({"values": {"n": 8, "k": 1}}, "values names 'k', which is not one of"),
        ({"values": 5}, "values must be a mapping from names, not 5"),
    ],
)
def test_what_does_not_fit_the_kernel(torch_operator: Callable[..., Any], changes: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        torch_operator(**changes)(fake(1000), 0.5)
    if not callable(changes.get("variant")):  # whose result is known in a call
        with pytest.raises(ArgumentError, match=message):
            torch_operator(**changes)


def test_an_unknown_kernel(torch_operator: Callable[..., Any]) -> None:
    with pytest.raises(UnknownKernelError, match=r"demo\.cases has no kernel 'scala'; did you mean scale"):
        torch_operator(kernel="scala")
