"""Choose which image suits a GPU and driver. Pure functions: no GPU is needed."""

from typing import Literal, NamedTuple

from .manifest import Image, Manifest, Target, Version, dotted

__all__ = ["OLDEST_DRIVER", "TEGRA", "How", "Rejection", "Resolution", "resolve", "unsupported"]

TEGRA: frozenset[Version] = frozenset({(5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0)})
"""Compute capabilities of integrated GPUs. Cubins are incompatible between these and other GPUs, and between their own
minor versions. Source: CUDA C++ Programming Guide, "Binary Compatibility", note on Tegra."""

OLDEST_DRIVER: Version = (12, 0)
"""The first CUDA release whose driver has cuLibraryLoadData, which loads all modules. Source: CUDA Driver API."""

How = Literal["native", "jit", "link"]
"""How an image is loaded: as machine code, compiled by the driver, or compiled by nvJitLink."""


class Rejection(NamedTuple):
    """An image that a GPU and driver cannot use, and the reason."""

    image: Image
    reason: str


class Resolution(NamedTuple):
    """The result of `resolve`: the chosen image and how to load it, both None if no image fits, and the other images.

    `how` is "native" (machine code), "jit" (the driver compiles the PTX) or "link" (nvJitLink compiles the PTX, because
    the driver is too old to read it).
    """

    image: Image | None
    how: How | None
    rejected: tuple[Rejection, ...]


def unsupported(target: Target, capability: Version) -> str | None:
    """Return why no driver lets a GPU of compute capability `capability` run code for `target`; None if it can run.

    Source: CUDA C++ Programming Guide, "Binary Compatibility", "PTX Compatibility" and the tables of
    architecture-specific and family-specific features under "Compute Capabilities".
    """
    gpu, wanted = dotted(capability), dotted(target.capability)
    if target.suffix == "a":
        return None if capability == target.capability else f"is for compute capability {wanted} only"
    is_binary = target.real or target.suffix != ""
    if is_binary and TEGRA & {capability, target.capability} and capability != target.capability:
        return f"is for {wanted}: Tegra and other GPUs ({gpu}) have no binary compatibility"
    in_same_major = target.major == capability[0] and capability[1] >= target.minor
    if target.suffix == "f":
        return None if in_same_major else f"is for the family of {wanted}, the GPU is {gpu}"
    if not target.real:
        return None if capability >= target.capability else f"needs compute capability {wanted} or later"
    if target.major != capability[0]:
        return f"is machine code for {target.major}.x, the GPU is {gpu}"
    return None if in_same_major else f"needs compute capability {wanted}, the GPU is {gpu}"


def resolve(manifest: Manifest, capability: Version, driver: Version, nvjitlink: Version | None = None) -> Resolution:
    """Choose the image for a GPU of compute capability `capability` and a driver of CUDA version `driver`.

    `nvjitlink` is the version of an installed nvJitLink, which compiles PTX that is too new for the driver; None
    without one. Best first: the most specific cubin of the nearest compute capability, then the highest PTX that the
    driver reads, then the highest PTX that nvJitLink reads.
    """
    candidates: list[tuple[tuple[int, Version, int], Image, How]] = []
    rejected = []
    for image in manifest.images:
        how, reason = _way_to_load(image, capability, driver, nvjitlink)
        if how is None:
            rejected.append(Rejection(image, reason))
        else:
            rank = (
                ("link", "jit", "native").index(how),
                image.target.capability,
                " fa".index(image.target.suffix or " "),
            )
            candidates.append((rank, image, how))
    if not candidates:
        return Resolution(None, None, tuple(rejected))
    _, best, how = max(candidates, key=lambda candidate: candidate[0])
    rejected += [Rejection(image, f"{best} suits better") for _, image, _ in candidates if image is not best]
    return Resolution(best, how, tuple(rejected))


def _way_to_load(
    image: Image, capability: Version, driver: Version, nvjitlink: Version | None
) -> tuple[How | None, str]:
    """Return how to load an image, or None and the reason why that is impossible."""
    if image.source is not None:
        return None, "must be linked first: load(..., link=[...])"
    reason = unsupported(image.target, capability)
    if reason:
        return None, reason
    if driver < OLDEST_DRIVER:
        return None, f"needs a driver for CUDA {dotted(OLDEST_DRIVER)} or later, the driver is for {dotted(driver)}"
    if driver >= image.driver:
        return ("native" if image.target.real else "jit"), ""
    if image.ptx_version is None:
        return None, f"needs a driver for CUDA {dotted(image.driver)} or later, the driver is for {dotted(driver)}"
    needs = f"PTX {dotted(image.ptx_version)} needs a driver for CUDA {dotted(image.driver)} or later"
    if nvjitlink is None:
        return None, f"{needs} (this one is for {dotted(driver)}), or nvJitLink"
    if nvjitlink < image.driver:
        return None, f"{needs} (this one is for {dotted(driver)}), and nvJitLink {dotted(nvjitlink)} is too old too"
    from .jit.nvjitlink_rules import knows  # only for PTX that the driver cannot read

    if not knows(nvjitlink, capability):
        return None, f"{needs}, and nvJitLink {dotted(nvjitlink)} does not know compute capability {dotted(capability)}"
    if nvjitlink[0] > driver[0]:
        return None, (
            f"{needs}, and machine code from nvJitLink {dotted(nvjitlink)} needs a driver for CUDA {nvjitlink[0]}.0"
        )
    return "link", ""
