"""CUDA_WHEEL_JIT=error with a real driver: machine code runs, and nothing is compiled, as the driver's own cache shows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import cuda_wheel
from cuda_wheel import JitOptions
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.images.bundling import bundle
from cuda_wheel.runtime.driver import device_and_driver
from cuda_wheel.runtime.parts.cuda_libraries import library_path
from tests.gpu.support import SAXPY, check_saxpy
from tests.support.linkable import by_nvrtc
from tests.support.loaded_modules import forget_loaded_modules
from tests.support.processes import run

pytestmark = pytest.mark.usefixtures("nothing_loaded")

SOURCE = 'extern "C" __global__ void fill(int* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 7; }'


def own_arch() -> str:
    major, minor = device_and_driver()[0]
    return f"{major}{minor}"


@pytest.mark.usefixtures("context")
def test_machine_code_loads_and_runs(saxpy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if cuda_wheel.load(SAXPY).how != "native":
        pytest.skip("the wheel has no machine code for this GPU and driver")
    forget_loaded_modules()
    monkeypatch.setenv("CUDA_WHEEL_JIT", "error")
    module = cuda_wheel.load(SAXPY)
    assert module.how == "native"
    check_saxpy(module)
    assert cuda_wheel.load(SAXPY, jit=JitOptions(allow=False)).how == "native"


LOAD = f"""
import cuda_wheel
try:
    print("loaded", cuda_wheel.load({SAXPY!r}).how)
except cuda_wheel.NoImageError as error:
    print(error)
"""


def test_ptx_is_refused_and_the_driver_compiles_nothing(prebuilt, install, tmp_path: Path) -> None:
    """With a fresh cache of the driver's; that a load which is allowed writes into it shows that the test can see it."""
    install(prebuilt("cu12-jit", "saxpy"))
    folder = tmp_path / "driver"
    result = run(sys.executable, "-c", LOAD, CUDA_CACHE_PATH=str(folder), CUDA_WHEEL_JIT="error")
    print(result.stdout)
    assert f"{SAXPY} has no image for a GPU of compute capability" in result.stdout
    assert "must be compiled, which CUDA_WHEEL_JIT=error forbids" in result.stdout
    assert f'can add "{own_arch()}-real" to architectures.' in result.stdout
    assert not [path for path in folder.rglob("*") if path.is_file()]
    result = run(sys.executable, "-c", LOAD, CUDA_CACHE_PATH=str(folder), CUDA_CACHE_DISABLE="0")
    assert "loaded jit" in result.stdout
    assert [path for path in folder.rglob("*") if path.is_file()]
    result = run(sys.executable, "-c", LOAD, CUDA_CACHE_PATH=str(folder), CUDA_WHEEL_JIT="error")
    assert "CUDA_WHEEL_JIT=error forbids" in result.stdout  # although the driver would compile nothing now


def test_code_and_links_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    if library_path("nvrtc") is None:
        pytest.skip("NVRTC is not installed")
    monkeypatch.setenv("CUDA_WHEEL_JIT", "error")
    cubin = by_nvrtc(SOURCE, [f"-arch=sm_{own_arch()}"])["cubin"]
    assert cuda_wheel.load_code(cubin)["fill"].handle
    with pytest.raises(cuda_wheel.NoImageError, match="CUDA_WHEEL_JIT=error forbids"):
        cuda_wheel.load_code(by_nvrtc(SOURCE, ["-arch=compute_80"])["ptx"])
    with pytest.raises(cuda_wheel.LinkError, match="CUDA_WHEEL_JIT=error forbids"):
        cuda_wheel.link([SOURCE])
    with pytest.raises(cuda_wheel.NoImageError, match="CUDA_WHEEL_JIT=error forbids"):
        cuda_wheel.compile(SOURCE)


CHOSEN = """
import sys
import cuda_wheel
module = cuda_wheel.load_code(sys.argv[1])
print("how:", module.how, module["fill"].attributes.binary_version)
"""


@pytest.mark.parametrize("compress", ["none", "speed", "size"])
def test_the_driver_does_not_compile_where_a_fatbin_has_machine_code_for_the_gpu_itself(
    compress: str, tmp_path: Path
) -> None:
    """`rules._may_compile` relies on this: a compressed fatbin that also has PTX is then loaded."""
    if library_path("nvrtc") is None or library_path("nvfatbin") is None:
        pytest.skip("NVRTC and nvFatbin are not installed")
    cubin = by_nvrtc(SOURCE, [f"-arch=sm_{own_arch()}"])["cubin"]
    ptx = ptx_text.normalise(by_nvrtc(SOURCE, ["-arch=compute_80"])["ptx"].decode()).encode()
    images = ((("cubin", own_arch(), cubin), "fill"), (("ptx", "80", ptx), "fill"))
    (tmp_path / "fill.fatbin").write_bytes(bundle(("fill", images, compress)).content)
    folder = tmp_path / "driver"
    arguments = (sys.executable, "-c", CHOSEN, str(tmp_path / "fill.fatbin"))
    result = run(*arguments, CUDA_CACHE_PATH=str(folder), CUDA_CACHE_DISABLE="0")
    print(result.stdout)
    assert "how: native" in result.stdout
    assert not [path for path in folder.rglob("*") if path.is_file()]
