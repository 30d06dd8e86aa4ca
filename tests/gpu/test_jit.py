"""PTX with a real driver: compiler logs, options, failures, forks, several GPUs, a newer nvJitLink."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import cuda_wheel
from cuda_wheel import JitOptions
from cuda_wheel.runtime import loading
from cuda_wheel.runtime.driver import device_and_driver, device_count
from cuda_wheel.runtime.parts import cuda_libraries as nvjitlink
from tests.gpu.support import SAXPY
from tests.support.editable import environment_on_top
from tests.support.processes import run

pytestmark = pytest.mark.usefixtures("nothing_loaded")

MATMUL = "matmul_demo.kernels.matmul"


SAXPY_RUN = """
import numpy as np
from cuda.core import Kernel, LaunchConfig, LegacyPinnedMemoryResource, launch


def check(module, device):
    stream = device.create_stream()
    x, y = (np.from_dlpack(LegacyPinnedMemoryResource().allocate(4096)).view(np.float32) for _ in range(2))
    x[:], y[:] = np.arange(1024), 1
    kernel = Kernel.from_handle(module["saxpy"].handle)
    launch(stream, LaunchConfig(grid=4, block=256), kernel, np.float32(2), x.ctypes.data, y.ctypes.data, np.int32(1024))
    stream.sync()
    assert (y == 2 * x + 1).all()
"""
"""The beginning of programs that check the results of a loaded kernel."""

COMPILED = """
import cuda_wheel
jit = cuda_wheel.load("matmul_demo.kernels.matmul").jit
print(jit, jit.registers, jit.spills)
print(jit.log)
limited = cuda_wheel.load("matmul_demo.kernels.matmul", jit=cuda_wheel.JitOptions(max_registers=16)).jit
assert max(limited.registers.values()) < max(jit.registers.values()), limited.registers
print("with 16 registers:", limited.registers, limited.spills)
quiet = cuda_wheel.load("matmul_demo.kernels.matmul", jit=cuda_wheel.JitOptions(verbose=False, optimization_level=0)).jit
assert quiet.registers == {} and quiet.seconds > 0
"""


def test_the_drivers_compiler_returns_a_log(prebuilt, install) -> None:
    install(prebuilt("cu12-jit", "matmul_templates"))
    result = run(sys.executable, "-c", COMPILED, CUDA_CACHE_DISABLE="1")
    print(result.stdout)
    assert result.returncode == 0, result.stdout
    assert "Used" in result.stdout


def test_results_from_the_drivers_cache_have_no_log(prebuilt, install, tmp_path: Path) -> None:
    install(prebuilt("cu12-jit", "saxpy"))
    program = f"import cuda_wheel; jit = cuda_wheel.load({SAXPY!r}).jit; print(len(jit.log), jit.seconds)"
    logs = [run(sys.executable, "-c", program, CUDA_CACHE_PATH=str(tmp_path / "driver")).stdout for _ in range(2)]
    print(logs)
    assert int(logs[0].split()[0]) > 0


def test_broken_ptx_is_an_error_with_the_compilers_log_and_has_no_effect(
    prebuilt, install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(prebuilt("cu12-jit", "saxpy"))
    read = loading.read_image
    with monkeypatch.context() as patch:
        patch.setattr(loading, "read_image", lambda *a: read(*a).replace(b"fma.rn.f32", b"fma.xx.f32"))
        with pytest.raises(cuda_wheel.DriverError) as caught:
            cuda_wheel.load(SAXPY)
    print(caught.value)
    assert "CUDA_ERROR_INVALID_PTX" in str(caught.value)
    assert "Unknown modifier '.xx'" in str(caught.value)
    assert cuda_wheel.load(SAXPY)["saxpy"].handle


FORK = f"""
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python warns about a fork with running threads
import cuda_wheel
if "first" in sys.argv:
    module = cuda_wheel.load({SAXPY!r})
else:  # another library uses CUDA, and only the child uses this package
    from cuda.bindings import driver
    assert int(driver.cuInit(0)[0]) == 0
if os.fork() == 0:
    for act in (lambda: cuda_wheel.load({SAXPY!r}), lambda: module["saxpy"]) if "first" in sys.argv else (lambda: cuda_wheel.load({SAXPY!r}),):
        try:
            act()
        except cuda_wheel.DriverError as error:
            print(error, flush=True)
    os._exit(0)
_, status = os.wait()
print("child:", status, flush=True)
"""


@pytest.mark.parametrize(("who", "times"), [("first", 2), ("other", 1)])
def test_a_forked_child_gets_an_error_and_does_not_crash(who: str, times: int, prebuilt, install) -> None:
    install(prebuilt("cu12", "saxpy"))
    result = run(sys.executable, "-c", FORK, who)
    print(result.stdout)
    assert result.stdout.count("this process was forked from one that had initialised CUDA") == times
    assert "child: 0" in result.stdout


def test_modules_run_on_every_gpu(prebuilt, install) -> None:
    if device_count() < 2:
        pytest.skip("needs two GPUs")
    site = install(prebuilt("cu12", "saxpy"))
    program = f"""{SAXPY_RUN}
from cuda.core import Device
import cuda_wheel
for number in (0, 1):
    device = Device(number)
    device.set_current()
    module = cuda_wheel.load({SAXPY!r}, device=number)
    check(module, device)
    print(number, module)
"""
    result = run(sys.executable, "-c", program, PYTHONPATH=f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    print(result.stdout)
    assert result.returncode == 0, result.stdout


# --- a toolchain newer than the driver ---------------------------------------------------------------

NEWER = (
    SAXPY_RUN
    + """
import sys
from cuda.core import Device
import cuda_wheel
from cuda_wheel.runtime.parts import nvjitlink
from cuda_wheel.runtime.parts.nvjitlink import nvjitlink_version
if "kept" in sys.argv:
    nvjitlink.link_code = None
device = Device()
device.set_current()
module = cuda_wheel.load("saxpy_demo.kernels.saxpy")
check(module, device)
print(module, "nvJitLink", nvjitlink_version(), f"{1000 * module.jit.seconds:.1f} ms", module.jit.registers)
"""
)


def test_ptx_newer_than_the_driver_goes_through_a_newer_nvjitlink(prebuilt, install, tmp_path: Path) -> None:
    """CUDA_WHEEL_TEST_NVJITLINK names a wheel of nvJitLink that can read the PTX in `cu13-as-compiled`."""
    wheel = os.environ.get("CUDA_WHEEL_TEST_NVJITLINK")
    if wheel is None:
        pytest.skip("CUDA_WHEEL_TEST_NVJITLINK names no newer nvJitLink")
    site = install(prebuilt("cu13-as-compiled", "saxpy"))
    python = environment_on_top(tmp_path / "environment")
    result = run(python, "-m", "pip", "install", "--no-deps", "--no-index", wheel)
    assert result.returncode == 0, result.stdout
    path = f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    for word in ("first", "kept"):
        result = run(python, "-c", NEWER, word, PYTHONPATH=path)
        print(result.stdout)
        assert ", link> nvJitLink" in result.stdout, result.stdout


def test_ptx_newer_than_all_installed_compilers_is_an_error_that_says_what_helps(prebuilt, install) -> None:
    """The installed nvJitLink is as old as the driver."""
    install(prebuilt("cu13-as-compiled", "saxpy"))
    _, driver = device_and_driver()
    linker = nvjitlink.nvjitlink_version()
    if driver >= (13, 5) or (linker is not None and linker >= (13, 5)):
        pytest.skip("the driver or nvJitLink reads PTX 9.5")
    with pytest.raises(cuda_wheel.NoImageError) as caught:
        cuda_wheel.load(SAXPY, jit=JitOptions())
    print(caught.value)
    assert "PTX 9.5 needs a driver for CUDA 13.5 or later" in str(caught.value)
    assert "pip install cuda-wheel[cu13]" in str(caught.value)


def test_doctor_shows_this_machines_gpu_and_driver(prebuilt, install, cuda_wheel: Callable) -> None:
    result = cuda_wheel("doctor")
    print(result.stdout)
    (major, minor), driver = device_and_driver()
    assert f"compute capability {major}.{minor}" in result.stdout
    assert f"for CUDA {driver[0]}.{driver[1]}" in result.stdout
