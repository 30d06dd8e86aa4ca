"""Code that the driver may refuse is tried on the GPU that it is loaded for; `test_loading` has whole loads of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cuda_wheel.runtime.errors import DriverError, NoImageError
from cuda_wheel.runtime.manifest import KernelInfo, Manifest
from cuda_wheel.runtime.module import Module
from cuda_wheel.runtime.parts.trial import REFUSALS, load_on_trial, try_to_load
from cuda_wheel.runtime.rules import Resolution, resolve
from tests.support.driver import Driver, Result
from tests.support.launches import module_of
from tests.support.manifests import image, manifest

pytestmark = pytest.mark.one_toolchain

KERNEL = KernelInfo("scale", "_Z5scalev", ())
LATER = KernelInfo("later", "_Z5laterv", (), ("sm_80",))
"""A kernel that the image for sm_80 lacks."""


@pytest.mark.parametrize("call", ["cuLibraryGetKernel", "cuKernelGetAttribute"])
@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_is_no_image_and_the_module_is_unloaded(call: str, refusal: str, use: Callable[..., Driver]) -> None:
    driver, loaded = use((8, 7), **{call: Result[refusal]}), module_of(KERNEL)
    with pytest.raises(NoImageError, match=f"^it is odd; the driver refused it: .*{refusal}"):
        try_to_load(lambda: loaded, "it is odd", None)
    assert driver.unloaded == [0xF00D] and not loaded.is_loaded


def test_a_load_that_is_refused_leaves_nothing_to_unload(use: Callable[..., Driver]) -> None:
    driver = use((8, 7))

    def load() -> Module:
        raise DriverError("loading a.b: CUDA_ERROR_INVALID_IMAGE")

    with pytest.raises(NoImageError, match=r"^it is odd; the driver refused it: loading a\.b"):
        try_to_load(load, "it is odd", None)
    assert driver.unloaded == []


def test_another_error_stays_what_it_is_and_the_module_is_unloaded(use: Callable[..., Driver]) -> None:
    driver = use((8, 7), cuKernelGetAttribute=Result.CUDA_ERROR_OUT_OF_MEMORY)
    with pytest.raises(DriverError, match=r"^loading a\.b, cubin sm_80: .*OUT_OF_MEMORY"):
        try_to_load(lambda: module_of(KERNEL), "it is odd", None)
    assert driver.unloaded == [0xF00D]


@pytest.mark.parametrize(("device", "current", "asked"), [(1, 0, 1), (0, 1, 0), (None, 1, 1), (None, None, 0)])
def test_code_is_tried_on_the_gpu_that_it_is_loaded_for(
    device: int | None, current: int | None, asked: int, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, gpus = use((8, 7), (8, 6)), list[int]()
    if current is not None:
        driver.context.device = current

    def attribute(which: str, kernel: int, gpu: int) -> tuple[Result, int]:
        gpus.append(gpu)
        return Result.CUDA_SUCCESS, 87

    monkeypatch.setattr(driver, "cuKernelGetAttribute", attribute)
    loaded = module_of(KERNEL)
    assert try_to_load(lambda: loaded, "it is odd", device) is loaded
    assert (gpus, driver.unloaded) == ([asked], [])


def test_a_kernel_that_the_image_has_is_tried(use: Callable[..., Driver]) -> None:
    driver = use((8, 7))
    assert len(try_to_load(lambda: module_of(LATER, KERNEL), "it is odd", None)) == 2
    assert driver.asked == [KERNEL.symbol.encode()]
    driver = use((8, 7))
    assert len(try_to_load(lambda: module_of(KERNEL, KernelInfo("more", "_Z4morev", ())), "it is odd", None)) == 2
    assert driver.asked == [KERNEL.symbol.encode()]  # one kernel is enough: the driver reads the code of all
    driver = use((8, 7))
    assert len(try_to_load(lambda: module_of(LATER), "it is odd", None)) == 1
    assert driver.asked == []


def test_without_a_context_a_launch_finds_out(use: Callable[..., Driver]) -> None:
    driver, loaded = use((8, 7), cuKernelGetAttribute=Result.CUDA_ERROR_INVALID_CONTEXT), module_of(KERNEL)
    assert try_to_load(lambda: loaded, "it is odd", None) is loaded
    assert driver.unloaded == []


MADE = manifest(image("sm_80"), image("sm_90"))


def on_trial(made: Manifest, resolution: Resolution) -> Module:
    return load_on_trial(lambda: module_of(KERNEL), made, resolution, (8, 7), (12, 6), None)


def test_only_a_choice_with_a_doubt_is_tried(use: Callable[..., Driver]) -> None:
    driver = use((8, 7), cuKernelGetAttribute=Result.CUDA_ERROR_NO_BINARY_FOR_GPU)
    certain = resolve(MADE, (8, 6), (12, 6))
    assert certain.doubt is None and on_trial(MADE, certain)["scale"].symbol == KERNEL.symbol
    assert driver.unloaded == []


def test_a_refused_choice_is_listed_first_with_its_doubt_and_the_drivers_reason(use: Callable[..., Driver]) -> None:
    use((8, 7), cuKernelGetAttribute=Result.CUDA_ERROR_NO_BINARY_FOR_GPU)
    with pytest.raises(NoImageError) as caught:
        on_trial(MADE, resolve(MADE, (8, 7), (12, 6)))
    first, tried, other, *_ = str(caught.value).splitlines()
    assert first == "pkg.k has no image for a GPU of compute capability 8.7 with a driver for CUDA 12.6."
    assert tried.startswith("  cubin sm_80: not known to run: ") and "; the driver refused it: " in tried
    assert "CUDA_ERROR_NO_BINARY_FOR_GPU" in tried
    assert other == "  cubin sm_90: is machine code for 9.x, the GPU is 8.7"
