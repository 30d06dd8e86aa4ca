"""PyTorch operators of `cuda_wheel.torch` on a real GPU, compared with PyTorch's own: the fixture `torch_op`."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel
from tests.gpu.conftest import prebuilt_sets
from tests.support.toolchains import installed_extra

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # PyTorch's own


@pytest.fixture(scope="module")
def demo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the fixture's package. Its operators are registered once in a process, so that it stays imported."""
    import sys
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


def test_tensors_that_are_not_contiguous_are_copied(demo: Any) -> None:
    x, _ = data(9, 5)
    bias = torch.randn(18, device="cuda")[::2]
    torch.testing.assert_close(demo.gated(x.t(), bias), expected(x.t(), bias))


def test_wrong_tensors_are_refused(demo: Any) -> None:
    x, bias = data(4, 6)
    for arguments, message in (
        ((x.double(), bias.double()), r"gated takes x of float32 or float16, not of float64$"),
        ((x, bias.half()), r"argument 2 \(const float\*\): takes an array of float32, not of float16$"),
        ((x, bias.cpu()), r"argument 2 \(const float\*\): is a tensor in host memory"),
        ((x.cpu(), bias.cpu()), r"gated takes tensors on a GPU of CUDA, not on cpu$"),
    ):
        with pytest.raises(cuda_wheel.ArgumentError, match=message):
            demo.gated(*arguments)


def test_autocast_converts_the_inputs(demo: Any) -> None:
    x, bias = data(4, 6)
    with torch.autocast("cuda", dtype=torch.float16):
        found = demo.gated(x, bias)
    assert found.dtype is torch.float16
    torch.testing.assert_close(found, expected(x.half(), bias.half()))


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


def test_in_a_cuda_graph(demo: Any) -> None:
    x, bias = data(64, 32)
    demo.gated(x, bias)  # the first call loads the module, which a capture does not allow
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = demo.gated(x, bias)
    x.copy_(torch.randn_like(x))
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(y, expected(x, bias))


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
    failures: list[BaseException] = []

    def work() -> None:
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(50):
                    x, bias = data(64, 32, grad=True)
                    y = demo.gated(x, bias)
                    y.sum().backward()
                    torch.testing.assert_close(y, expected(x, bias))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


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


@pytest.mark.parametrize("compiled", [False, True])
def test_a_model_learns_as_with_pytorchs_own_operators(demo: Any, compiled: bool) -> None:
    from torch_op_demo.__main__ import train

    if compiled and "inductor" not in BACKENDS:
        pytest.skip("there is no C compiler, which torch.compile needs")
    fused, plain = train(True, compiled=compiled), train(False)
    assert fused[:20] == pytest.approx(plain[:20], rel=1e-3)
    assert fused[-1] == pytest.approx(plain[-1], abs=0.02)
    assert fused[-1] < 0.2


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
