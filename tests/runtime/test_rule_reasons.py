"""What `resolve` says of the images that it does not choose."""

from __future__ import annotations

import pytest

from cuda_wheel.runtime.manifest import Image, parse_version
from cuda_wheel.runtime.rules import Rejection, Resolution, resolve
from tests.support.manifests import image, manifest

pytestmark = pytest.mark.one_toolchain

NEEDS_12_3 = "PTX 8.3 needs a driver for CUDA 12.3 or later"
NEEDS_12_8 = "PTX 8.7 needs a driver for CUDA 12.8 or later"
NEEDS_13_0 = "PTX 9.0 needs a driver for CUDA 13.0 or later"


@pytest.mark.parametrize(
    ("refused", "device", "driver", "nvjitlink", "reason"),
    [
        (image("sm_80"), "9.0", "12.9", None, "is machine code for 8.x, the GPU is 9.0"),
        (image("sm_86"), "8.0", "12.9", None, "needs compute capability 8.6, the GPU is 8.0"),
        (image("sm_90a"), "10.0", "12.9", None, "is for compute capability 9.0 only"),
        (image("compute_90a"), "10.0", "12.9", None, "is for compute capability 9.0 only"),
        (image("sm_100f"), "12.0", "12.9", None, "is for the family of 10.0, the GPU is 12.0"),
        (image("compute_90"), "8.9", "12.9", None, "needs compute capability 9.0 or later"),
        (
            image("sm_80"),
            "8.0",
            "11.8",
            None,
            "needs a driver for CUDA 12.0 or later, the driver is for 11.8",
        ),
        (
            image("sm_80", nvrtc="13.0.88"),
            "8.0",
            "12.9",
            "13.0",  # nvJitLink compiles PTX, not machine code
            "needs a driver for CUDA 13.0 or later, the driver is for 12.9",
        ),
        (image("compute_80", "8.3"), "8.0", "12.2", None, f"{NEEDS_12_3} (this one is for 12.2), or nvJitLink"),
        (
            image("compute_80", "8.3"),
            "8.0",
            "12.1",
            "12.2",
            f"{NEEDS_12_3} (this one is for 12.1), and nvJitLink 12.2 is too old too",
        ),
        (
            image("compute_80", "8.7"),
            "10.3",
            "12.2",
            "12.8",
            f"{NEEDS_12_8}, and nvJitLink 12.8 does not know compute capability 10.3",
        ),
        (
            image("compute_80", "9.0"),
            "8.0",
            "12.2",
            "13.1",
            f"{NEEDS_13_0}, and machine code from nvJitLink 13.1 needs a driver for CUDA 13.0",
        ),
        (
            image("sm_80")._replace(source="part.cu"),
            "8.0",
            "12.9",
            None,
            "must be linked first: load(..., link=[...])",
        ),
    ],
)
def test_the_reason_against_an_image(
    refused: Image, device: str, driver: str, nvjitlink: str | None, reason: str
) -> None:
    linker = parse_version(nvjitlink) if nvjitlink else None
    found = resolve(manifest(refused), parse_version(device), parse_version(driver), linker)
    assert found == Resolution(None, None, (Rejection(refused, reason),))


def test_an_image_that_suits_less_names_the_chosen_one() -> None:
    lower, exact, ptx = image("sm_80"), image("sm_86"), image("compute_80", "7.0")
    found = resolve(manifest(lower, exact, ptx), (8, 6), (12, 9))
    better = "cubin sm_86 suits better"
    assert found == Resolution(exact, "native", (Rejection(lower, better), Rejection(ptx, better)))
    assert resolve(manifest(exact, ptx), (8, 6), (12, 9)) == Resolution(exact, "native", (Rejection(ptx, better),))


def test_images_that_are_not_given_are_neither_chosen_nor_rejected() -> None:
    lower, exact, ptx = image("sm_80"), image("sm_86"), image("compute_80", "7.0")
    found = resolve(manifest(lower, exact, ptx), (8, 6), (12, 9), images=[lower])
    assert found == Resolution(lower, "native", ())
    assert resolve(manifest(exact), (8, 6), (12, 9), images=[]).image is None


def test_nvjitlink_of_the_release_that_introduced_the_ptx_reads_it() -> None:
    ptx = image("compute_80", "8.3")
    assert resolve(manifest(ptx), (8, 6), (12, 2), (12, 3)) == Resolution(ptx, "link", ())
