"""CUDA Tile kernels on a real GPU, from a prebuilt wheel (`prebuild.py`) or one that is built here. Each result is compared
with NumPy's, bit by bit: with whole numbers, every sum and product is exact."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel.runtime.errors import ArgumentError
from tests.support.processes import build_wheel, run
from tests.support.tile_project import need_tileiras, write_cutile_project, write_tile_project

np = pytest.importorskip("numpy", reason="NumPy is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def wheel_of(
    name: str, write: Callable[[Path], Path], prebuilt: Callable[[str, str], Path], folder: Path, **environ: str
) -> Path:
    try:
        return prebuilt("cu13", name)
    except StopIteration:
        pytest.skip(f"the prebuilt wheels lack {name}: prebuild with NVRTC 13.3 or later, tileiras and cuda-tile")
    except pytest.skip.Exception:
        need_tileiras()
        result = build_wheel(write(folder / "project"), folder / "dist", **environ)
        assert result.returncode == 0, result.stdout
        return next((folder / "dist").glob("*.whl"))


@pytest.fixture(scope="module")
def wheel(prebuilt: Callable[[str, str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel_of("tile", write_tile_project, prebuilt, tmp_path_factory.mktemp("tile"))


@pytest.fixture
def cases(
    prebuilt: Callable[[str, str], Path],
    tmp_path_factory: pytest.TempPathFactory,
    install: Callable[[Path], Path],
) -> Any:
    """Return the loaded module with cuTile kernels, for 9.0."""
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("the wheel with cuTile kernels is for 9.0 only")
    folder = tmp_path_factory.mktemp("cutile")
    install(wheel_of("cutile", write_cutile_project, prebuilt, folder, CUDAARCHS="90-real"))
    return cuda_wheel.load("demo.cases")


@pytest.fixture
def kernels(wheel: Path, install: Callable[[Path], Path]) -> Any:
    """Return the loaded module. What driver and GPU refuse is an error that names all images."""
    install(wheel)
    return cuda_wheel.load("demo.kernels")


def whole(*shape: int, most: int = 1000, dtype: Any = torch.float32) -> Any:
    return torch.randint(-most, most, shape).to(dtype).cuda()


@pytest.mark.parametrize("n", [1, 1023, 1024, 1025, 100_003])
def test_numbers_beyond_the_end_are_masked(kernels: Any, n: int) -> None:
    torch.manual_seed(n)
    x, y, out = whole(n), whole(n), torch.full((n + 7,), -5.0, device="cuda")
    kernels["add"].launch(-(-n // 1024), 1, x, y, out, n)
    assert np.array_equal(out[:n].cpu().numpy(), x.cpu().numpy() + y.cpu().numpy())
    assert out[n:].eq(-5).all()


@pytest.mark.parametrize(("name", "dtype"), [("float", torch.float32), ("int", torch.int32)])
def test_instances_of_a_template(kernels: Any, name: str, dtype: Any) -> None:
    p = whole(10_000, dtype=dtype)
    expected = p.cpu().numpy() * np.array(3, p.cpu().numpy().dtype)
    kernels[f"demo::scale<{name}>"].launch(-(-10_000 // 256), 1, p, 3, 10_000)
    assert np.array_equal(p.cpu().numpy(), expected)


@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 32), (128, 192, 96), (200, 104, 136)])
def test_a_product_whose_descriptors_the_driver_makes_from_the_arguments(kernels: Any, m: int, n: int, k: int) -> None:
    torch.manual_seed(m)
    grid, kernel = (-(-m // 64), -(-n // 64)), kernels["demo::product"]
    for _ in range(3):  # other arrays, and so other descriptors, for one kernel
        a, b = whole(m, k, most=4, dtype=torch.float16), whole(k, n, most=4, dtype=torch.float16)
        c = torch.zeros(m, n, device="cuda")
        kernel.launch(grid, 1, a, b, c, m, n, k)
        expected = a.cpu().numpy().astype(np.float32) @ b.cpu().numpy().astype(np.float32)
        assert np.array_equal(c.cpu().numpy(), expected)
        bound = kernel.bind(grid, 1, a, b, c.zero_(), m, n, k)
        bound()
        assert np.array_equal(c.cpu().numpy(), expected)


def test_a_launch_in_a_graph(kernels: Any) -> None:
    x, y, out = whole(5000), whole(5000), torch.zeros(5000, device="cuda")
    kernels["add"].launch(5, 1, x, y, out, 5000)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernels["add"].launch(5, 1, x, y, out, 5000)
    x.add_(1)
    graph.replay()
    torch.cuda.synchronize()
    assert out.equal(x + y)


def test_only_the_grid_is_chosen(kernels: Any) -> None:
    x = whole(1024)
    for block in (32, 128, 256):
        with pytest.raises(ArgumentError, match="add is a CUDA Tile kernel"):
            kernels["add"].launch(1, block, x, x, x, 1024)


def test_no_compiler_is_needed(wheel: Path, install: Callable[[Path], Path]) -> None:
    """The process imports no NVRTC and no tileiras, and compiling is forbidden."""
    install(wheel)
    program = (
        "import cuda_wheel, torch\n"
        "x = torch.ones(1024, device='cuda')\n"
        "cuda_wheel.load('demo.kernels')['add'].launch(1, 1, x, x, x, 1024)\n"
        "assert x.eq(2).all()\n"
    )
    result = run(sys.executable, "-c", program, CUDA_WHEEL_JIT="error", PATH="")
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("n", [16, 1000, 98_304, 98_431])
@pytest.mark.parametrize("shift", [0, 1])
def test_cutile_arrays_of_any_length_and_address(cases: Any, n: int, shift: int) -> None:
    torch.manual_seed(n)
    x, y, out = whole(n + 1)[shift : n + shift], whole(n + 1)[shift : n + shift], torch.zeros(n, device="cuda")
    grid = (-(-n // 1024),)
    cases["add"].launch(grid, x, y, out, 1024)
    expected = x.cpu().numpy() + y.cpu().numpy()
    assert np.array_equal(out.cpu().numpy(), expected)
    cases["add"][grid](x, y, out=out.zero_(), BLOCK=1024)
    assert np.array_equal(out.cpu().numpy(), expected)
    step = cases["add"].bind(grid, x, y, out.zero_(), 1024)
    step()
    assert np.array_equal(out.cpu().numpy(), expected)
    step(y, y)
    assert np.array_equal(out.cpu().numpy(), 2 * y.cpu().numpy())


def test_cutile_integers_and_constants(cases: Any) -> None:
    x, y = whole(4096, dtype=torch.int32), whole(4096, dtype=torch.int32)
    for block in (256, 1024):
        out = torch.zeros_like(x)
        cases["add"].launch(4096 // block, x, y, out, block)
        assert out.equal(x + y)
    with pytest.raises(ArgumentError, match=r"add was not compiled for x=int32\[1\]:16n, .*BLOCK=512"):
        cases["add"].launch(8, x, y, x, 512)
    with pytest.raises(ArgumentError, match="float64"):
        cases["add"].launch(8, x.double(), y.double(), x.double(), 256)


def test_cutile_numbers_strides_and_defaults(cases: Any) -> None:
    x, out = whole(2048), torch.zeros(1024, device="cuda")
    cases["scale"].launch(8, x[::2], 1.5, out)
    assert out.equal(x[::2] * 1.5)
    cases["scale"].launch(8, x[:1].expand(1024), 3, out)
    assert out.equal((x[0] * 3).expand(1024))
    cases["scale"].launch(8, x[::2], 1.5, out, HALVE=True)
    assert out.equal(x[::2] * 0.75)
    cases["wide"].launch(16, x[:1024], out)
    assert out.equal(x[:1024] + 1)


@pytest.mark.parametrize("options", [{}, {"occupancy": 1}, {"occupancy": 2}, {"num_ctas": 2}])
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 32), (128, 192, 96), (200, 104, 136), (100, 60, 34)])
def test_cutile_product(cases: Any, m: int, n: int, k: int, options: dict[str, int]) -> None:
    if "occupancy" in options and (n % 8 or k % 8):
        pytest.skip("these variants were compiled for strides that are divisible by 16 bytes")
    torch.manual_seed(m)
    a, b = whole(m, k, most=4, dtype=torch.float16), whole(k, n, most=4, dtype=torch.float16)
    c = torch.zeros(m, n, device="cuda")
    cases["product"].launch((-(-m // 64), -(-n // 64)), a, b, c, 64, 64, 32, **options)
    assert np.array_equal(c.cpu().numpy(), a.cpu().numpy().astype(np.float32) @ b.cpu().numpy().astype(np.float32))


def test_what_a_bound_launch_was_not_compiled_for(cases: Any) -> None:
    x, y, out = whole(1024), whole(1024), torch.zeros(1024, device="cuda")
    step = cases["add"].bind(1, x, y, out, 1024)
    with pytest.raises(
        ArgumentError, match=r"x is float32\[1\]:1, and what was bound was compiled for float32\[1\]:16"
    ):
        step(whole(1025)[1:])
