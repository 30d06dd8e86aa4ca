"""Choose the image that suits a GPU and driver. Pure functions."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from .errors import need
from .manifest import Image, Manifest, Target, Version, dotted

__all__ = [
    "OLDEST_DRIVER",
    "TEGRA",
    "ZSTD_DRIVER",
    "How",
    "Rejection",
    "Resolution",
    "doubt",
    "resolve",
    "unsupported",
]


TEGRA: frozenset[Version] = frozenset({(5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0)})
"""Compute capabilities of integrated GPUs (Jetson). It is not known whether a Jetson and another GPU of the same major
version run each other's machine code. The CUDA C++ Programming Guide ("Binary Compatibility") says no. nvJitLink 13.2
and later accept sm_80 for 8.7; older ones and CUDA 12.6's driver refuse it."""

OLDEST_DRIVER: Version = (12, 0)
"""First CUDA release whose driver has cuLibraryLoadData, which loads all modules. Source: CUDA Driver API."""

ZSTD_DRIVER: Version = (12, 4)
"""First CUDA release that reads fatbins compressed with zstd. Source: nvcc, "--compress-mode"."""

How = Literal["native", "jit", "link"]
"""How an image is loaded: as machine code; as PTX, by the driver; by nvJitLink, as PTX too new for the driver."""


class Rejection(NamedTuple):
    """An image that a GPU and driver cannot use, and the reason."""

    image: Image
    reason: str


class Resolution(NamedTuple):
    """The chosen image and how to load it, both None if no image fits, and the images that were not chosen.

    `doubt` is why it is not known whether the image loads; None if it is known. `forbidden` is that of `resolve`.
    """

    image: Image | None
    how: How | None
    rejected: tuple[Rejection, ...]
    doubt: str | None = None
    forbidden: str | None = None


def unsupported(target: Target, capability: Version) -> str | None:
    """Return why no driver lets a GPU of this compute capability run code for `target`; None if one may.

    Source: CUDA C++ Programming Guide, "Binary Compatibility", "PTX Compatibility" and "Compute Capabilities".
    """
    if target.suffix == "a":
        return None if capability == target.capability else f"is for compute capability {dotted(target[:2])} only"
    in_same_major = target.major == capability[0] and capability[1] >= target.minor
    if target.suffix == "f":
        in_family = in_same_major and not _crosses_tegra(target, capability)
        return None if in_family else f"is for the family of {dotted(target[:2])}, the GPU is {dotted(capability)}"
    if not target.real:
        return None if capability >= target[:2] else f"needs compute capability {dotted(target[:2])} or later"
    if target.major != capability[0]:
        return f"is machine code for {target.major}.x, the GPU is {dotted(capability)}"
    return None if in_same_major else f"needs compute capability {dotted(target[:2])}, the GPU is {dotted(capability)}"


def doubt(target: Target, capability: Version) -> str | None:
    """Return why it is not known whether a GPU runs code that is not `unsupported`; None if it does. See TEGRA."""
    if not target.real or not _crosses_tegra(target, capability):
        return None
    gpu, wanted = dotted(capability), dotted(target.capability)
    return f"not known to run: it is machine code for {wanted}, the GPU is {gpu}, and one of them is a Jetson's"


def _crosses_tegra(target: Target, capability: Version) -> bool:
    return capability != target.capability and bool(TEGRA & {capability, target.capability})


def resolve(
    manifest: Manifest,
    capability: Version,
    driver: Version,
    nvjitlink: Version | None = None,
    forbidden: str | None = None,
    images: Sequence[Image] | None = None,
) -> Resolution:
    """Choose of `images`, by default all, for a GPU of compute capability `capability` and a driver for CUDA `driver`.

    `nvjitlink` is the version of an installed nvJitLink, or None. Best first: the most specific cubin of the nearest
    compute capability, then the highest PTX that the driver reads, then the highest PTX that nvJitLink reads, then what
    is not known to run. `forbidden` is the name of what forbids compiling: nothing that may be compiled is chosen then.
    """
    candidates: list[tuple[tuple[bool, int, Version, int], Image, How, str]] = []
    rejected = []
    for image in manifest.images if images is None else images:
        how, reason = _way_to_load(manifest, image, capability, driver, nvjitlink)
        if forbidden and how and _may_compile(manifest, image, how, capability):
            what = "PTX may" if how == "native" else "must"
            how, reason = None, f"{what} be compiled, which {forbidden} forbids"
        if how is None:
            rejected.append(Rejection(image, reason))
        else:
            rank = (
                not reason,
                ("link", "jit", "native").index(how),
                image.target.capability,
                " fa".index(image.target.suffix or " "),
            )
            candidates.append((rank, image, how, reason))
    if not candidates:
        return Resolution(None, None, tuple(rejected), forbidden=forbidden)
    _, best, how, reason = max(candidates, key=lambda candidate: candidate[0])
    reason = reason or _other_choice(best, rejected, capability)
    worse = f"{best} suits better" if len(candidates) > 1 else ""
    rejected += [Rejection(image, text or worse) for _, image, _, text in candidates if image is not best]
    return Resolution(best, how, tuple(rejected), reason or None, forbidden)


def _may_compile(manifest: Manifest, image: Image, how: How, capability: Version) -> bool:
    # The driver may prefer PTX to code for an older GPU. Source: CUDA Driver API, CUjit_fallback.
    return how != "native" or (
        image.offset is None
        and image.target.capability != capability
        and any(each.kind == "ptx" and unsupported(each.target, capability) is None for each in manifest.images)
    )


def _other_choice(best: Image, rejected: Sequence[Rejection], capability: Version) -> str:
    """Return why the driver may choose a `rejected` image over `best` in a compressed fatbin; else ""."""
    for image, _ in rejected if best.offset is None else ():
        suits = image.source is None and unsupported(image.target, capability) is None
        if suits and (image.target.real, image.target.capability) > (best.target.real, best.target.capability):
            return f"not known to load: the driver may choose {image} from the compressed fatbin, and cannot read it"
    return ""


def _way_to_load(
    manifest: Manifest, image: Image, capability: Version, driver: Version, nvjitlink: Version | None
) -> tuple[How | None, str]:
    """Return (how to load `image`, why it may fail or ""). If it cannot be loaded, return (None, reason)."""
    if image.source is not None:
        return None, "must be linked first: load(..., link=[...])"
    reason = unsupported(image.target, capability)
    if image.host and not reason:
        need("tile-hosts")
        from .parts.tile_hosts import why_not  # rare

        reason = why_not(image, capability)
    if reason:
        return None, reason
    if driver < OLDEST_DRIVER:
        return None, f"needs a driver for CUDA {dotted(OLDEST_DRIVER)} or later, the driver is for {dotted(driver)}"
    if manifest.compression == "zstd" and driver < ZSTD_DRIVER:
        return None, f"the fatbin is compressed with zstd; drivers before CUDA {dotted(ZSTD_DRIVER)} do not read it"
    if driver >= image.driver:
        return ("native" if image.target.real else "jit"), doubt(image.target, capability) or ""
    if image.ptx_version is None:
        return None, f"needs a driver for CUDA {dotted(image.driver)} or later, the driver is for {dotted(driver)}"

    needs = f"PTX {dotted(image.ptx_version)} needs a driver for CUDA {dotted(image.driver)} or later"
    if image.offset is None:  # nvJitLink links, of a whole fatbin, finished machine code to nothing, without an error
        here = f"(this one is for {dotted(driver)})"
        return None, f"{needs} {here}; nvJitLink does not compile it from a compressed fatbin"
    if nvjitlink is None:
        return None, f"{needs} (this one is for {dotted(driver)}), or nvJitLink"
    from .parts.nvjitlink_rules import why_not_compiled  # few machines need it

    reason = why_not_compiled(image.driver, capability, driver, nvjitlink)
    return (None, f"{needs}{reason}") if reason else ("link", "")
