"""What an operator's Python function computes besides launches: sizes read back, random states, structs of addresses."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

import cuda_wheel.torch
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.generated import converted
from cuda_wheel.runtime.launching import converter_for
from cuda_wheel.runtime.manifest import Parameter
from cuda_wheel.torch import launch_checks
from tests.torch.quiet_pytorch import MARKS, Tensor, torch
from tests.torch.stand_in_kernels import Make, StandIn

pytestmark = MARKS


def test_a_size_that_is_read_back(name: str, module: Make) -> None:
    def count(x: Any, found: Any, n: int) -> None:
        found.fill_(int((x > 0).sum()))

    def compact(x: Any, out: Any, n: int) -> None:
        out.copy_(x[x > 0])

    kernels = module(
        StandIn("count", "const float*, int*, int", count), StandIn("compact", "const float*, float*, int", compact)
    )

    @cuda_wheel.torch.operator(name)
    def positive(x: Tensor) -> Tensor:
        n = x.numel()
        number = torch.zeros(1, dtype=torch.int32, device=x.device)
        kernels["count"].launch(1, 1, x, number, n)
        size = cuda_wheel.torch.read_size(number, most=n)
        out = x.new_empty(size)
        kernels["compact"].launch(size, 1, x, out, n)
        return out

    x = torch.tensor([1.0, -1.0, 3.0])
    for _ in range(2):
        assert positive(x).tolist() == [1, 3]
    assert positive(-x.abs()).shape == (0,)
    torch.library.opcheck(positive, (x,))
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(lambda x: positive(x) * 2, fullgraph=True, backend="aot_eager", dynamic=True)
        assert compiled(x).tolist() == [2, 6]
        assert compiled(torch.ones(5)).tolist() == [2] * 5


@pytest.mark.parametrize("value", [[1.5], [1, 2], [-1], [7]])
def test_what_is_no_size(value: list[Any]) -> None:
    with pytest.raises(ArgumentError, match="read_size"):
        cuda_wheel.torch.read_size(torch.tensor(value), most=5)


def test_random_states(name: str, module: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    class Generator:
        offset = 8

        def get_offset(self) -> int:
            return self.offset

        def set_offset(self, offset: int) -> None:
            self.offset = offset

        def initial_seed(self) -> int:
            return 42

    generator = Generator()
    monkeypatch.setattr(torch._C, "_cuda_isCurrentStreamCapturing", lambda: False, raising=False)
    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: 0, raising=False)
    monkeypatch.setattr(torch.cuda, "default_generators", [generator])
    kernels = module(StandIn("fill", "float*, long, long", lambda out, seed, offset: out.fill_(seed + offset)))

    def noise(x: Tensor) -> Tensor:
        state = cuda_wheel.torch.philox(6)
        out = torch.empty_like(x)
        kernels["fill"].launch(1, 1, out, state.seed, state.offset)
        return out

    drawn = cuda_wheel.torch.operator(name, noise, random=True)
    assert drawn(torch.ones(1)).item() == 50 and generator.offset == 16
    assert drawn(torch.ones(1)).item() == 58
    assert torch.Tag.nondeterministic_seeded in drawn.tags
    undeclared = cuda_wheel.torch.operator(f"{name}b", noise)
    with pytest.raises(ArgumentError, match=f"^{name}b draws random numbers: declare it with random=True"):
        undeclared(torch.ones(1))
    monkeypatch.setattr(torch._C, "_cuda_isCurrentStreamCapturing", lambda: True, raising=False)
    with pytest.raises(ArgumentError, match="a CUDA graph would repeat the same numbers"):
        cuda_wheel.torch.philox(4)


@pytest.mark.parametrize("size", [24, 32])  # before and since PyTorch 2.10
def test_random_state_of_a_kernel_is_that_of_the_headers_it_was_compiled_with(size: int) -> None:
    state = cuda_wheel.torch.PhiloxState(1, 2)
    converter = converter_for(Parameter("b8", 0, size, "at::PhiloxCudaState"), True)
    assert converted(converter, state, None) == bytes([1, *[0] * 7, 2, *[0] * (size - 9)])
    captured = cuda_wheel.torch.PhiloxState(1, 2, 3, True)
    if size == 24:
        with pytest.raises(TypeError, match="takes a struct of 24 bytes, not 32 bytes"):
            converted(converter, captured, None)
    else:
        assert converted(converter, captured, None) == bytes(captured)


class Lists(ctypes.Structure):
    _fields_ = [("addresses", ctypes.c_void_p * 3 * 2), ("sizes", ctypes.c_int64 * 3), ("chunk", ctypes.c_uint8)]


def test_structs_with_addresses_of_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "is_cuda", True)
    x, y = torch.ones(2), torch.ones(3)
    made = cuda_wheel.torch.packed(Lists, addresses=[[x, y], [None, y]], sizes=[2, 3], chunk=7)
    assert [list(row) for row in made.addresses] == [[x.data_ptr(), y.data_ptr(), None], [None, y.data_ptr(), None]]
    assert (
        list(made.sizes) == [2, 3, 0]
        and made.chunk == 7
        and [id(each) for each in made.tensors] == [id(x), id(y), id(y)]
    )
    assert isinstance(made, Lists) and ctypes.sizeof(made) == ctypes.sizeof(Lists)
    other = cuda_wheel.torch.packed(made, addresses=[[y]], sizes=[4])
    assert [list(row) for row in other.addresses] == [[y.data_ptr(), y.data_ptr(), None], [None, y.data_ptr(), None]]
    assert list(other.sizes) == [4, 3, 0] and other.chunk == 7 and list(made.sizes) == [2, 3, 0]
    assert [id(each) for each in other.tensors] == [*[id(x), id(y), id(y)], id(y)]


@pytest.mark.parametrize("sign", ["", "u"])
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_a_list_of_integers_fits_into_a_struct_exactly(sign: str, bits: int) -> None:
    kind = getattr(ctypes, f"c_{sign}int{bits}")
    least, most = (0, 2**bits - 1) if sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    class Numbers(ctypes.Structure):
        _fields_ = (("numbers", kind * 3),)

    assert list(cuda_wheel.torch.packed(Numbers, numbers=[least, most, True]).numbers) == [least, most, 1]
    assert list(cuda_wheel.torch.packed(Numbers, numbers=[least, most]).numbers) == [least, most, 0]
    for wrong in (least - 1, most + 1):
        with pytest.raises(ArgumentError, match=f"^Numbers.numbers: {wrong} does not fit into "):
            cuda_wheel.torch.packed(Numbers, numbers=[0, wrong])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"nothing": 1}, "Lists has no field nothing: it has addresses, sizes, chunk"),
        ({"sizes": [1, 2, 3, 4]}, "Lists.sizes: takes at most 3 values, not 4"),
        ({"sizes": 3}, "Lists.sizes: takes a list of at most 3 values, not 3"),
        ({"sizes": [torch.ones(1)]}, "Lists.sizes: takes a number, not a tensor: declare the field as c_void_p"),
        ({"sizes": ["a"]}, "Lists.sizes: "),
        ({"chunk": 256}, "Lists.chunk: 256 does not fit into c_ubyte"),
        ({"addresses": [[torch.ones(1)]]}, "Lists.addresses: takes tensors on a GPU, not on cpu"),
    ],
)
def test_structs_that_are_wrong(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{message}"):
        cuda_wheel.torch.packed(Lists, **fields)


@pytest.mark.parametrize(
    ("value", "most", "message"),
    [
        ([0], None, ""), ([5], 5, ""), ([6], 5, "the tensor holds 6, but a size is 0 to 5"),
        ([-1], None, "the tensor holds -1, but a size is at least 0"),
        ([1.0], None, r"read_size takes a tensor with one whole number, not one of \(1,\) of torch.float32"),
        ([True], None, "read_size takes a tensor with one whole number"),
        ([], None, "read_size takes a tensor with one whole number"),
    ],
)  # fmt: skip
def test_a_size_is_an_integer_between_zero_and_the_most(value: list[Any], most: int | None, message: str) -> None:
    if not message:
        assert cuda_wheel.torch.read_size(torch.tensor(value), most) == value[0]
        return
    with pytest.raises(ArgumentError, match=message):
        cuda_wheel.torch.read_size(torch.tensor(value), most)


def test_the_offset_of_random_states_grows_in_fours(monkeypatch: pytest.MonkeyPatch) -> None:
    class Generator:
        offset = 0

        def get_offset(self) -> int:
            return self.offset

        def set_offset(self, offset: int) -> None:
            self.offset = offset

        def initial_seed(self) -> int:
            return -1

    monkeypatch.setattr(torch._C, "_cuda_isCurrentStreamCapturing", lambda: False, raising=False)
    generator, offsets = Generator(), []
    for increment in (1, 4, 5, 0):
        state = cuda_wheel.torch.philox(increment, generator)
        assert state.seed == 2**64 - 1 and not state.captured
        offsets.append(state.offset)
    assert [*offsets, generator.offset] == [0, 4, 8, 16, 16]


def test_structs_of_fake_tensors_have_null_pointers_and_unknown_sizes() -> None:
    size = torch.fx.experimental.symbolic_shapes.ShapeEnv().create_unbacked_symint()
    x = torch.ones(2)
    call = launch_checks.Call("a::b", {"x": x}, frozenset(), frozenset(), False, launches=False)
    with launch_checks.checking(call):
        made = cuda_wheel.torch.packed(Lists, addresses=[[x]], sizes=[size, 3])
        with pytest.raises(ArgumentError, match=r"^a::b draws random numbers: declare it with random=True"):
            cuda_wheel.torch.philox(4)
    assert list(made.addresses[0]) == [None] * 3 and list(made.sizes) == [0, 3, 0] and made.tensors == [x]
