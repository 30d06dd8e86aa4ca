"""JAX operators of `cuda_wheel.jax` on a real GPU, compared with JAX's own functions."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from tests.gpu.support import in_threads
from tests.support.processes import run
from tests.support.projects import ROOT

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else JAX takes the memory of the other tests

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402

pytestmark = [
    pytest.mark.usefixtures("nvrtc"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),  # JAX's own
]

SOURCE = """
#include <cuda_fp16.h>
template <typename T>
__global__ void swish(const T* x, T* y, int n, float beta)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = T(float(x[i]) / (1.0f + expf(-beta * float(x[i]))));
}

__global__ void swish_gradient(const float* grad_y, const float* x, float* grad_x, int n, float beta)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float s = 1.0f / (1.0f + expf(-beta * x[i]));
        grad_x[i] = grad_y[i] * (s + beta * x[i] * s * (1.0f - s));
    }
}

__global__ void add_scaled(float a, const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

__global__ void count(const int* x, int* counts, float* largest, int n, int classes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] < classes) atomicAdd(&counts[x[i]], 1);
    if (i == 0) *largest = classes;
}
"""

SIZES: dict[str, Any] = {"values": {"n": lambda x: x.size}, "grid": lambda n: -(-n // 256), "block": 256}


def why_no_gpu() -> str | None:
    try:
        jax.devices("cuda")
    except RuntimeError as error:
        return str(error)
    return None


@cache
def compiled() -> Any:
    return cuda_wheel.compile(SOURCE, instantiate=["swish<float>", "swish<__half>"])


@pytest.fixture
def kernels(nvrtc: None) -> Any:
    """Return the kernels. Programs that JAX keeps use them, so they stay loaded."""
    reason = why_no_gpu()
    if reason:
        pytest.skip(f"JAX finds no GPU: {reason}")
    return compiled()


@pytest.fixture
def swish(kernels: Any) -> Callable[..., Any]:
    return operators(kernels)[0]


@cache
def operators(kernels: Any) -> tuple[Callable[..., Any], ...]:
    """Return `swish`, `add_scaled` and `count`."""
    gradient = cuda_wheel.jax.operator(
        "tests::swish_gradient",
        kernel=kernels["swish_gradient"],
        arguments="grad_y, x, grad_x, n, beta",
        outputs={"grad_x": "x"},
        **SIZES,
    )
    swish = cuda_wheel.jax.operator(
        "tests::swish",
        kernel={jnp.float32: kernels["swish<float>"], jnp.float16: kernels["swish<__half>"]},
        arguments="x, y, n, beta",
        outputs={"y": "x"},
        defaults={"beta": 1.0},
        backward=lambda grad_y, x, beta: gradient(grad_y, x, beta),
        **SIZES,
    )
    add_scaled = cuda_wheel.jax.operator(
        "tests::add_scaled", kernel=kernels["add_scaled"], arguments="a, x, y, n", **SIZES
    )
    count = cuda_wheel.jax.operator(
        "tests::count",
        kernel=kernels["count"],
        arguments="x, counts, largest, n, classes",
        outputs={
            "counts": lambda classes: jnp.zeros(classes, jnp.int32),
            "largest": lambda: jax.ShapeDtypeStruct((), jnp.float32),
        },
        **SIZES,
    )
    return swish, add_scaled, count


def expected(x: Any, beta: float = 1.0) -> Any:
    return (x.astype(jnp.float32) * jax.nn.sigmoid(beta * x.astype(jnp.float32))).astype(x.dtype)


def data(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def assert_close(found: Any, wanted: Any) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    tolerance = 2e-3 if found.dtype == np.float16 else 2e-5
    np.testing.assert_allclose(np.asarray(found, np.float32), np.asarray(wanted, np.float32), tolerance, tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("shape", [(), (7,), (3, 4, 1000), (0, 8)])
def test_the_result_is_that_of_jax(swish: Any, shape: tuple[int, ...], dtype: Any) -> None:
    x = data(*shape, dtype=dtype)
    assert_close(swish(x), expected(x))
    assert_close(jax.jit(lambda x: swish(x.T, 0.5))(x), expected(x.T, 0.5))


def test_in_programs(swish: Any) -> None:
    x = data(1000)
    assert_close(jax.jit(lambda x: swish(swish(x) * 2) + 1)(x), expected(expected(x) * 2) + 1)
    assert_close(
        jax.jit(lambda x: jax.lax.fori_loop(0, 50, lambda _, y: swish(y) + 1, x))(x),
        jax.jit(lambda x: jax.lax.fori_loop(0, 50, lambda _, y: expected(y) + 1, x))(x),
    )
    rows = x.reshape(8, 125)
    assert_close(jax.vmap(swish)(rows), expected(rows))
    assert_close(jax.jit(jax.vmap(jax.vmap(swish)))(rows.reshape(2, 4, 125)), expected(rows).reshape(2, 4, 125))


def test_gradients(swish: Any) -> None:
    x, weight = data(33, 65), data(33, 65, seed=1)
    for transform in (lambda f: f, jax.jit):
        found = transform(jax.grad(lambda x: (swish(x, 0.7) * weight).sum()))(x)
        assert_close(found, jax.grad(lambda x: (expected(x, 0.7) * weight).sum())(x))
    found = jax.vmap(jax.grad(lambda x: swish(x).sum()))(x)
    assert_close(found, jax.vmap(jax.grad(lambda x: expected(x).sum()))(x))


def test_inputs_are_changed_in_place_only_if_they_are_donated(kernels: Any) -> None:
    add_scaled = operators(kernels)[1]
    x, y = data(1000), data(1000, seed=1)
    wanted = y + 3 * x
    kept = jax.jit(lambda x, y: (add_scaled(3.0, x, y), y))
    for _ in range(3):
        assert_close(kept(x, y)[0], wanted)
        assert_close(add_scaled(3.0, x, y), wanted)
        assert_close(kept(x, y)[1], data(1000, seed=1))
    address = y.unsafe_buffer_pointer()
    result = jax.jit(partial(add_scaled, 3.0), donate_argnums=1)(x, y)
    assert_close(result, wanted)
    assert y.is_deleted() and result.unsafe_buffer_pointer() == address


def test_outputs_with_an_initial_content(kernels: Any) -> None:
    count = operators(kernels)[2]
    x = jnp.asarray(np.random.default_rng(0).integers(0, 9, 10_000), jnp.int32)
    for call in (count, jax.jit(count, static_argnums=1)):
        for _ in range(2):
            counts, largest = call(x, 9)
            assert (np.asarray(counts) == np.bincount(np.asarray(x), minlength=9)).all() and largest == 9


def test_in_threads(swish: Any) -> None:
    def work(number: int) -> None:
        device = jax.devices("cuda")[number % jax.device_count("cuda")]
        x = jax.device_put(data(1000 + number, seed=number), device)
        for _ in range(50):
            y = swish(swish(x, 0.5))
            assert y.devices() == {device}
        assert_close(y, expected(expected(x, 0.5)))

    in_threads(work)


def test_on_two_gpus(swish: Any) -> None:
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    if jax.device_count("cuda") < 2:
        pytest.skip("there is one GPU")
    devices = jax.devices("cuda")[:2]
    for device in reversed(devices):
        y = swish(jax.device_put(data(100), device))
        assert y.devices() == {device}
        assert_close(y, expected(data(100)))
    mesh = Mesh(np.array(devices), ("rows",))
    x = jax.device_put(data(64, 100), NamedSharding(mesh, PartitionSpec("rows")))
    shard_map = getattr(jax, "shard_map", None)
    if shard_map is None:
        from jax.experimental.shard_map import shard_map

    specs = {"mesh": mesh, "in_specs": PartitionSpec("rows"), "out_specs": PartitionSpec("rows")}
    sharded = jax.jit(shard_map(lambda x: swish(swish(x) + jax.lax.psum(x.sum(), "rows")), **specs))
    for _ in range(20):
        y = sharded(x)
    assert len(y.devices()) == 2
    assert_close(y, expected(expected(x) + x.sum()))
    assert_close(jax.jit(swish)(x), expected(x))  # without shard_map, JAX collects the array first


def test_errors_of_launches_are_errors_of_jax(swish: Any, kernels: Any) -> None:
    x = data(10)
    with pytest.raises(cuda_wheel.ArgumentError, match="tests::swish takes x of float32 or float16, not of int32"):
        swish(jnp.arange(3))
    large = cuda_wheel.jax.operator(
        "tests::large", kernel=kernels["swish<float>"], arguments="x, y, n, beta", outputs={"y": "x"},
        values={"n": 1, "beta": 1.0}, grid=1, block=lambda n: 1024 + n,
    )  # fmt: skip
    for _ in range(2):
        with pytest.raises(jax.errors.JaxRuntimeError, match=r"a block of \(1025, 1, 1\) is too large"):
            jax.block_until_ready(large(x))
    assert_close(swish(x), expected(x))


GRAPHS = """
import sys
import jax, jax.numpy as jnp, numpy as np
import cuda_wheel, cuda_wheel.jax
from cuda_wheel.jax.handler import ProgramLaunches

calls = 0
run = ProgramLaunches.run
def counted(self, *arguments):
    global calls
    calls += 1
    run(self, *arguments)
ProgramLaunches.run = counted
saxpy = cuda_wheel.jax.operator(
    "graphs::saxpy", module="saxpy_demo.kernels.saxpy", kernel="saxpy", arguments="a, x, y, n",
    values={"n": lambda x: x.size}, grid=lambda n: -(-n // 256), block=256,
)
@jax.jit
def program(x, y):
    for number in range(1, 9):
        y = saxpy(float(number), x, y) * 0.5
    return y
def wanted(x, y):
    for number in range(1, 9):
        y = (y + np.float32(number) * x) * np.float32(0.5)
    return y
random = np.random.default_rng(0)
for turn in range(10):  # the first turn loads the module, perhaps during a capture
    x, y = random.random((2, 1000), np.float32)
    found = program(jnp.asarray(x), jnp.asarray(y))
    np.testing.assert_allclose(np.asarray(found), wanted(x, y), rtol=1e-5)
    del found
print("calls:", calls)
"""


def test_in_cuda_graphs_and_without(saxpy: Path) -> None:
    calls = []
    for flags in ("--xla_gpu_graph_min_graph_size=1", "--xla_gpu_enable_command_buffer="):
        result = run(sys.executable, "-c", GRAPHS, XLA_FLAGS=flags)
        assert result.returncode == 0, result.stdout
        calls.append(int(result.stdout.rpartition("calls: ")[2]))
    assert calls[0] < calls[1] == 80, "XLA replays what it captured; without graphs, it calls the handler each time"


EXIT = """
import jax, jax.numpy as jnp
import cuda_wheel, cuda_wheel.jax
saxpy = cuda_wheel.jax.operator(
    "exit::saxpy", module="saxpy_demo.kernels.saxpy", kernel="saxpy", arguments="a, x, y, n",
    values={"n": lambda x: x.size}, grid=lambda n: -(-n // 256), block=256,
)
@jax.jit
def program(x, y):
    return jax.lax.fori_loop(0, 300, lambda _, y: saxpy(0.5, x @ x, y), y)
x = jnp.ones((1500, 1500))
jax.block_until_ready(program(x, x))
kept = x
for _ in range(5):
    kept = program(x, kept)
    program(kept, x)
print("dispatched")
"""


def test_a_program_that_runs_while_the_interpreter_ends(saxpy: Path) -> None:
    result = run(sys.executable, "-c", EXIT)
    assert result.returncode == 0, result.stdout
    assert result.stdout.strip().endswith("dispatched"), result.stdout


def test_exported_programs_name_the_operator(swish: Any, kernels: Any) -> None:
    pytest.importorskip("flatbuffers", reason="JAX needs flatbuffers to serialise programs")
    from jax import export

    x = data(100)
    checks = [export.DisabledSafetyCheck.custom_call("cuda_wheel_launch")]
    program = export.export(jax.jit(swish), platforms=["cuda"], disabled_checks=checks)(x)
    assert_close(export.deserialize(program.serialize()).call(x), expected(x))


def test_the_example_runs(kernels: Any, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples/jax_operator", tmp_path / "example")
    result = run(sys.executable, "-m", "jax_operator_demo", PYTHONPATH=str(tmp_path / "example/src"))
    assert result.returncode == 0, result.stdout
    assert result.stdout.count("largest error") == 9


EXPORTED = """
import sys
from pathlib import Path
import jax, jax.numpy as jnp, numpy as np
from jax import export
import cuda_wheel, cuda_wheel.jax

file, what, factor = sys.argv[1:]
SOURCE = "__global__ void scale(const float* x, float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = FACTOR * x[threadIdx.x]; }"
kernel = cuda_wheel.compile(SOURCE, name="scaling", defines={"FACTOR": int(factor)})["scale"]
scale = cuda_wheel.jax.operator(
    "exported::scale", kernel=kernel, arguments="x, y, n", outputs={"y": "x"}, values={"n": 9}, grid=1, block=32,
)
x = jnp.arange(9.0)
if what == "save":
    checks = [export.DisabledSafetyCheck.custom_call("cuda_wheel_launch")]
    program = export.export(jax.jit(scale), platforms=["cuda"], disabled_checks=checks)(x)
    Path(file).write_bytes(program.serialize())
found = export.deserialize(bytearray(Path(file).read_bytes())).call(x)
print("found", np.asarray(found).tolist())
"""


def test_an_exported_program_runs_no_other_kernel(kernels: Any, tmp_path: Path) -> None:
    pytest.importorskip("flatbuffers", reason="JAX needs flatbuffers to serialise programs")
    file = tmp_path / "program"
    for what in ("save", "load"):
        result = run(sys.executable, "-c", EXPORTED, file, what, "2")
        assert f"found {[2.0 * number for number in range(9)]}" in result.stdout, result.stdout
    result = run(sys.executable, "-c", EXPORTED, file, "load", "3")
    assert result.returncode and "made for another version of exported::scale" in result.stdout, result.stdout
    assert "found" not in result.stdout


DAEMONS = (
    EXIT.replace("kept = x\n", "").partition("for _ in range(5)")[0]
    + """
import sys, threading, time
started = threading.Event()
def work():
    kept = [x]
    while True:
        kept.append(program(kept[-1], x))
        started.set()
        if sys.argv[1] == "queue" and len(kept) > 20:
            time.sleep(1000)
threading.Thread(target=work, daemon=True).start()
started.wait()
print("dispatched")
"""
)


@pytest.mark.parametrize("how", ["queue", "loop"])
def test_a_daemon_thread_that_runs_programs_at_exit(saxpy: Path, how: str) -> None:
    for _ in range(3):
        result = run(sys.executable, "-c", DAEMONS, how)
        assert result.returncode == 0, result.stdout
        assert result.stdout.strip().endswith("dispatched"), result.stdout


def test_backward_names_every_gradient(kernels: Any) -> None:
    for backward in (lambda x: x, lambda grad_counts, x: x):
        with pytest.raises(cuda_wheel.ArgumentError, match="backward must be a function of grad_largest too"):
            cuda_wheel.jax.operator(
                "tests::named", kernel=kernels["count"], arguments="x, counts, largest, n, classes",
                outputs={"counts": lambda classes: jnp.zeros(classes, jnp.int32), "largest": "x"},
                backward=backward, **SIZES,
            )  # fmt: skip


CHOICES = """
template <int N, int K> __global__ void knn(const float* x, const float* mask, int* y, int rows)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows)
        for (int k = 0; k < K; ++k) y[i * K + k] = int(x[i * N]) + 100 * N + k + (mask ? 1000 : 0);
}
struct Pair { int a; float b; };
__global__ void by_value(const float* x, float* y, Pair pair, float4 four, int n)
{
    if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] + pair.a + pair.b + four.x + 10 * four.y + 100 * four.z + 1000 * four.w;
}
"""


def test_the_kernel_is_chosen_by_value(kernels: Any) -> None:
    module = cuda_wheel.compile(CHOICES, instantiate=["knn<3, 2>", "knn<3, 4>", "knn<5, 2>"])
    knn = cuda_wheel.jax.operator(
        "tests::knn",
        kernel=lambda x, k: f"knn<{x.shape[1]}, {k}>",
        kernels=[module[name] for name in ("knn<3, 2>", "knn<3, 4>", "knn<5, 2>")],
        arguments="x, mask, y, rows",
        outputs={"y": lambda x, k: jax.ShapeDtypeStruct((x.shape[0], k), jnp.int32)},
        values={"rows": lambda x: x.shape[0], "mask": None},
        more_arguments={"k": int},
        grid=lambda rows: -(-rows // 128),
        block=128,
    )
    for columns, k in ((3, 2), (3, 4), (5, 2), (3, 2)):
        x = jnp.arange(columns * 200.0).reshape(200, columns)
        for call in (knn, jax.jit(knn, static_argnums=1)):
            found = np.asarray(call(x, k))
            assert (found == np.arange(200)[:, None] * columns + 100 * columns + np.arange(k)).all()
    with pytest.raises(cuda_wheel.ArgumentError, match="kernel returned 'knn<7, 2>', which is not one of kernels"):
        knn(jnp.zeros((2, 7)), 2)
    by_value = cuda_wheel.jax.operator(
        "tests::by_value", kernel=module["by_value"], arguments="x, y, pair, four, n", outputs={"y": "x"},
        values={
            "pair": lambda: np.array((3, 0.5), [("a", "i4"), ("b", "f4")]),
            "four": lambda x: np.arange(4) + x.ndim,
            "n": lambda x: x.size,
        },
        grid=1, block=32,
    )  # fmt: skip
    assert_close(by_value(jnp.arange(9.0)), jnp.arange(9.0) + 3.5 + 4321)


def test_derivatives_and_batches_by_kernels(kernels: Any) -> None:
    gradient = cuda_wheel.jax.operator(
        "tests::swish_gradient", kernel=kernels["swish_gradient"], arguments="grad_y, x, grad_x, n, beta",
        outputs={"grad_x": "x"}, **SIZES,
    )  # fmt: skip
    shapes: list[Any] = []

    def rule(x: Any, beta: float) -> Any:
        shapes.append(x.shape)
        return swish(x, beta)

    swish = cuda_wheel.jax.operator(
        "tests::swish", kernel=kernels["swish<float>"], arguments="x, y, n, beta", outputs={"y": "x"}, vmap=rule,
        backward=lambda grad_y, x, beta: gradient(grad_y, x, beta),
        jvp=lambda tangent_x, x, beta: gradient(tangent_x, x, beta), **SIZES,
    )  # fmt: skip
    x, direction = data(8, 125), data(8, 125, seed=1)
    one, wanted = lambda x: swish(x, 0.7), lambda x: expected(x, 0.7)
    for transform in (lambda f: f, jax.jit):
        assert_close(
            transform(lambda x: jax.jvp(one, (x,), (direction,))[1])(x), jax.jvp(wanted, (x,), (direction,))[1]
        )
        assert_close(transform(jax.grad(lambda x: one(x).sum()))(x), jax.grad(lambda x: wanted(x).sum())(x))
        assert_close(transform(jax.vmap(jax.jacfwd(one)))(x[:2, :5]), jax.vmap(jax.jacfwd(wanted))(x[:2, :5]))
        assert_close(transform(jax.vmap(jax.grad(lambda x: one(x).sum())))(x), jax.grad(lambda x: wanted(x).sum())(x))
    assert_close(jax.vmap(one)(x), wanted(x))
    assert shapes[-1] == (8, 125)
