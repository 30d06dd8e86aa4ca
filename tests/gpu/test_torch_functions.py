"""PyTorch operators that are Python functions, on a real GPU: the example `torch_functions`.

Where nvcc is installed, its C++ extension is built too, and judges the results bit by bit.
"""

from __future__ import annotations

import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel
import cuda_wheel.torch
from tests.gpu.support import in_threads
from tests.gpu.test_torch_operators import BACKENDS, PYTORCHS_OWN_WARNINGS
from tests.support.processes import run
from tests.support.projects import ROOT

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

EXAMPLE = ROOT / "examples/torch_functions"

pytestmark = pytest.mark.filterwarnings(*PYTORCHS_OWN_WARNINGS)


@pytest.fixture(scope="module")
def package(example_wheel: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the example's package, from its wheel."""
    folder = tmp_path_factory.mktemp("package")
    zipfile.ZipFile(example_wheel(EXAMPLE.name)).extractall(folder)
    return folder


@pytest.fixture(scope="module")
def demo(package: Path) -> Iterator[Any]:
    sys.path.insert(0, str(package))
    import torch_functions_demo

    yield torch_functions_demo
    sys.path.remove(str(package))


def rand(*shape: int, dtype: Any = None) -> Any:
    return torch.randn(*shape, device="cuda", dtype=dtype)


def test_the_example_compares_itself_with_pytorch(package: Path) -> None:
    result = run(sys.executable, "-m", "torch_functions_demo", PYTHONPATH=f"{package}:{ROOT}")
    assert result.returncode == 0 and result.stdout.count(": right") == 7, result.stdout


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the extension as nvcc and the C++ compiler build it."""
    from torch.utils import cpp_extension

    if cpp_extension.CUDA_HOME is None or not shutil.which("ninja") or not shutil.which("g++"):
        pytest.skip("nvcc, a C++ compiler or Ninja is missing")
    folder = tmp_path_factory.mktemp("extension")
    major, minor = torch.cuda.get_device_capability()
    environment = pytest.MonkeyPatch()
    environment.setenv("TORCH_CUDA_ARCH_LIST", f"{major}.{minor}")
    source = EXAMPLE / "src/torch_functions_demo/extension.cu"
    yield cpp_extension.load("torch_functions_cpp", [str(source)], build_directory=str(folder))
    environment.undo()


def test_the_results_are_those_of_the_extension(demo: Any, extension: Any) -> None:
    def same(name: str, *arguments: Any) -> None:
        found, wanted = getattr(demo, name)(*arguments), getattr(extension, name)(*arguments)
        pairs = zip(found, wanted, strict=True) if isinstance(found, tuple) else [(found, wanted)]
        for ours, theirs in pairs:
            assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
            assert ours.equal(theirs), name

    for dtype in (torch.float32, torch.float64):
        for dimensions in range(1, 5):
            same("nearest", rand(100, dimensions, dtype=dtype), rand(300, dimensions, dtype=dtype))
        for x in (rand(7, 33, dtype=dtype), rand(33, 7, dtype=dtype).t(), rand(0, 4, dtype=dtype), rand(5, 8)[:, ::2]):
            same("row_sums", x)
    for x in (rand(1000), rand(3, 5), -rand(9).abs(), rand(0)):
        same("above", x, 0.25)
        if x.numel():
            same("normalise", x)
        for weight in (0.1, 1e-7, 65504.0, -3.3):
            same("blend", x.half(), x.half() * 2, weight)
            same("blend", x.half(), None, weight)
        for probability, train in ((0.5, True), (0.1, True), (0.3, False), (0.0, True)):
            torch.cuda.manual_seed(5)
            first = demo.dropout(x, probability, train), demo.dropout(x, probability, train)
            state = torch.cuda.get_rng_state()
            torch.cuda.manual_seed(5)
            second = extension.dropout(x, probability, train), extension.dropout(x, probability, train)
            assert state.equal(torch.cuda.get_rng_state())  # the next random numbers are the same too
            for ours, theirs in zip([*first[0], *first[1]], [*second[0], *second[1]], strict=True):
                assert ours.equal(theirs) and ours.shape == theirs.shape
    for counts in ([3], [0, 5], [*range(20)], []):
        ours, theirs = ([torch.ones(count, device="cuda") / 3 for count in counts] for _ in range(2))
        if counts:
            demo.scale_all(ours, 0.7)
        extension.scale_all(theirs, 0.7)
        assert all(one.equal(other) for one, other in zip(ours, theirs, strict=True))


def arguments_of(demo: Any) -> dict[str, tuple[Any, ...]]:
    """Return arguments for each operator of the example that is not random."""
    x = rand(64)
    return {
        "nearest": (rand(50, 3), rand(20, 3)),
        "above": (x, 0.1),
        "scale_all": ([rand(5), rand(9)], 0.5),
        "row_sums": (rand(6, 9).t(),),
        "blend": (x.half(), None, 0.5),
        "normalise": (x.clone().requires_grad_(),),
    }


@pytest.mark.parametrize("name", ["nearest", "above", "scale_all", "row_sums", "blend", "normalise"])
def test_pytorchs_checks_of_operators_pass(demo: Any, name: str) -> None:
    # Autograd of lists is PyTorch's own matter: the operator writes them, and has no gradient.
    torch.library.opcheck(getattr(demo, name), arguments_of(demo)[name])


def reference(name: str, *arguments: Any) -> Any:
    if name == "nearest":
        return torch.cdist(arguments[1], arguments[0]).argmin(1)
    if name == "above":
        return arguments[0][arguments[0] > arguments[1]]
    if name == "row_sums":
        return arguments[0].sum(1)
    if name == "blend":
        other = 1 if arguments[1] is None else arguments[1].float()
        return (arguments[0].float() + arguments[2] * other).half()
    return arguments[0] / arguments[0].norm()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["nearest", "above", "row_sums", "blend", "normalise"])
def test_torch_compile_keeps_one_graph(demo: Any, name: str, backend: str) -> None:
    if name == "above" and backend == "cudagraphs":
        pytest.skip("a CUDA graph cannot wait for a size")
    torch._dynamo.reset()
    operator = getattr(demo, name)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
        compiled = torch.compile(
            lambda x, *more: operator(x * 1, *more) * 1,
            fullgraph=True,
            backend=backend,
            dynamic=backend != "cudagraphs",  # whose graphs have fixed sizes
        )
        for size in (40, 50, 60):
            x = rand(size)
            arguments: dict[str, tuple[Any, ...]] = {
                "nearest": (rand(size, 3), rand(20, 3)),
                "above": (x, 0.1),
                "row_sums": (rand(size, 9),),
                "blend": (x.half(), x.half(), 0.5),
                "normalise": (x,),
            }
            found = compiled(*arguments[name])
            torch.testing.assert_close(found, reference(name, *arguments[name]), rtol=1e-2, atol=1e-3)


def test_exported_programs_run_in_another_process(demo: Any, package: Path, tmp_path: Path) -> None:
    class Model(torch.nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, points: Any, queries: Any, x: Any) -> Any:
            return demo.nearest(points, queries), demo.above(x, 0.1) + 1, demo.row_sums(x.reshape(-1, 2))

    count = torch.export.Dim("count", min=2)
    inputs = (rand(30, 3), rand(20, 3), rand(64))
    program = torch.export.export(Model(), inputs, dynamic_shapes=({0: count}, None, None))
    torch.export.save(program, tmp_path / "program.pt2")
    inputs = (rand(77, 3), *inputs[1:])
    torch.save((inputs, Model()(*inputs)), tmp_path / "data.pt")
    text = f"""
import torch, torch_functions_demo
inputs, wanted = torch.load({str(tmp_path / "data.pt")!r})
found = torch.export.load({str(tmp_path / "program.pt2")!r}).module()(*inputs)
print("equal", [one.equal(other) for one, other in zip(found, wanted, strict=True)])
"""
    result = run(sys.executable, "-c", text, PYTHONPATH=f"{package}:{ROOT}")
    assert "equal [True, True, True]" in result.stdout, result.stdout


def test_in_a_cuda_graph(demo: Any) -> None:
    points, queries, x = rand(50, 3), rand(20, 3), rand(64)
    parts = [rand(5), rand(9)]

    def step() -> tuple[Any, ...]:
        demo.scale_all(parts, 1.5)
        return demo.nearest(points, queries), demo.row_sums(x.reshape(-1, 4)), demo.normalise(x)

    side = torch.cuda.Stream()  # the first calls load the module, which a capture does not allow
    with torch.cuda.stream(side):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = step()
    for _ in range(2):
        points.copy_(rand(50, 3))
        x.copy_(rand(64))
        before = [each.clone() for each in parts]
        graph.replay()
        torch.cuda.synchronize()
        assert found[0].equal(reference("nearest", points, queries))
        torch.testing.assert_close(found[1], x.reshape(-1, 4).sum(1))
        torch.testing.assert_close(found[2], x / x.norm())
        torch.testing.assert_close(parts, [each * 1.5 for each in before])
    refused = pytest.raises(cuda_wheel.ArgumentError, match="a CUDA graph would repeat the same numbers")
    with refused, torch.cuda.graph(torch.cuda.CUDAGraph()):
        demo.dropout(x, 0.5)


def test_on_the_current_stream(demo: Any) -> None:
    x, parts = torch.zeros(1000, device="cuda"), [torch.zeros(8, device="cuda")]
    demo.above(x, 0.5), demo.scale_all(parts, 2.0)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()), cuda_wheel.launch_stream("default"):
        torch.cuda._sleep(300_000_000)
        x.fill_(2)
        parts[0].fill_(3)
        found = demo.above(x, 0.5)  # on another stream, it would read the zeros of before
        demo.scale_all(parts, 2.0)  # whose kernel gets no tensor that names a stream
    torch.cuda.synchronize()
    assert found.shape == (1000,) and parts[0].eq(6).all()


def test_in_threads(demo: Any) -> None:
    def work(number: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(50):
                x = rand(64).requires_grad_()
                y = demo.normalise(x)
                (found,) = torch.autograd.grad(y[0], x)
                torch.testing.assert_close(found, torch.autograd.grad((x / x.norm())[0], x)[0])
                assert demo.above(x.detach(), 0.0).equal(x[x > 0])

    in_threads(work)


def test_derivatives_are_pytorchs(demo: Any) -> None:
    x, tangent = rand(20, dtype=torch.float32), rand(20)

    def wanted(x: Any) -> Any:
        return x / x.norm()

    transforms: dict[str, Callable[[Any], Any]] = {
        "grad": lambda f: torch.func.grad(lambda x: f(x)[0])(x),
        "jvp": lambda f: torch.func.jvp(f, (x,), (tangent,))[1],
        "jacrev": lambda f: torch.func.jacrev(f)(x),
        "jacfwd": lambda f: torch.func.jacfwd(f)(x),
        "hessian": lambda f: torch.func.hessian(lambda x: f(x)[0])(x),
        "vmap": lambda f: torch.func.vmap(f)(torch.stack([x, tangent])),
        "vmap of grad": lambda f: torch.func.vmap(torch.func.grad(lambda x: f(x)[0]))(torch.stack([x, tangent])),
    }
    for name, transform in transforms.items():
        torch.testing.assert_close(transform(demo.normalise), transform(wanted), msg=name, rtol=1e-3, atol=1e-4)
    with torch.autograd.forward_ad.dual_level():
        dual = demo.normalise(torch.autograd.forward_ad.make_dual(x, tangent))
        found = torch.autograd.forward_ad.unpack_dual(dual).tangent
    torch.testing.assert_close(found, torch.func.jvp(wanted, (x,), (tangent,))[1])
    leaf = x.clone().requires_grad_()
    (first,) = torch.autograd.grad(demo.normalise(leaf)[0], leaf, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), leaf)
    (first,) = torch.autograd.grad(wanted(leaf)[0], leaf, create_graph=True)
    torch.testing.assert_close(second, torch.autograd.grad(first.sum(), leaf)[0], rtol=1e-3, atol=1e-4)
    with pytest.raises(cuda_wheel.ArgumentError, match="blend has no gradient, but one is asked for"):
        demo.blend(x.half().requires_grad_(), None, 0.5).sum().backward()


def test_what_is_wrong_is_an_error_with_words(demo: Any) -> None:
    from torch._subclasses import FakeTensorMode

    x = rand(10)
    for change, message in (
        (
            lambda x: demo.above(x.double(), 0.5),
            r"mark_kernel, argument 1 \(const float\*\): takes an array of float32",
        ),
        (lambda x: demo.nearest(x.reshape(2, 5), x.reshape(2, 5)), r"nearest_kernel<float, 5>"),
        (lambda x: demo.nearest(x.reshape(5, 2).half(), x.reshape(5, 2).half()), r"nearest_kernel<__half, 2>"),
        (lambda x: demo.blend(x.half(), x.half().cpu(), 0.5), "blend_kernel, argument 2 .*(on cpu|host memory)"),
    ):
        for _ in range(2):
            with pytest.raises(cuda_wheel.CudaWheelError, match=message):
                change(x)
        with FakeTensorMode(), pytest.raises(cuda_wheel.CudaWheelError, match=message):
            change(torch.empty(10, device="cuda"))
    with pytest.raises(cuda_wheel.ArgumentError, match="above takes tensors on a GPU of CUDA, not on cpu"):
        demo.above(x.cpu(), 0.5)
    assert demo.above(x, 0.5).equal(x[x > 0.5])
