"""Long messages of errors, imported when something fails."""

import os
from collections.abc import Sequence
from typing import Any

from .errors import ImageError, has, to_add
from .manifest import Image, Manifest, Version, dotted
from .rules import Resolution, doubt, unsupported

__all__ = [
    "FORKED",
    "damaged_image",
    "driver_failure",
    "no_image_message",
    "not_initialised",
]


def no_image_message(manifest: Manifest, resolution: Resolution, capability: Version, driver: Version) -> str:
    """Return the message of NoImageError: the GPU, the driver, every image with its reason, and what helps."""
    images = "".join(f"\n  {rejection.image}: {rejection.reason}" for rejection in resolution.rejected)
    return (
        f"{manifest.full_name} has no image for a GPU of compute capability {dotted(capability)} "
        f"with a driver for CUDA {dotted(driver)}.{images or ' It has no images at all.'}\n"
        f"{_what_helps(manifest, capability, driver, resolution.forbidden)}"
    )


def _what_helps(manifest: Manifest, capability: Version, driver: Version, forbidden: str | None) -> str:
    loadable = [image for image in manifest.images if image.source is None]
    if not loadable and manifest.images:
        missing = ", ".join(external.declaration for external in manifest.extern)
        if missing:
            return f"Link it with code that defines {missing}: load(..., link=[...])."
        return "All its images are relocatable: link it with other code, load(..., link=[...])."
    suitable = [
        image for image in loadable if not (unsupported(image.target, capability) or doubt(image.target, capability))
    ]
    if forbidden:
        suitable = [image for image in suitable if image.target.real and image.driver > driver]
    if suitable:
        return _what_helps_the_driver(suitable, driver)
    lower = "" if forbidden else ', or a lower "-virtual" target,'
    return f'The wheel\'s authors can add "{capability[0]}{capability[1]}-real"{lower} to architectures.'


def _what_helps_the_driver(images: Sequence[Image], driver: Version) -> str:
    """Return advice: update the driver or, if that helps, install nvJitLink. `images` suit the GPU, not `driver`."""
    # nvJitLink compiles PTX by itself; the package index has it for these releases.
    if driver[0] not in (12, 13) or all(image.kind != "ptx" or image.offset is None for image in images):
        return "Update the NVIDIA driver."
    if not has("nvjitlink"):
        more = 'The package\'s authors can add loader-parts = ["nvjitlink"]: then nvJitLink serves it too.'
        return f"Update the NVIDIA driver. {more}"
    how = to_add(f"nvJitLink of CUDA {driver[0]}", f"pip install cuda-wheel[cu{driver[0]}]")
    return f"Update the NVIDIA driver, or use the newest nvJitLink for it: {how}."


def damaged_image(manifest: Manifest, where: str, damage: str) -> ImageError:
    """Return the error for a module's image; its manifest is `where`."""
    text = f"{manifest.fatbin} beside {where} is damaged: {damage}."
    return ImageError(f"{text} Reinstall the package or application that holds {manifest.name}.")


FORKED = (
    "this process was forked from one that had initialised CUDA. CUDA works in one of the two only: start processes by "
    "'spawn' or 'forkserver' (multiprocessing.set_start_method), or load modules in the child only"
)

STICKY_ERRORS = frozenset({700, 702, 710, 714, 715, 716, 717, 718, 719, 721})
"""CUresult numbers of errors in a running kernel, such as CUDA_ERROR_ILLEGAL_ADDRESS. Every later CUDA call fails.
Source: CUDA Driver API, CUresult."""

STICKY_ERROR_HELP = (
    ". A kernel that was launched earlier, by any library, failed with this error. Every later call that needs the GPU "
    "returns the same error: restart the process. compute-sanitizer finds the kernel"
)


def driver_failure(doing: str, result: Any, driver: Any) -> str:
    """Return the message for an error of the driver. `doing` starts it."""
    text = driver.cuGetErrorString(result)[1]
    explanation = text.decode() if isinstance(text, bytes) else "no explanation"
    message = f"{doing}: the driver returned {result.name} ({int(result)}): {explanation}"
    return message + (STICKY_ERROR_HELP if int(result) in STICKY_ERRORS else "")


def not_initialised(driver: Any, result: Any) -> str:
    """Return the message for a driver whose cuInit has returned `result`."""
    if int(result) == int(driver.CUresult.CUDA_ERROR_NOT_INITIALIZED):
        return FORKED
    if int(result) != int(driver.CUresult.CUDA_ERROR_NO_DEVICE):
        return driver_failure("initialising the driver", result, driver)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    hidden = "" if visible is None else f" (CUDA_VISIBLE_DEVICES is {visible!r})"
    return f"the NVIDIA driver is installed, but sees no GPU{hidden}"
