"""JAX operators, on the CPU: the handler reads real call frames of XLA, and stand-ins compute what kernels would.

`tests/gpu/test_jax_operators.py` runs real kernels.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.jax import handler as registration
from cuda_wheel.runtime.errors import ArgumentError, ImageError
from tests.jax.host_kernels import ONE, HostKernel, cube, memory
from tests.jax.jax_on_cpu import MARKS, assert_close, jax, jnp
from tests.support.processes import run

pytestmark = MARKS


def swish_kernel(element: Any = np.float32, name: str = "float") -> HostKernel:
    def compute(x: int, y: int, n: int, beta: float) -> None:
        given = memory(x, n, element).astype(np.float32)
        memory(y, n, element)[:] = (given / (1 + np.exp(-beta * given))).astype(element)

    return HostKernel(f"swish<{name}>", f"const {name}*, {name}*, int, float", compute)


def expected(x: Any, beta: float = 1.0) -> Any:
    return x * jax.nn.sigmoid(beta * x)


SIZES: dict[str, Any] = {"values": {"n": lambda x: x.size}, "grid": lambda n: -(-n // 256), "block": 256}
SWISH: dict[str, Any] = {"arguments": "x, y, n, beta", "outputs": {"y": "x"}, "defaults": {"beta": 1.0}, **SIZES}


def swish(**more: Any) -> tuple[Callable[..., Any], HostKernel]:
    kernel = swish_kernel()
    return cuda_wheel.jax.operator("demo::swish", **{**SWISH, "kernel": kernel, **more}), kernel


X = np.linspace(-2, 2, 300, dtype=np.float32)


def test_an_operator_launches_its_kernel() -> None:
    operator, kernel = swish(shared_memory=lambda n: 4 * n, cooperative=True)
    assert_close(operator(X), expected(X))
    assert_close(operator(jnp.asarray(X).reshape(30, 10), beta=0.5), expected(X, 0.5).reshape(30, 10))
    grid, block, given, more = kernel.launched[-1]
    assert (grid, block, more) == ((2, 1, 1), (256, 1, 1), {"shared_memory": 1200, "cooperative": True, "stream": 5})
    assert given[2:] == (300, 0.5) and given[0] % 16 == given[1] % 16 == 0
    assert len(kernel.launched) == 2
    with pytest.raises(TypeError, match=r"^demo::\w+\(\) missing 1 required positional argument: 'x'"):
        operator()


def test_a_call_again_traces_nothing() -> None:
    traced = []
    operator, kernel = swish(grid=lambda n: traced.append(n) or 1)  # type: ignore[func-returns-value]
    for beta in (0.0, 0.0, -0.0, 2.5, 2.5):
        operator(X, beta)
    assert len(traced) == 3
    assert [str(each.arguments[3]) for each in kernel.launched] == ["0.0", "0.0", "-0.0", "2.5", "2.5"]


def test_in_programs() -> None:
    operator, kernel = swish()
    assert_close(jax.jit(lambda x: operator(operator(x) * 2) + 1)(X), expected(expected(X) * 2) + 1)
    loop = jax.jit(lambda x: jax.lax.fori_loop(0, 20, lambda _, y: operator(y) + 1, x))
    wanted = X
    for _ in range(20):
        wanted = expected(wanted) + 1
    assert_close(loop(X), wanted)
    assert len(kernel.launched) == 22
    rows = X.reshape(3, 100)
    assert_close(jax.vmap(operator)(rows), expected(rows))
    assert len(kernel.launched) == 25
    assert_close(jax.jit(lambda x: operator(x.T))(rows), expected(rows.T))  # XLA copies it into rows
    assert_close(jax.jit(operator, static_argnames="beta")(X, beta=0.5), expected(X, 0.5))


def test_an_empty_grid_launches_nothing() -> None:
    operator, kernel = swish()
    assert operator(jnp.zeros((0, 3))).shape == (0, 3)
    tuples, other = swish(grid=lambda n: (4, n - 300))
    assert not np.asarray(tuples(X)).any()
    assert not kernel.launched and not other.launched


def test_the_element_type_decides_which_kernel_runs() -> None:
    kernels = {jnp.float32: swish_kernel(), "float16": swish_kernel(np.float16, "__half")}
    operator, _ = swish(kernel=kernels)
    for number, kernel in enumerate(kernels.values(), 1):
        x = X.astype([np.float32, np.float16][number - 1])
        assert operator(x).dtype == x.dtype and len(kernel.launched) == 1
    with pytest.raises(ArgumentError, match=r"^demo::swish takes x of float32 or float16, not of int32"):
        operator(X.astype(np.int32))


def test_gradients() -> None:
    calls = []

    def backward(x: Any, beta: float, y: Any, grad_y: Any) -> Any:
        calls.append(beta)
        s = jax.nn.sigmoid(beta * x)
        return grad_y * (s + beta * y * (1 - s))

    operator, _ = swish(backward=backward)
    for transform in (lambda f: f, jax.jit):
        found = transform(jax.grad(lambda x: (operator(x, 0.7) * 3).sum()))(X)
        assert_close(found, jax.grad(lambda x: (expected(x, 0.7) * 3).sum())(X))
    assert {*calls} == {0.7}
    rows = X.reshape(3, 100)
    assert_close(jax.vmap(jax.grad(lambda x: operator(x).sum()))(rows), jax.grad(lambda x: expected(x).sum())(rows))
    two, _ = swish(backward=lambda grad_y: (grad_y, grad_y))
    with pytest.raises(ArgumentError, match=r"^demo::swish: backward returned 2 gradients for 1 arrays: x"):
        jax.grad(lambda x: two(x).sum())(X)
    without, _ = swish()
    with pytest.raises(ValueError, match="cannot be differentiated"):
        jax.grad(lambda x: without(x).sum())(X)


def axpy_kernel() -> HostKernel:
    def compute(a: float, x: int, y: int, n: int) -> None:
        memory(y, n)[:] += a * memory(x, n)

    return HostKernel("axpy", "float, const float*, float*, int", compute)


def test_an_input_that_the_kernel_changes_is_returned() -> None:
    kernel = axpy_kernel()
    axpy = cuda_wheel.jax.operator("demo::axpy", kernel=kernel, arguments="a, x, y, n", **SIZES)
    x, y = jnp.ones(40), jnp.arange(40.0)
    result = jax.jit(lambda x, y: (axpy(3.0, x, y), y))(x, y)
    assert_close(result[0], y + 3)
    assert_close(result[1], y)  # the old value is kept for those who use it
    assert_close(axpy(3.0, x, y), y + 3)
    donating = jax.jit(lambda x, y: axpy(3.0, x, y), donate_argnums=1)
    donating(x, y + 0)
    given = y + 0
    address = given.unsafe_buffer_pointer()
    donated = donating(x, given)
    assert given.is_deleted() and donated.unsafe_buffer_pointer() == address == kernel.launched[-1].arguments[2]
    rows = jnp.arange(120.0).reshape(3, 40)
    assert_close(jax.vmap(lambda x, y: axpy(2.0, x, y))(rows, rows), rows * 3)
    assert_close(jax.vmap(lambda x: axpy(2.0, x, jnp.ones(40)))(rows), rows * 2 + 1)
    with pytest.raises(ArgumentError, match=r"^demo::axpy cannot have a gradient, because it changes y: wrap it"):
        cuda_wheel.jax.operator("demo::axpy", kernel=kernel, arguments="a, x, y, n", backward=lambda x: x, **SIZES)


def test_outputs_made_by_functions() -> None:
    def compute(x: int, counts: int, low: int, n: int, classes: int) -> None:
        memory(counts, classes, np.int32)[:] += np.bincount(memory(x, n, np.int32), minlength=classes).astype(np.int32)
        memory(low, 1)[0] = memory(x, n, np.int32).min()

    count = cuda_wheel.jax.operator(
        "demo::count",
        kernel=HostKernel("count", "const int*, int*, float*, int, int", compute),
        arguments=["x", "counts", "low", "n", "classes"],
        outputs={
            "counts": lambda classes: jnp.full(classes, 10, jnp.int32),  # what the kernel finds in it
            "low": lambda: jax.ShapeDtypeStruct((), jnp.float32),
        },
        values={"n": lambda x: x.size},
        grid=lambda counts: counts.shape[0],
        block=1,
    )
    x = jnp.asarray([3, 1, 1, 2], jnp.int32)
    for call in (count, jax.jit(count, static_argnums=1), jax.jit(count, static_argnums=1)):
        counts, low = call(x, 5)
        assert counts.tolist() == [10, 12, 11, 11, 10] and low == 1


def test_all_kinds_of_arguments() -> None:
    kernel = HostKernel("k", "const float*, const float*, double, int, bool, struct, float*")
    operator = cuda_wheel.jax.operator(
        "demo::kinds",
        kernel=kernel,
        arguments="x, bias, scale, count, flag, shape, y",
        outputs={"y": "x"},
        values={"shape": lambda x: np.array([*x.shape, 7], np.int32)},
        defaults={"bias": None, "flag": True, "count": 3},
        grid=1,
        block=1,
    )
    x = jnp.ones((2, 4))
    operator(x, float("inf"))
    assert kernel.launched[-1].arguments[1:6] == (0, float("inf"), 3, True, np.array([2, 4, 7], np.int32).tobytes())
    operator(x, np.float32(0.1), x, np.int64(4), jnp.asarray(False))
    assert kernel.launched[-1].arguments[2:5] == (float(np.float32(0.1)), 4, False)
    assert [type(each) for each in kernel.launched[-1].arguments[2:5]] == [float, int, bool]
    assert kernel.launched[-1].arguments[1]


def test_in_threads() -> None:
    operator, kernel = swish()
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            x = jax.device_put(X[: 100 + number], jax.devices("cpu")[0])
            for _ in range(30):
                assert_close(operator(x), expected(x))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and len(kernel.launched) == 180


def test_on_several_devices() -> None:
    devices = jax.devices("cpu")[:2]
    if len(devices) < 2:
        pytest.skip("JAX was imported before this test could ask for two devices")
    shard_map = getattr(jax, "shard_map", None)
    if shard_map is None:
        from jax.experimental.shard_map import shard_map
    rows = jax.sharding.PartitionSpec("rows")
    mesh = jax.sharding.Mesh(np.array(devices), ("rows",))
    x = jax.device_put(X.reshape(10, 30), jax.sharding.NamedSharding(mesh, rows))
    operator, kernel = swish(backward=lambda grad_y: grad_y)
    parts = jax.jit(shard_map(operator, mesh=mesh, in_specs=rows, out_specs=rows))
    assert_close(parts(x), expected(x))
    assert [each.arguments[2] for each in kernel.launched] == [150, 150]
    assert_close(jax.jit(jax.grad(lambda x: parts(x).sum()))(x), jnp.ones((10, 30)))
    with pytest.raises(Exception, match=r"(?s)out_specs.*replicated|replicat.*out_specs"):  # the results differ
        jax.jit(shard_map(operator, mesh=mesh, in_specs=rows, out_specs=jax.sharding.PartitionSpec()))(x)
    assert_close(jax.jit(operator)(x), expected(x))
    assert_close(jax.vmap(operator)(x), expected(x))


def test_python_keeps_its_state_of_xlas_threads() -> None:
    """A state that Python makes for one call has none of the call before."""
    devices = jax.devices("cpu")[:2]
    if len(devices) < 2:
        pytest.skip("JAX was imported before this test could ask for two devices")
    calls: list[tuple[int, int]] = []
    in_thread = threading.local()

    def compute(x: int, y: int, n: int) -> None:
        in_thread.calls = getattr(in_thread, "calls", 0) + 1
        calls.append((threading.get_ident(), in_thread.calls))

    operator = cuda_wheel.jax.operator("demo::k", kernel=HostKernel("k", "const float*, float*, int", compute), **ONE)
    rows = jax.sharding.PartitionSpec("rows")
    sharding = jax.sharding.NamedSharding(jax.sharding.Mesh(np.array(devices), ("rows",)), rows)
    program = jax.jit(operator, in_shardings=sharding, out_shardings=sharding)
    x = jax.device_put(X, sharding)
    for _ in range(8):
        program(x).block_until_ready()
    threads = {thread for thread, _ in calls} - {threading.main_thread().ident}
    assert threads and len(calls) == 16
    for thread in threads:
        counts = [count for each, count in calls if each == thread]
        assert counts == [*range(1, len(counts) + 1)]


def test_without_a_gpu_the_error_says_so() -> None:
    program = """
import jax, jax.numpy as jnp
import cuda_wheel, cuda_wheel.jax
from tests.jax.host_kernels import HostKernel
kernel = HostKernel("k", "const float*, float*")
operator = cuda_wheel.jax.operator("a::b", kernel=kernel, arguments="x, y", outputs={"y": "x"}, grid=1, block=1)
try:
    jax.block_until_ready(operator(jnp.ones(3)))
except Exception as error:
    print(error)
"""
    result = run(sys.executable, "-c", program, JAX_PLATFORMS="cpu")
    assert "a::b takes arrays on a GPU of CUDA, but this program runs on the CPU" in result.stdout, result.stdout


def test_what_a_launch_raises_is_an_error_of_jax() -> None:
    def fail(*arguments: Any) -> None:
        raise errors[0]

    operator, _ = swish(kernel=HostKernel("k", "const float*, float*, int, float", fail))
    for error, message in (
        (ArgumentError("k: a block of é is too large"), "INVALID_ARGUMENT: k: a block of é is too large"),
        (cuda_wheel.DriverError("no driver"), "FAILED_PRECONDITION: DriverError: no driver"),
        (ZeroDivisionError("x\0y"), r"internal error in cuda-wheel; please report it: (.|\n)*ZeroDivisionError: x y"),
        (KeyboardInterrupt(), "CANCELLED: KeyboardInterrupt"),
    ):
        errors = [error]
        with pytest.raises(Exception, match=message) as found:
            jax.block_until_ready(operator(X))
        assert type(found.value).__name__ in ("JaxRuntimeError", "XlaRuntimeError")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jax.jit(swish()[0])(X, 0.5), "beta is a number that the kernel takes by value, so it is a part of"),
        (lambda: swish()[0](X, "a"), "beta: could not convert"),
        (
            lambda: swish()[0](X.astype(np.int32)),
            r"x is const float\* in swish<float>, which takes an array of float32",
        ),
        (lambda: swish(outputs={"y": lambda: jax.ShapeDtypeStruct((3,), jnp.int32)})[0](X), r"y is float\* in swish"),
        (lambda: swish(outputs={"y": lambda: 5})[0](X), "the output y must be made by a function that returns an arr"),
        (lambda: swish(values={"n": lambda x: x.sum()})[0](X), "the value n depends on the content of an array"),
        (
            lambda: swish(values={"n": lambda x: object()}, grid=1)[0](X),
            "the value n: object is not a buffer in host memory",
        ),
        (lambda: swish(grid=lambda n: n / 7)[0](X), "grid takes integers, not 42.8"),
        (lambda: swish(shared_memory=-1)[0](X), "shared_memory takes integers of 0 and more, not -1"),
        (lambda: swish(outputs={}, read_only=["y"]), "the kernel writes nothing that the operator could return"),
        (lambda: swish(outputs={"z": "x"}), "outputs names 'z', which is not one of x, y, n, beta"),
        (lambda: swish(kernel={"float31": swish_kernel()}), "kernel must map element types of JAX to kernels: "),
    ],
)
def test_what_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^demo::swish: {message}"):
        call()


def test_an_operator_made_again_does_not_change_programs() -> None:
    first, kernel = swish()
    program = jax.jit(first)
    program(X)
    second, other = swish()
    second(X)
    program(X)
    jax.jit(lambda x: first(x) + 1)(X)
    assert (len(kernel.launched), len(other.launched)) == (3, 1)


def test_exported_programs_name_the_operator() -> None:
    pytest.importorskip("flatbuffers", reason="JAX needs flatbuffers to serialise programs")
    from jax import export

    operator, kernel = swish()
    checks = [export.DisabledSafetyCheck.custom_call("cuda_wheel_launch")]
    # By name: JAX exports for the GPU where there is one, whatever the default device is.
    program = export.export(jax.jit(operator), disabled_checks=checks, platforms=["cpu"])
    found = export.deserialize(program(X).serialize()).call(X)
    assert_close(found, expected(X)) if len(kernel.launched) == 1 else pytest.fail("the kernel did not run")
    (length,) = export.symbolic_shape("length")
    with pytest.raises(ArgumentError, match="length"):
        program(jax.ShapeDtypeStruct((length,), jnp.float32))


def test_backward_names_the_gradient_of_every_output() -> None:
    def compute(x: int, y: int, z: int, place: int) -> None:
        memory(y, 3)[:], memory(z, 3)[:], memory(place, 3, np.int32)[:] = memory(x, 3), 2 * memory(x, 3), 7

    declaration: dict[str, Any] = {
        "kernel": HostKernel("k", "const float*, float*, float*, int*", compute),
        "arguments": "x, y, z, place",
        "outputs": {"y": "x", "z": "x", "place": lambda x: jax.ShapeDtypeStruct(x.shape, jnp.int32)},
        "grid": 1,
        "block": 1,
    }
    for backward, missing in (
        (lambda grad_y: grad_y, "grad_z"),
        (lambda grad_place, grad_z: grad_z, "grad_y"),
        (lambda x: x, "grad_y and grad_z"),
    ):
        with pytest.raises(ArgumentError, match=f"^demo::two: backward must be a function of {missing} too"):
            cuda_wheel.jax.operator("demo::two", **declaration, backward=backward)
    operator = cuda_wheel.jax.operator("demo::two", **declaration, backward=lambda grad_y, grad_z: grad_y + 2 * grad_z)
    assert_close(jax.grad(lambda x: sum(each.sum() for each in operator(x)[:2]))(X[:3]), np.full(3, 3, np.float32))
    with pytest.raises(ArgumentError, match="grad_y is an argument, and to backward the gradient of y: rename one"):
        swish(
            arguments="grad_y, y, n, beta", values={"n": 3}, outputs={"y": "grad_y"}, grid=1, backward=lambda grad_y: 1
        )


@pytest.mark.parametrize("grid", [None, True, False, 0.0, -1, (), (0, 2.5), "ab"])
def test_a_grid_that_is_none_is_refused(grid: Any) -> None:
    operator, kernel = swish(grid=lambda: grid)
    with pytest.raises(ArgumentError, match=r"^demo::swish: grid (takes integers|must be one to three numbers)"):
        operator(X)
    assert not kernel.launched


def test_arguments_may_have_the_names_of_builtins() -> None:
    operator = cuda_wheel.jax.operator(
        "demo::names",
        kernel=HostKernel("k", "const float*, float*, int, float, float", lambda x, y, *_: memory(y, 3).fill(1)),
        arguments="list, object, len, type, self",
        outputs={"object": "list"},
        values={"len": lambda list: list.size},
        defaults={"self": float("-inf")},
        grid=lambda len, type: len,
        block=1,
        backward=lambda grad_object, list, type: grad_object * type,
    )
    assert_close(operator(X[:3], 2.0), np.ones(3, np.float32))
    assert_close(jax.grad(lambda x: operator(x, type=2.0).sum())(X[:3]), np.full(3, 2, np.float32))


def exported(operator: Callable[..., Any]) -> bytes:
    from jax import export

    checks = [export.DisabledSafetyCheck.custom_call("cuda_wheel_launch")]
    return bytes(export.export(jax.jit(operator), disabled_checks=checks, platforms=["cpu"])(X).serialize())


def test_exported_programs_run_no_other_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that runs a program has made an operator of the same name and parameters."""
    pytest.importorskip("flatbuffers", reason="JAX needs flatbuffers to serialise programs")
    from jax import export

    def kernel(digest: str, module: str = "demo.kernels", symbol: str = "swish") -> HostKernel:
        made = HostKernel(symbol, "const float*, float*, int, float", swish_kernel()._compute)
        made.module.manifest = made.module.manifest._replace(name=module, fatbin_sha256=digest)
        return made

    operators: dict[str, Any] = registration._operators
    monkeypatch.setattr(registration.launches, "_operators", operators)
    before = dict(operators)
    program = exported(swish(kernel=kernel("a" * 64))[0])

    def loaded(*kernels: HostKernel) -> None:
        """Run the program as a process does that has made these operators."""
        operators.clear()
        operators.update(before)
        for name in [each for each in before if each.startswith("demo::swish")]:
            del operators[name]
        for each in kernels:
            swish(kernel=each)
        registration.launches._ready.clear()
        assert_close(export.deserialize(bytearray(program)).call(X), expected(X))

    same = kernel("a" * 64)
    loaded(same)
    loaded(kernel("b" * 64), same)
    assert len(same.launched) == 2
    for other in (kernel("b" * 64), kernel("a" * 64, "other.kernels"), kernel("a" * 64, symbol="other")):
        with pytest.raises(
            Exception, match=r"was made for another version of demo::swish.*_Zswish of demo\.kernels.*aaaa"
        ):
            loaded(other)
        assert not other.launched
    with pytest.raises(Exception, match="needs the operator demo::swish"):
        loaded()
    operators.clear()
    operators.update(before)


EXIT = """
import sys, threading
import jax, jax.numpy as jnp
import cuda_wheel.jax
from cuda_wheel.jax import handler as registration
from tests.jax.host_kernels import HostKernel, launch_on_cpu

registration.PLATFORMS["cpu"] = launch_on_cpu
kernel = HostKernel("k", "const float*, float*", lambda x, y: None)
operator = cuda_wheel.jax.operator("a::b", kernel=kernel, arguments="x, y", outputs={"y": "x"}, grid=1, block=1)
program = jax.jit(lambda x: jax.lax.fori_loop(0, 100, lambda _, y: operator(y @ x), x))
x = jnp.ones((300, 300))
program(x).block_until_ready()
started = threading.Event()

def work():
    y = x
    while True:
        y = program(y)
        started.set()

threading.Thread(target=work, daemon=True).start()
started.wait()
print("the end")
"""


def test_a_daemon_thread_that_runs_programs_at_exit() -> None:
    for _ in range(3):  # without the hold, three of four end by SIGABRT
        result = run(sys.executable, "-c", EXIT, JAX_PLATFORMS="cpu")
        assert result.returncode == 0 and result.stdout.endswith("the end\n"), result.stdout


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
