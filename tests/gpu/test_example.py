"""The package `fixtures/saxpy`, used from CuPy, PyTorch, Numba and cuda.core."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

N = 100_003


@pytest.fixture
def saxpy(saxpy: Path) -> Callable[..., None]:
    """Install the package and return its function."""
    function: Callable[..., None] = importlib.import_module("saxpy_demo").saxpy
    return function


@pytest.fixture
def numbers() -> tuple[Any, Any, Any]:
    """Return x, y and 2.5 * x + y."""
    random = np.random.default_rng(0)
    x, y = random.random(N, np.float32), random.random(N, np.float32)
    return x, y, np.float32(2.5) * x + y


def test_from_cupy(saxpy: Callable[..., None], numbers: tuple[Any, Any, Any]) -> None:
    cupy = pytest.importorskip("cupy")
    x, y, expected = numbers
    for stream in (None, cupy.cuda.Stream(), cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream.null):
        on_gpu, result = cupy.asarray(x), cupy.asarray(y)
        cupy.cuda.Device().synchronize()
        saxpy(2.5, on_gpu, result, stream=stream)
        cupy.cuda.Device().synchronize()
        assert np.allclose(cupy.asnumpy(result), expected, rtol=1e-6)
        with pytest.raises(TypeError, match=r"argument 2 \(const float\*\): takes an array of float32, not of float64"):
            saxpy(2.5, on_gpu.astype(cupy.float64), result, stream=stream)
        with pytest.raises(TypeError, match=r"argument 1 \(float\): takes a number, not cupy.ndarray"):
            saxpy(on_gpu[0], on_gpu, result, stream=stream)


def test_from_pytorch(saxpy: Callable[..., None], numbers: tuple[Any, Any, Any]) -> None:
    torch = pytest.importorskip("torch")
    x, y, expected = numbers
    for stream in (None, torch.cuda.Stream(), torch.cuda.current_stream()):
        on_gpu, result = torch.from_numpy(x).cuda(), torch.from_numpy(y).cuda()
        torch.cuda.synchronize()
        saxpy(2.5, on_gpu, result, stream=stream)
        torch.cuda.synchronize()
        assert np.allclose(result.cpu().numpy(), expected, rtol=1e-6)
    with pytest.raises(TypeError, match=r"argument 2 \(const float\*\): is a tensor in host memory"):
        saxpy(2.5, torch.from_numpy(x), result)
    with pytest.raises(TypeError, match=r"argument 2 \(const float\*\): takes an array of float32, not of bfloat16"):
        saxpy(2.5, on_gpu.bfloat16(), result)
    with pytest.raises(TypeError, match=r"argument 1 \(float\): takes a number, not torch.Tensor"):
        saxpy(on_gpu[0], on_gpu, result)
    parameter = torch.nn.Parameter(torch.from_numpy(x).cuda())
    saxpy(0.0, parameter, result)
    pinned = torch.from_numpy(x).pin_memory()
    saxpy(0, pinned, result)
    torch.cuda.synchronize()
    assert np.allclose(result.cpu().numpy(), expected, rtol=1e-6)


def test_from_numba(saxpy: Callable[..., None], numbers: tuple[Any, Any, Any]) -> None:
    cuda = pytest.importorskip("numba.cuda")
    x, y, expected = numbers
    stream = cuda.stream()
    on_gpu, result = cuda.to_device(x), cuda.to_device(y)
    cuda.synchronize()
    saxpy(2.5, on_gpu, result, stream=stream)
    stream.synchronize()
    assert np.allclose(result.copy_to_host(), expected, rtol=1e-6)


def test_from_cuda_core(saxpy: Callable[..., None], numbers: tuple[Any, Any, Any]) -> None:
    core = pytest.importorskip("cuda.core")
    x, y, expected = numbers
    device = core.Device()
    device.set_current()
    stream = device.create_stream()
    memory = core.LegacyPinnedMemoryResource()
    on_gpu, result = memory.allocate(x.nbytes), memory.allocate(y.nbytes)
    np.from_dlpack(on_gpu).view(np.float32)[:] = x
    np.from_dlpack(result).view(np.float32)[:] = y
    saxpy(2.5, on_gpu, result, N, stream)
    stream.sync()
    assert np.allclose(np.from_dlpack(result).view(np.float32), expected, rtol=1e-6)


def test_any_array_by_dlpack(saxpy: Callable[..., None], numbers: tuple[Any, Any, Any]) -> None:
    cupy = pytest.importorskip("cupy")
    x, y, expected = numbers

    class OnlyDLPack:
        def __init__(self, array: Any) -> None:
            self._array = array

        def __dlpack_device__(self) -> Any:
            return self._array.__dlpack_device__()

        def __dlpack__(self, **options: Any) -> Any:
            return self._array.__dlpack__(**options)

    on_gpu, result = cupy.asarray(x), cupy.asarray(y)
    saxpy(2.5, OnlyDLPack(on_gpu), OnlyDLPack(result), N)
    assert np.allclose(cupy.asnumpy(result), expected, rtol=1e-6)
    with pytest.raises(TypeError, match="takes an array of float32, not of float64"):
        saxpy(2.5, OnlyDLPack(on_gpu.astype(cupy.float64)), result, N)


def test_an_array_on_another_gpu_is_an_error(saxpy: Callable[..., None], numbers: tuple[Any, Any, Any]) -> None:
    cupy = pytest.importorskip("cupy")
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("needs two GPUs")
    x, y, expected = numbers
    with cupy.cuda.Device(1):
        there, result = cupy.asarray(x), cupy.asarray(y)
        saxpy(2.5, there, result)
        assert np.allclose(cupy.asnumpy(result), expected, rtol=1e-6)
    with cupy.cuda.Device(0):
        here = cupy.asarray(y)
        with pytest.raises(TypeError, match=r"argument 2 .*: is an array on GPU 1, but the launch is on GPU 0"):
            saxpy(2.5, there, here)


def test_a_kernel_converts_to_a_cuda_core_kernel(saxpy: Callable[..., None]) -> None:
    core = pytest.importorskip("cuda.core")
    core.Device().set_current()
    from saxpy_demo import kernels

    assert kernels.saxpy.cuda_core.num_arguments == 4
    assert "saxpy" in dir(kernels) and kernels.__all__ == ["saxpy"]
