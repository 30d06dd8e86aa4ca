"""Bound launches and attributes of launches on a real GPU: right numbers, the right stream, and a real overlap."""

from __future__ import annotations

import re
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.runtime.driver import device_and_driver
from cuda_wheel.runtime.errors import ArgumentError, DriverError
from cuda_wheel.runtime.module import Module
from tests.gpu.support import SAXPY, Memory, value
from tests.support.processes import run
from tests.support.projects import ROOT
from tests.support.toolchains import installed_extra

pytestmark = pytest.mark.usefixtures("context")

KERNELS = Path(__file__).parent / "kernels"
N = 1 << 16
CYCLES = 300_000_000


@pytest.fixture
def kernel(saxpy: Path) -> Any:
    return cuda_wheel.load(SAXPY)["saxpy"]


@pytest.fixture(scope="module")
def programmatic(tmp_path_factory: pytest.TempPathFactory) -> Module:
    """Compile the kernels of which the second may start before the first has ended."""
    if installed_extra() is None:
        pytest.skip("no toolchain is installed here")
    if device_and_driver()[0] < (9, 0):
        pytest.skip("this GPU has no programmatic dependent launch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        return cuda_wheel.compile((KERNELS / "programmatic.cu").read_text())


def test_a_bound_launch_computes_with_new_arrays_and_numbers(kernel: Any) -> None:
    x, y, z = (Memory(np.full(N, start, np.float32)) for start in (1, 2, 3))
    step = kernel.bind(N // 256, 256, 2.0, x, y, N)
    step()  # y = 2 x + y
    assert (y.numpy() == 4).all()
    step(1.0, y, z)
    assert (z.numpy() == 7).all() and (y.numpy() == 4).all()
    step(np.float32(0.5), z.address, x.address, np.int32(N // 2))
    found = x.numpy()
    assert (found[: N // 2] == 4.5).all() and (found[N // 2 :] == 1).all()
    with pytest.raises(ArgumentError, match=r"argument 2 .*: takes an array of float32, not of float64"):
        step(1.0, Memory(np.zeros(N)), y)


def test_bound_launches_in_threads(kernel: Any, driver: Any) -> None:
    gpu = value(driver.cuCtxGetCurrent())
    x = Memory(np.ones(N, np.float32))
    step = kernel.bind(N // 256, 256, 1.0, x, x, N)
    results = [Memory(np.zeros(N, np.float32)) for _ in range(8)]

    def work(target: Memory) -> None:
        driver.cuCtxSetCurrent(gpu)  # a new thread has no current context, and there may be several GPUs
        for _ in range(200):
            step(1.0, x, target)

    threads = [threading.Thread(target=work, args=(target,)) for target in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((target.numpy() == 200).all() for target in results)


def test_a_bound_launch_follows_pytorchs_stream_and_graphs(kernel: Any) -> None:
    torch = pytest.importorskip("torch")
    x, y = torch.zeros(N, device="cuda"), torch.zeros(N, device="cuda")
    step = kernel.bind(N // 256, 256, 3.0, x, y, N)
    default = kernel.bind(N // 256, 256, 3.0, x, y, N, stream="default")
    step()
    torch.cuda.synchronize()
    for launch, expected in ((step, 3), (default, 0)):
        x.zero_()
        y.zero_()
        torch.cuda.synchronize()
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda._sleep(CYCLES)
            x.fill_(1)
            launch()
        torch.cuda.synchronize()
        assert float(y[0]) == expected  # the launch on another stream reads what was there before
    y.zero_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for _ in range(4):
        graph.replay()
    torch.cuda.synchronize()
    assert bool((y == 12).all())


def test_a_bound_launch_reads_cupys_arrays(kernel: Any) -> None:
    cupy = pytest.importorskip("cupy")
    x, y = cupy.ones(N, cupy.float32), cupy.zeros(N, cupy.float32)
    step = kernel.bind(N // 256, 256, 2.0, x, y, N)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        for _ in range(3):
            step(1.0, y, x)
            step()
        stream.synchronize()
    numbers = [1.0, 0.0]
    for _ in range(3):
        numbers[0] += numbers[1]
        numbers[1] += 2 * numbers[0]
    assert float(x[5]) == numbers[0] and float(y[5]) == numbers[1]


def test_a_bound_launch_of_an_unloaded_module_is_an_error(kernel: Any) -> None:
    x = Memory(np.ones(N, np.float32))
    step = kernel.bind(N // 256, 256, 1.0, x, x, N)
    step()
    kernel.module.unload()
    with pytest.raises(DriverError, match="was unloaded"):
        step()


@pytest.mark.parametrize("bound", [False, True])
def test_the_second_kernel_starts_before_the_first_has_ended(programmatic: Module, driver: Any, bound: bool) -> None:
    _, stream = driver.cuStreamCreate(1)
    n = 1000
    for allowed in (False, True, True):
        # Addresses, because a launch records an event after it if it keeps arrays, and the next one waits for that.
        memory = [Memory(np.zeros(size, kind)) for size, kind in ((1, np.int32), (1, np.int32), (n, np.float32))]
        started, overlapped, between = (each.address for each in memory)
        result = Memory(np.zeros(n, np.float32))
        out = result.address
        first, second = programmatic["first"], programmatic["second"]
        more = {"stream": stream, "programmatic": allowed}
        then = second.bind(1, 128, started, between, out, n, **more)  # loads the kernel before the first one runs
        first.launch(1, 128, started, overlapped, between, n, stream=stream)
        if bound:
            then()
        else:
            second.launch(1, 128, started, between, out, n, **more)
        value(driver.cuStreamSynchronize(stream))
        assert memory[1].numpy().tolist() == [int(allowed)]
        assert (result.numpy() == 2 * np.arange(n)).all()  # it waited for the first one's results
    driver.cuStreamDestroy(stream)


def test_the_other_attributes(kernel: Any, driver: Any) -> None:
    event = value(driver.cuEventCreate(2))  # CU_EVENT_DISABLE_TIMING
    least, greatest = driver.cuCtxGetStreamPriorityRange()[1:]
    attributes: list[dict[str, Any]] = [
        {"priority": int(greatest)},
        {"priority": int(least)},
        {"memory_domain": "remote"},
    ]
    capability, version = device_and_driver()
    if version >= (12, 3):
        attributes.append({"completion_event": event})
    if capability >= (9, 0):
        attributes += [
            {"cluster": 2, "cluster_scheduling": "spread"},
            {"cluster": 2, "cluster_scheduling": "load-balancing"},
            {"programmatic": True, "priority": int(greatest), "memory_domain": "remote"},
        ]
    for more in attributes:
        x, y = Memory(np.ones(N, np.float32)), Memory(np.ones(N, np.float32))
        for _ in range(2):
            kernel.launch(N // 256, 256, 2.0, x, y, N, **more)
        kernel.bind(N // 256, 256, 2.0, x, y, N, **more)()
        assert (y.numpy() == 7).all(), more
        if "completion_event" in more:
            value(driver.cuEventSynchronize(event))
    with pytest.raises(ArgumentError, match=f"priority must be between {greatest}, the most urgent, and {least}"):
        kernel.launch(N // 256, 256, 2.0, x, y, N, priority=int(greatest) - 1)
    driver.cuEventDestroy(event)


def test_completion_events_of_libraries(kernel: Any) -> None:
    x, y = Memory(np.ones(N, np.float32)), Memory(np.ones(N, np.float32))
    if device_and_driver()[1] < (12, 3):
        pytest.skip("this driver has no launch completion events")
    torch = pytest.importorskip("torch")
    event = torch.cuda.Event()
    with pytest.raises(ArgumentError, match="PyTorch makes an event when it is first recorded"):
        kernel.launch(N // 256, 256, 2.0, x, y, N, completion_event=event)
    event.record()
    kernel.launch(N // 256, 256, 2.0, x, y, N, completion_event=event)
    torch.cuda.Stream().wait_event(event)
    event.synchronize()
    cupy = pytest.importorskip("cupy")
    event = cupy.cuda.Event(disable_timing=True)
    kernel.launch(N // 256, 256, 2.0, x, y, N, completion_event=event)
    event.synchronize()
    assert (y.numpy() == 5).all()


def test_the_example_runs(tmp_path: Path) -> None:
    if not installed_extra():
        pytest.skip("no toolchain is installed")
    pytest.importorskip("cuda.core")
    shutil.copytree(ROOT / "examples/launches", tmp_path / "example")
    result = run(sys.executable, "-m", "heat_demo", PYTHONPATH=str(tmp_path / "example/src"))
    print(result.stdout)
    assert result.returncode == 0, result.stdout
    ways = re.findall(r"^(\w+): .* a step, largest error", result.stdout, re.MULTILINE)
    assert ways == ["launched", "bound"] + ["overlapping"] * (device_and_driver()[0] >= (9, 0))
