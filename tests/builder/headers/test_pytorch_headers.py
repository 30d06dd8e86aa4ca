"""PyTorch's own headers with device code compile between the stand-ins, whatever the release.

A release that needs more of the stand-ins than they have shows here, by the compiler's error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.sources.pytorch_options import PYTORCH_MACROS
from cuda_wheel.builder.toolchain.toolchain import Toolchain

Compile = Callable[..., Compiled]

FOLDERS = (
    *("ATen", "ATen/core", "ATen/cuda", "ATen/cuda/detail", "ATen/native", "ATen/native/cuda", "THC"),
    *("c10/core", "c10/cuda", "c10/util", "torch/headeronly/core", "torch/headeronly/cuda", "torch/headeronly/util"),
)
DEVICE_CODE = re.compile(
    rb"\b(?:__device__|__global__|C10_HOST_DEVICE|C10_DEVICE|GPU_LAMBDA|C10_LAUNCH_BOUNDS_[012])\b"
)
LEFT_OUT = {
    "ATen/native/cuda/CUDALoops.cuh": "a part of Loops.cuh",
    "ATen/native/cuda/CuFFTPlanCache.h": "host code that includes cuFFT's own",
    "ATen/native/cuda/DistributionTemplates.h": "includes cuRAND's headers, which are in another package",
    "ATen/native/cuda/GroupMMCommon.cuh": "includes CUTLASS",
    "ATen/native/cuda/Randperm.cuh": "includes cuRAND's headers, which are in another package",
    "ATen/cuda/detail/PhiloxCudaStateRaw.cuh": "a part of PhiloxCudaState.h, without a guard",
}
ALONE = tuple(f"ATen/native/cuda/{name}.cuh" for name in ("Normalization", "TensorModeKernel", "reduction_template"))
"""Headers that define names of others again, or that have to be rewritten."""
GROUPS = 6
PREAMBLE = """
#define CUB_WRAPPED_NAMESPACE at_cuda_detail  // as in PyTorch's own build
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
__global__ void k(int* p) { *p = 1; }
"""


def headers_with_device_code(folder: Path) -> list[str]:
    """Return the headers of PyTorch that have device code, by the names that sources include them by."""
    files = (path for each in FOLDERS for pattern in ("*.h", "*.cuh") for path in (folder / each).glob(pattern))
    names = {str(path.relative_to(folder)) for path in files if DEVICE_CODE.search(path.read_bytes())}
    return sorted(names - LEFT_OUT.keys())


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS + len(ALONE)))
def test_pytorchs_headers_with_device_code_compile(group: int, torch_compiled: Compile, torch_headers: Path) -> None:
    names = headers_with_device_code(torch_headers)
    assert len(names) > 60
    together = [name for name in names if name not in ALONE]
    chosen = together[group::GROUPS] if group < GROUPS else [name for name in names if name == ALONE[group - GROUPS]]
    text = PREAMBLE + "".join(f"#include <{name}>\n" for name in chosen)
    result = torch_compiled(text, options=("--std=c++20", *(f"-D{macro}" for macro in PYTORCH_MACROS)))
    assert "_Z1kPi" in result.kernels


STABLE = Path(__file__).parents[2] / "data" / "pytorch_stable"
KERNELS = {
    "norm.cu": {
        *(f"rms_norm_kernel<{type_}, 4>" for type_ in ("double", "float", "c10::Half", "c10::BFloat16")),
        "transpose_kernel<float>",
        "transpose_kernel<long>",
    },
    "attention.cu": {
        f"attention_kernel<{type_}, {causal}, {dimension}>"
        for type_ in ("__nv_bfloat16", "__half")
        for causal in ("true", "false")
        for dimension in (64, 128)
    },
    "image.cu": {
        *(
            f"{name}<{type_}>"
            for name in ("pool_backward_kernel", "extrema_kernel")
            for type_ in ("double", "float", "c10::Half")
        ),
        "quantise_kernel",
    },
}
"""The kernels of extensions that use PyTorch's stable interface. nvcc 13.0 with the headers of PyTorch 2.14 makes the
same kernels, with the same machine code."""


@pytest.mark.parametrize("file", ["norm.cu", "attention.cu"])
def test_extensions_of_the_stable_interface_compile(file: str, compiled: Compile) -> None:
    options = ("--std=c++20", *(f"-D{macro}" for macro in PYTORCH_MACROS))
    result = compiled((STABLE / file).read_text(), options=options)
    assert {signature(symbol).name for symbol in result.kernels} == KERNELS[file]


@pytest.mark.slow
def test_an_extension_of_the_stable_interface_uses_pytorchs_device_code(
    torch_compiled: Compile, torch_headers: Path
) -> None:
    if not (torch_headers / "torch/headeronly/cuda/Atomic.h").exists():
        pytest.skip("this release of PyTorch has no such header")
    options = ("--std=c++20", *(f"-D{macro}" for macro in PYTORCH_MACROS))
    result = torch_compiled((STABLE / "image.cu").read_text(), options=options)
    assert {signature(symbol).name for symbol in result.kernels} == KERNELS["image.cu"]


@pytest.fixture
def old_pytorch(tmp_path: Path) -> str:
    """Return a folder with what tells the release of PyTorch 2.4."""
    parts = (("MAJOR", 2), ("MINOR", 4), ("PATCH", 1))
    version = tmp_path / "pytorch/torch/csrc/api/include/torch/version.h"
    version.parent.mkdir(parents=True)
    version.write_text("".join(f"#define TORCH_VERSION_{part} {n}\n" for part, n in parts))
    (tmp_path / "pytorch/ATen/core").mkdir(parents=True)
    (tmp_path / "pytorch/ATen/core/PhiloxRNGEngine.h").write_text("")
    return str(tmp_path / "pytorch")


VERSIONS = """
#include <torch/version.h>
template <int N> __global__ void k() {}
template <int N> __global__ void abi() {}
void use() { k<TORCH_VERSION_MAJOR * 100 + TORCH_VERSION_MINOR><<<1, 1>>>(); abi<(TORCH_ABI_VERSION >> 48)><<<1, 1>>>(); }
"""


def test_the_version_is_that_of_the_build_environments_pytorch(
    compiled: Compile, toolchain: Toolchain, old_pytorch: str
) -> None:
    folders = ("", *(each for each in toolchain.header_folders if not each.endswith("torch/include")))
    assert {signature(each).name for each in compiled(VERSIONS, include_dirs=folders).kernels} == {"k<211>", "abi<523>"}
    older = compiled(VERSIONS, include_dirs=(*folders, old_pytorch))
    assert {signature(each).name for each in older.kernels} == {"k<204>", "abi<516>"}


@pytest.mark.thorough
def test_the_version_is_that_of_pytorchs_own_headers(torch_compiled: Compile, torch_headers: Path) -> None:
    files = (torch_headers / name for name in ("torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h"))
    text = next(filter(Path.exists, files)).read_text()
    major, minor = (int(re.findall(rf"TORCH_VERSION_{part} (\d+)", text)[0]) for part in ("MAJOR", "MINOR"))
    expected = {f"k<{major * 100 + minor}>", f"abi<{major * 256 + minor}>"}
    for define in ("", "#define TORCH_TARGET_VERSION 1\n#include <torch/headeronly/version.h>\n"):
        if not define or (torch_headers / "torch/headeronly/version.h").exists():
            result = torch_compiled(define + VERSIONS)
            assert {signature(symbol).name for symbol in result.kernels} == expected


FLOAT8 = """
#include <ATen/Dispatch_v2.h>
template <class T> __global__ void k(const T*) {}
void use(at::ScalarType type) {
  AT_DISPATCH_V2(type, "k", AT_WRAP([&] { k<scalar_t><<<1, 1>>>(nullptr); }), AT_EXPAND(AT_FLOAT8_TYPES));
}
"""


def test_dispatch_has_the_types_of_the_build_environments_pytorch(
    compiled: Compile, toolchain: Toolchain, old_pytorch: str
) -> None:
    folders = ("", *(each for each in toolchain.header_folders if not each.endswith("torch/include")))
    names = {f"k<c10::Float8_{kind}>" for kind in ("e5m2", "e5m2fnuz", "e4m3fn", "e4m3fnuz")}
    older = compiled(FLOAT8, include_dirs=(*folders, old_pytorch))
    assert {signature(symbol).name for symbol in older.kernels} == names
    newer = compiled(FLOAT8, include_dirs=folders)
    assert {signature(symbol).name for symbol in newer.kernels} == names | {"k<c10::Float8_e8m0fnu>"}


def test_code_for_run_time_is_a_text_of_the_host(compiled: Compile) -> None:
    result = compiled("""
    #include <ATen/jit_macros.h>
    #include <ATen/jiterator_macros.h>
    const auto first = jiterator_stringify(template <class T> T twice(T x) { return x + x; });
    const auto both = first + jiterator_stringify(template <class T> T half(T x) { return x / 2; });
    jiterator_also_stringify_as(
        jiterator_code(template <class T> JITERATOR_HOST_DEVICE T tripled(T x) { return x * 3; }), tripled_string);
    void compile(const std::string&);
    __global__ void k(float* p) { *p = tripled(*p); }
    void use() { compile(first); compile(both); compile(tripled_string); }""")
    assert list(result.kernels) == ["_Z1kPf"]
    assert result.variables == ()
