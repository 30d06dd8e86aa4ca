"""Numba kernels on a real GPU, without Numba: each result is compared with that of Numba's own launch, bit by bit. The
kernels are those of a prebuilt wheel, or are compiled on load, by the same jobs as in a build."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.runtime.errors import ArgumentError
from tests.support.numba_project import write_numba_project
from tests.support.processes import run, run_cuda_wheel
from tests.support.toolchains import installed_extra

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")  # those of Numba: small grids, and NumPy 2.5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package demo: what a prebuilt wheel has, else the sources, which `load` compiles."""
    built = Path(os.environ.get("CUDA_WHEEL_TEST_WHEELS", "nowhere"))
    for wheel in sorted(built.glob("*/numba-cases/*.whl")):
        folder = tmp_path_factory.mktemp("wheel")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        return folder
    if installed_extra() is None:
        pytest.skip("no toolchain is installed here to compile with, and there is no prebuilt wheel")
    return write_numba_project(tmp_path_factory.mktemp("project") / "demo")


@pytest.fixture(scope="module")
def package(folder: Path) -> Iterator[Any]:
    """Yield the module with the kernels, for Numba's own launches; `load` compiles them from its source tree."""
    (folder / "demo/__init__.py").write_text("")
    sys.path.insert(0, str(folder))
    absent: Any = ModuleType("absent_plots")
    absent.configure = lambda name: None
    sys.modules["absent_plots"] = absent
    yield importlib.import_module("demo.cases")
    sys.path.remove(str(folder))
    for name in [each for each in sys.modules if each.partition(".")[0] in ("demo", "absent_plots")]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def compiled(package: Any) -> Any:
    return cuda_wheel.load("demo.cases")


def random(*shape: int, dtype: Any = torch.float32) -> Any:
    return torch.randn(*shape, device="cuda").to(dtype)


def same(own: Any, ours: Any) -> bool:
    """Return whether two tensors have the same bits, and are not all 0."""
    torch.cuda.synchronize()
    first, second = (each.contiguous().view(torch.uint8) for each in (own, ours))
    return bool(first.equal(second) and first.any())


@pytest.mark.parametrize("n", [1, 31, 1000, 98_431])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_saxpy(package: Any, compiled: Any, n: int, dtype: Any) -> None:
    torch.manual_seed(n)
    x, y = random(n, dtype=dtype), random(n, dtype=dtype)
    own, ours = torch.zeros_like(x), torch.zeros_like(x)
    blocks, a = -(-n // 128), np.float32(1.7) if dtype is torch.float32 else 1.7
    package.saxpy[blocks, 128](own, x, y, a, n)
    compiled["saxpy"].launch(blocks, 128, ours, x, y, a, n)
    assert same(own, ours)
    for _ in range(3):
        compiled["saxpy"][blocks, 128](ours.zero_(), x, y, a, n)
        assert same(own, ours)
    bound = compiled["saxpy"].bind(blocks, 128, ours, x, y, a, n)
    ours.zero_()
    bound()
    assert same(own, ours)
    other = torch.zeros_like(x)
    bound(other, x, y, a, n)
    assert same(own, other)
    bound(ours, y, x)
    package.saxpy[blocks, 128](own, y, x, a, n)
    assert same(own, ours)


def test_saxpy_with_any_strides(package: Any, compiled: Any) -> None:
    memory = random(3, 4000)
    own, ours = torch.zeros(4000, device="cuda"), torch.zeros(4000, device="cuda")
    for out in (own, ours):
        kernel = package.saxpy if out is own else compiled["saxpy"]
        kernel[32, 128](out[::2], memory[0, ::2], memory[1, 1::2], np.float32(0.3), 2000)
    assert same(own, ours) and not ours[1::2].any()


@pytest.mark.parametrize("transposed", [False, True])
def test_a_matrix_with_strides(package: Any, compiled: Any, transposed: bool) -> None:
    x = random(70, 50)[:, ::2]
    x = random(25, 70).t() if transposed else x
    factor = 1.25 if transposed else np.float32(1.25)
    outs = []
    for kernel in (package.scale_matrix, compiled["scale_matrix"]):
        out = torch.zeros(70, 25, device="cuda") if not transposed else torch.zeros(25, 70, device="cuda").t()
        kernel[(5, 2), (16, 16)](out, x, factor)
        wide = torch.zeros(70, 60, device="cuda")[:, 3:28]
        kernel[(5, 2), (16, 16)](wide, x, np.float32(1.25))
        outs.append((out, wide))
    assert same(outs[0][0], outs[1][0]) and same(outs[0][1], outs[1][1])


def test_sums_in_shared_memory(package: Any, compiled: Any) -> None:
    x = random(10_000)
    own, ours = torch.zeros(40, device="cuda"), torch.zeros(40, device="cuda")
    package.block_sums[40, 256](own, x)
    compiled["block_sums"][40, 256](ours, x)
    assert same(own, ours)
    assert torch.allclose(ours.sum(), x.sum(), atol=0.05)


@pytest.mark.parametrize("size", [(64, 64, 64), (45, 33, 71)])
def test_a_product_of_matrices_by_tiles(package: Any, compiled: Any, size: tuple[int, int, int]) -> None:
    m, n, k = size
    a, b = random(m, k), random(k, n)
    own, ours = torch.zeros(m, n, device="cuda"), torch.zeros(m, n, device="cuda")
    grid = -(-m // 16), -(-n // 16)
    package.matmul[grid, (16, 16)](own, a, b)
    compiled["matmul"][grid, (16, 16)](ours, a, b)
    assert same(own, ours) and torch.allclose(ours, a @ b, atol=0.05)


@pytest.mark.parametrize("sign", [1, -1])
def test_scalars_of_all_types(package: Any, compiled: Any, sign: int) -> None:
    own, ours = torch.zeros(16, device="cuda", dtype=torch.float64), torch.zeros(16, device="cuda", dtype=torch.float64)
    numbers = (
        np.bool_(sign > 0), np.int8(sign * 100), np.int16(sign * 30_000), np.int32(sign << 30), np.int64(sign << 50),
        np.uint8(200), np.uint16(60_000), np.uint32(1 << 31), np.uint64(1 << 53), np.float16(sign * 0.1),
        np.float32(sign * 0.1), np.float64(sign * 0.1), np.complex64(0.1 + sign * 0.2j), np.complex128(0.3 + sign * 0.4j),
    )  # fmt: skip
    package.all_scalars[1, 1](own, *numbers)
    compiled["all_scalars"][1, 1](ours, *numbers)
    assert same(own, ours)
    compiled["all_scalars"].launch(1, 1, ours.zero_(), *(each.item() for each in numbers))  # Python's own numbers
    assert same(own, ours)


def test_atomics(package: Any, compiled: Any) -> None:
    x = torch.randint(0, 1 << 40, (50_000,), device="cuda")
    own, ours = (torch.zeros(100, device="cuda", dtype=torch.int32) for _ in range(2))
    package.histogram[200, 256](own, x)
    compiled["histogram"][200, 256](ours, x)
    assert same(own, ours) and int(ours.sum()) == 50_000


def test_device_functions_and_constants(package: Any, compiled: Any) -> None:
    x = random(5000) * 1e4  # for the slow path of sin
    own, ours = torch.zeros_like(x), torch.zeros_like(x)
    package.device_functions[40, 128](own, x)
    compiled["device_functions"][40, 128](ours, x)
    assert same(own, ours)


def test_dynamic_shared_memory(package: Any, compiled: Any) -> None:
    x = random(4096)
    own, ours = torch.zeros_like(x), torch.zeros_like(x)
    package.reverse_blocks[16, 256, 0, 1024](own, x)
    torch.cuda.synchronize()
    compiled["reverse_blocks"][16, 256, 0, 1024](ours, x)
    assert same(own, ours) and ours[:256].equal(x[:256].flip(0))
    compiled["reverse_blocks"].bind(16, 256, ours.zero_(), x, shared_memory=1024)()
    assert same(own, ours)


def test_options_of_the_decorator(package: Any, compiled: Any) -> None:
    own = random(64).abs() + 0.1
    ours, rest = own.clone(), own.clone()
    package.inverse[1, 128](own, 64)
    compiled["inverse"][1, 128](ours, 64)
    assert same(own, ours)
    compiled["inverse"][1, 128](rest)  # the default of n is 8
    assert rest[:8].equal(ours[:8]) and not rest[8:].equal(ours[8:])


def test_complex_numbers(package: Any, compiled: Any) -> None:
    x = torch.randn(1000, device="cuda", dtype=torch.complex64)
    own, ours = (
        torch.zeros(2000, device="cuda", dtype=torch.complex64),
        torch.zeros(2000, device="cuda", dtype=torch.complex64),
    )
    package.conjugated[8, 128](own[::2], x)
    compiled["conjugated"][8, 128](ours[::2], x)
    assert same(torch.view_as_real(own), torch.view_as_real(ours))


def test_arrays_of_numba_cupy_and_jax(package: Any, compiled: Any) -> None:
    from numba import cuda

    host = np.arange(1, 1025, dtype=np.float32)
    out, x = cuda.device_array(1024, np.float32), cuda.to_device(host)
    compiled["saxpy"][8, 128](out, x, x, np.float32(2), 1024)
    cuda.synchronize()
    assert (out.copy_to_host() == 3 * host).all()
    stream = cuda.stream()
    compiled["saxpy"][8, 128, stream](out, x, x, np.float32(3), 1024)
    stream.synchronize()
    assert (out.copy_to_host() == 4 * host).all()
    try:
        import cupy
    except ImportError:
        return
    y = cupy.asarray(host)
    result = cupy.zeros((2, 1024), cupy.float32)[:, ::2].T  # strides of 8 and 4096 bytes
    compiled["saxpy"][8, 128](result[:, 1], y[::2], y[1::2], np.float32(1), 512)
    assert (cupy.asnumpy(result[:, 1]) == host[::2] + host[1::2]).all() and not result[:, 0].any()


def test_what_was_not_compiled_is_refused(compiled: Any) -> None:
    x = random(16, dtype=torch.bfloat16)
    with pytest.raises(ArgumentError, match=r"was not compiled for .*bfloat16"):
        compiled["saxpy"][1, 16](x, x, x, 1.0, 16)
    with pytest.raises(ArgumentError, match="host memory"):
        compiled["histogram"][1, 16](
            torch.zeros(4, dtype=torch.int32), torch.zeros(4, dtype=torch.int64, device="cuda")
        )


def test_without_numba_a_wheel_gives_the_same_bits(package: Any, folder: Path, tmp_path: Path) -> None:
    """A built wheel is launched in a process that cannot import Numba."""
    if (folder / "demo/cases.fatbin").exists():
        shutil.copytree(folder / "demo", tmp_path / "output/demo")
    else:
        result = run_cuda_wheel("build", "-o", tmp_path / "output", folder)
        assert result.returncode == 0, result.stdout
    torch.manual_seed(5)
    x = random(2000)
    own = torch.zeros_like(x)
    package.device_functions[16, 128](own, x)
    torch.save((own.cpu(), x.cpu()), tmp_path / "own.pt")
    program = (
        "import sys\nfor name in ('numba', 'numba_cuda', 'llvmlite', 'demo.cases'): sys.modules[name] = None\n"
        "import torch, cuda_wheel\n"
        f"own, x = (each.cuda() for each in torch.load({str(tmp_path / 'own.pt')!r}))\n"
        "ours = torch.zeros_like(x)\n"
        "cuda_wheel.load('demo.cases')['device_functions'][16, 128](ours, x)\n"
        "print(bool(own.equal(ours) and ours.any()))\n"
    )
    (tmp_path / "output/demo/__init__.py").touch()
    printed = run(sys.executable, "-c", program, cwd=tmp_path / "output").stdout
    assert printed.split()[-1:] == ["True"], printed


def test_the_example_runs_without_numba(
    example_wheel: Callable[[str], Path], install: Callable[[Path], Path], tmp_path: Path
) -> None:
    """Numba is installed here, and is not imported."""
    install(example_wheel("numba"))
    result = run(sys.executable, "-m", "numba_demo", cwd=tmp_path)
    assert result.returncode == 0 and "agree with PyTorch; Numba was not imported" in result.stdout, result.stdout
