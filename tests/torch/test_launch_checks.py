"""Launches in an operator's Python function are checked in the first call with tensors of some types, and without a GPU."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import pytest

import cuda_wheel.torch
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.torch import launch_checks
from cuda_wheel.torch.launch_checks import KernelCheck
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


MESSAGES = [
    (0, torch.zeros(2), "takes a number, not a tensor: tensor.item() is one"),
    (0, 1 << 31, "2147483648 is out of range"),
    (0, "a", "takes an integer, not str"),
    (1, 1e300, "1e+300 is out of range"),
    (2, torch.zeros(2, dtype=torch.int32), "takes an array of float32, not of int32"),
    (3, torch.zeros(2, 3), "takes an array of 1 dimension, not of 2"),
    (2, torch.zeros(2, device="meta"), "is a tensor on meta, but the operator's first one is on cpu"),
]
CHECKED = "int, float, const float*, at::PackedTensorAccessor32<float,1>"


@pytest.mark.parametrize(("place", "value", "why"), MESSAGES, ids=[each[2] for each in MESSAGES])
def test_messages_are_those_of_launches(place: int, value: Any, why: str) -> None:
    info = StandIn("k", CHECKED).info
    check = KernelCheck(info, 8)
    with pytest.raises(ArgumentError) as raised:
        if isinstance(value, torch.Tensor):
            check.array("a::b", place, value, torch.device("cpu"))
        else:
            check.value("a::b", place, value)
    assert str(raised.value) == f"a::b: k, argument {place + 1} ({CHECKED.split(', ')[place]}): {why}"


def test_only_pointers_to_const_are_not_written() -> None:
    types = "const float*, float*, ?, at::PackedTensorAccessor32<const float,1>, at::PackedTensorAccessor32<float,1>"
    check = KernelCheck(StandIn("k", types).info, 8)
    assert [check.writes(place) for place in range(5)] == [False, True, True, False, True]


def test_numbers_that_pytorch_does_not_know_yet_are_checked_by_type() -> None:
    environment = torch.fx.experimental.symbolic_shapes.ShapeEnv()
    size, check = environment.create_unbacked_symint(), KernelCheck(StandIn("k", CHECKED).info, 8)
    check.value("a::b", 0, size)
    with pytest.raises(ArgumentError, match=r"^a::b: k, argument 1 \(int\): takes an integer, not float"):
        check.value("a::b", 0, environment.create_unbacked_symfloat())
    call = launch_checks.Call("a::b", {"x": torch.zeros(1)}, frozenset(), frozenset(), False, False)
    empty = KernelCheck(StandIn("k", "").info, 8)
    assert call.check_launch(empty, (size, 1), size, ())
    assert not call.check_launch(empty, (0, 1), 1, ())


def test_tensors_in_structs_are_checked_too() -> None:
    class Pair(ctypes.Structure):
        _fields_ = [("address", ctypes.c_void_p), ("size", ctypes.c_int)]

    x = torch.zeros(4)
    struct = cuda_wheel.torch.packed(Pair, size=4)
    struct.tensors = [x[1:]]
    kernel = KernelCheck(StandIn("k", "struct").info, 8)
    for written, fits in ((frozenset("x"), True), (frozenset[str](), False)):
        call = launch_checks.Call("a::b", {"x": x}, written, frozenset(), False, True)
        if fits:
            with pytest.raises(ArgumentError, match="got 2"):
                call.check_launch(kernel, 1, 1, (struct, 1))
            assert call.check_launch(kernel, 1, 1, (struct,))
        else:
            with pytest.raises(
                ArgumentError, match=r"^a::b: k may write to tensors of its argument 1, .* input x: name x"
            ):
                call.check_launch(kernel, 1, 1, (struct,))


def test_each_thread_checks_its_own_innermost_call() -> None:
    outer, inner = (
        launch_checks.Call(each, {"x": torch.zeros(1)}, frozenset(), frozenset(), False, False) for each in "ab"
    )
    seen: list[Any] = []
    with launch_checks.checking(outer):
        with pytest.raises(ZeroDivisionError), launch_checks.checking(inner):
            assert launch_checks.current_call() is inner and len(launch_checks.checks_running) == 2
            1 / 0  # noqa: B018
        thread = threading.Thread(target=lambda: seen.append(launch_checks.current_call()))
        thread.start()
        thread.join()
        assert launch_checks.current_call() is outer and launch_checks.checks_running and seen == [None]
    assert launch_checks.current_call() is None and not launch_checks.checks_running
