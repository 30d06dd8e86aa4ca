"""Which compilers a build uses where an environment has several, such as PyTorch's beside those of an extra."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.toolchain import find as libraries
from cuda_wheel.builder.toolchain import packages
from cuda_wheel.builder.toolchain.find import chosen_compilers, find_library, find_toolchain, installed, toolchain_parts
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.runtime.parts import cuda_libraries
from cuda_wheel.runtime.parts.cuda_libraries import library_path, packaged_libraries
from tests.support.processes import run

CU12 = (
    *("cuda_nvrtc/lib/libnvrtc.so.12", "nvjitlink/lib/libnvJitLink.so.12", "nvfatbin/lib/libnvfatbin.so.12"),
    *("cuda_runtime/include/cuda_fp16.h", "cuda_cccl/include/cuda/std/version"),
    "cuda_nvcc/include/crt/host_defines.h",
)
"""The files of the extra `cu12` below `nvidia`."""

TORCH = ("cu13/lib/libnvrtc.so.13", "cu13/lib/libnvJitLink.so.13", "cu13/include/cuda_fp16.h")
"""Those that PyTorch requires; PyTorch 2.15 also the next."""

CCCL = "cu13/include/cccl/cuda/std/version"

CU13 = (*TORCH, CCCL, "cu13/lib/libnvfatbin.so.13", "cu13/include/crt/host_defines.h")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux's layouts")


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return a function that makes a folder of packages with empty files the last one that is searched.

    There are no other folders, and nothing outside of packages. `sys.path` itself stays: other threads start workers.
    """
    searched = SimpleNamespace(path=[], platform=sys.platform, prefix=sys.prefix)
    for module in (cuda_libraries, packages):
        monkeypatch.setattr(module, "sys", searched)
    monkeypatch.setattr(libraries, "_outside_of_packages", lambda name: None)
    for variable in ("CUDA_WHEEL_TOOLCHAIN", "CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX"):
        monkeypatch.delenv(variable, raising=False)

    def install(*files: str, folder: str = "site-packages") -> Path:
        for file in files:
            path = tmp_path / folder / "nvidia" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        searched.path.append(str(tmp_path / folder))
        installed.cache_clear()
        return tmp_path / folder

    yield install
    installed.cache_clear()


@pytest.mark.parametrize("torch", [TORCH, (*TORCH, CCCL)])
def test_pytorchs_libraries_beside_cu12_are_not_used(torch: tuple[str, ...], install) -> None:
    """PyTorch lacks nvFatbin and some headers, so that its libraries are no toolchain."""
    folder = install(*CU12, *torch)
    assert chosen_compilers().major == 12
    assert find_library("nvJitLink") == f"{folder}/nvidia/nvjitlink/lib/libnvJitLink.so.12"


def test_pytorchs_libraries_are_part_of_cu13(install) -> None:
    install(*CU13)
    assert chosen_compilers().major == 13 and not chosen_compilers().missing


def test_libraries_without_headers_come_after_a_whole_toolchain(install) -> None:
    """Other packages may install nvFatbin, as cuda-core's do."""
    install(*CU12, *TORCH, "cu13/lib/libnvfatbin.so.13")
    assert chosen_compilers().major == 12
    assert libraries._choice()[1] == "CUDA 12 and not CUDA 13: the other lacks headers"


def test_two_whole_toolchains_are_an_error_until_a_variable_chooses(install, monkeypatch) -> None:
    folder = install(*CU12, *CU13)
    with pytest.raises(ToolchainError, match="this environment contains 2 toolchains") as caught:
        chosen_compilers()
    assert f"CUDA 13: NVRTC ({folder}/nvidia/cu13/lib/libnvrtc.so.13), nvJitLink (" in str(caught.value)
    assert "Set the environment variable CUDA_WHEEL_TOOLCHAIN to cu13 or cu12." in str(caught.value)
    assert find_library("nvrtc") is None
    for extra in ("cu12", "cu13"):
        monkeypatch.setenv("CUDA_WHEEL_TOOLCHAIN", extra)
        assert chosen_compilers().extra == extra
        other = {"cu12": "CUDA 12 and not CUDA 13", "cu13": "CUDA 13 and not CUDA 12"}[extra]
        assert libraries._choice()[1] == f"{other}: CUDA_WHEEL_TOOLCHAIN is {extra}"
    monkeypatch.setenv("CUDA_WHEEL_TOOLCHAIN", "12.9")
    with pytest.raises(ToolchainError, match=r'CUDA_WHEEL_TOOLCHAIN must be "cu12" or "cu13", not "12\.9"'):
        chosen_compilers()


@pytest.mark.parametrize(("upper", "lower", "major"), [(CU12, CU13, 12), (CU13, CU12, 13), (TORCH, CU12, 12)])
def test_the_first_folder_with_a_whole_toolchain_counts(upper, lower, major: int, install) -> None:
    """A virtual environment comes before the one below it."""
    install(*upper, folder="upper")
    install(*lower, folder="lower")
    assert chosen_compilers().major == major
    why = "" if upper is TORCH else ": it is in the folder that comes first on sys.path"
    assert libraries._choice()[1] == (why and f"CUDA {major} and not CUDA {25 - major}{why}")


def test_an_incomplete_toolchain_is_not_a_missing_one(install) -> None:
    folder = install(*TORCH)
    with pytest.raises(ToolchainError) as caught:
        find_toolchain()
    assert str(caught.value) == (
        "the CUDA toolchain in this environment is not complete:\n"
        f"  CUDA 13: NVRTC ({folder}/nvidia/cu13/lib/libnvrtc.so.13), "
        f"nvJitLink ({folder}/nvidia/cu13/lib/libnvJitLink.so.13); "
        "missing: nvFatbin, cuda/std/version, crt/host_defines.h\n"
        'Run pip install "cuda-wheel[cu13]", or add "cuda-wheel[cu13]" to build-system.requires.'
    )
    found = {part.name: part.path for part in toolchain_parts()}
    assert found["nvrtc"] == f"{folder}/nvidia/cu13/lib/libnvrtc.so.13" and found["nvfatbin"] is None


def test_a_library_that_cannot_be_loaded_is_named(install) -> None:
    folder = install(*CU12)
    with pytest.raises(ToolchainError, match="a toolchain is installed in this environment") as caught:
        find_toolchain()
    path = f"{folder}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
    assert f"{path} cannot be loaded: {path}: file too short" in str(caught.value)
    assert {part.path for part in toolchain_parts()} >= {path}


def test_without_libraries_no_toolchain_is_installed(install, monkeypatch) -> None:
    install("cuda_runtime/include/cuda_fp16.h")
    with pytest.raises(ToolchainError, match=r"no CUDA toolchain is installed in this environment\. Run pip install"):
        chosen_compilers()
    monkeypatch.setenv("CUDA_WHEEL_TOOLCHAIN", "cu13")
    with pytest.raises(ToolchainError, match=r'CUDA_WHEEL_TOOLCHAIN is cu13\). Run pip install "cuda-wheel\[cu13\]"'):
        chosen_compilers()


def test_an_nvjitlink_older_than_nvrtc_is_refused_with_one_command(install, monkeypatch) -> None:
    install(*CU13)
    releases = iter([(13, 4), (13, 2), (13, 4)])
    monkeypatch.setattr("cuda_wheel.builder.toolchain.find.library_release", lambda library, name: next(releases))
    monkeypatch.setattr("cuda_wheel.builder.toolchain.find.load_library", lambda path: None)
    with pytest.raises(ToolchainError, match=r"NVRTC 13\.4 .* and nvJitLink 13\.2 .* do not work together") as caught:
        find_toolchain()
    assert 'Run pip install "cuda-wheel[cu13]" "cuda-toolkit==13.4.*", which' in str(caught.value)


WITHOUT_BINDINGS = """
import sys
sys.modules["cuda.bindings"] = None
from cuda_wheel.builder.images.bundling import make_fatbin
from cuda_wheel.runtime.parts.cuda_libraries import link_code, nvjitlink_version
from cuda_wheel.runtime.parts.linking.cuda_compiler import compile_cuda, nvrtc_version
from cuda_wheel.runtime.jit import JitOptions
from cuda_wheel.runtime.manifest import Target
text = b"__device__ int one() { return 1; }"
code, _ = compile_cuda(text, "one.cu", None, Target.parse("sm_80"), True, JitOptions())
cubin, _ = link_code([("LTOIR", "one.cu", code)], ["-arch=sm_80", "-lto"])
print(nvrtc_version()[0] == nvjitlink_version()[0], cubin[:4], len(make_fatbin([(("cubin", "80", cubin), "one")], [])) > 100)
"""


def test_the_compilers_are_called_without_cuda_bindings() -> None:
    """cuda-bindings 13, which PyTorch requires, refuses NVRTC 12."""
    result = run(sys.executable, "-c", WITHOUT_BINDINGS)
    assert result.stdout.strip() == r"True b'\x7fELF' True", result.stdout


def test_packages_are_searched_where_cuda_pathfinder_is_not_installed(
    toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    found = [library_path(name) for name in ("nvrtc", "nvJitLink", "nvfatbin")]
    if len(list(packaged_libraries("nvrtc"))) > 1:  # such as PyTorch's
        pytest.skip("this environment has two NVRTCs")
    assert found == list(toolchain.libraries)


def test_packages_are_searched_where_cuda_pathfinder_finds_nothing(install, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not search PYTHONPATH, nor the folder of a frozen application."""

    def fail(name: str) -> None:
        raise RuntimeError(name)

    monkeypatch.setattr("cuda.pathfinder.load_nvidia_dynamic_lib", fail)
    folder = install("cu13/lib/libnvJitLink.so.13")
    assert library_path("nvJitLink") == f"{folder}/nvidia/cu13/lib/libnvJitLink.so.13"
    assert library_path("nvfatbin") is None


@pytest.mark.parametrize(
    ("name", "files", "found"),
    [
        ("nvrtc", ("cuda_nvrtc/bin/nvrtc64_120_0.alt.dll", "cuda_nvrtc/bin/nvrtc64_120_0.dll"), 1),
        ("nvrtc", ("cu13/bin/x86_64/nvrtc64_130_0.dll",), 0),
        ("nvJitLink", ("cu13/bin/x86_64/nvJitLink_130_0.dll",), 0),
        ("nvvm", ("cuda_nvcc/nvvm/bin/nvvm64_40_0.dll",), 0),
        ("nvvm", ("cu13/bin/x86_64/nvvm70.dll", "cu13/bin/x86_64/nvvm64_40_0.dll"), 1),
    ],
)
def test_windows_libraries_are_found(name: str, files: tuple[str, ...], found: int, install, monkeypatch) -> None:
    folder = install(*files)
    monkeypatch.setattr(cuda_libraries.sys, "platform", "win32")  # not the real `sys`; see `install`
    monkeypatch.setattr("platform.machine", lambda: "AMD64")
    assert [path for _, _, path in packaged_libraries(name)] == [f"{folder}/nvidia/{files[found]}"]
