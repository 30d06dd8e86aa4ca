"""Other libraries use our fatbins and kernel handles."""

from __future__ import annotations

from pathlib import Path

import pytest

import cuda_wheel
from tests.support.manifests import plain


@pytest.fixture
def saxpy(saxpy: Path) -> Path:
    """Install the saxpy wheel and return its fatbin."""
    return saxpy / "saxpy.fatbin"


def symbol(fatbin: Path) -> str:
    return plain(fatbin.with_name(fatbin.name + ".json").read_text())["kernels"][0]["symbol"]


def test_cuda_core_accepts_our_handle(saxpy: Path) -> None:
    core = pytest.importorskip("cuda.core")
    core.Device().set_current()
    kernel = core.Kernel.from_handle(cuda_wheel.load("saxpy_demo.kernels.saxpy")["saxpy"].handle)
    assert kernel.num_arguments == 4


def test_cuda_core_loads_our_fatbin(saxpy: Path) -> None:
    core = pytest.importorskip("cuda.core")
    core.Device().set_current()
    assert core.ObjectCode.from_fatbin(str(saxpy)).get_kernel(symbol(saxpy)).num_arguments == 4


def test_cupy_loads_our_fatbin_and_runs_it(saxpy: Path) -> None:
    cupy = pytest.importorskip("cupy")
    kernel = cupy.RawModule(path=str(saxpy)).get_function(symbol(saxpy))
    n = 1000
    x, y = cupy.arange(n, dtype=cupy.float32), cupy.ones(n, cupy.float32)
    kernel((-(-n // 256),), (256,), (cupy.float32(2), x, y, cupy.int32(n)))
    assert bool((y == 2 * x + 1).all())


def test_our_handle_launches_through_the_driver_on_cupys_arrays(saxpy: Path) -> None:
    cupy = pytest.importorskip("cupy")
    import ctypes

    from cuda.bindings import driver

    n = 1000
    x, y = cupy.arange(n, dtype=cupy.float32), cupy.ones(n, cupy.float32)
    kernel = cuda_wheel.load("saxpy_demo.kernels.saxpy")["saxpy"]
    arguments = (2.0, x.data.ptr, y.data.ptr, n), (ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    stream = cupy.cuda.get_current_stream().ptr
    (error,) = driver.cuLaunchKernel(kernel.handle, 4, 1, 1, 256, 1, 1, 0, stream, arguments, 0)
    assert int(error) == 0
    assert bool((y == 2 * x + 1).all())
