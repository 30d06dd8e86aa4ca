"""JAX operators that choose their kernel by value, take more than the kernel does, and have rules for transforms."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.jax import handler as registration
from cuda_wheel.operators import kernels as kernels_module
from cuda_wheel.runtime.errors import ArgumentError, ImageError
from cuda_wheel.runtime.manifest import KernelInfo, Parameter
from tests.jax.host_kernels import HostKernel, memory
from tests.jax.jax_on_cpu import MARKS, assert_close, jax, jnp
from tests.operators.test_kernels import Installed

pytestmark = MARKS

X = jnp.arange(1.0, 7.0)

ONE: dict[str, Any] = {
    "arguments": "x, y, n",
    "outputs": {"y": "x"},
    "values": {"n": lambda x: x.size},
    "grid": lambda n: min(n, 1),
    "block": 1,
}


def times(factor: int, element: str = "float") -> HostKernel:
    def compute(x: int, y: int, n: int) -> None:
        memory(y, n)[:] = factor * memory(x, n)

    return HostKernel(f"times<{factor}>", f"const {element}*, {element}*, int", compute)


# --- the choice of a kernel ----------------------------------------------------------------------------


def test_a_function_chooses_the_kernel_while_jax_traces() -> None:
    kernels = [times(2), times(3)]
    operator = cuda_wheel.jax.operator(
        "demo::times", kernel=lambda x, factor: f"times< {factor + x.ndim} >", kernels=kernels,
        more_arguments={"factor": int}, **ONE,
    )  # fmt: skip
    assert_close(operator(X, 1), 2 * X)
    assert_close(jax.jit(lambda x: operator(operator(x, 2), 1))(X), 6 * X)
    assert_close(jax.jit(operator, static_argnums=1)(X.reshape(2, 3), 1), 3 * X.reshape(2, 3))
    assert [len(each.launched) for each in kernels] == [2, 2]
    with pytest.raises(ArgumentError, match=r"^demo::times: kernel returned 'times< 8 >', which is not one of kernels"):
        operator(X, 7)
    traced = cuda_wheel.jax.operator("demo::times", kernel=lambda x: f"times<{x.sum()}>", kernels=kernels, **ONE)
    with pytest.raises(ArgumentError, match=r"^demo::times: times<.*> depends on the content of an array"):
        traced(X)


def test_a_variant_is_chosen_and_instances_are_compiled_when_they_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    module = Installed({(("N", "1"),): [times(2)], (("N", "2"),): [times(2, "int")]}, is_open=True)
    module.compiled = times(9)
    monkeypatch.setattr(kernels_module, "files_and_manifest", module.files_and_manifest)
    monkeypatch.setattr(kernels_module, "load", module.load)
    operator = cuda_wheel.jax.operator(
        "demo::chosen", kernel=lambda k: f"times<{k}>", kernels=["times<2>"], module="demo.k",
        variant=lambda N: {"N": N}, more_arguments={"k": int, "N": int}, defaults={"N": 1}, **ONE,
    )  # fmt: skip
    assert_close(operator(X, 2), 2 * X)
    assert module.loaded == [("demo.k", 0, {"N": "1"})]
    with pytest.raises(ArgumentError, match=r"x is const int\* in times<2>, which takes an array of int32"):
        operator(X, 2, 2)
    assert_close(operator(X, 9), 9 * X)
    assert len(module.compiled.launched) == 1
    module.compiled = times(9, "int")  # the element types are checked when it is loaded
    registration.launches._ready.clear()
    with pytest.raises(Exception, match=r"demo::chosen: the program passes float32\[6\] for const int\*"):
        jax.block_until_ready(operator(X, 9))


def test_an_exported_program_names_its_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("flatbuffers", reason="JAX needs flatbuffers to serialise programs")
    from jax import export

    def make(*kernels: HostKernel) -> Callable[..., Any]:
        return cuda_wheel.jax.operator(
            "demo::exported", kernel=lambda k: f"times<{k}>", kernels=kernels, more_arguments={"k": int}, **ONE
        )

    operators: dict[str, Any] = registration._operators
    monkeypatch.setattr(registration.launches, "_operators", operators)
    before = dict(operators)
    checks = [export.DisabledSafetyCheck.custom_call("cuda_wheel_launch")]
    operator = make(times(2), times(3))
    program = export.export(jax.jit(lambda x: operator(x, 3)), disabled_checks=checks, platforms=["cpu"])(X).serialize()
    for kernels, works in (((times(3), times(4)), True), ((times(2),), False)):
        operators.clear()
        operators.update(before)
        make(*kernels)
        registration.launches._ready.clear()
        if works:
            assert_close(export.deserialize(bytearray(program)).call(X), 3 * X)
            continue
        with pytest.raises(Exception, match=r"was made for another version of demo::exported.*here it is none"):
            jax.block_until_ready(export.deserialize(bytearray(program)).call(X))


def test_arguments_that_the_kernel_does_not_see() -> None:
    seen: list[Any] = []
    kernel = HostKernel("k", "const float*, float*, int, float")
    operator = cuda_wheel.jax.operator(
        "demo::more", kernel=kernel, arguments="x, y, n, beta",
        outputs={"y": lambda x, rows: jax.ShapeDtypeStruct((rows, x.size), x.dtype)},
        values={"n": lambda K, train: seen.append((K, train)) or (K if train else -K)},  # type: ignore[func-returns-value]
        more_arguments={"K": int, "rows": int, "rate": float, "train": bool}, defaults={"beta": 1.0, "train": True},
        grid=lambda rate: int(rate), block=1,
    )  # fmt: skip
    assert [*inspect.signature(operator).parameters] == ["x", "K", "rows", "rate", "beta", "train"]
    assert operator(X, 5, 2, 3.0).shape == (2, 6)
    assert operator(X, rows=3, K=np.int64(5), rate=4, train=np.False_).shape == (3, 6)
    assert seen == [(5, True), (5, False)]
    assert [(each.grid[0], each.arguments[2]) for each in kernel.launched] == [(3, 5), (4, -5)]
    for wrong in ({"K": 2.5}, {"rate": "a"}, {"train": 5.5}):
        with pytest.raises(ArgumentError, match=f"^demo::more: {next(iter(wrong))}: "):
            operator(X, **{"K": 5, "rows": 2, "rate": 3.0, **wrong})


# --- the values of a kernel ----------------------------------------------------------------------------


def test_null_pointers() -> None:
    kernel = HostKernel("k", "const float*, const float*, float*, float*")
    given = {"kernel": kernel, "arguments": "x, mask, y, saved", "outputs": {"y": "x"}, "grid": 1, "block": 1}
    more: dict[str, Any] = {"more_arguments": {"train": bool}, "defaults": {"train": False}}
    operator = cuda_wheel.jax.operator(
        "demo::null", **given, values={"mask": None, "saved": lambda train: 4096 if train else None}, **more
    )
    operator(X), operator(X, True)
    assert [each.arguments[1::2] for each in kernel.launched] == [(None, None), (None, 4096)]
    for wrong in (lambda train: np.zeros(3), lambda train: 2.5, lambda train: jnp.int32(5)):
        operator = cuda_wheel.jax.operator("demo::null", **given, values={"mask": wrong, "saved": 0}, **more)
        with pytest.raises(ArgumentError, match=r"^demo::null: the value mask (is for a pointer|depends on)"):
            operator(X)
    operator = cuda_wheel.jax.operator("demo::null", **given, read_only=["saved"])
    with pytest.raises(ArgumentError, match=r"^demo::null: mask is None, but this array has no default"):
        operator(X, None, X)


class Pair(ctypes.Structure):
    _fields_ = (("a", ctypes.c_int32), ("b", ctypes.c_float))


PARAMETERS = [("b8", 8, "Pair"), ("b8", 16, "float4"), ("u16", 2, "__half"), ("u16", 2, "__nv_bfloat16")]


def test_values_of_all_kinds() -> None:
    parameters = [Parameter("u64", 0, 8, "const float*"), Parameter("u64", 8, 8, "float*")]
    parameters += [Parameter(type_, 16 * place + 16, size, cpp) for place, (type_, size, cpp) in enumerate(PARAMETERS)]
    kernel = HostKernel("k", "")
    kernel.info = KernelInfo("k", "_Zk", tuple(parameters))

    def constant(value: Any) -> Callable[[], Any]:
        return lambda: value

    def launched(**values: Any) -> tuple[Any, ...]:
        given = {"pair": b"12345678", "four": (0, 0, 0, 0), "half": 1, "bf": 1, **values}
        operator = cuda_wheel.jax.operator(
            "demo::all", kernel=kernel, arguments="x, y, pair, four, half, bf", outputs={"y": "x"},
            values={name: constant(value) for name, value in given.items()},
            grid=1, block=1,
        )  # fmt: skip
        operator(X)
        return tuple(kernel.launched[-1].arguments[2:])

    record = np.array((1, 2.5), [("a", "i4"), ("b", "f4")])
    pair = np.int32(1).tobytes() + np.float32(2.5).tobytes()
    for value in (Pair(1, 2.5), record, record[()], pair, bytearray(pair)):
        assert launched(pair=value)[0] == pair
    four = np.array([1, 2, 3, 4], np.float32).tobytes()
    for value in ([1, 2, 3, 4.0], (1.0, 2, 3, np.float16(4)), np.arange(1, 5), np.arange(1, 5, dtype=np.int32), four):
        assert launched(four=value)[1] == four, value
    for number in (0.5, np.float16(0.5), np.float64(0.5), jnp.bfloat16.dtype.type(0.5)):
        assert launched(half=number, bf=number)[2:] == (0.5, 0.5)
    for name, value in (("pair", b"123"), ("pair", 5), ("four", [1, 2]), ("four", np.zeros(3)), ("four", "text")):
        with pytest.raises(ArgumentError, match=f"^demo::all: the value {name}: "):
            launched(**{name: value})


# --- transforms ----------------------------------------------------------------------------------------


def cube() -> HostKernel:
    def compute(x: int, y: int, n: int) -> None:
        memory(y, n)[:] = memory(x, n) ** 3

    return HostKernel("cube", "const float*, float*, int", compute)


def scaled() -> HostKernel:
    """The kernel of both derivatives: a -> 3 a x^2."""

    def compute(a: int, x: int, y: int, n: int) -> None:
        memory(y, n)[:] = 3 * memory(a, n) * memory(x, n) ** 2

    return HostKernel("scaled", "const float*, const float*, float*, int", compute)


FORMULAS: dict[str, Callable[..., Any]] = {
    "backward": lambda grad_y, x: 3 * grad_y * x**2,
    "jvp": lambda tangent_x, x: 3 * tangent_x * x**2,
}


def cubes(*rules: str, **more: Any) -> Callable[..., Any]:
    given = {rule: FORMULAS[rule] for rule in rules} | more
    return cuda_wheel.jax.operator("demo::cube", **{**ONE, "kernel": cube(), **given})


REVERSE: dict[str, Callable[[Any], Any]] = {
    "gradient": lambda f: jax.grad(lambda x: f(x).sum())(X),
    "gradient of a gradient": lambda f: jax.grad(lambda x: jax.grad(lambda x: f(x).sum())(x).sum())(X),
    "in a program": lambda f: jax.jit(jax.jacrev(f))(X),
    "of each row": lambda f: jax.vmap(jax.grad(lambda x: f(x).sum()))(X.reshape(2, 3)),
    "of all rows": lambda f: jax.grad(lambda x: jax.vmap(f)(x).sum())(X.reshape(2, 3)),
    "third": lambda f: jax.grad(lambda x: jax.grad(lambda x: jax.grad(lambda x: f(x).sum())(x).sum())(x).sum())(X),
}
FORWARD: dict[str, Callable[[Any], Any]] = {
    "tangent": lambda f: jax.jvp(f, (X,), (X + 1,))[1],
    "in a program": lambda f: jax.jit(jax.jacfwd(f))(X),
    "of each row": lambda f: jax.vmap(jax.jacfwd(f))(X.reshape(2, 3)),
    "linear": lambda f: jax.linearize(f, X)[1](X + 1),
    "forward over reverse": lambda f: jax.hessian(lambda x: f(x).sum())(X),
    "reverse over forward": lambda f: jax.grad(lambda x: jax.jvp(f, (x,), (X,))[1].sum())(X),
}


@pytest.mark.parametrize(
    ("rules", "modes"),
    [(["backward"], [REVERSE]), (["jvp"], [REVERSE, FORWARD]), (["backward", "jvp"], [REVERSE, FORWARD])],
    ids=["backward", "jvp", "both"],
)
def test_derivatives_of_all_orders(rules: list[str], modes: list[dict[str, Any]]) -> None:
    operator = cubes(*rules)
    for mode in modes:
        for name, derivative in mode.items():
            np.testing.assert_allclose(derivative(operator), derivative(lambda x: x**3), 1e-5, err_msg=name)


def test_with_backward_alone_forward_mode_is_refused() -> None:
    operator = cubes("backward")
    for name, derivative in FORWARD.items():
        with pytest.raises((TypeError, NotImplementedError), match=r"can't apply forward-mode|not implemented"):
            pytest.fail(f"{name}: {derivative(operator)}")


def test_kernels_compute_both_derivatives() -> None:
    linear = cuda_wheel.jax.operator("demo::scaled", **{**ONE, "kernel": scaled(), "arguments": "a, x, y, n"})
    rules = {"backward": lambda grad_y, x: linear(grad_y, x), "jvp": lambda x, tangent_x: linear(tangent_x, x)}
    operator = cubes(**rules)
    for derivative in (REVERSE["gradient"], REVERSE["of each row"], FORWARD["tangent"], FORWARD["of each row"]):
        np.testing.assert_allclose(derivative(operator), derivative(lambda x: x**3), 1e-5)
    only = cubes(jvp=rules["jvp"])
    np.testing.assert_allclose(FORWARD["tangent"](only), FORWARD["tangent"](lambda x: x**3), 1e-5)
    for other in (only, operator):  # no kernel is transposed or differentiated: never zero
        with pytest.raises(ValueError, match="cannot be differentiated"):
            REVERSE["gradient of a gradient"](other)
    with pytest.raises(ValueError, match="cannot be differentiated"):
        REVERSE["gradient"](only)


def test_in_shard_map_both_rules_need_that_axes_are_not_checked() -> None:
    shard_map = getattr(jax, "shard_map", None)
    devices = jax.devices("cpu")[:2]
    if shard_map is None or len(devices) < 2:
        pytest.skip("this JAX does not check axes, or was imported before this test could ask for two devices")
    mesh, rows = jax.sharding.Mesh(np.array(devices), ("rows",)), jax.sharding.PartitionSpec("rows")
    for rules, more in ((["jvp"], {}), (["backward"], {}), (["jvp", "backward"], {"check_vma": False})):
        parts = shard_map(cubes(*rules), mesh=mesh, in_specs=rows, out_specs=rows, **more)
        assert_close(jax.jit(jax.grad(lambda x, parts=parts: parts(x).sum()))(X), 3 * X**2)
    parts = shard_map(cubes("jvp", "backward"), mesh=mesh, in_specs=rows, out_specs=rows)
    with pytest.raises(ArgumentError, match=r"^demo::cube: JAX cannot tell shard_map .* rows .*: use check_vma=False"):
        jax.jit(jax.grad(lambda x: parts(x).sum()))(X)


def test_derivatives_with_integers_missing_arrays_and_several_outputs() -> None:
    def compute(x: int, bias: int | None, index: int, y: int, z: int, place: int) -> None:
        memory(y, 3)[:] = memory(x, 3) * memory(index, 3, np.int32) + (memory(bias, 3) if bias else 0)
        memory(z, 3)[:], memory(place, 3, np.int32)[:] = memory(x, 3) ** 2, 7

    def jvp(x: Any, tangent_x: Any, tangent_bias: Any, index: Any, place: Any, factor: float) -> Any:
        assert factor == 2.0 and place.dtype == jnp.int32
        return tangent_x * index + (0 if tangent_bias is None else tangent_bias), 2 * x * tangent_x, None

    def backward(x: Any, bias: Any, grad_y: Any, grad_z: Any, index: Any) -> Any:
        return grad_y * index + 2 * x * grad_z, None, None if bias is None else grad_y

    def make(**rules: Any) -> Callable[..., Any]:
        return cuda_wheel.jax.operator(
            "demo::several", kernel=HostKernel("k", "const float*, const float*, const int*, float*, float*, int*", compute),
            arguments="x, bias, index, y, z, place", defaults={"bias": None}, more_arguments={"factor": float},
            outputs={"y": "x", "z": "x", "place": lambda x: jax.ShapeDtypeStruct(x.shape, jnp.int32)},
            grid=1, block=1, **rules,
        )  # fmt: skip

    x, index = X[:3], jnp.arange(3, dtype=jnp.int32)
    for rules in ({"jvp": jvp}, {"jvp": jvp, "backward": backward}):
        operator = make(**rules)
        for bias in (None, x + 1):
            f = lambda x, bias=bias, operator=operator: operator(x, index, 2.0, bias)[:2]  # noqa: E731
            g = lambda x, bias=bias: (x * index + (0 if bias is None else bias), x**2)  # noqa: E731
            for derivative in (
                lambda f: jax.jvp(f, (x,), (x,))[1],
                lambda f: jax.grad(lambda x: sum(each.sum() for each in f(x)))(x),
            ):
                for found, wanted in zip(derivative(f), derivative(g), strict=True):
                    np.testing.assert_allclose(found, wanted, 1e-5)
        gradient = jax.grad(lambda bias, operator=operator: operator(x, index, 2.0, bias)[0].sum())(x)
        np.testing.assert_allclose(gradient, np.ones(3))
    with pytest.raises(
        ArgumentError, match=r"^demo::several: jvp must be a function of tangent_x and tangent_bias too"
    ):
        make(jvp=lambda x: x)


@pytest.mark.parametrize(
    ("jvp", "message"),
    [
        (lambda tangent_x: None, r"jvp returned None for the tangent of y, which is float32\[6\]: if it is zero"),
        (lambda tangent_x: (tangent_x, tangent_x), "jvp returned 2 tangents for 1 outputs: y"),
        (lambda tangent_x: tangent_x[:2], r"jvp returned float32\[2\] for the tangent of y, which is float32\[6\]"),
    ],
)
def test_wrong_tangents_are_refused(jvp: Any, message: str) -> None:
    for more in ({}, {"backward": FORMULAS["backward"]}):
        with pytest.raises(ArgumentError, match=f"^demo::cube: {message}"):
            FORWARD["tangent"](cubes(jvp=jvp, **more))


def test_a_batching_rule_takes_the_place_of_the_loop() -> None:
    calls: list[Any] = []

    def rule(x: Any, axis_size: int) -> Any:
        calls.append((x.shape, axis_size))
        return operator(x)

    kernel = cube()
    operator = cubes("backward", "jvp", kernel=kernel, vmap=rule)
    rows = X.reshape(2, 3)
    assert_close(jax.vmap(operator)(rows), rows**3)
    assert_close(jax.jit(jax.vmap(operator, in_axes=1, out_axes=1))(rows), rows**3)
    assert calls == [((2, 3), 2), ((3, 2), 3)] and len(kernel.launched) == 2
    cube_of = jax.vmap(jax.vmap(operator))(X.reshape(1, 2, 3))
    assert_close(cube_of, X.reshape(1, 2, 3) ** 3)
    assert len(kernel.launched) == 3
    for derivative in (*REVERSE.values(), *FORWARD.values()):
        np.testing.assert_allclose(derivative(operator), derivative(lambda x: x**3), 1e-5)


def test_a_batching_rule_knows_what_is_batched() -> None:
    def compute(x: int, weight: int, y: int, n: int) -> None:
        memory(y, n)[:] = memory(x, n) * np.resize(memory(weight, 3), n)

    def make(vmap: Any) -> Callable[..., Any]:
        return cuda_wheel.jax.operator(
            "demo::weighted", kernel=HostKernel("k", "const float*, const float*, float*, int", compute),
            arguments="x, weight, y, n", outputs={"y": "x"}, values={"n": lambda x: x.size}, grid=1, block=1, vmap=vmap,
        )  # fmt: skip

    seen: list[Any] = []

    def knowing(x: Any, weight: Any, batched_weight: bool, axis_size: int) -> Any:
        seen.append((x.shape, weight.shape, batched_weight))
        return x * weight if batched_weight else operator(x, weight)

    def simple(x: Any, weight: Any) -> Any:
        seen.append((x.shape, weight.shape))
        return x * weight

    rows, weight = X.reshape(2, 3), X[:3]
    operator = make(knowing)
    assert_close(jax.vmap(operator, in_axes=(0, None))(rows, weight), rows * weight)
    assert_close(jax.vmap(operator, in_axes=(None, 0))(weight, rows), rows * weight)
    assert seen == [((2, 3), (3,), False), ((2, 3), (2, 3), True)]
    assert_close(jax.vmap(make(simple), in_axes=(0, None))(rows, weight), rows * weight)
    assert seen[2:] == [((2, 3), (2, 3))]
    for wrong in (lambda x: x[0], lambda x: (x, x), lambda x: x.astype(jnp.float16)):
        with pytest.raises(
            ArgumentError, match=r"^demo::weighted: vmap must return .* first axis: float32\[2,3\], not "
        ):
            jax.vmap(make(wrong))(rows, rows)


# --- declarations --------------------------------------------------------------------------------------

WRONG: list[dict[str, Any]] = [
    {"name": 5}, {"name": ""}, {"name": "a#2"},
    {"kernel": None}, {"kernel": {}}, {"kernel": {"float32": cube(), ("float32", "float64"): cube()}},
    {"kernel": {"float32": cube(), jnp.float32: cube()}}, {"kernel": {object(): cube()}}, {"kernel": "k"},
    {"kernel": {"float32": lambda x: "k"}}, {"kernel": {"float32": cube(), "float64": HostKernel("o", "float*, int")}},
    {"kernel": lambda x: "k"}, {"kernels": "k*"}, {"kernel": lambda x: "k", "kernels": 5},
    {"kernel": lambda x: "k", "kernels": []}, {"kernel": lambda x: "k", "kernels": "k*"},
    {"kernel": lambda x: "k", "kernels": [None]}, {"kernel": lambda x: "k", "kernels": [cube(), cube()]},
    {"kernel": lambda x: "k", "kernels": [cube(), HostKernel("o", "float*, int")]},
    {"kernel": lambda q: "k", "kernels": [cube()]}, {"kernel": lambda y: "k", "kernels": [cube()]},
    {"kernel": lambda *x: "k", "kernels": [cube()]}, {"kernel": int, "kernels": [cube()]},
    {"variant": {"A": 1}}, {"variant": 5, "module": "a.b"}, {"variant": {"A": None}, "module": "a.b"},
    {"variant": {"A": 1}, "module": "a.b"}, {"variant": lambda q: {}}, {"module": 5}, {"module": "no.such"},
    {"arguments": 5}, {"arguments": [1, 2, 3]}, {"arguments": "x"}, {"arguments": "x, y, y"},
    {"arguments": "x, y, class"}, {"arguments": "x, y, _n"},
    {"outputs": "y"}, {"outputs": ["y"]}, {"outputs": None}, {"outputs": {"n": "x"}}, {"outputs": {"y": 5}},
    {"outputs": {5: "x"}}, {"outputs": {"y": lambda *x: x}},
    {"values": ["n"]}, {"values": {"n": None}}, {"values": {"n": 2.5}}, {"values": {"n": object()}},
    {"values": {"n": lambda *, x: 3}}, {"values": {"x": None, "n": 3}},
    {"defaults": 3}, {"defaults": {"n": 3}}, {"defaults": {"x": 3}}, {"read_only": 5}, {"read_only": "q"},
    {"grid": None}, {"grid": "a"}, {"grid": (1, 2, 3, 4)}, {"grid": lambda q: 1}, {"block": 0}, {"block": None},
    {"shared_memory": "x"}, {"shared_memory": np.zeros(3)}, {"cluster": 5.5}, {"cooperative": "no"},
    {"more_arguments": ["K"]}, {"more_arguments": {"K": "int"}}, {"more_arguments": {"K": complex}},
    {"more_arguments": {"K": []}}, {"more_arguments": {"x": int}}, {"more_arguments": {"_k": int}},
    {"more_arguments": {"class": int}}, {"more_arguments": {5: int}},
    {"more_arguments": {"K": int}, "defaults": {"K": 2.5}}, {"more_arguments": {"K": int}, "defaults": {"K": None}},
    {"backward": 5}, {"backward": lambda x: x}, {"jvp": 5}, {"jvp": lambda x: x}, {"jvp": lambda tangent_x, z: z},
    {"jvp": lambda *, tangent_x: 1}, {"vmap": "loop"}, {"vmap": lambda x, q: x},
    {"more_arguments": {"axis_size": int}, "vmap": lambda x: x},
    {"more_arguments": {"tangent_x": int}, "jvp": lambda tangent_x: tangent_x},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=[str([*each])[1:-1] for each in WRONG])
def test_a_wrong_declaration_is_refused_in_words(wrong: dict[str, Any]) -> None:
    given = {**ONE, "kernel": cube(), **wrong}
    name = given.pop("name", "demo::wrong")
    with pytest.raises((ArgumentError, ImageError)) as found:
        cuda_wheel.jax.operator(name, **given)
    assert len(str(found.value)) > 25
