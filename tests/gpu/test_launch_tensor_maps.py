"""Tensor maps on a real GPU: a kernel copies tiles by TMA, of our maps and cuda.core's, compared with NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.runtime.driver import device_and_driver
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.module import Module
from tests.gpu.support import Memory
from tests.support.toolchains import installed_extra

pytestmark = pytest.mark.usefixtures("context")

FLOATS, SHORTS = "tile<float, 8, 16>", "tile<unsigned short, 4, 64>"


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    if installed_extra() is None:
        pytest.skip("no toolchain is installed here")
    if device_and_driver()[0] < (9, 0):
        pytest.skip("this GPU has no TMA")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        return cuda_wheel.compile((Path(__file__).parent / "kernels" / "tensor_map.cu").read_text())


def tile(content: Any, row: int, column: int, rows: int, columns: int) -> Any:
    """Return the tile of an array that starts at a row and column; what lies outside of the array is 0."""
    found = np.zeros((rows, columns), content.dtype)
    for i, j in np.ndindex(rows, columns):
        if 0 <= row + i < content.shape[0] and 0 <= column + j < content.shape[1]:
            found[i, j] = content[row + i, column + j]
    return found


def test_structs_of_large_alignment(module: Module) -> None:
    out = Memory(np.zeros(4))
    arguments = np.arange(4.0), 7, np.arange(100, 116, dtype=np.int32), 0.5
    for launch in (module["aligned"].launch, lambda _grid, _block, *args: module["aligned"].bind(1, 1, *args)()):
        launch(1, 1, out, *arguments)
        assert out.numpy().tolist() == [3, 7, 115, 0.5]


def test_tiles_inside_and_at_the_edges(module: Module) -> None:
    content = np.arange(40 * 100, dtype=np.float32).reshape(40, 100)
    map_ = cuda_wheel.tensor_map(Memory(content), (8, 16))
    out = Memory(np.zeros((8, 16), np.float32))
    copy = module[FLOATS].bind(1, 128, map_, 0, 0, out)
    for row, column in ((0, 0), (5, 36), (32, 84), (36, 92), (-3, -4), (100, 0)):
        copy(map_, row, column)
        assert (out.numpy() == tile(content, row, column, 8, 16)).all(), (row, column)
        module[FLOATS].launch(1, 128, map_, row, column, out)
        assert (out.numpy() == tile(content, row, column, 8, 16)).all(), (row, column)


def test_outside_of_the_array_there_may_be_nan(module: Module) -> None:
    content = np.ones((40, 100), np.float32)
    map_ = cuda_wheel.tensor_map(Memory(content), (8, 16), nan_fill=True, l2_promotion=128)
    out = Memory(np.zeros((8, 16), np.float32))
    module[FLOATS].launch(1, 128, map_, 36, 88, out)
    found = out.numpy()
    assert np.isnan(found[4:]).all() and np.isnan(found[:, 12:]).all() and (found[:4, :12] == 1).all()


def test_a_view_of_pytorchs_in_bfloat16(module: Module) -> None:
    torch = pytest.importorskip("torch")
    whole = torch.arange(64 * 256, device="cuda").reshape(64, 256).to(torch.bfloat16)
    view = whole[8:40, 64:192]  # rows of 256 elements, of which 128 belong to it
    map_ = cuda_wheel.tensor_map(view, (4, 64))
    out = torch.zeros(4, 64, dtype=torch.bfloat16, device="cuda")
    for row, column in ((0, 0), (30, 104)):
        module[SHORTS].launch(1, 64, map_, row, column, out.view(torch.uint16))
        expected = torch.zeros_like(out)
        part = view[row : row + 4, column : column + 64]
        expected[: part.shape[0], : part.shape[1]] = part
        assert torch.equal(out, expected)


def test_swizzled_tiles_have_the_same_elements(module: Module) -> None:
    cupy = pytest.importorskip("cupy")
    content = cupy.random.randint(0, 1 << 16, (16, 128)).astype(cupy.uint16)
    out = cupy.zeros((4, 64), cupy.uint16)
    module[SHORTS].launch(1, 64, cuda_wheel.tensor_map(content, (4, 64), swizzle=128), 8, 64, out)
    expected = content[8:12, 64:128]
    assert not (out == expected).all() and (cupy.sort(out.ravel()) == cupy.sort(expected.ravel())).all()
    # Source: CUDA Driver API, CUtensorMapSwizzle: in row r, the chunk of 16 bytes at c goes to c ^ r % 8.
    chunks = expected.reshape(4, 8, 8)
    for row in range(4):
        for chunk in range(8):
            assert (out.reshape(4, 8, 8)[row, chunk ^ row] == chunks[row, chunk]).all()


def test_descriptors_of_cuda_core_and_of_the_drivers_bindings(module: Module, driver: Any) -> None:
    content = np.arange(40 * 100, dtype=np.float32).reshape(40, 100)
    memory, out = Memory(content), Memory(np.zeros((8, 16), np.float32))
    bits = driver.CUtensorMap()
    bits.opaque = [
        driver.cuuint64_t(int(number)) for number in np.frombuffer(cuda_wheel.tensor_map(memory, (8, 16)), np.uint64)
    ]
    module[FLOATS].launch(1, 128, bits, 3, 4, out)
    assert (out.numpy() == tile(content, 3, 4, 8, 16)).all()
    core = pytest.importorskip("cuda.core")
    view_type = getattr(core, "StridedMemoryView", None) or pytest.importorskip("cuda.core.utils").StridedMemoryView
    if not hasattr(view_type, "as_tensor_map"):
        pytest.skip(f"cuda.core {core.__version__} makes no tensor maps")
    core.Device().set_current()
    descriptor = view_type.from_any_interface(memory, stream_ptr=-1).as_tensor_map((8, 16))
    for row in (0, 20):
        module[FLOATS].launch(1, 128, descriptor, row, 8, out)
        assert (out.numpy() == tile(content, row, 8, 8, 16)).all()


def test_what_the_driver_would_refuse_is_explained(module: Module) -> None:
    with pytest.raises(ArgumentError, match="strides must be multiples of 16 bytes, not 396: pad the rows"):
        cuda_wheel.tensor_map(Memory(np.zeros((40, 99), np.float32)), (8, 16))
    with pytest.raises(ArgumentError, match=r"argument 1 .*: takes a struct of 128 bytes by value, not an array .*map"):
        module[FLOATS].launch(1, 128, Memory(np.zeros((40, 100), np.float32)), 0, 0, None)
