"""Stress tests of a real driver: thousands of modules, many threads, captures, contexts, lost contexts, forks."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.manifest_writer.text import manifest_text
from tests.gpu.support import SAXPY, SAXPY_SIZE, Memory, check_saxpy, value
from tests.soak import amount
from tests.support.processes import run


def copies(folder: Path, count: int) -> list[str]:
    """Write `count` copies of the module saxpy next to it and return their names."""
    manifest = manifest_of((folder / "saxpy.fatbin.json").read_bytes(), "x")
    names = [f"{SAXPY}{number}" for number in range(count)]
    for number, name in enumerate(names):
        fatbin = folder / f"saxpy{number}.fatbin"
        fatbin.write_bytes((folder / manifest.fatbin).read_bytes())
        text = manifest_text(manifest._replace(name=name, fatbin=fatbin.name))
        fatbin.with_name(f"{fatbin.name}.json").write_text(text)
    return names


# --- many ------------------------------------------------------------------------------------------


def test_unloaded_modules_leave_no_memory_or_handles(saxpy: Path, context: None, driver, count) -> None:
    names, held = copies(saxpy, 1000), []
    for each in range(amount(24, 200)):
        modules = [cuda_wheel.load(name) for name in names]
        for module in modules[::50]:
            check_saxpy(module)
        for module in modules:
            module["saxpy"].attributes  # noqa: B018 - makes the driver load it into the context
            module.unload()
        del module, modules
        gc.collect()
        handles = len(os.listdir("/proc/self/fd"))
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        held.append((value(driver.cuMemGetInfo()), handles, resident))
        print(each, held[-1])
    count("modules loaded and released", len(held) * len(names))
    # The first rounds allocate memory that Python and the driver reuse.
    (memory, handles, resident), (memory_then, handles_then, resident_then) = held[len(held) // 2], held[-1]
    assert handles == handles_then
    if "PYTEST_XDIST_WORKER" in os.environ:
        print("the GPU's free memory is not compared: other test processes use the GPU")
    else:
        assert memory == memory_then
    # A module needs more than 10 KB, in Python and in the driver.
    assert resident_then - resident < 500 * len(names) * (len(held) // 2 - 1)


def test_64_threads_load_the_same_and_different_modules(saxpy: Path, driver, count) -> None:
    names = copies(saxpy, 128)
    start, failures, modules = threading.Barrier(64), [], [[] for _ in range(64)]

    def work(number: int) -> None:
        try:
            value(driver.cuCtxSetCurrent(value(driver.cuDevicePrimaryCtxRetain(0))))
            stream = value(driver.cuStreamCreate(1))
            start.wait()
            for step in range(amount(4, 40)):
                for name in (names[step % 64], names[64 + number]):
                    module = cuda_wheel.load(name)
                    check_saxpy(module, int(stream))
                    modules[number].append(module)
                modules[number].pop().unload()  # its own
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    count("loads in 64 threads at once", 64 * 2 * amount(4, 40))
    for same in zip(*modules, strict=True):
        assert len({id(module) for module in same}) == 1


# --- states of contexts -----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["GLOBAL", "THREAD_LOCAL", "RELAXED"])
def test_loading_does_not_end_a_capture(mode: str, saxpy: Path, context: None, driver) -> None:
    x, y = Memory(np.arange(SAXPY_SIZE, dtype=np.float32)), Memory(np.ones(SAXPY_SIZE, np.float32))
    stream = value(driver.cuStreamCreate(1))
    value(driver.cuStreamBeginCapture(stream, getattr(driver.CUstreamCaptureMode, f"CU_STREAM_CAPTURE_MODE_{mode}")))
    module = cuda_wheel.load(SAXPY)
    module["saxpy"].launch(SAXPY_SIZE // 256, 256, 3.0, x, y, SAXPY_SIZE, stream=stream)
    graph = value(driver.cuStreamEndCapture(stream))
    assert (y.numpy() == 1).all()
    executable = value(driver.cuGraphInstantiate(graph, 0))
    for times in (1, 2):
        value(driver.cuGraphLaunch(executable, stream))
        value(driver.cuStreamSynchronize(stream))
        assert (y.numpy() == 3 * times * np.arange(SAXPY_SIZE) + 1).all()


def test_modules_work_in_a_context_that_is_not_the_primary_one(saxpy: Path, driver) -> None:
    try:
        own = value(driver.cuCtxCreate(None, 0, 0))
    except TypeError:  # cuda-bindings of CUDA 12
        own = value(driver.cuCtxCreate(0, 0))
    module = cuda_wheel.load(SAXPY)
    check_saxpy(module)
    assert int(value(driver.cuCtxGetCurrent())) == int(own)
    value(driver.cuCtxDestroy(own))
    driver.cuCtxSetCurrent(value(driver.cuDevicePrimaryCtxRetain(0)))
    check_saxpy(module)  # the module outlives the context in which it was loaded


LOST = f"""
import cuda_wheel
from cuda.bindings import driver
driver.cuInit(0)
driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])
ptx = b'''.version 7.0
.target sm_52
.address_size 64
.visible .entry wild() {{ .reg .b64 %a; mov.u64 %a, 16; st.global.u32 [%a], 1; ret; }}
'''
module = driver.cuModuleLoadData(ptx)[1]
driver.cuLaunchKernel(driver.cuModuleGetFunction(module, b"wild")[1], 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)
driver.cuCtxSynchronize()
try:
    module = cuda_wheel.load({SAXPY!r})
    module["saxpy"].launch(1, 32, 3.0, None, None, 0)
except cuda_wheel.DriverError as error:
    print(error)
"""


def test_a_context_that_another_librarys_kernel_broke_is_reported_as_such(saxpy: Path) -> None:
    result = run(sys.executable, "-c", LOST)
    print(result.stdout)
    assert "CUDA_ERROR_ILLEGAL_ADDRESS (700)" in result.stdout
    assert "A kernel that was launched earlier, by any library, failed with this error" in result.stdout


FORK = f"""
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python warns about a fork with running threads
import saxpy_demo.kernels, cuda_wheel, cuda_wheel.runtime.loading, cuda_wheel.runtime.launching
from tests.gpu.support import check_saxpy
def work():
    module = cuda_wheel.load({SAXPY!r})
    from cuda.bindings import driver
    driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])
    check_saxpy(module)
    print("right", flush=True)
for child in range(4):
    if os.fork() == 0:
        work()
        os._exit(0)
for child in range(4):
    assert os.wait()[1] == 0
work()
"""


def test_children_load_after_a_fork_if_the_parent_had_not_used_cuda(saxpy: Path) -> None:
    root = str(Path(__file__).parents[2])
    result = run(sys.executable, "-c", FORK, PYTHONPATH=os.pathsep.join([root, os.environ["PYTHONPATH"]]))
    assert result.stdout.split() == ["right"] * 5, result.stdout


# --- releasing -------------------------------------------------------------------------------------


def test_unloading_waits_for_running_kernels(saxpy: Path, context: None) -> None:
    n = 1 << 24
    numbers = (np.arange(n) % 1024).astype(np.float32)  # so that no sum is rounded
    x, y = Memory(numbers), Memory(np.ones(n, np.float32))
    module = cuda_wheel.load(SAXPY)
    kernel = module["saxpy"]
    launch: Callable[..., None] = kernel.launch
    for _ in range(2):
        launch(n // 256, 256, 1.0, x, y, n)
    launch = kernel.launch
    for _ in range(100):
        launch(n // 256, 256, 1.0, x, y, n)
    module.unload()
    assert (y.numpy() == 102 * numbers + 1).all()
    with pytest.raises(cuda_wheel.DriverError, match="was unloaded: load it again"):
        launch(n // 256, 256, 1.0, x, y, n)
    check_saxpy(cuda_wheel.load(SAXPY))
