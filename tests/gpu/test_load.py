"""`cuda_wheel.load` with a real driver: the chosen image, side effects and failures."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import cuda_wheel
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.runtime.driver import device_and_driver
from cuda_wheel.runtime.parts.cuda_libraries import nvjitlink_version
from cuda_wheel.runtime.rules import resolve
from tests.gpu.conftest import prebuilt_sets
from tests.gpu.prebuild import PTX_ALONE
from tests.gpu.support import SAXPY, check_saxpy, compare_signatures
from tests.support.editable import MODES, install_editable
from tests.support.mixed_source import FILES
from tests.support.processes import pip_wheel, run
from tests.support.projects import copy_fixture
from tests.support.toolchains import installed_extra


def test_a_module_maps_names_to_kernels(saxpy: Path) -> None:
    module = cuda_wheel.load(SAXPY)
    assert list(module) == ["saxpy"]
    assert module["saxpy"].handle == int(module["saxpy"]) != 0
    assert module["saxpy"] is module["saxpy"]
    assert module[module["saxpy"].symbol].handle == module["saxpy"].handle
    assert "saxpy" in module and "daxpy" not in module
    assert f"{SAXPY}: 1 kernel, " in repr(module)


def test_an_unknown_kernel_is_an_error_with_similar_names(saxpy: Path) -> None:
    with pytest.raises(cuda_wheel.UnknownKernelError, match="no kernel 'saxby'; did you mean saxpy"):
        cuda_wheel.load(SAXPY)["saxby"]


def test_a_module_loads_once(saxpy: Path) -> None:
    modules = []
    threads = [threading.Thread(target=lambda: modules.append(cuda_wheel.load(SAXPY))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(modules) == 16
    assert len({id(module) for module in modules}) == 1


def test_loading_creates_no_context(saxpy: Path) -> None:
    program = f"""
import cuda_wheel
from cuda.bindings import driver
kernel = cuda_wheel.load({SAXPY!r})["saxpy"]
error, context = driver.cuCtxGetCurrent()
assert int(context) == 0, context
error, flags, active = driver.cuDevicePrimaryCtxGetState(0)
assert not active
assert not {{"numpy", "cuda.core", "cupy", "rich"}} & set(__import__("sys").modules)
"""
    result = run(sys.executable, "-c", program)
    assert result.returncode == 0, result.stdout


def test_another_librarys_context_stays_current(saxpy: Path, driver) -> None:
    _, device = driver.cuDeviceGet(0)
    _, context = driver.cuDevicePrimaryCtxRetain(device)
    try:
        driver.cuCtxSetCurrent(context)
        cuda_wheel.load(SAXPY)["saxpy"]
        assert int(driver.cuCtxGetCurrent()[1]) == int(context)
    finally:
        driver.cuCtxSetCurrent(0)
        driver.cuDevicePrimaryCtxRelease(device)


def test_a_missing_device_is_an_error(saxpy: Path) -> None:
    with pytest.raises(cuda_wheel.DriverError, match="getting GPU 99: the driver returned CUDA_ERROR_INVALID_DEVICE"):
        cuda_wheel.load(SAXPY, device=99)


def test_a_hidden_gpu_is_an_error(saxpy: Path) -> None:
    result = run(sys.executable, "-c", f"import cuda_wheel; cuda_wheel.load({SAXPY!r})", CUDA_VISIBLE_DEVICES="")
    assert "DriverError: the NVIDIA driver is installed, but sees no GPU (CUDA_VISIBLE_DEVICES is '')" in result.stdout


def test_a_damaged_image_never_reaches_the_driver(saxpy: Path) -> None:
    fatbin = saxpy / "saxpy.fatbin"
    manifest = manifest_of((saxpy / "saxpy.fatbin.json").read_bytes(), "x")
    content = bytearray(fatbin.read_bytes())
    chosen = resolve(manifest, *device_and_driver(), nvjitlink_version()).image
    content[chosen.offset + chosen.size // 2] ^= 1
    fatbin.write_bytes(content)
    with pytest.raises(
        cuda_wheel.ImageError,
        match=r"saxpy\.fatbin beside .* is damaged: .* Reinstall the package or application that holds ",
    ):
        cuda_wheel.load(SAXPY)
    content[chosen.offset + chosen.size // 2] ^= 1
    fatbin.write_bytes(content)
    assert cuda_wheel.load(SAXPY)["saxpy"]  # the restored image loads


def loaded(prebuilt: Callable[[str, str], Path], install: Callable[[Path], Path], name: str):
    site = install(prebuilt(name, "saxpy"))
    manifest = manifest_of((site / "saxpy_demo/kernels/saxpy.fatbin.json").read_bytes(), "x")
    return manifest, resolve(manifest, *device_and_driver(), nvjitlink_version())


@pytest.mark.parametrize("extra", ["cu12", "cu13"])
def test_lowered_ptx_loads_natively(extra: str, prebuilt, install, nothing_loaded: None) -> None:
    manifest, _ = loaded(prebuilt, install, f"{extra}-jit")
    module = cuda_wheel.load(SAXPY)
    assert module.how == "jit"
    assert module["saxpy"].handle
    print(f"NVRTC {manifest.toolchain['nvrtc']}: {module!r}, compiled as PTX {module.image.ptx_version_compiled}")


@pytest.mark.parametrize("extra", ["cu12", "cu13"])
def test_ptx_as_compiled_loads_as_the_rules_say(extra: str, prebuilt, install, nothing_loaded: None) -> None:
    _, expected = loaded(prebuilt, install, f"{extra}-as-compiled")
    if expected.image is None:
        with pytest.raises(cuda_wheel.NoImageError, match=r"PTX .* needs a driver for CUDA") as caught:
            cuda_wheel.load(SAXPY)
        print(caught.value)
    else:
        module = cuda_wheel.load(SAXPY)
        assert module.how == expected.how
        assert module["saxpy"].handle
        print(repr(module))


@pytest.mark.parametrize("name", [name for name in prebuilt_sets() if name.endswith("-alone-jit")] or ["built here"])
def test_a_wheel_of_ptx_alone_loads_and_runs(
    name: str, prebuilt, install, nothing_loaded: None, context: None, tmp_path: Path
) -> None:
    extra = installed_extra()
    if name != "built here":
        wheel = prebuilt(name, "saxpy")
    elif extra is None:
        pytest.skip("no prebuilt wheels, and no toolchain to build them with")
    else:
        project = copy_fixture("saxpy", tmp_path / "project", extra)
        result = pip_wheel(project, tmp_path / "dist", CUDAARCHS=PTX_ALONE)
        assert result.returncode == 0, result.stdout
        (wheel,) = (tmp_path / "dist").glob("*.whl")
    site = install(wheel)
    manifest = manifest_of((site / "saxpy_demo/kernels/saxpy.fatbin.json").read_bytes(), "x")
    assert [str(image.target) for image in manifest.images] == ["compute_75"]
    module = cuda_wheel.load(SAXPY)
    assert module.how == "jit" and module.jit is not None
    check_saxpy(module)
    compare_signatures(module)
    assert module["saxpy"].attributes.registers > 0


def test_explain_uses_this_machines_gpu(saxpy: Path, cuda_wheel) -> None:
    result = cuda_wheel("explain", saxpy)
    print(result.stdout)
    assert result.returncode == 0
    capability, driver = device_and_driver()
    assert (
        f"GPU of compute capability {capability[0]}.{capability[1]}, driver for CUDA {driver[0]}.{driver[1]}"
        in result.stdout
    )


ALONE = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "cuda_wheel":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
from demo._cuda_wheel import load
module = load("demo.fill")
assert module["fill"].handle
print(module)
"""


@pytest.mark.skipif(installed_extra() is None, reason="no toolchain is installed here to build with")
def test_a_vendored_loader_loads_without_cuda_wheel(make_project, install, tmp_path: Path) -> None:
    project = make_project('[tool.cuda-wheel]\nloader = "vendor"')
    result = pip_wheel(project, tmp_path / "dist")
    assert result.returncode == 0, result.stdout
    install(next((tmp_path / "dist").glob("*.whl")))
    result = run(sys.executable, "-c", ALONE, cwd=tmp_path)
    print(result.stdout)
    assert result.stdout.startswith("<Module demo.fill: 1 kernel, cubin "), result.stdout


ANSWER = """
import numpy as np
from cuda.core import Device, Kernel, LaunchConfig, LegacyPinnedMemoryResource, launch
import cuda_wheel
device = Device()
device.set_current()
stream = device.create_stream()
buffer = LegacyPinnedMemoryResource().allocate(4)
module = cuda_wheel.load("demo.kernels.k")
launch(stream, LaunchConfig(grid=1, block=1), Kernel.from_handle(module["k"].handle), buffer)
stream.sync()
print(module.how, np.from_dlpack(buffer).view(np.int32)[0])
"""


@pytest.mark.skipif(installed_extra() is None, reason="no toolchain is installed here to build with")
@pytest.mark.parametrize("mode", MODES)
def test_an_editable_install_runs_the_current_source(mode: str, tmp_path: Path) -> None:
    pytest.importorskip("cuda.core")
    pytest.importorskip(
        {"hatchling": "hatchling", "setuptools": "setuptools"}.get(mode.split()[0], "scikit_build_core")
    )
    _, python = install_editable(mode, tmp_path)
    for answer in (41, 41, 42):
        (tmp_path / "project/include/answer.h").write_text(f"#define ANSWER {answer}\n")
        result = run(python, "-c", ANSWER, cwd=tmp_path, CUDA_WHEEL_CACHE_DIR=str(tmp_path / "cache"))
        assert result.stdout == f"native {answer}\n", result.stdout


@pytest.mark.skipif(installed_extra() is None, reason="no toolchain is installed here to build with")
def test_native_builds_for_this_machines_gpu(make_project, cuda_wheel, tmp_path: Path) -> None:
    result = cuda_wheel("build", make_project('[tool.cuda-wheel]\narchitectures = "native"'), "-o", tmp_path / "out")
    assert result.returncode == 0, result.stdout
    (major, minor), _ = device_and_driver()
    assert f"cubin sm_{major}{minor}" in result.stdout


MIXED_RUN = """
import numpy as np
from cuda.core import Device, Kernel, LaunchConfig, LegacyPinnedMemoryResource, launch
import cuda_wheel
device = Device()
device.set_current()
stream = device.create_stream()
x = np.from_dlpack(LegacyPinnedMemoryResource().allocate(4096)).view(np.float32)
x[:] = np.arange(1024)
module = cuda_wheel.load("demo.mixed")
kernel = Kernel.from_handle(module["add<float>"].handle)
launch(stream, LaunchConfig(grid=4, block=256), kernel, x.ctypes.data, np.float32(3), np.int32(1024))
stream.sync()
assert (x == 2 * np.arange(1024) + 3).all()
print(module)
"""


@pytest.mark.skipif(installed_extra() is None, reason="no toolchain is installed here to build with")
def test_the_kernels_of_a_mixed_file_run(make_project, install, tmp_path: Path) -> None:
    pytest.importorskip("cuda.core")
    result = pip_wheel(make_project("[tool.cuda-wheel]", **FILES), tmp_path / "dist")
    assert result.returncode == 0, result.stdout
    install(next((tmp_path / "dist").glob("*.whl")))
    result = run(sys.executable, "-c", MIXED_RUN, cwd=tmp_path)
    print(result.stdout)
    assert result.stdout.startswith("<Module demo.mixed: 2 kernels, cubin sm_90"), result.stdout
