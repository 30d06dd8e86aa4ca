"""Measure what images cost, installed and in a wheel, and what it would save to leave a target out."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cuda_wheel.inspect.coverage import Loss, lost, reaches_later, without
from cuda_wheel.inspect.modules import Found
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.manifest import Image, Target, dotted

__all__ = [
    "Bytes",
    "ImageSize",
    "ModuleSize",
    "TargetSize",
    "measure",
    "targets_of",
    "to_json",
    "total",
]


class Bytes(NamedTuple):
    """How many bytes something takes, installed and in a wheel, which is deflated."""

    installed: int
    in_wheel: int


class ImageSize(NamedTuple):
    """An image and what it takes: its range of the fatbin, and that deflated by itself. What it shares with its
    neighbours costs less in a wheel. None in a compressed fatbin, of which nobody can tell its part."""

    image: Image
    size: Bytes | None


class ModuleSize(NamedTuple):
    """What a module takes. In a wheel that is what the archive says, else what its files come to when deflated."""

    found: Found
    fatbin: Bytes
    manifest: Bytes
    images: tuple[ImageSize, ...]
    saved: Mapping[Target, Bytes]
    """What the fatbin would be smaller by without a target's images, for each: deflated with them and without. Empty
    for a compressed one."""


class TargetSize(NamedTuple):
    """What a target's images take in all modules, what it would save to leave it out, and what that would lose."""

    target: Target
    images: int
    unknown: int
    """How many of them are in compressed fatbins, and not part of the sums."""
    size: Bytes
    saved: Bytes
    lost: tuple[Loss, ...]
    later: bool
    """Whether GPUs that are still to come would have no image of some module, which now have."""


def measure(found: Found) -> ModuleSize:
    """Return what a module takes; raises ImageError where its fatbin cannot be read."""
    manifest = found.manifest
    fatbin, text = manifest.fatbin, f"{manifest.fatbin}.json"
    try:
        content = found.read(fatbin)
    except OSError as error:
        raise ImageError(f"{manifest.name}: {fatbin} cannot be read: {error.strerror or error}.") from error
    images = tuple(ImageSize(image, _range(image, content)) for image in manifest.images)
    whole = _deflated(content)
    saved = {}
    if all(size is not None for _, size in images):
        for target in dict.fromkeys(image.target for image in manifest.images):
            rest = _cut([image for image in manifest.images if image.target == target], content)
            saved[target] = Bytes(len(content) - len(rest), whole - _deflated(rest))
    return ModuleSize(found, _file(found, fatbin), _file(found, text), images, saved)


def targets_of(modules: Sequence[ModuleSize]) -> list[TargetSize]:
    """Return what each target takes in all of these modules, by target."""
    manifests = [module.found.manifest for module in modules]
    sizes = []
    for target in sorted({image.target for manifest in manifests for image in manifest.images}):
        its = [size for module in modules for image, size in module.images if image.target == target]
        sizes.append(
            TargetSize(
                target,
                len(its),
                its.count(None),
                total(size for size in its if size is not None),
                total(module.saved[target] for module in modules if target in module.saved),
                tuple(lost(manifests, target)),
                any(reaches_later(each) and not reaches_later(without(each, target)) for each in manifests),
            )
        )
    return sizes


def total(sizes: Iterable[Bytes]) -> Bytes:
    """Return the sums of sizes."""
    installed, in_wheel = 0, 0
    for size in sizes:
        installed, in_wheel = installed + size.installed, in_wheel + size.in_wheel
    return Bytes(installed, in_wheel)


def _range(image: Image, fatbin: bytes) -> Bytes | None:
    if image.offset is None:
        return None
    content = fatbin[image.offset : image.offset + image.size]
    return Bytes(len(content), _deflated(content))


def _cut(images: Iterable[Image], fatbin: bytes) -> bytes:
    kept, at = [], 0
    for start, end in sorted((image.offset or 0, (image.offset or 0) + image.size) for image in images):
        kept.append(fatbin[at:start])
        at = max(at, end)
    return b"".join([*kept, fatbin[at:]])


def _file(found: Found, name: str) -> Bytes:
    content, packed = found.read(name), found.packed(name)
    return Bytes(len(content), _deflated(content) if packed is None else packed)


def _deflated(content: bytes) -> int:
    """Return what bytes come to in a wheel, as zipfile writes it by default."""
    compressor = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)
    return len(compressor.compress(content)) + len(compressor.flush())


# --- as JSON ------------------------------------------------------------------------------------------


def to_json(modules: Sequence[ModuleSize], archive: int | None) -> dict[str, Any]:
    """Return sizes as a JSON object; `archive` is the size of the wheel that they are of, in bytes, if they are."""
    return {
        "modules": [
            {
                "name": module.found.manifest.name,
                "fatbin": module.fatbin._asdict(),
                "manifest": module.manifest._asdict(),
                "images": [
                    {"kind": image.kind, "target": str(image.target), "source": image.source, "size": image.size}
                    | (size._asdict() if size else dict.fromkeys(Bytes._fields))
                    for image, size in module.images
                ],
            }
            for module in modules
        ],
        "targets": [
            {
                "target": str(target.target),
                "images": target.images,
                "unknown": target.unknown,
                **target.size._asdict(),
                "saves": target.saved._asdict(),
                "loses": [_loss_json(loss) for loss in target.lost],
                "loses_later_gpus": target.later,
            }
            for target in targets_of(modules)
        ],
        "total": {
            "fatbins": total(module.fatbin for module in modules)._asdict(),
            "manifests": total(module.manifest for module in modules)._asdict(),
            "wheel": archive,
        },
    }


def _loss_json(loss: Loss) -> dict[str, Any]:
    cells = [{"gpu": f"sm_{gpu[0]}{gpu[1]}", "driver": dotted(driver)} for gpu, driver in loss.keys]
    return {"modules": list(loss.names), "from": loss.before, "to": loss.after, "cells": cells}
