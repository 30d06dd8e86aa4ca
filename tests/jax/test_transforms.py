"""Derivatives and batches of JAX operators, by their rules, in all modes and transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.runtime.errors import ArgumentError
from tests.jax.host_kernels import ONE, HostKernel, cube, memory
from tests.jax.jax_on_cpu import MARKS, assert_close, jax, jnp

pytestmark = MARKS

X = jnp.arange(1.0, 7.0)


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
