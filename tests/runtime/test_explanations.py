"""Messages of loads that fail: what was found, why no image suits, and what helps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import cuda_wheel
from cuda_wheel.runtime.explanations import no_image_message
from cuda_wheel.runtime.manifest import Image, Manifest
from cuda_wheel.runtime.rules import resolve
from tests.support.driver import Driver
from tests.support.manifests import image, manifest
from tests.support.projects import KERNEL

pytestmark = pytest.mark.one_toolchain


def compressed(*images: Image, compression: str = "zstd") -> Manifest:
    return manifest(*(each._replace(offset=None) for each in images))._replace(compression=compression)


ZSTD = "the fatbin is compressed with zstd; drivers before CUDA 12.4 do not read it"


def test_the_message_about_compression_does_not_propose_nvjitlink() -> None:
    made = compressed(image("sm_80"), image("compute_80", "8.8"))
    message = no_image_message(made, resolve(made, (8, 6), (12, 2)), (8, 6), (12, 2))
    assert message.splitlines()[1:] == [
        f"  cubin sm_80: {ZSTD}", f"  ptx compute_80 (PTX 8.8): {ZSTD}", "Update the NVIDIA driver.",
    ]  # fmt: skip


def test_the_message_lists_every_image_with_its_reason_and_what_would_help() -> None:
    made = manifest(image("sm_90"), image("compute_90"))
    message = no_image_message(made, resolve(made, (8, 6), (12, 4)), (8, 6), (12, 4))
    assert message.splitlines() == [
        "pkg.k has no image for a GPU of compute capability 8.6 with a driver for CUDA 12.4.",
        "  cubin sm_90: is machine code for 9.x, the GPU is 8.6",
        "  ptx compute_90 (PTX 8.0): needs compute capability 9.0 or later",
        'The wheel\'s authors can add "86-real", or a lower "-virtual" target, to architectures.',
    ]


def test_the_message_distinguishes_an_old_driver_from_a_missing_target() -> None:
    made = manifest(image("compute_80", "8.8"))
    message = no_image_message(made, resolve(made, (8, 6), (12, 4)), (8, 6), (12, 4))
    assert "PTX 8.8 needs a driver for CUDA 12.9 or later (this one is for 12.4), or nvJitLink" in message
    assert message.endswith("or use the newest nvJitLink for it: pip install cuda-wheel[cu12].")


@pytest.mark.parametrize(
    ("images", "help"),
    [
        ((image("sm_90"), image("compute_80")), 'The wheel\'s authors can add "86-real" to architectures.'),
        ((image("sm_80", nvrtc="13.0.88"), image("compute_80")), "Update the NVIDIA driver."),
    ],
)
def test_where_compiling_is_forbidden_only_machine_code_is_proposed(images: tuple[Image, ...], help: str) -> None:
    made = manifest(*images)
    message = no_image_message(made, resolve(made, (8, 6), (12, 4), None, "MINE"), (8, 6), (12, 4))
    assert "  ptx compute_80 (PTX 8.0): must be compiled, which MINE forbids\n" in message
    assert message.splitlines()[-1] == help


def test_where_compiling_is_forbidden_a_driver_for_newer_ptx_does_not_help() -> None:
    made = manifest(image("sm_90"), image("compute_80", "8.8"))
    message = no_image_message(made, resolve(made, (8, 6), (12, 4), None, "MINE"), (8, 6), (12, 4))
    assert message.endswith('\nThe wheel\'s authors can add "86-real" to architectures.')


def test_where_compiling_is_forbidden_machine_code_for_the_gpu_itself_helps_a_compressed_fatbin() -> None:
    made = compressed(image("sm_80"), image("compute_80"))
    message = no_image_message(made, resolve(made, (8, 6), (12, 4), None, "MINE"), (8, 6), (12, 4))
    assert message.splitlines()[1:] == [
        "  cubin sm_80: PTX may be compiled, which MINE forbids",
        "  ptx compute_80 (PTX 8.0): must be compiled, which MINE forbids",
        'The wheel\'s authors can add "86-real" to architectures.',
    ]


SAXPY = "saxpy_demo.kernels.saxpy"


def test_no_image_for_the_gpu_is_explained(site: Path, use: Callable[..., Driver]) -> None:
    driver = use((3, 5))
    with pytest.raises(
        cuda_wheel.NoImageError, match=r"compute capability 3\.5 with a driver for CUDA 13\.0\.\n  cubin sm_"
    ):
        cuda_wheel.load(SAXPY)
    assert driver.loaded == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("saxpy", "'saxpy' is not a module's dotted name, such as"),
        ("saxpy_demo.kernels.../x", "is not a module's dotted name"),
        ("saxpy_demo.kernels.", "is not a module's dotted name"),
        ("nowhere.kernels.saxpy", "package 'nowhere.kernels' is not installed"),
        ("saxpy_demo.kernels.daxpy", r"daxpy has no images: looked for .*daxpy\.fatbin\.json\."),
        ("saxpy_demo.kernels.sxpy", "Did you mean saxpy?"),
        ("json.decoder.x", "'json.decoder' is not an installed package"),
    ],
)
def test_an_unknown_module_name_is_explained(site: Path, name: str, message: str) -> None:
    with pytest.raises(cuda_wheel.ImageError, match=message):
        cuda_wheel.load(name)


def test_a_source_that_was_not_compiled_is_mentioned(site: Path) -> None:
    (site / "saxpy_demo/kernels/daxpy.cu").write_text(KERNEL)
    with pytest.raises(cuda_wheel.ImageError, match=r"daxpy\.cu is there, but was not compiled"):
        cuda_wheel.load("saxpy_demo.kernels.daxpy")
