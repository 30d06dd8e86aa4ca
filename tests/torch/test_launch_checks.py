"""Launches in an operator's Python function are checked in the first call with tensors of some types, and without a GPU."""

from __future__ import annotations

from typing import Any

import pytest

import cuda_wheel.torch
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.torch import launch_checks
from tests.torch.quiet_pytorch import MARKS, Tensor, torch
from tests.torch.stand_in_kernels import ADD, Make, StandIn, add

pytestmark = MARKS


@pytest.mark.parametrize("fake", [False, True])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": torch.zeros(3)}, r"add may write to its argument 3, which has the memory of the input z: name z in writes"),
        ({"out": lambda x, z: z[1:]}, r"add may write to its argument 3, which has the memory of the input z"),
        ({"n": 1.5}, r"add, argument 4 \(int\): takes an integer, not float"),
        ({"n": 1 << 40}, r"add, argument 4 \(int\): 1099511627776 is out of range"),
        ({"n": torch.zeros(1)}, r"add, argument 4 \(int\): takes a number, not a tensor"),
        ({"dtype": torch.float64}, r"add, argument 1 \(const float\*\): takes an array of float32, not of float64"),
        ({"more": (1,)}, r"add takes 4 arguments, .*, but got 5"),
        ({"block": (1, -2)}, r"add: block takes integers of 1 and more, not -2"),
        ({"grid": None}, r"add: grid takes integers, not None"),
        ({"result": lambda x, out: x}, r"output 1 shares the memory of x, but PyTorch's operators return new tensors"),
    ],
)  # fmt: skip
def test_launches_that_are_wrong(name: str, module: Make, change: dict[str, Any], message: str, fake: bool) -> None:
    kernels = module(StandIn("add", ADD, add))
    out = change.get("out", lambda x, z: z)
    fits = "grid" in change or "block" in change or "n" in change or "result" in change or "more" in change

    @cuda_wheel.torch.operator(name)
    def wrong(x: Tensor, z: Tensor) -> Tensor:
        target = torch.empty_like(x) if fits or "dtype" in change else out(x, z)
        arguments = (x, x, target, change.get("n", 3), *change.get("more", ()))
        kernels["add"].launch(change.get("grid", 1), change.get("block", 1), *arguments)
        return change.get("result", lambda x, out: out)(x, target)

    x, z = torch.ones(3, dtype=change.get("dtype", torch.float32)), torch.ones(4)
    for _ in range(2):
        with pytest.raises(ArgumentError, match=f"^{name}: {message}"):
            if fake:
                with torch._subclasses.FakeTensorMode() as mode:
                    wrong(mode.from_tensor(x), mode.from_tensor(z))
            else:
                wrong(x, z)
    assert not launch_checks.checks_running


def test_read_only_inputs_may_be_given_to_pointers_that_are_not_const(name: str, module: Make) -> None:
    kernels = module(StandIn("add", "float*, float*, float*, int", add))

    @cuda_wheel.torch.operator(name, read_only=["x"])
    def twice(x: Tensor) -> Tensor:
        out = torch.empty_like(x)
        kernels["add"].launch(1, 1, x, x, out, 3)
        return out

    assert twice(torch.ones(3)).tolist() == [2] * 3


def test_operators_may_call_each_other(name: str, module: Make) -> None:
    kernels = module(StandIn("add", ADD, add))

    @cuda_wheel.torch.operator(f"{name}_inner", writes="out")
    def inner(x: Tensor, out: Tensor) -> None:
        kernels["add"].launch(1, 1, x, x, out, 3)

    @cuda_wheel.torch.operator(name)
    def outer(x: Tensor) -> Tensor:
        out = torch.empty_like(x)
        inner(x, out)
        kernels["add"].launch(1, 1, x, out, out, 3)
        return out

    for _ in range(2):
        assert inner(torch.ones(3), torch.zeros(3)) is None
        assert outer(torch.ones(3)).tolist() == [3] * 3


def test_launches_of_an_operator_that_another_calls_are_its_own(name: str, module: Make) -> None:
    kernels = module(StandIn("add", "float*, float*, float*, int", add))

    @cuda_wheel.torch.operator(f"{name}_inner", read_only="x")
    def inner(x: Tensor) -> Tensor:
        out = torch.empty_like(x)
        kernels["add"].launch(1, 1, x, x, out, 3)
        return out

    @cuda_wheel.torch.operator(name)
    def outer(x: Tensor) -> Tensor:
        return inner(x) + 1

    for _ in range(2):
        assert inner(torch.ones(3)).tolist() == [2] * 3
    assert outer(torch.ones(3)).tolist() == [3] * 3


def test_tensors_on_another_device_are_found_without_a_gpu(name: str, module: Make) -> None:
    kernels = module(StandIn("add", ADD, add))

    @cuda_wheel.torch.operator(name)
    def forgetful(x: Tensor) -> Tensor:
        out = torch.empty(3)  # without device=x.device
        kernels["add"].launch(1, 1, x, x, out, 3)
        return out

    message = rf"^{name}: add, argument 3 \(float\*\): is a tensor on cpu, but the operator's first one is on cuda:0"
    with torch._subclasses.FakeTensorMode(), pytest.raises(ArgumentError, match=message):
        forgetful(torch.empty(3, device="cuda"))
