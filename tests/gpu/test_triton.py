"""Triton kernels on a real GPU, without Triton's launcher: each result is compared with that of Triton's own launch,
bit by bit. The kernels are compiled on load, by the same jobs as in a build."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel
import cuda_wheel.torch
from cuda_wheel.runtime.errors import ArgumentError, UnknownKernelError
from tests.support.processes import run
from tests.support.toolchains import installed_extra
from tests.support.triton_project import CLUSTERS, write_triton_project

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
triton = pytest.importorskip("triton", reason="Triton is not installed")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield the module with the kernels, for Triton's own launches; `load` compiles them from its source tree."""
    if installed_extra() is None:
        pytest.skip("no toolchain is installed here to compile with")
    root = write_triton_project(tmp_path_factory.mktemp("project") / "demo", CLUSTERS)
    sys.path.insert(0, str(root))
    yield importlib.import_module("demo.cases")
    sys.path.remove(str(root))
    for name in [each for each in sys.modules if each.partition(".")[0] == "demo"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def compiled(package: Any) -> Any:
    return cuda_wheel.load("demo.cases")


def random(*shape: int, dtype: Any = torch.float32) -> Any:
    return torch.randn(*shape, device="cuda").to(dtype)


@pytest.mark.parametrize("n", [1, 16, 1000, 98_304, 98_431])
@pytest.mark.parametrize("block", [256, 1024])
def test_numbers_and_alignment(package: Any, compiled: Any, n: int, block: int) -> None:
    torch.manual_seed(n)
    x = random(n + 1)
    for values in (x[:n], x[1:]):  # the second is not aligned to 16 bytes
        own, ours = torch.zeros(n, device="cuda"), torch.zeros(n, device="cuda")
        grid = lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)  # noqa: E731
        given = {} if values.data_ptr() % 16 else {"BLOCK": block}
        package.scale[grid](own, values, n, 1.7, **given)
        compiled["scale"].launch(grid, ours, values, n, 1.7, **given)
        assert own.equal(ours) and own.abs().sum() > 0
        compiled["scale"][grid](ours.zero_(), values, n=n, factor=1.7, **given)
        assert own.equal(ours)
        bound = compiled["scale"].bind((triton.cdiv(n, given.get("BLOCK", 256)),), ours, values, n, 1.7, **given)
        ours.zero_()
        bound()
        assert own.equal(ours)
        bound(ours.zero_(), values, n, 3.4)
        assert not own.equal(ours)


def test_other_types(package: Any, compiled: Any) -> None:
    x = random(1000, dtype=torch.bfloat16)
    own, ours = torch.zeros_like(x), torch.zeros_like(x)
    package.scale[(4,)](own, x, 1000, 0.3)
    compiled["scale"].launch(4, ours, x, 1000, 0.3)
    assert own.equal(ours)
    x = random(1000)
    own, ours = torch.zeros_like(x), torch.zeros_like(x)
    package.scale[(4,)](own, x, 1000, 3)
    compiled["scale"].launch((4,), ours, x, 1000, 3)
    assert own.equal(ours)


@pytest.mark.parametrize("negate", [True, False])
@pytest.mark.parametrize("stride", [1, 3])
@pytest.mark.parametrize("with_bias", [True, False])
def test_none_constants_and_one(package: Any, compiled: Any, negate: bool, stride: int, with_bias: bool) -> None:
    n = 500
    x, bias = random(n * stride), random(n) if with_bias else None
    own, ours = torch.zeros(n, device="cuda"), torch.zeros(n, device="cuda")
    package.strided[(4,)](own, x, bias, stride, n, NEGATE=negate, BLOCK=128)
    compiled["strided"].launch((4,), ours, x, bias, stride, n, NEGATE=negate, BLOCK=128)
    assert own.equal(ours)
    expected = x[::stride] + (bias if with_bias else 0)
    assert ours.equal(-expected if negate else expected)


@pytest.mark.parametrize("n", [4096, 5000])
def test_constants_that_triton_computes(package: Any, compiled: Any, n: int) -> None:
    x = random(n)
    own, ours = torch.zeros(1, device="cuda"), torch.zeros(1, device="cuda")
    package.total[(1,)](own, x, n, BLOCK=1024)
    compiled["total"].launch((1,), ours, x, n, BLOCK=1024, EVEN=n % 1024 == 0)
    assert own.equal(ours)
    with pytest.raises(ArgumentError, match=r"got no value for 'EVEN', which triton\.heuristics computes"):
        compiled["total"].launch((1,), ours, x, n, BLOCK=1024)


def test_what_autotune_chooses_may_be_left_out(compiled: Any) -> None:
    x = random(1000)
    seen = []

    def grid(meta: dict[str, Any]) -> tuple[int]:
        seen.append((meta["BLOCK"], meta["num_warps"]))
        return (triton.cdiv(1000, meta["BLOCK"]),)

    for options in ({}, {"BLOCK": 256}, {"num_warps": 4}, {"BLOCK": 256, "num_warps": 4}):
        ours = torch.zeros_like(x)
        compiled["tuned_copy"].launch(grid, ours, x, 1000, **options)
        compiled["tuned_copy"].launch(grid, ours, x, 1000, **options)
        assert ours.equal(x)
    assert seen == [(64, 2)] * 2 + [(256, 2)] * 2 + [(64, 4)] * 2 + [(256, 4)] * 2


def test_scratch_memory(package: Any, compiled: Any) -> None:
    x = random(256, 192, dtype=torch.float16)
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    own, ours = (torch.zeros(192, 256, device="cuda", dtype=torch.float16) for _ in range(2))
    package.transposed[(4, 3)](own, x, 256, 192, BLOCK=64)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        compiled["transposed"].launch((4, 3), ours, x, 256, 192, BLOCK=64)
    side.synchronize()
    assert own.equal(ours) and ours.equal(x.mT)
    bound = compiled["transposed"].bind((4, 3), ours, x, 256, 192, BLOCK=64)
    ours.zero_()
    bound()
    assert own.equal(ours)


def test_clusters(package: Any, compiled: Any) -> None:
    x = random(32, 1024)
    for blocks in (1, 2):
        own, ours = torch.zeros_like(x), torch.zeros_like(x)
        package.doubled_rows[(32,)](own, x, 1024, num_ctas=blocks)
        compiled["doubled_rows"].launch((32,), ours, x, 1024, num_ctas=blocks)
        assert own.equal(ours) and ours.equal(2 * x)


@pytest.mark.parametrize("precision", ["ieee", "tf32"])
def test_strings_types_and_options(package: Any, compiled: Any, precision: str) -> None:
    import triton.language as tl

    a, b = random(64, 64), random(64, 64)
    own, ours = torch.zeros_like(a), torch.zeros_like(a)
    package.product[(1,)](own, a, b, 64, precision, tl.float32, enable_fp_fusion=False)
    for out in (tl.float32, "tl.float32"):
        compiled["product"].launch((1,), ours.zero_(), a, b, 64, precision, out)
        assert own.equal(ours)


def test_an_empty_grid_launches_nothing(compiled: Any) -> None:
    x = random(16)
    ours = torch.zeros_like(x)
    compiled["scale"].launch((0,), ours, x, 16, 2.0)
    compiled["scale"].launch(lambda meta: (1, 0), ours, x, 16, 2.0)
    assert not ours.any()


def test_launches_follow_pytorchs_stream(compiled: Any) -> None:
    x = torch.zeros(1 << 20, device="cuda")
    ours = torch.zeros_like(x)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(100_000_000)
        x.fill_(2.0)
        compiled["scale"].launch(lambda meta: (triton.cdiv(1 << 20, meta["BLOCK"]),), ours, x, 1 << 20, 3.0)
        assert ours.eq(6).all()


def test_wrong_launches_say_what_was_compiled(compiled: Any) -> None:
    x = random(64)
    scale = compiled["scale"]
    for arguments, options, said in [
        ((x.double(), x.double(), 64, 1.0), {}, r"scale was not compiled for out_ptr=\*fp64:16"),
        ((x, x, 64, 1.0), {"BLOCK": 512}, r"BLOCK=512\. It was compiled for, the nearest first:\n  out_ptr"),
        ((x, x, 64, 1.0), {"num_warps": 16}, "num_warps=16"),
        ((x, x, 64), {}, "scale got no value for 'factor'"),
        ((x, x, 64, 1.0, 256, 7), {}, "scale takes 5 arguments"),
        ((x, x, 64, 1.0), {"block": 256}, "scale has no parameter 'block'"),
        ((x, x, 64, 1.0), {"n": 64}, "multiple values|two values"),
        ((x, [1], 64, 1.0), {}, "takes arrays on the GPU, numbers, tensor descriptors and None"),
    ]:
        with pytest.raises((ArgumentError, TypeError), match=said):
            scale.launch((1,), *arguments, **options)
    with pytest.raises(ArgumentError, match="grid must be one to three numbers"):
        scale.launch((1, 1, 1, 1), x, x, 64, 1.0)
    with pytest.raises(UnknownKernelError, match=r"did you mean scale\?"):
        compiled["scales"]
    bound = scale.bind((1,), x, x, 64, 1.0)
    with pytest.raises(ArgumentError, match="bound to what was compiled for a multiple of 16 as argument 3"):
        bound(x, x, 63)
    with pytest.raises(ArgumentError, match="bound to what was compiled for a multiple of 16 as argument 2"):
        bound(x, x[1:])


def test_the_example_runs_without_triton(
    example_wheel: Callable[[str], Path], install: Callable[[Path], Path], tmp_path: Path
) -> None:
    """The wheel was built elsewhere; Triton is installed here, and is not imported."""
    install(example_wheel("triton"))
    result = run(sys.executable, "-m", "triton_demo", cwd=tmp_path)
    assert result.returncode == 0 and "agree with PyTorch; Triton was not imported" in result.stdout, result.stdout


# --- declared operators ---------------------------------------------------------------------------------

SCALE: dict[str, Any] = {
    "module": "demo.cases",
    "kernel": "scale",
    "outputs": {"out_ptr": "x_ptr"},
    "read_only": "x_ptr",
    "grid": lambda n, BLOCK: -(-n // BLOCK),
}
TRANSPOSED: dict[str, Any] = {
    "module": "demo.cases",
    "kernel": "transposed",
    "values": {"m": lambda x_ptr: x_ptr.shape[0], "n": lambda x_ptr: x_ptr.shape[1], "BLOCK": 64},
    "read_only": "x_ptr",
    "grid": lambda m, n, BLOCK: (m // BLOCK, n // BLOCK),
}


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"
)  # PyTorch's own
def test_an_operator_of_pytorch(package: Any) -> None:
    declared: dict[str, Any] = SCALE | {"values": {"n": lambda x_ptr: x_ptr.numel()}}
    scale = cuda_wheel.torch.operator(
        "triton_tests::scale", **declared, backward=lambda grad_out_ptr, factor: grad_out_ptr * factor
    )
    for n in (1000, 1024, 98_431):
        x = random(n + 1)
        for values in (x[:n], x[1:]):
            own = torch.zeros(n, device="cuda")
            package.scale[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](own, values, n, 1.7)
            for _ in range(3):
                assert scale(values, 1.7).equal(own)
    x = random(1000).requires_grad_()
    scale(x, 3.0).sum().backward()
    assert x.grad.eq(3).all()
    assert scale(random(1000, dtype=torch.bfloat16), 2.0).dtype is torch.bfloat16
    assert scale(torch.zeros(0, device="cuda"), 2.0).shape == (0,)
    with pytest.raises(ArgumentError, match=r"not compiled for out_ptr=\*fp64"):
        scale(random(8).double(), 1.0)
    x = random(4096)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(50_000_000)
        assert scale(x * 2, 0.5).equal(x)
    torch.library.opcheck(scale, (x, 0.5), test_utils=("test_schema", "test_faketensor"))
    compiled = torch.compile(lambda x: scale(x, 2.0) + 1, fullgraph=True, dynamic=True)
    for n in (640, 1000, 1001):
        x = random(n)
        assert torch.allclose(compiled(x), x * 2 + 1)
    graph = torch.cuda.CUDAGraph()
    x = random(512)
    with torch.cuda.graph(graph):
        result = scale(x, 4.0)
    x.copy_(random(512))
    graph.replay()
    assert result.equal(x * 4)


def test_operators_of_pytorch_choose_what_is_tuned_written_and_optional(package: Any) -> None:
    x = random(1000)
    copying: dict[str, Any] = SCALE | {"kernel": "tuned_copy", "values": {"n": lambda x_ptr: x_ptr.numel()}}
    for at, variant in enumerate([None, {"num_warps": 4}, lambda x_ptr: {"BLOCK": 256 if x_ptr.numel() > 9 else 64}]):
        assert cuda_wheel.torch.operator(f"triton_tests::copy{at}", **copying, variant=variant)(x).equal(x)
    writes = cuda_wheel.torch.operator(
        "triton_tests::write",
        **SCALE | {"outputs": {}, "kernel": "strided"},
        values={"n": lambda x_ptr: x_ptr.numel(), "stride": 1, "BLOCK": 128},
        defaults={"bias_ptr": None},
    )
    assert "(Tensor(out_ptr!) out_ptr, Tensor x_ptr, bool NEGATE, Tensor(bias_ptr!)" in str(writes._schema)
    out = torch.zeros_like(x)
    writes(out, x, True)
    assert out.equal(-x)
    writes(out, x, False, x)
    assert out.equal(x + x)
    turned = cuda_wheel.torch.operator(
        "triton_tests::turn", **TRANSPOSED, outputs={"out_ptr": lambda x_ptr: x_ptr.new_empty(x_ptr.shape[::-1])}
    )
    x = random(256, 192, dtype=torch.float16)
    assert turned(x).equal(x.mT)


JAX = """
import jax, jax.numpy as jnp, numpy as np
import cuda_wheel.jax

scale = cuda_wheel.jax.operator(
    "triton_tests::scale", module="demo.cases", kernel="scale", outputs={"out_ptr": "x_ptr"}, read_only="x_ptr",
    values={"n": lambda x_ptr: x_ptr.size}, grid=lambda n, BLOCK: -(-n // BLOCK),
    backward=lambda grad_out_ptr, factor: grad_out_ptr * factor,
)
for n in (640, 1000, 98_431):
    x = jax.random.normal(jax.random.key(n), n)
    for function in (scale, jax.jit(scale, static_argnums=1)):
        for _ in range(2):
            assert (function(x, 1.7) == x * jnp.float32(1.7)).all(), n
gradient = jax.jit(jax.grad(lambda x: scale(x, 3.0).sum()))(x)
assert (gradient == 3).all()
assert (scale(x.astype(jnp.bfloat16), 2.0) == x.astype(jnp.bfloat16) * 2).all()
assert scale(jnp.zeros(0), 2.0).shape == (0,)
assert (jax.vmap(lambda x: scale(x, 2.0))(x[:9000].reshape(9, 1000)) == x[:9000].reshape(9, 1000) * 2).all()

copies = cuda_wheel.jax.operator(
    "triton_tests::copy", module="demo.cases", kernel="tuned_copy", outputs={"out_ptr": "x_ptr"}, read_only="x_ptr",
    values={"n": lambda x_ptr: x_ptr.size}, grid=lambda n, BLOCK: -(-n // BLOCK), variant={"num_warps": 4},
)
assert (copies(x) == x).all()
turned = cuda_wheel.jax.operator(
    "triton_tests::turn", module="demo.cases", kernel="transposed", read_only="x_ptr",
    outputs={"out_ptr": lambda x_ptr: jax.ShapeDtypeStruct(x_ptr.shape[::-1], x_ptr.dtype)},
    values={"m": lambda x_ptr: x_ptr.shape[0], "n": lambda x_ptr: x_ptr.shape[1], "BLOCK": 64},
    grid=lambda m, n, BLOCK: (m // BLOCK, n // BLOCK),
)
x = jax.random.normal(jax.random.key(1), (256, 192)).astype(jnp.float16)
turn = jax.jit(lambda x: turned(turned(x) * 2))
for _ in range(5):
    assert (turned(x) == x.T).all() and (turn(x) == x * 2).all()
rows = cuda_wheel.jax.operator(
    "triton_tests::rows", module="demo.cases", kernel="doubled_rows", outputs={"out_ptr": "x_ptr"}, read_only="x_ptr",
    values={"n": 1024}, grid=lambda x_ptr: x_ptr.shape[0], variant={"num_ctas": 2},
)
x = jax.random.normal(jax.random.key(2), (32, 1024))
assert (rows(x) == x * 2).all()
print("equal")
"""


def test_operators_of_jax(package: Any, tmp_path: Path) -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    folder = Path(package.__file__).parents[1]
    environ = {"PYTHONPATH": f"{folder}:{Path(cuda_wheel.__file__).parents[1]}"}
    result = run(sys.executable, "-c", JAX, cwd=tmp_path, XLA_PYTHON_CLIENT_PREALLOCATE="false", **environ)
    assert result.returncode == 0 and "equal" in result.stdout, result.stdout
