"""Compressed fatbins of every mode with a real driver, and its answer to machine code for another GPU."""

from __future__ import annotations

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.images.bundling import bundle
from cuda_wheel.runtime.driver import device_and_driver, load_library
from cuda_wheel.runtime.manifest import Image, KernelInfo, Manifest, Target
from cuda_wheel.runtime.module import Module
from cuda_wheel.runtime.parts.cuda_libraries import library_path
from cuda_wheel.runtime.parts.trial import try_to_load
from tests.gpu.support import Memory
from tests.support.linkable import by_nvrtc

pytestmark = pytest.mark.usefixtures("context")

SOURCE = 'extern "C" __global__ void fill(int* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 7; }'


def compiled(arch: str) -> bytes:
    """Return a finished cubin ("sm_90") or PTX ("compute_80") of SOURCE."""
    result = by_nvrtc(SOURCE, [f"--gpu-architecture={arch}"], "fill.cu")
    return result["cubin"] if arch.startswith("sm") else ptx_text.normalise(result["ptx"].decode()).encode()


def own_arch() -> str:
    major, minor = device_and_driver()[0]
    return f"{major}{minor}"


@pytest.mark.parametrize("only_ptx", [False, True])
@pytest.mark.parametrize(
    ("compress", "compression"), [("none", "none"), ("speed", "lz4"), ("balance", "zstd"), ("size", "zstd")]
)
def test_a_fatbin_of_every_compression_runs(compress: str, compression: str, only_ptx: bool) -> None:
    if library_path("nvfatbin") is None:
        pytest.skip("nvFatbin is not installed")
    images = [(("ptx", "80", compiled("compute_80")), "fill")]
    if not only_ptx:
        images.insert(0, (("cubin", own_arch(), compiled(f"sm_{own_arch()}")), "fill"))
    bundled = bundle(("fill", tuple(images), compress))
    assert bundled.compression == compression
    x = Memory(np.zeros(64, np.int32))
    cuda_wheel.load_code(bundled.content)["fill"].launch(1, 64, x.address, 64)
    assert (x.numpy() == 7).all()


def module_of(arch: str) -> Module:
    cubin = compiled(f"sm_{arch}")
    image = Image("cubin", Target.parse(f"sm_{arch}"), None, None, (12, 0), 0, len(cubin), "0" * 64, {})
    made = Manifest(
        "made.fill", "fill.fatbin", len(cubin), "0" * 64, {"nvrtc": "13.0.0"}, ("fill.cu",), (), (image,),
        (KernelInfo("fill", "fill", ()),),
    )  # fmt: skip
    return Module(made, image, "native", load_library(cubin, "loading made.fill"))


def test_the_driver_refuses_machine_code_for_another_gpu_at_once() -> None:
    """As it does on a Jetson, if it does."""
    other = "90" if own_arch().startswith("8") else "80"
    with pytest.raises(cuda_wheel.NoImageError, match=r"^not known; the driver refused it: .*CUDA_ERROR_"):
        try_to_load(lambda: module_of(other), "not known", None)
    module = try_to_load(lambda: module_of(own_arch()), "not known", None)
    assert module["fill"].attributes.binary_version == device_and_driver()[0]
