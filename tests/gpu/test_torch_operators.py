"""PyTorch operators of `cuda_wheel.torch` on a real GPU, compared with PyTorch's own: the fixture `torch_op`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel
from tests.gpu.conftest import prebuilt_sets
from tests.gpu.support import in_threads
from tests.support.processes import run
from tests.support.projects import ROOT
from tests.support.toolchains import installed_extra

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

EXAMPLE = ROOT / "examples/torch_operator"

PYTORCHS_OWN_WARNINGS = [
    "ignore::DeprecationWarning",
    "ignore::FutureWarning",
    "ignore:The CUDA Graph is empty",  # a graph that torch.compile begins with
    "ignore:TensorFloat32 tensor cores",
    "ignore:There is a performance drop",  # torch.vmap of any operator without a rule of its own
    "ignore:.*[Pp]rofiler",
]
pytestmark = pytest.mark.filterwarnings(*PYTORCHS_OWN_WARNINGS)


@pytest.fixture(scope="module")
def demo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the fixture's package. Its operators are registered once in a process, so that it stays imported."""
    import zipfile

    if installed_extra():
        wheel = request.getfixturevalue("fixture_wheel")("torch_op")
    else:
        wheel = request.getfixturevalue("prebuilt")((prebuilt_sets() or ["cu13"])[0], "torch_op")
    folder = tmp_path_factory.mktemp("torch_op")
    zipfile.ZipFile(wheel).extractall(folder)
    sys.path.insert(0, str(folder))
    import torch_op_demo

    yield torch_op_demo
    sys.path.remove(str(folder))


def expected(x: Any, bias: Any) -> Any:
    return torch.nn.functional.silu(x.float() + bias.float()).to(x.dtype)


def data(*shape: int, dtype: Any = None, grad: bool = False, device: str = "cuda") -> tuple[Any, Any]:
    x = torch.randn(*shape, device=device, dtype=dtype, requires_grad=grad)
    return x, torch.randn(shape[-1], device=device, dtype=dtype, requires_grad=grad)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (3, 4, 1000), (0, 8), (70_000, 3)])
def test_the_result_is_pytorchs(demo: Any, shape: tuple[int, ...], dtype: Any) -> None:
    x, bias = data(*shape, dtype=dtype)
    torch.testing.assert_close(demo.gated(x, bias), expected(x, bias))


def test_gradients_are_pytorchs(demo: Any) -> None:
    x, bias = data(33, 65, grad=True)
    weight = torch.randn(33, 65, device="cuda")
    found = torch.autograd.grad((demo.gated(x, bias) * weight).sum(), (x, bias))
    wanted = torch.autograd.grad((expected(x, bias) * weight).sum(), (x, bias))
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_pytorchs_checks_of_operators_pass(demo: Any) -> None:
    for arguments in (data(6, 4, grad=True), data(6, 4), data(0, 4), data(6, 4, dtype=torch.float16)):
        torch.library.opcheck(demo.gated, arguments)
    x, bias = data(4, 6)
    torch.library.opcheck(demo.gated, (x.t(), torch.randn(4, device="cuda")))
    torch.library.opcheck(demo.gradient, (x, x, bias))


def test_plain_tensors_take_the_short_way_to_their_gradient(demo: Any) -> None:
    x, bias = data(5, 7, grad=True)
    assert type(demo.gated(x, bias).grad_fn).__name__ == "gatedBackward"
    with torch.no_grad():
        assert not demo.gated(x, bias).requires_grad
    found = torch.autograd.grad(demo.gated(x, bias).square().sum(), bias)
    torch.testing.assert_close(found, torch.autograd.grad(expected(x, bias).square().sum(), bias))


def declared(demo: Any, name: str, **more: Any) -> Any:
    """Return another operator of the kernel for float32."""
    declaration = {"kernel": "gate<float>", "arguments": "x, bias, y, n, columns", "outputs": {"y": "x"}, **demo.SHAPE}
    return cuda_wheel.torch.operator(f"cuda_wheel_gpu_tests::{name}", **declaration | more)


def test_tensors_that_are_not_contiguous(demo: Any) -> None:
    x, _ = data(9, 5)
    bias = torch.randn(18, device="cuda")[::2]
    torch.testing.assert_close(demo.gated(x.t(), bias), expected(x.t(), bias))
    refusing = declared(demo, "refusing", non_contiguous="refuse")
    with pytest.raises(cuda_wheel.ArgumentError, match=r"refusing: bias must be contiguous: pass bias.contiguous\(\)$"):
        refusing(x.t().contiguous(), bias)
    torch.testing.assert_close(refusing(x, x[0]), expected(x, x[0]))
    zero = torch.zeros(9, device="cuda")
    # The kernel reads the memory in its order, which is that of the columns of x.t().
    like = {"y": lambda x: torch.empty_like(x)}
    strided = declared(demo, "strided", non_contiguous="pass", outputs=like)(x.t(), zero)
    torch.testing.assert_close(strided, expected(x.t(), zero))
    dense = declared(demo, "dense", non_contiguous="pass")(x.t(), zero)
    assert dense.is_contiguous()
    torch.testing.assert_close(dense.flatten(), expected(x, zero[:5]).flatten())


def test_wrong_tensors_are_refused(demo: Any) -> None:
    x, bias = data(4, 6)
    torch.testing.assert_close(demo.gated(x, bias), expected(x, bias))  # what was accepted before changes nothing
    for arguments, message in (
        ((x.double(), bias.double()), r"gated takes x of float32 or float16, not of float64$"),
        ((x, bias.half()), r"argument 2 \(const float\*\): takes an array of float32, not of float16$"),
        ((x, bias.cpu()), r"argument 2 \(const float\*\): is a tensor in host memory"),
        ((x.cpu(), bias.cpu()), r"gated takes tensors on a GPU of CUDA, not on cpu$"),
        ((x.cpu(), bias), r"gated: the first tensor is in host memory, but others are on a GPU$"),
        ((x.to_sparse(), bias), r"neither sparse nor quantized, not sparse_coo of float32, strided of float32$"),
        ((x.long(), bias), r"gated takes x of float32 or float16, not of int64$"),
    ):
        with pytest.raises(cuda_wheel.ArgumentError, match=message):
            demo.gated(*arguments)


def test_autocast_converts_the_inputs(demo: Any) -> None:
    x, bias = data(4, 6)
    for _ in range(3):  # then such a call is recognised outside of autocast
        assert demo.gated(x, bias).dtype is torch.float32
    with torch.autocast("cuda", dtype=torch.float16):
        found = demo.gated(x, bias)
    assert found.dtype is torch.float16
    torch.testing.assert_close(found, expected(x.half(), bias.half()))
    x.requires_grad_()
    for _ in range(3):
        assert demo.gated(x, bias).dtype is torch.float32
    with torch.autocast("cuda", dtype=torch.float16):
        found = torch.autograd.grad(demo.gated(x, bias).float().sum(), x)
    assert found[0].dtype is torch.float32
    torch.testing.assert_close(found, torch.autograd.grad(expected(x, bias).sum(), x), rtol=0.02, atol=0.02)


def test_modes_and_transforms_of_pytorch(demo: Any) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Log(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    x, bias = data(5, 7, grad=True)
    with Log():
        demo.gated(x, bias).sum().backward()
    assert [each for each in seen if each.startswith("torch_op_demo")] == [
        "torch_op_demo.gated.default",
        "torch_op_demo.gated_gradient.default",
    ]
    with torch.profiler.profile() as profile:
        demo.gated(x, bias)
    assert "torch_op_demo::gated" in {event.name for event in profile.events()}
    x, bias = data(5, 7)
    torch.testing.assert_close(torch.vmap(demo.gated, in_dims=(0, None))(x, bias), expected(x, bias))
    torch.testing.assert_close(torch.func.functionalize(demo.gated)(x, bias), expected(x, bias))
    with torch.inference_mode():
        torch.testing.assert_close(demo.gated(x, bias), expected(x, bias))


BACKENDS = ["aot_eager", "cudagraphs"] + (["inductor"] if shutil.which("gcc") else [])
"""Inductor's code needs a C compiler."""


@pytest.mark.parametrize("backend", BACKENDS)
def test_torch_compile_keeps_one_graph(demo: Any, backend: str) -> None:
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, bias: demo.gated(x * 2, bias) + 1, fullgraph=True, backend=backend)
    for size in (4, 8, 12):
        x, bias = data(size, 16, grad=True)
        y = compiled(x, bias)
        torch.testing.assert_close(y, expected(x * 2, bias) + 1)
        found = torch.autograd.grad(y.sum(), (x, bias))
        wanted = torch.autograd.grad((expected(x * 2, bias) + 1).sum(), (x, bias))
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_torch_export_runs_the_operator(demo: Any) -> None:
    class Model(torch.nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, x: Any, bias: Any) -> Any:
            return demo.gated(x, bias)

    program = torch.export.export(Model(), data(4, 6), dynamic_shapes=({0: torch.export.Dim("rows", min=2)}, None))
    x, bias = data(9, 6)
    torch.testing.assert_close(program.module()(x, bias), expected(x, bias))


def test_in_a_cuda_graph_with_its_gradient(demo: Any) -> None:
    x, bias = data(64, 32, grad=True)
    weight = torch.randn_like(x)

    def step(function: Any, x: Any, bias: Any) -> Any:
        y = function(x, bias)
        return y.detach(), *torch.autograd.grad((y * weight).sum(), (x, bias))

    side = torch.cuda.Stream()  # the first calls load the module, which a capture does not allow
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step(demo.gated, x, bias)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = step(demo.gated, x, bias)
    for _ in range(3):
        with torch.no_grad():
            for each in (x, bias, weight):
                each.copy_(torch.randn_like(each))
        graph.replay()
        torch.cuda.synchronize()
        wanted = step(expected, *(each.detach().clone().requires_grad_() for each in (x, bias)))
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_on_the_current_stream(demo: Any) -> None:
    x, bias = torch.zeros(64, 32, device="cuda"), torch.zeros(32, device="cuda")
    demo.gated(x, bias)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(300_000_000)
        x.fill_(2)
        y = demo.gated(x, bias)  # on another stream, it would read the zeros of before
    torch.cuda.synchronize()
    torch.testing.assert_close(y, expected(x, bias))


def test_in_threads(demo: Any) -> None:
    def work(number: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(50):
                x, bias = data(64, 32, grad=True)
                y = demo.gated(x, bias)
                y.sum().backward()
                torch.testing.assert_close(y, expected(x, bias))

    in_threads(work)


def test_on_the_gpu_of_the_tensors(demo: Any) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one GPU")
    for device in ("cuda:1", "cuda:0", "cuda:1"):  # cuda:0 is current
        x, bias = data(64, 32, grad=True, device=device)
        y = demo.gated(x, bias)
        y.sum().backward()
        assert str(y.device) == str(x.grad.device) == device
        torch.testing.assert_close(y, expected(x, bias))
    assert torch.cuda.current_device() == 0
    with pytest.raises(cuda_wheel.ArgumentError, match="is an array on GPU 0, but the launch is on GPU 1"):
        demo.gated(x, bias.to("cuda:0"))


def test_threads_of_autograd_have_no_context_at_first(demo: Any) -> None:
    """The first backward pass of a process, whose memory PyTorch has at hand, so that nothing else makes a context."""
    program = """
import torch, torch_op_demo
x, bias = torch.randn(32, 32, device="cuda", requires_grad=True), torch.randn(32, device="cuda", requires_grad=True)
grad = torch.ones_like(x)
for _ in range(3):
    y = torch_op_demo.gated(x, bias)
first, second = torch.autograd.grad(y, (x, bias), grad)
print("computed", bool(first.isfinite().all() and second.isfinite().all()))
"""
    result = run(sys.executable, "-c", program, PYTHONPATH=f"{Path(demo.__file__).parent.parent}:{ROOT}")
    assert "computed True" in result.stdout, result.stdout


@pytest.mark.parametrize("compiled", [False, True])
def test_a_model_learns_as_with_pytorchs_own_operators(demo: Any, compiled: bool) -> None:
    from torch_op_demo.__main__ import train

    if compiled and "inductor" not in BACKENDS:
        pytest.skip("there is no C compiler, which torch.compile needs")
    fused, plain = train(True, compiled=compiled), train(False)
    assert fused[:20] == pytest.approx(plain[:20], rel=1e-3)
    assert fused[-1] == pytest.approx(plain[-1], abs=0.02)
    assert fused[-1] < 0.2


def test_the_example_runs(tmp_path: Path) -> None:
    if not installed_extra():
        pytest.skip("no toolchain is installed")
    shutil.copytree(EXAMPLE, tmp_path / "example")
    result = run(sys.executable, "-m", "torch_operator_demo", PYTHONPATH=str(tmp_path / "example/src"))
    assert result.returncode == 0, result.stdout
    assert result.stdout.startswith("largest error ")


SAXPY: dict[str, Any] = {
    "module": "saxpy_demo.kernels.saxpy",
    "kernel": "saxpy",
    "arguments": "a, x, y, n",
    "values": {"n": lambda x: x.numel()},
    "grid": lambda n: -(-n // 256),
    "block": 256,
}


def test_an_operator_that_writes_its_input(saxpy: Path, install: Callable[[Path], Path]) -> None:
    operator = cuda_wheel.torch.operator("cuda_wheel_gpu_tests::saxpy_", **SAXPY)
    x, y = torch.ones(1000, device="cuda"), torch.ones(1000, device="cuda")
    version = y._version
    operator(3.0, x, y)
    assert bool((y == 4).all()) and y._version > version
    torch.library.opcheck(operator, (3.0, x, y))
    compiled = torch.compile(lambda x, y: operator(2.0, x, y), fullgraph=True, backend="aot_eager")
    compiled(x, y)
    assert bool((y == 6).all())
    with pytest.raises(cuda_wheel.ArgumentError, match="y must be contiguous, because the operator writes it"):
        operator(3.0, x, torch.ones(2000, device="cuda")[::2])


def test_an_operator_that_writes_its_input_drops_no_gradient(saxpy: Path, install: Callable[[Path], Path]) -> None:
    operator = cuda_wheel.torch.operator("cuda_wheel_gpu_tests::saxpy_2", **SAXPY)
    x, y = torch.ones(1000, device="cuda"), torch.ones(1000, device="cuda")
    for arguments in ((x.clone().requires_grad_(), y), (x, y.clone().requires_grad_())):
        for _ in range(2):
            with pytest.raises(
                cuda_wheel.ArgumentError, match="writes y, so it has no gradient, but a tensor requires"
            ):
                operator(3.0, *arguments)
        operator(3.0, x, y)  # what was accepted before changes nothing
    leaf = torch.ones(1000, device="cuda", requires_grad=True)
    version = leaf._version
    with torch.no_grad():
        operator(3.0, x, leaf)
    assert leaf._version > version and bool((leaf == 4).all()) and bool((y == 7).all())


def test_forward_mode_derivatives_are_refused(demo: Any) -> None:
    from torch.autograd import forward_ad

    x, bias = data(5, 7)
    demo.gated(x, bias)
    for operator in (demo.gated, declared(demo, "without_gradient")):
        with forward_ad.dual_level():
            operator(x, bias)
            with pytest.raises(cuda_wheel.ArgumentError, match="has no forward-mode derivative"):
                operator(forward_ad.make_dual(x, x), bias)
        with pytest.raises(cuda_wheel.ArgumentError, match="has no forward-mode derivative"):
            torch.func.jvp(lambda x, f=operator: f(x, bias), (x,), (x,))
    with pytest.raises(cuda_wheel.ArgumentError, match="has no gradient, but a tensor requires one"):
        torch.func.grad(lambda x: operator(x, bias).sum())(x)


def test_grids_and_outputs_that_are_none(demo: Any) -> None:
    x, bias = data(4, 6)
    grids: list[Any] = []
    operator = declared(demo, "wrong_grid", grid=lambda n: grids[-1] if n == 24 else 1)
    for grid in (None, 2.5, True, -1, ()):
        grids.append(grid)
        for _ in range(2):
            with pytest.raises(cuda_wheel.ArgumentError, match=r"grid (takes integers|must be one to three numbers)"):
                operator(x, bias)
            operator(x[:1], bias)
    nothing = declared(demo, "grid_of_zero", grid=lambda: (0, 1))
    assert nothing(x, bias).shape == x.shape
    aliased = declared(demo, "aliased", outputs={"y": lambda x: x[1:]})
    before = x.clone()
    with pytest.raises(cuda_wheel.ArgumentError, match="the output y shares the memory of x"):
        aliased(x, bias)
    assert x.equal(before)


def test_names_of_builtins_and_any_default(demo: Any) -> None:
    operator = declared(
        demo, "builtins", arguments="type, len, isinstance, tuple, int", outputs={"isinstance": "type"},
        values={"tuple": lambda type: type.numel()}, defaults={"int": 6}, grid=lambda tuple: -(-tuple // 256),
        backward=lambda grad_isinstance, type: (grad_isinstance * type, None),
    )  # fmt: skip
    x, bias = data(4, 6)
    torch.testing.assert_close(operator(x, bias), expected(x, bias))
    x.requires_grad_()
    assert torch.autograd.grad(operator(x, bias, int=6).sum(), x)[0].equal(x.detach())


@pytest.mark.parametrize("default", ["inf", "-inf", "nan"])
def test_infinities_are_defaults(saxpy: Path, install: Callable[[Path], Path], default: str) -> None:
    name = f"cuda_wheel_gpu_tests::saxpy_{default.replace('-', 'minus_')}"
    operator = cuda_wheel.torch.operator(name, **SAXPY, defaults={"a": float(default)})
    x, y = torch.ones(9, device="cuda"), torch.zeros(9, device="cuda")
    operator(x, y)
    torch.testing.assert_close(y, torch.full_like(y, float(default)), equal_nan=True)
