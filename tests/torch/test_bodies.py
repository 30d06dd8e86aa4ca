"""Operators that are Python functions: several launches, values read back, lists, flags, gradients and transforms.

Without a GPU, they run on tensors in host memory, and stand-ins compute what the kernels would.
`tests/gpu/test_torch_functions.py` runs real ones.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import cuda_wheel.torch
from cuda_wheel.runtime.errors import ArgumentError, UnknownKernelError
from cuda_wheel.runtime.generated import converted
from cuda_wheel.runtime.launching import converter_for
from cuda_wheel.runtime.manifest import Parameter
from cuda_wheel.torch import launch_checks
from cuda_wheel.torch import module_kernels as kernels_module
from tests.torch.quiet_pytorch import MARKS, Tensor, torch
from tests.torch.stand_in_kernels import StandIn

pytestmark = MARKS

Make = Callable[..., Any]


class Loaded(dict[str, StandIn]):
    """A loaded module with stand-ins."""

    is_loaded = True
    globals = {"count": 7}  # noqa: RUF012


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, on_cpu: None) -> Make:
    """Return a function that makes `cuda_wheel.torch.kernels` of a module with these stand-ins."""

    def make(*kernels: StandIn, specialize: Any = None) -> Any:
        loaded: list[str] = []
        named = Loaded({each.name: each for each in kernels})
        manifest = SimpleNamespace(kernels=[each.info for each in kernels], specialize=specialize, platform=None)
        monkeypatch.setattr(kernels_module, "load", lambda module, device, **macros: (loaded.append(module), named)[1])
        monkeypatch.setattr(kernels_module, "read_manifest", lambda *given: manifest)
        monkeypatch.setattr(kernels_module, "long_size", lambda manifest: 8)
        monkeypatch.setattr(kernels_module, "current_device", lambda: 0)
        monkeypatch.setattr(kernels_module, "device_count", lambda: 1)
        found = cuda_wheel.torch.kernels("demo.kernels")
        found.loaded = loaded
        return found

    return make


def schema_of(operator: Any) -> str:
    return re.sub(r"^[^(]*", "", str(operator._schema))


def add(x: Any, y: Any, out: Any, n: int) -> None:
    out.copy_(x + y)


def scale(x: Any, out: Any, factor: float, n: int) -> None:
    out.copy_(x * factor)


ADD = "const float*, const float*, float*, int"

SCALE = "const float*, float*, float, int"


@pytest.fixture
def scaled_sum(name: str, module: Make) -> Any:
    """Return an operator of two launches with a scratch buffer, and PyTorch's exp between them."""
    kernels = module(StandIn("add", ADD, add), StandIn("scale", SCALE, scale))

    @cuda_wheel.torch.operator(
        name,
        backward=lambda grad_output, x, y, factor: (
            grad_output * factor * (x + y).exp(),
            grad_output * factor * (x + y).exp(),
        ),
        jvp=lambda tangent_x, tangent_y, x, y, factor: factor * (x + y).exp() * (tangent_x + tangent_y),
    )
    def function(x: Tensor, y: Tensor, factor: float = 2.0) -> Tensor:
        """Return factor * exp(x + y)."""
        n = x.numel()
        scratch = torch.empty_like(x)
        kernels["add"].launch(n, 1, x, y, scratch, n)
        scratch = scratch.exp()
        result = torch.empty_like(x)
        kernels["scale"].launch((n, 1), 1, scratch, result, factor, n)
        return result

    return function


def test_a_function_launches_several_kernels(scaled_sum: Any) -> None:
    assert schema_of(scaled_sum) == "(Tensor x, Tensor y, float factor=2.) -> Tensor"
    assert scaled_sum.__doc__ == "Return factor * exp(x + y)."
    x, y = torch.rand(5), torch.rand(5)
    for _ in range(3):
        assert torch.allclose(scaled_sum(x, y), 2 * (x + y).exp())
        assert torch.allclose(scaled_sum(y=y, x=x, factor=0.5), 0.5 * (x + y).exp())
    assert scaled_sum(torch.empty(0), torch.empty(0)).shape == (0,)
    assert torch.allclose(scaled_sum(torch.ones(4, 4).t()[:2], torch.ones(2, 4)), torch.full((2, 4), 2.0).exp() * 2)
    torch.library.opcheck(scaled_sum, (x, y))
    torch.library.opcheck(scaled_sum, (x.requires_grad_(), y, 3.0))


def test_derivatives_of_a_function(scaled_sum: Any) -> None:
    def wanted(x: Any, y: Any) -> Any:
        return 2 * (x + y).exp()

    x, y = torch.rand(4), torch.rand(4)
    arguments = (x.clone().requires_grad_(), y.clone().requires_grad_())
    for _ in range(2):
        found = torch.autograd.grad(scaled_sum(*arguments).sum(), arguments, create_graph=True)
        expected = torch.autograd.grad(wanted(*arguments).sum(), arguments, create_graph=True)
        assert all(map(torch.allclose, found, expected))
        second = torch.autograd.grad(found[0].sum(), arguments), torch.autograd.grad(expected[0].sum(), arguments)
        assert all(map(torch.allclose, *second))
    tangents = torch.rand(4), torch.rand(4)
    primal, tangent = torch.func.jvp(scaled_sum, (x, y), tangents)
    expected_primal, expected_tangent = torch.func.jvp(wanted, (x, y), tangents)
    assert torch.allclose(primal, expected_primal) and torch.allclose(tangent, expected_tangent)
    with torch.autograd.forward_ad.dual_level():
        dual = scaled_sum(torch.autograd.forward_ad.make_dual(x, tangents[0]), y)  # y has no tangent
        found_tangent = torch.autograd.forward_ad.unpack_dual(dual).tangent
    assert torch.allclose(found_tangent, torch.func.jvp(lambda x: wanted(x, y), (x,), tangents[:1])[1])
    for transform in (
        lambda f: torch.func.grad(lambda x: f(x, y).sum())(x),
        lambda f: torch.func.jacfwd(lambda x: f(x, y))(x),
        lambda f: torch.func.hessian(lambda x: f(x, y).sum())(x),
        lambda f: torch.func.vmap(torch.func.grad(lambda x: f(x, y).sum()))(torch.stack([x, 2 * x])),
        lambda f: torch.func.vmap(f, (0, None))(torch.stack([x, 2 * x]), y),
        lambda f: torch.func.grad(lambda xs: torch.func.vmap(f, (0, None))(xs, y).sum())(torch.stack([x, 2 * x])),
    ):
        assert torch.allclose(transform(scaled_sum), transform(wanted))


def test_compiled_functions(scaled_sum: Any) -> None:
    compiled = torch.compile(lambda x, y: scaled_sum(x * 2, y) + 1, fullgraph=True, backend="aot_eager", dynamic=True)
    for size in (3, 5, 8):
        x, y = torch.rand(size, requires_grad=True), torch.rand(size)
        found = compiled(x, y)
        assert torch.allclose(found, 2 * (2 * x + y).exp() + 1)
        assert torch.allclose(torch.autograd.grad(found.sum(), x)[0], 4 * (2 * x + y).exp())


# --- kernels by value -----------------------------------------------------------------------------------


def search_kernels() -> list[StandIn]:
    def kernel(type_: str, dimensions: int) -> StandIn:
        def compute(points: Any, found: Any, n: int) -> None:
            found.fill_(dimensions)

        return StandIn(f"search<{type_}, {dimensions}>", f"const {type_}*, int*, int", compute)

    return [kernel(type_, dimensions) for type_ in ("float", "double") for dimensions in (2, 3)]


def test_a_function_chooses_its_kernel_by_type_and_size(name: str, module: Make) -> None:
    kernels = module(*search_kernels())

    @cuda_wheel.torch.operator(name)
    def search(points: Tensor) -> Tensor:
        n, dimensions = points.shape
        found = points.new_empty(n, dtype=torch.int32)
        kernels["search", points.dtype, dimensions].launch(n, 1, points, found, n)
        return found

    for dimensions in (2, 3, 2):
        for dtype in (torch.float32, torch.float64):
            assert search(torch.zeros(4, dimensions, dtype=dtype)).tolist() == [dimensions] * 4
    for _ in range(2):
        with pytest.raises((UnknownKernelError, KeyError)):
            search(torch.zeros(4, 5))
    torch.library.opcheck(search, (torch.zeros(4, 3),))
    compiled = torch.compile(search, fullgraph=True, backend="aot_eager", dynamic=True)
    assert compiled(torch.zeros(4, 2)).tolist() == [2] * 4
    assert compiled(torch.zeros(5, 3)).tolist() == [3] * 5
    with torch._subclasses.FakeTensorMode():
        with pytest.raises(UnknownKernelError, match=f"^{name}: .*search<float, 5>"):
            search(torch.empty(4, 5))
        with pytest.raises(UnknownKernelError, match=f"^{name}: .*search<__half, 2>"):
            search(torch.empty(4, 2, dtype=torch.float16))


def test_unknown_template_arguments_match_any(module: Make) -> None:
    kernels = module(StandIn("other<double, 2>", "const double*"), *search_kernels())
    size = torch.fx.experimental.symbolic_shapes.ShapeEnv().create_unbacked_symint()
    found = kernels.check_of(("search", torch.float64, size))
    assert found.info.name == "search<double, 2>"
    with pytest.raises(UnknownKernelError, match=r"demo.kernels has no kernel search<__half, any>"):
        kernels.check_of(("search", torch.float16, size))


def test_a_module_is_loaded_once_for_each_gpu(module: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = module(*search_kernels())
    for dimensions in (2, 3, 2):
        assert kernels["search", torch.float32, dimensions].kernel.name == f"search<float, {dimensions}>"
        assert kernels.globals["count"] == 7
    assert kernels.loaded == ["demo.kernels"]
    monkeypatch.setattr(Loaded, "is_loaded", False)  # unloaded: the next use loads it again
    assert kernels.globals["count"] == 7 and len(kernels.loaded) == 2
    assert kernels.variant(SIZE=2) is kernels.variant(SIZE=2) is not kernels


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (("k", torch.float16, 3, True), "k<__half, 3, true>"),
        (("k", "Sum<float>", -1), "k<Sum<float>, -1>"),
        (("k", ("Sum", torch.bfloat16, 2), torch.int64), "k<Sum<__nv_bfloat16, 2>, long>"),
        (("k",), "k"),
        ("k<float>", "k<float>"),
    ],
)
def test_names_of_instances(name: Any, text: str) -> None:
    assert kernels_module.instance_name(name) == text


@pytest.mark.parametrize("name", [3, (), (torch.float32, 3), ("k", 1.5), ("k", None)])
def test_what_names_no_instance(name: Any) -> None:
    with pytest.raises(ArgumentError, match=r"kernel is named by|is no template argument"):
        kernels_module.instance_name(name)


# --- arguments ------------------------------------------------------------------------------------------


def test_lists_flags_and_missing_tensors(name: str, module: Make) -> None:
    kernel = StandIn(
        "add", "const float*, const float*, float*, int", lambda x, y, out, n: out.copy_(x + (0 if y is None else y))
    )
    kernels = module(kernel)

    @cuda_wheel.torch.operator(name, outputs="total, count")
    def total(
        parts: list[Tensor], bias: Tensor | None, train: bool = True, mode: str = "sum", limit: float = float("inf")
    ) -> tuple[Tensor, Tensor]:
        result = torch.zeros_like(parts[0])
        for part in parts:
            kernels["add"].launch(part.numel(), 1, part, result, result, part.numel())
        if train:
            kernels["add"].launch(result.numel(), 1, result, bias, result, result.numel())
        assert mode == "sum" and limit == float("inf")
        return result, torch.tensor([len(parts)])

    assert schema_of(total) == (
        '(Tensor[] parts, Tensor? bias, bool train=True, str mode="sum", float? limit=None) -> (Tensor, Tensor)'
    )
    parts = [torch.ones(4), torch.ones(4, 2)[:, 0] * 2]
    assert total(parts, torch.ones(4))[0].tolist() == [4] * 4
    assert total(parts, None)[0].tolist() == [3] * 4
    assert total(parts, torch.ones(4), train=False)[0].tolist() == [3] * 4
    with pytest.raises(ArgumentError, match=f"^{name} takes tensors on a GPU of CUDA, but got none"):
        total([], None)
    torch.library.opcheck(total, (parts, None), test_utils=("test_schema", "test_faketensor"))


def test_a_function_that_writes_its_inputs(name: str, module: Make) -> None:
    def increase(x: Any, y: Any, n: int) -> None:
        y.numpy()[:] += x.numpy()

    kernels = module(StandIn("increase", "const float*, float*, int", increase))

    @cuda_wheel.torch.operator(name, writes="y")
    def increment(x: Tensor, y: Tensor) -> None:
        kernels["increase"].launch(1, 1, x, y, x.numel())

    assert schema_of(increment) == "(Tensor x, Tensor(a1!) y) -> ()"
    x, y = torch.ones(3), torch.zeros(3)
    for count in (1, 2):
        version = y._version
        assert increment(x, y) is None
        assert y.tolist() == [count] * 3 and y._version > version
    with pytest.raises(ArgumentError, match="y must be contiguous, because the operator writes it"):
        increment(x, torch.zeros(3, 2)[:, 0])
    with pytest.raises(ArgumentError, match="writes y, so it has no gradient, but a tensor requires one"):
        increment(x.clone().requires_grad_(), y)
    torch.library.opcheck(increment, (x, torch.zeros(3)))
    batch = torch.zeros(2, 3)
    torch.func.vmap(lambda x, y: (increment(x, y), y)[1], (None, 0))(x, batch)
    assert batch.tolist() == [[1] * 3] * 2
    with pytest.raises(ArgumentError, match="maps other inputs but not y, which each element would write"):
        torch.func.vmap(lambda x, y: (increment(x, y), x)[1], (0, None))(torch.ones(2, 3), torch.zeros(3))


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


# --- values of the host -----------------------------------------------------------------------------------


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


# --- declarations -----------------------------------------------------------------------------------------


def no_tensor(n: int) -> Tensor: ...
def no_result(x: Tensor): ...  # type: ignore[no-untyped-def]
def no_type(x, y: Tensor) -> Tensor: ...  # type: ignore[no-untyped-def]
def strange(x: Tensor, y: complex) -> Tensor: ...
def by_name(x: Tensor, *, y: int) -> Tensor: ...
def several(x: Tensor, *more: int) -> Tensor: ...
def underscore(_x: Tensor) -> Tensor: ...
def unknown(x: Missing) -> Tensor: ...  # type: ignore[name-defined] # noqa: F821
def right(x: Tensor, n: int = 3) -> Tensor: ...
def lists(x: list[Tensor] | None) -> Tensor: ...


@pytest.mark.parametrize(
    ("function", "more", "message"),
    [
        (no_tensor, {}, " takes no tensor, so PyTorch cannot know"),
        (no_result, {}, ": the annotations of its function are not those of an operator: its result has no annotation"),
        (no_type, {}, ": the annotations of its function are not those of an operator: "),
        (strange, {}, ": the annotations of its function are not those of an operator: "),
        (unknown, {}, ": the annotations of its function are not those of an operator: .*Missing"),
        (by_name, {}, ": y must be a parameter that is passed by position and by name"),
        (several, {}, r": more must be a parameter"),
        (underscore, {}, ": the parameter _x begins with an underscore"),
        (lists, {}, ": the annotations of its function are not those of an operator: Parameter x has unsupported type"),
        (3, {}, ": operator without kernel decorates a function, not 3"),
        (right, {"writes": "y"}, ": writes names 'y', which is not one of x, n"),
        (right, {"writes": "x", "read_only": ["x"]}, ": x is in writes and in read_only"),
        (right, {"writes": ["n"]}, ": "),
        (right, {"outputs": "a, b"}, " returns 1 results, but outputs names 2: a, b"),
        (right, {"outputs": "x"}, ": x is a parameter and in outputs: rename one"),
        (right, {"outputs": {"y": "x"}}, ": outputs of an operator without kernel are names"),
        (right, {"grid": 3, "module": "a.b"}, ": module and grid belong to an operator with kernel"),
        (right, {"backward": lambda x: x}, ": backward must be a function of grad_output"),
        (right, {"backward": lambda grad_output, z: z}, ": backward is a function of grad_output, z: its parameters"),
        (right, {"jvp": lambda x: x}, ": jvp must be a function of tangent_x too, which would count as zero"),
        (right, {"jvp": 3}, ": jvp takes a function, not 3"),
        (right, {"writes": "x", "backward": lambda grad_output: 1}, " cannot have a gradient, because it writes x"),
        (right, {"non_contiguous": "maybe"}, ': non_contiguous is "copy", "refuse" or "pass", not \'maybe\''),
    ],
)  # fmt: skip
def test_declarations_that_are_wrong(name: str, function: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{name}{message}"):
        cuda_wheel.torch.operator(name, function, **more) if function != 3 else cuda_wheel.torch.operator(name)(3)
    assert not hasattr(torch.ops.cuda_wheel_tests, name.partition("::")[2])


def test_a_rule_of_its_own_for_batches(name: str, module: Make) -> None:
    kernel = StandIn("scale", SCALE, scale)
    kernels = module(kernel)

    def batched(info: Any, in_dims: Any, x: Any, factor: float) -> Any:
        return operator(x.movedim(in_dims[0], 0), factor), 0

    @cuda_wheel.torch.operator(name, vmap=batched)
    def operator(x: Tensor, factor: float) -> Tensor:
        out = torch.empty_like(x)
        kernels["scale"].launch(1, 1, x, out, factor, x.numel())
        return out

    x = torch.rand(3, 4)
    assert torch.allclose(torch.func.vmap(lambda x: operator(x, 2.0), 1, 1)(x), 2 * x)
    assert len(kernel.launched) == 1
