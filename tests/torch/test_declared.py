"""Operators that are declared as one launch: what each call computes, checks and gives to the kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel.runtime.errors import ArgumentError
from tests.torch.quiet_pytorch import MARKS, torch
from tests.torch.stand_in_kernels import StandIn
from tests.torch.swish import SWISH_TYPES, blocks, on_gpu, schema_of, swish, swish_kernel

pytestmark = MARKS


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


def test_a_tensor_that_the_kernel_may_write_may_be_missing(name: str, on_cpu: None) -> None:
    kernel = StandIn("k", "const float*, float*")
    operator = cuda_wheel.torch.operator(name, kernel=kernel, arguments="x, y", defaults={"y": None}, grid=1, block=1)
    assert schema_of(operator) == "(Tensor x, Tensor(y!)? y=None) -> ()"
    x, y = torch.ones(4), torch.zeros(4)
    for _ in range(2):
        version = y._version
        operator(x)
        assert y._version == version
        operator(x, y)
        assert y._version > version


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


def test_an_empty_grid_launches_nothing(name: str, on_cpu: None) -> None:
    operator, kernel = swish(name)
    y = operator(torch.empty(0, 3), 1.0)
    assert y.shape == (0, 3) and not kernel.launched
    tuples, kernel = swish(f"{name}b", grid=lambda x: (4, x.shape[0]))
    tuples(torch.empty(0, 3), 1.0)
    assert not kernel.launched
    tuples(torch.empty(2, 3), 1.0)
    assert kernel.launched[0].grid == (4, 2)


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
