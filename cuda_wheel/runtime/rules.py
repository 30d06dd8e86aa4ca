"""Choose which image suits a GPU and driver. Pure functions: no GPU is needed."""

from typing import Literal, NamedTuple

from .manifest import Image, Manifest, Target, Version, dotted

__all__ = [
    "OLDEST_DRIVER",
    "TEGRA",
    "How",
    "Rejection",
    "Resolution",
    "knows",
    "no_image_message",
    "resolve",
    "unlinkable",
    "unsupported",
]


TEGRA: frozenset[Version] = frozenset({(5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0)})
"""Integrated GPUs. Cubins are not compatible between them and others, nor among their own minor versions.
Source: CUDA C++ Programming Guide, "Binary Compatibility", note on Tegra."""


OLDEST_DRIVER: Version = (12, 0)
"""The first CUDA release whose driver has cuLibraryLoadData, which loads everything here. Source: CUDA Driver API."""


How = Literal["native", "jit", "link"]


class Rejection(NamedTuple):
    """An image that a GPU and driver cannot use, and why."""

    image: Image
    reason: str


class Resolution(NamedTuple):
    """What `resolve` found: the chosen image and how it gets onto the GPU, or None; and all others' reasons.

    `how`: "native" (machine code), "jit" (the driver compiles the PTX), "link" (nvJitLink compiles it,
    because the driver is too old to read it).
    """

    image: Image | None
    how: How | None
    rejected: tuple[Rejection, ...]


def unsupported(target: Target, capability: Version) -> str | None:
    """Return why a GPU of compute capability `capability` cannot run what is for `target`, whatever the driver; else
    None.

    Source: CUDA C++ Programming Guide, "Binary Compatibility", "PTX Compatibility" and the tables of
    architecture-specific and family-specific features under "Compute Capabilities".
    """
    device = dotted(capability)
    same_family = target.major == capability[0] and capability[1] >= target.minor
    if target.suffix == "a":
        return (
            None if capability == target.capability else f"is for compute capability {dotted(target.capability)} only"
        )
    bound = target.real or target.suffix != ""
    if bound and TEGRA & {capability, target.capability} and capability != target.capability:
        return f"is for {dotted(target.capability)}: Tegra and other GPUs ({device}) have no binary compatibility"
    if target.suffix == "f":
        return None if same_family else f"is for the family of {dotted(target.capability)}, the GPU is {device}"
    if not target.real:
        return (
            None
            if capability >= target.capability
            else f"needs compute capability {dotted(target.capability)} or later"
        )
    if target.major != capability[0]:
        return f"is machine code for {target.major}.x, the GPU is {device}"
    return None if same_family else f"needs compute capability {dotted(target.capability)}, the GPU is {device}"


def resolve(manifest: Manifest, capability: Version, driver: Version, nvjitlink: Version | None = None) -> Resolution:
    """Choose the image for a GPU of compute capability `capability` under a driver of CUDA version `driver`.

    `nvjitlink` is the version of an installed nvJitLink, which turns PTX that is too new for the driver into
    machine code; None without one. Best first: the most specific cubin of the nearest compute capability,
    then the highest PTX that the driver reads, then the highest that nvJitLink reads.
    """
    candidates: list[tuple[tuple[int, Version, int], Image, How]] = []
    rejected = []
    for image in manifest.images:
        how, reason = _way(image, capability, driver, nvjitlink)
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


def _way(image: Image, capability: Version, driver: Version, nvjitlink: Version | None) -> tuple[How | None, str]:
    if image.source is not None:
        return None, "is for linking: load(..., link=[...])"
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
    if not knows(nvjitlink, capability):
        return None, f"{needs}, and nvJitLink {dotted(nvjitlink)} does not know compute capability {dotted(capability)}"
    if nvjitlink[0] > driver[0]:
        return None, f"{needs}, and what nvJitLink {dotted(nvjitlink)} makes needs one for CUDA {nvjitlink[0]}.0"
    return "link", ""


def unlinkable(compiler: Version, nvjitlink: Version) -> str | None:
    """Return why nvJitLink cannot link LTO-IR that a compiler of CUDA release `compiler` made; None where it can.

    Source: nvJitLink, "Compatibility": the same major version, and no older than what made the LTO-IR.
    """
    if nvjitlink[0] != compiler[0]:
        return f"is LTO-IR of CUDA {dotted(compiler)}, and nvJitLink {dotted(nvjitlink)} is of another major version"
    if nvjitlink < compiler:
        return f"is LTO-IR of CUDA {dotted(compiler)}, and nvJitLink {dotted(nvjitlink)} is older"
    return None


_FIRST_KNOWING: dict[Version, Version] = {
    (8, 8): (13, 0), (10, 0): (12, 8), (10, 1): (12, 8), (10, 3): (12, 9), (10, 7): (13, 4), (11, 0): (13, 0),
    (12, 0): (12, 8), (12, 1): (12, 9),
}  # fmt: skip
"""The first CUDA release whose nvJitLink knows a compute capability, where 12.0 does not. Source: PTX ISA, "Release
Notes", and the CUDA Toolkit's."""


_LAST_KNOWING: dict[Version, Version] = {(10, 1): (12, 9)}


_OLDEST_OF_13: Version = (7, 5)
"""What nvJitLink 13 left out: (10, 1), which is (11, 0) since, and all before this. Source: CUDA 13.0's notes."""


_NEWEST_KNOWN: Version = (13, 5)
"""The release that the table ends with: of GPUs that it lacks, later ones may know."""


def knows(nvjitlink: Version, capability: Version) -> bool:
    """Return whether nvJitLink of a release knows a compute capability. It may crash of one that it does not: 12.9 of
    13.0."""
    if nvjitlink > _NEWEST_KNOWN:  # its own to tell
        return True
    first = _FIRST_KNOWING.get(capability, (12, 0) if capability <= (9, 0) else None)
    last = _LAST_KNOWING.get(capability, _NEWEST_KNOWN if capability >= _OLDEST_OF_13 else (12, 9))
    return first is not None and first <= nvjitlink <= last


def no_image_message(manifest: Manifest, resolution: Resolution, capability: Version, driver: Version) -> str:
    """Return the text of NoImageError: the device, the driver, every image with its reason, and what would help."""
    images = "".join(f"\n  {rejection.image}: {rejection.reason}" for rejection in resolution.rejected)
    ready = [image for image in manifest.images if image.source is None]
    runnable = any(unsupported(image.target, capability) is None for image in ready)
    if not ready and manifest.images:
        wanted = ", ".join(external.declaration for external in manifest.extern)
        help_ = f"Link it with what defines {wanted}: load(..., link=[...])." if wanted else "It is for others to link."
    elif runnable:
        help_ = "Update the NVIDIA driver."
        if driver[0] in (12, 13):  # the toolchains that there are
            help_ = (
                f"{help_[:-1]}, or install the newest nvJitLink that it allows: pip install cuda-wheel[cu{driver[0]}]."
            )
    else:
        arch = f"{capability[0]}{capability[1]}"
        help_ = f'The wheel\'s maker can add "{arch}-real", or a lower "-virtual" target, to architectures.'
    return (
        f"{manifest.name} has no image for a GPU of compute capability {dotted(capability)} "
        f"with a driver for CUDA {dotted(driver)}.{images or ' It has no images at all.'}\n{help_}"
    )
