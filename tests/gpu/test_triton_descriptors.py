"""Tensor descriptors as arguments of Triton kernels on a real GPU: results are those of Triton's own launch, bit by bit."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel.runtime.driver import device_and_driver
from cuda_wheel.runtime.errors import ArgumentError
from tests.support.loaded_modules import forget_package
from tests.support.toolchains import installed_extra
from tests.support.triton_project import DESCRIPTORS, HEAD, write_triton_project

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
triton = pytest.importorskip("triton", reason="Triton is not installed")
descriptors = pytest.importorskip("triton.tools.tensor_descriptor", reason="this Triton has no tensor descriptors")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield the module with the kernels, for Triton's own launches; `load` compiles them from its source tree."""
    if installed_extra() is None:
        pytest.skip("no toolchain is installed here to compile with")
    native = '[tool.cuda-wheel]\narchitectures = ["native"]\n'
    root = write_triton_project(tmp_path_factory.mktemp("project") / "demo", kernels=HEAD + native + DESCRIPTORS)
    sys.path.insert(0, str(root))
    forget_package("demo")
    yield importlib.import_module("demo.cases")
    sys.path.remove(str(root))
    forget_package("demo")


@pytest.fixture(scope="module")
def compiled(package: Any) -> Any:
    return cuda_wheel.load("demo.tiles")


BLOCKS = {"float16": (16, 64), "float32": (8, 32), "uint8": (16, 64), "bfloat16": (16, 32)}


def random(*shape: int, dtype: str) -> Any:
    if dtype == "uint8":
        return torch.randint(0, 255, shape, device="cuda", dtype=torch.uint8)
    return torch.randn(*shape, device="cuda").to(getattr(torch, dtype))


@pytest.mark.parametrize("dtype", [*BLOCKS])
@pytest.mark.parametrize("kind", [descriptors.TensorDescriptor, cuda_wheel.TensorDescriptor])
def test_tiles_are_copied(package: Any, compiled: Any, dtype: str, kind: Any) -> None:
    rows, columns = BLOCKS[dtype]
    for x in (random(100, 192, dtype=dtype), random(64, 384, dtype=dtype)[:, 128:320]):
        own, ours = (torch.zeros(x.shape, device="cuda", dtype=x.dtype) for _ in range(2))
        grid = (triton.cdiv(x.shape[0], rows), triton.cdiv(x.shape[1], columns))

        def described(array: Any, kind: Any = kind, rows: int = rows, columns: int = columns) -> Any:
            return kind.from_tensor(array, [rows, columns])

        def triton_described(array: Any, rows: int = rows, columns: int = columns) -> Any:
            return descriptors.TensorDescriptor.from_tensor(array, [rows, columns])

        package.copied_tiles[grid](triton_described(own), triton_described(x), x.shape[0], ROWS=rows, COLUMNS=columns)
        constants = {"ROWS": rows, "COLUMNS": columns}
        for _ in range(2):
            ours.zero_()
            compiled["copied_tiles"].launch(grid, described(ours), described(x), x.shape[0], **constants)
            assert ours.equal(own) and ours.equal(x)
        other = torch.zeros_like(ours)
        bound = compiled["copied_tiles"].bind(grid, described(ours.zero_()), described(x), x.shape[0], **constants)
        bound()
        bound(described(other))
        assert ours.equal(x) and other.equal(x)


@pytest.mark.parametrize("padding", ["zero", "nan"])
def test_outside_of_the_shape(package: Any, compiled: Any, padding: str) -> None:
    x = random(24, 64, dtype="float16")
    own, ours = (torch.full((64, 64), 5.0, device="cuda", dtype=torch.float16) for _ in range(2))
    make = descriptors.TensorDescriptor
    out = (make.from_tensor(array, [64, 64]) for array in (own, ours))
    source = make(x, [24, 64], [64, 1], [64, 64], padding)
    package.copied_tiles[(1, 1)](next(out), source, 64, ROWS=64, COLUMNS=64)
    compiled["copied_tiles"].launch((1, 1), next(out), source, 64, ROWS=64, COLUMNS=64)
    assert ours.view(torch.int16).equal(own.view(torch.int16)) and ours[:24].equal(x)
    assert ours[24:].isnan().all() if padding == "nan" else not ours[24:].any()


def test_one_dimension_and_arrays_beside_descriptors(package: Any, compiled: Any) -> None:
    x = random(1024, dtype="float32")
    own, ours = torch.zeros(1024, device="cuda"), torch.zeros(1024, device="cuda")
    package.copied_line[(8,)](own, descriptors.TensorDescriptor.from_tensor(x[:1000], [128]), SIZE=128)
    compiled["copied_line"].launch(8, ours, cuda_wheel.TensorDescriptor.from_tensor(x[:1000], [128]), SIZE=128)
    assert ours.equal(own) and ours[:1000].equal(x[:1000]) and not ours[1000:].any()


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("n", [64, 128])
def test_matrix_products(package: Any, compiled: Any, n: int, warps: int) -> None:
    a, b = random(256, 512, dtype="float16"), random(512, 384, dtype="float16")
    own, ours = torch.zeros(256, 384, device="cuda"), torch.zeros(256, 384, device="cuda")
    kind = descriptors.TensorDescriptor
    operands = kind.from_tensor(a, [64, 64]), kind.from_tensor(b, [64, n])
    grid = (256 // 64, 384 // n)
    constants = {"M": 64, "N": n, "K": 64, "num_warps": warps}
    package.product_of_tiles[grid](kind.from_tensor(own, [64, n]), *operands, 512, **constants)
    compiled["product_of_tiles"].launch(grid, kind.from_tensor(ours, [64, n]), *operands, 512, **constants)
    assert ours.equal(own)
    assert torch.allclose(ours, a.float() @ b.float(), rtol=1e-2, atol=1e-1)


def test_launches_follow_pytorchs_stream(compiled: Any) -> None:
    x, ours = (torch.zeros(1024, 1024, device="cuda", dtype=torch.float16) for _ in range(2))
    make = cuda_wheel.TensorDescriptor.from_tensor
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(100_000_000)
        x.fill_(2.0)
        compiled["copied_tiles"].launch((64, 16), make(ours, [16, 64]), make(x, [16, 64]), 1024, ROWS=16, COLUMNS=64)
        assert ours.eq(2).all()


def test_what_does_not_fit_is_said(compiled: Any) -> None:
    make = cuda_wheel.TensorDescriptor.from_tensor
    x = random(64, 64, dtype="float16")
    launch = compiled["copied_tiles"].launch
    with pytest.raises(ArgumentError, match=r"was not compiled for out=tensordesc<fp16\[32, 64\]>"):
        launch(1, make(x, [32, 64]), make(x, [16, 64]), 64, ROWS=16, COLUMNS=64)
    if device_and_driver()[0] >= (9, 0):
        with pytest.raises(ArgumentError, match="strides must be multiples of 16 bytes"):
            launch(1, make(random(64, 65, dtype="float16"), [16, 64]), make(x, [16, 64]), 64, ROWS=16, COLUMNS=64)
    with pytest.raises(ArgumentError, match="in host memory"):
        launch(1, make(x, [16, 64]), make(x.cpu(), [16, 64]), 64, ROWS=16, COLUMNS=64)
