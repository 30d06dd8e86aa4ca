"""Launches follow the current stream of PyTorch and CuPy: in side streams, graph captures, threads and on a second GPU.

A kernel that spins delays the stream, so that a launch on another stream would read what was there before.
"""

from __future__ import annotations

import re
import shutil
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.runtime.driver import device_count
from tests.gpu.support import SAXPY
from tests.support.processes import run
from tests.support.projects import ROOT
from tests.support.toolchains import installed_extra

N = 1 << 16
CYCLES = 300_000_000
"""The clock cycles that the stream is delayed: more than a tenth of a second on every GPU."""


@pytest.fixture
def torch(saxpy: Path) -> Any:
    module = pytest.importorskip("torch")
    module.cuda.init()
    return module


@pytest.fixture
def cupy(saxpy: Path) -> Any:
    return pytest.importorskip("cupy")


def launch(x: Any, y: Any, **more: Any) -> None:
    """Compute y += 3 x."""
    cuda_wheel.load(SAXPY)["saxpy"].launch(N // 256, 256, 3.0, x, y, N, **more)


def after_delay(torch: Any, launch: Callable[..., None]) -> float:
    """Fill an array behind a delay on PyTorch's current stream, launch, and return the result's common value."""
    x, y, zeros = (torch.zeros(N, device="cuda") for _ in range(3))
    torch.cuda.synchronize()  # before a launch that may be on another stream
    launch(zeros, y)  # loads the module: the driver may wait for the GPU to do so
    torch.cuda.synchronize()
    torch.cuda._sleep(CYCLES)
    x.fill_(1)
    launch(x, y)
    torch.cuda.synchronize()
    assert bool((y == y[0]).all())
    return float(y[0])


def test_a_launch_follows_pytorchs_stream(torch: Any) -> None:
    assert after_delay(torch, launch) == 3
    with torch.cuda.stream(torch.cuda.Stream()):
        assert after_delay(torch, launch) == 3
        # This test can fail: on the default stream, the launch reads the zeros of before.
        assert after_delay(torch, lambda x, y: launch(x, y, stream="default")) == 0
        with cuda_wheel.launch_stream("default"):
            assert after_delay(torch, launch) == 0
            assert after_delay(torch, lambda x, y: launch(x, y, stream=torch.cuda.current_stream())) == 3


def test_addresses_follow_the_stream_of_the_block(torch: Any) -> None:
    def launch_addresses(x: Any, y: Any) -> None:
        launch(x.data_ptr(), y.data_ptr())

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        assert after_delay(torch, launch_addresses) == 0
        with cuda_wheel.launch_stream(side):
            assert after_delay(torch, launch_addresses) == 3


def test_each_thread_follows_its_own_stream(torch: Any) -> None:
    results: list[float] = []

    def work() -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            x, y = torch.zeros(N, device="cuda"), torch.zeros(N, device="cuda")
            torch.cuda.current_stream().synchronize()
            for number in range(1, 21):
                torch.cuda._sleep(CYCLES // 100)
                x.fill_(number)
                launch(x, y)
            torch.cuda.current_stream().synchronize()
            results.append(float(y[0]))

    launch(torch.zeros(N, device="cuda"), torch.zeros(N, device="cuda"))
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [3 * sum(range(1, 21))] * 4


def test_a_launch_becomes_a_part_of_pytorchs_graph(torch: Any) -> None:
    x, y = torch.zeros(N, device="cuda"), torch.zeros(N, device="cuda")
    launch(x, y)  # the first launch loads the module, which a capture does not allow
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x += 1
        launch(x, y)
    torch.cuda.synchronize()
    assert float(y[0]) == 0  # captured, and not run
    for _ in range(4):
        graph.replay()
    torch.cuda.synchronize()
    assert bool((y == 3 * (1 + 2 + 3 + 4)).all())


def test_a_launch_follows_cupys_stream(cupy: Any) -> None:
    spin = cupy.RawKernel(
        'extern "C" __global__ void spin(long long n) { long long t = clock64(); while (clock64() - t < n); }', "spin"
    )
    x, y = cupy.zeros(N, cupy.float32), cupy.zeros(N, cupy.float32)
    launch(x, y)
    cupy.cuda.Device().synchronize()
    for more, expected in (({}, 3), ({"stream": "default"}, 0)):
        x.fill(0)
        y.fill(0)
        cupy.cuda.Device().synchronize()
        with cupy.cuda.Stream(non_blocking=True):
            spin((1,), (1,), (np.int64(CYCLES),))
            x.fill(1)
            launch(x, y, **more)
            cupy.cuda.Device().synchronize()
        assert bool((y == expected).all())


def test_a_launch_becomes_a_part_of_cupys_graph(cupy: Any) -> None:
    x, y = cupy.ones(N, cupy.float32), cupy.zeros(N, cupy.float32)
    launch(x, y)
    y.fill(0)
    cupy.cuda.Device().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        launch(x, y)
        graph = stream.end_capture()
        assert float(y[0]) == 0
        for _ in range(4):
            graph.launch(stream)
        stream.synchronize()
    assert bool((y == 12).all())


def test_a_launch_becomes_a_part_of_cuda_cores_graph(torch: Any) -> None:
    core = pytest.importorskip("cuda.core")
    device = core.Device()
    device.set_current()
    x, y = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    launch(torch.zeros(N, device="cuda"), y)
    torch.cuda.synchronize()
    stream = device.create_stream()
    builder = stream.create_graph_builder()
    builder.begin_building()
    with cuda_wheel.launch_stream(builder):  # cuda.core has no current stream
        launch(x, y)
    graph = builder.end_building().complete()
    for _ in range(4):
        graph.launch(stream)
    stream.sync()
    assert bool((y == 12).all())


def test_cuda_cores_buffers_need_the_stream_that_they_are_used_on(torch: Any) -> None:
    """A buffer tells no stream: it remembers one for its deallocation only, which it does not show."""
    from cuda.bindings import driver

    core = pytest.importorskip("cuda.core")
    device = core.Device()
    device.set_current()
    stream = device.create_stream()
    x, y = (device.allocate(4 * N, stream=stream) for _ in range(2))
    x.fill(0, stream=stream)
    launch(x, y, stream=stream)
    for more, block, expected in (({}, "default", 0), ({}, None, 0), ({"stream": stream}, None, 3), ({}, stream, 3)):
        x.fill(0, stream=stream)
        y.fill(0, stream=stream)
        stream.sync()
        with torch.cuda.stream(torch.cuda.ExternalStream(int(stream.handle))):
            torch.cuda._sleep(CYCLES)
        x.fill(np.float32(1).tobytes(), stream=stream)
        with cuda_wheel.launch_stream(block):
            launch(x, y, **more)
        torch.cuda.synchronize()
        result = np.empty(N, np.float32)
        assert int(driver.cuMemcpyDtoH(result, int(y.handle), result.nbytes)[0]) == 0
        assert (result == expected).all(), (more, block)


def test_numbas_arrays_are_used_on_its_default_stream(saxpy: Path) -> None:
    cuda = pytest.importorskip("numba.cuda")
    x, y = cuda.to_device(np.ones(N, np.float32)), cuda.to_device(np.zeros(N, np.float32))
    cuda.synchronize()
    for _ in range(4):
        launch(x, y)
    cuda.default_stream().synchronize()
    assert (y.copy_to_host() == 12).all()


def test_arrays_of_two_libraries_with_different_streams_are_refused(torch: Any, cupy: Any) -> None:
    x, y = torch.ones(N, device="cuda"), cupy.zeros(N, cupy.float32)
    launch(x, y)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        with pytest.raises(cuda_wheel.ArgumentError, match=r"PyTorch's is 0x\w+ and CuPy's is the default stream"):
            launch(x, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # from CuPy 14 on, which has Stream.from_external
            same = cupy.cuda.ExternalStream(side.cuda_stream)
        with same:
            launch(x, y)
        launch(x, y, stream=side)
    torch.cuda.synchronize()
    assert bool((y == 9).all())


def test_on_a_second_gpu(torch: Any) -> None:
    if device_count() < 2:
        pytest.skip("there is one GPU")
    for number in (1, 0):
        with torch.cuda.device(number), torch.cuda.stream(torch.cuda.Stream()):
            assert after_delay(torch, launch) == 3
            elsewhere = torch.zeros(N, device=f"cuda:{1 - number}")
            with pytest.raises(cuda_wheel.ArgumentError, match=f"is an array on GPU {1 - number}"):
                launch(elsewhere, elsewhere)


def test_a_thread_without_a_context_gets_that_of_the_arrays_gpu(torch: Any, saxpy: Path) -> None:
    if device_count() < 2:
        pytest.skip("there is one GPU")
    kernel = cuda_wheel.load(SAXPY)["saxpy"]
    for number in (1, 0):
        x, y = (torch.ones(N, device=f"cuda:{number}") for _ in range(2))
        torch.cuda.synchronize(number)
        errors: list[BaseException] = []

        def work(*arrays: Any, errors: list[BaseException] = errors) -> None:
            try:
                kernel.launch(N // 256, 256, 3.0, *arrays, N)
            except cuda_wheel.DriverError as error:
                errors.append(error)

        for arrays in ((x, y), (x.data_ptr(), y.data_ptr()), (x, y)):
            thread = threading.Thread(target=work, args=arrays)
            thread.start()
            thread.join()
        torch.cuda.synchronize(number)
        assert bool((y == 7).all())
        assert ["no CUDA context is current" in str(each) for each in errors] == [True]


def test_a_variable_is_written_on_pytorchs_stream(torch: Any, saxpy: Path) -> None:
    variable = next(iter(cuda_wheel.load_code(VARIABLE).globals.values()))
    variable.write(np.zeros(4, np.float32))
    data = torch.zeros(4, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()) as _:
        torch.cuda._sleep(CYCLES)
        data.fill_(7)
        variable.write(data)
        torch.cuda._sleep(CYCLES)
        assert np.frombuffer(variable.read(stream=torch.cuda.current_stream()) or b"", np.float32).tolist() == [7] * 4
        graph = torch.cuda.CUDAGraph()
        other = torch.full((4,), 9.0, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        variable.write(other)
    assert np.frombuffer(variable.read() or b"", np.float32).tolist() == [7] * 4
    graph.replay()
    torch.cuda.synchronize()
    assert np.frombuffer(variable.read() or b"", np.float32).tolist() == [9] * 4


def test_the_example_runs(torch: Any, tmp_path: Path) -> None:
    if not installed_extra():
        pytest.skip("no toolchain is installed")
    shutil.copytree(ROOT / "examples/streams", tmp_path / "example")
    result = run(sys.executable, "-m", "streams_demo", PYTHONPATH=str(tmp_path / "example/src"))
    assert result.returncode == 0, result.stdout
    ways = re.findall(r"^(\w+): largest error", result.stdout, re.MULTILINE)
    assert ways == ["on_pytorchs_stream", "in_a_graph", "in_a_block", "on_a_given_stream"]


VARIABLE = """
.version 6.0
.target sm_50
.address_size 64
.visible .global .align 4 .f32 table[4];
.visible .entry use(.param .u64 p) { ret; }
"""
"""PTX that every GPU runs."""
