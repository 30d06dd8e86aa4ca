"""Measure the size of images, installed and in a wheel, and what dropping a target saves and costs."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cuda_wheel.builder.manifest_writer.coverage import (
    KEYS,
    LEVELS,
    Cell,
    Cells,
    Key,
    KnownCells,
    module_cells,
    once_linked,
)
from cuda_wheel.inspect.companions import united
from cuda_wheel.inspect.coverage_report import cells_to_json
from cuda_wheel.inspect.modules import FoundModule
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.manifest import Image, Manifest, Target, Version
from cuda_wheel.runtime.rules import unsupported

__all__ = [
    "CoverageLoss",
    "ImageSize",
    "ModuleSize",
    "Size",
    "TargetSize",
    "losses_without",
    "measure_module",
    "sizes_by_target",
    "sizes_to_json",
    "total_size",
]

FUTURE: Version = (999, 0)
"""Compute capability that stands for any future GPU. No GPU has this compute capability, or belongs to its family."""


class Size(NamedTuple):
    """A size in bytes: installed, and in a wheel, where content is deflated."""

    installed: int
    in_wheel: int


class ImageSize(NamedTuple):
    """An image and its size: `installed` is its byte range in the fatbin, `in_wheel` is this range deflated separately.

    In a wheel, images that have content in common take less.
    """

    image: Image
    size: Size | None
    """Size of the image; None in a compressed fatbin, where the bytes of an image cannot be told apart."""


class ModuleSize(NamedTuple):
    """The sizes of a module's files, and of the images of all its variants.

    `Size.in_wheel` of `fatbin` and `manifest` is the size in the archive; outside a wheel, the file is deflated to
    measure it.
    """

    found: FoundModule
    fatbin: Size
    manifest: Size
    images: tuple[ImageSize, ...]
    saved: Mapping[Target, Size]
    """Target -> bytes by which the fatbin would shrink without the images for the target. Empty if the fatbin is
    compressed."""


class CoverageLoss(NamedTuple):
    """Pairs of GPU and driver for which some modules would get a worse image, if the images for a target were
    dropped."""

    names: tuple[str, ...]
    """Names of the modules that would get a worse image if the images for a target were dropped."""
    before: Cell
    after: Cell
    keys: tuple[Key, ...]
    """Pairs (compute capability of the GPU, CUDA version of the driver) for which each module in `names` would get a
    worse image."""


class TargetSize(NamedTuple):
    """The size of a target's images in all modules, and what dropping the target saves and costs."""

    target: Target
    images: int
    """Number of images for the target in all modules, including those in compressed fatbins."""
    unknown: int
    """Number of the target's images that are in compressed fatbins. The sizes of these images are unknown; `size` and
    `saved` do not include them."""
    size: Size
    """Total size of the target's images in all modules, in bytes."""
    saved: Size
    """Bytes by which all fatbins together would shrink without the target's images."""
    lost: tuple[CoverageLoss, ...]
    loses_future_gpus: bool
    """True if dropping the target would leave a module without an image that future GPUs can load, although the module
    has one now."""


def measure_module(found: FoundModule) -> ModuleSize:
    """Return the sizes of a module; raises ImageError if its fatbin cannot be read."""
    try:
        fatbin = found.read(found.fatbin)
    except OSError as error:
        raise ImageError(f"{found.name}: {found.fatbin} cannot be read: {error.strerror or error}.") from error
    placed = [(manifest.fatbin_offset, image) for manifest in found.manifests for image in manifest.images]
    images = tuple(ImageSize(image, _image_size(start, image, fatbin)) for start, image in placed)
    whole = _deflated_size(fatbin)
    saved = {}
    if all(size is not None for _, size in images):
        for target in dict.fromkeys(image.target for _, image in placed):
            rest = _without_images([(start, image) for start, image in placed if image.target == target], fatbin)
            saved[target] = Size(len(fatbin) - len(rest), whole - _deflated_size(rest))
    fatbin_size, manifest_size = (_file_size(found, name) for name in (found.fatbin, f"{found.fatbin}.json"))
    return ModuleSize(found, fatbin_size, manifest_size, images, saved)


def sizes_by_target(modules: Sequence[ModuleSize]) -> list[TargetSize]:
    """Return the size of each target's images in all modules, sorted by target."""
    manifests = united([module.found for module in modules])
    targets = sorted({image.target for manifest in manifests for image in manifest.images})
    return [_target_size(target, modules, manifests) for target in targets]


def _target_size(target: Target, modules: Sequence[ModuleSize], manifests: Sequence[Manifest]) -> TargetSize:
    sizes = [size for module in modules for image, size in module.images if image.target == target]
    return TargetSize(
        target,
        len(sizes),
        sizes.count(None),
        total_size(size for size in sizes if size is not None),
        total_size(module.saved[target] for module in modules if target in module.saved),
        tuple(losses_without(target, manifests)),
        any(_covers_future(each) and not _covers_future(_without_target(each, target)) for each in manifests),
    )


def total_size(sizes: Iterable[Size]) -> Size:
    """Return the sum of sizes."""
    installed, in_wheel = 0, 0
    for size in sizes:
        installed, in_wheel = installed + size.installed, in_wheel + size.in_wheel
    return Size(installed, in_wheel)


def losses_without(target: Target, manifests: Iterable[Manifest]) -> list[CoverageLoss]:
    """Return the pairs of GPU and driver for which modules would get a worse image without their images for a
    target."""
    known: KnownCells = {}
    names: dict[tuple[Cells, Cells], list[str]] = {}
    for manifest in manifests:
        before, after = (
            module_cells(once_linked(each), known) for each in (manifest, _without_target(manifest, target))
        )
        names.setdefault((before, after), []).append(manifest.name)
    losses = []
    for (before, after), listed in names.items():
        modules = list(dict.fromkeys(listed))  # a module's variants have one name
        changed: dict[tuple[Cell, Cell], list[Key]] = {}
        for key, old, new in zip(KEYS, before, after, strict=True):
            if old != new and LEVELS.index(new) < LEVELS.index(old):
                changed.setdefault((old, new), []).append(key)
        losses += [CoverageLoss(tuple(modules), old, new, tuple(keys)) for (old, new), keys in sorted(changed.items())]
    return losses


def _without_target(manifest: Manifest, target: Target) -> Manifest:
    return manifest._replace(images=tuple(image for image in manifest.images if image.target != target))


def _covers_future(manifest: Manifest) -> bool:
    """Return whether a module has an image that future GPUs can load. Only PTX can be such an image."""
    return any(unsupported(image.target, FUTURE) is None for image in once_linked(manifest).images)


def _image_size(start: int, image: Image, fatbin: bytes) -> Size | None:
    """Return the size of an image; None if the fatbin is compressed.

    `fatbin`: content of a file that has a fatbin for each variant of the module. `start`: byte offset in this file of
    the fatbin that contains the image.
    """
    if image.offset is None:
        return None
    content = fatbin[start + image.offset : start + image.offset + image.size]
    return Size(len(content), _deflated_size(content))


def _without_images(images: Iterable[tuple[int, Image]], fatbin: bytes) -> bytes:
    """Return the content of a fatbin's file without the bytes of some images.

    `images`: images to remove, each as (byte offset in the file of the fatbin that contains the image, image).
    `fatbin`: content of the file, which has a fatbin for each variant of the module.
    """
    parts, end_of_last = [], 0
    ranges = ((at + (image.offset or 0), image.size) for at, image in images)
    for start, end in sorted((start, start + size) for start, size in ranges):
        parts.append(fatbin[end_of_last:start])
        end_of_last = max(end_of_last, end)
    return b"".join([*parts, fatbin[end_of_last:]])


def _file_size(found: FoundModule, name: str) -> Size:
    content, compressed = found.read(name), found.compressed_size(name)
    return Size(len(content), _deflated_size(content) if compressed is None else compressed)


def _deflated_size(content: bytes) -> int:
    """Return the size of `content` when deflated as in a wheel, in bytes; zipfile uses zlib's default level."""
    compressor = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)
    return len(compressor.compress(content)) + len(compressor.flush())


# --- as JSON ------------------------------------------------------------------------------------------


def sizes_to_json(modules: Sequence[ModuleSize], wheel_size: int | None) -> dict[str, Any]:
    """Return sizes as a JSON object; `wheel_size` is the wheel's size in bytes, or None outside a wheel."""
    return {
        "modules": [_module_to_json(module) for module in modules],
        "targets": [_target_to_json(target) for target in sizes_by_target(modules)],
        "total": {
            "fatbins": total_size(module.fatbin for module in modules)._asdict(),
            "manifests": total_size(module.manifest for module in modules)._asdict(),
            "wheel": wheel_size,
        },
    }


def _module_to_json(module: ModuleSize) -> dict[str, Any]:
    return {
        "name": module.found.name,
        **({} if module.found.split is None else {"distribution": module.found.split.distribution}),
        "fatbin": module.fatbin._asdict(),
        "manifest": module.manifest._asdict(),
        "images": [
            {"kind": image.kind, "target": str(image.target), "source": image.source, "size": image.size}
            | (size._asdict() if size else dict.fromkeys(Size._fields))
            for image, size in module.images
        ],
    }


def _target_to_json(target: TargetSize) -> dict[str, Any]:
    return {
        "target": str(target.target),
        "images": target.images,
        "unknown": target.unknown,
        **target.size._asdict(),
        "saves": target.saved._asdict(),
        "loses": [
            {"modules": list(loss.names), "from": loss.before, "to": loss.after, "cells": cells_to_json(loss.keys)}
            for loss in target.lost
        ],
        "loses_later_gpus": target.loses_future_gpus,
    }
