"""Compute which GPUs and drivers a module has an image for. Pure: no driver is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

from cuda_wheel.builder.releases import GPUS, RELEASES, Gpu
from cuda_wheel.runtime.manifest import Manifest, Version, dotted
from cuda_wheel.runtime.rules import OLDEST_DRIVER, resolve

__all__ = [
    "DRIVERS",
    "GPU_OF",
    "KEYS",
    "LEVELS",
    "Cell",
    "Cells",
    "Coverage",
    "Key",
    "KnownCells",
    "Requirement",
    "cells_text",
    "cover",
    "deciding",
    "distinct",
    "missing",
    "module_cells",
    "not_required",
    "once_linked",
    "required_keys",
    "uncovered",
]

Cell = Literal["native", "jit", "link", "unproven", "none", "unknown"]
"""How a module loads on a GPU with a driver: "native" from machine code, "jit" from PTX by the driver, "link" from PTX
by nvJitLink if that is installed, "none" not at all; "unproven" if it is not known whether it loads (see
`Resolution.doubt`), "unknown" if the driver does not support the GPU."""

DRIVERS: tuple[Version, ...] = tuple(release.cuda for release in RELEASES if release.cuda >= OLDEST_DRIVER)
"""The CUDA versions of all drivers that can load a module."""

GPU_OF: dict[Version, Gpu] = {gpu.capability: gpu for gpu in GPUS}

Key = tuple[Version, Version]
"""A compute capability and a driver's CUDA version."""

KEYS: tuple[Key, ...] = tuple((gpu.capability, driver) for gpu in GPUS for driver in DRIVERS)


class Coverage(NamedTuple):
    """The coverage of one or more modules that have the same cells."""

    names: tuple[str, ...]
    manifest: Manifest
    """The manifest of one of them."""
    cells: Mapping[Key, Cell]


def cover(manifests: Iterable[Manifest]) -> list[Coverage]:
    """Return the coverage of modules, with modules of the same cells together."""
    known: KnownCells = {}
    found: dict[Cells, list[Manifest]] = {}
    for manifest in map(once_linked, manifests):
        found.setdefault(module_cells(manifest, known), []).append(manifest)
    # A module is named once, unless its variants have different cells.
    groups = Counter(name for alike in found.values() for name in {manifest.name for manifest in alike})
    return [
        Coverage(
            tuple(dict.fromkeys(each.name if groups[each.name] == 1 else each.full_name for each in alike)),
            alike[0],
            dict(zip(KEYS, cells, strict=True)),
        )
        for cells, alike in found.items()
    ]


Cells = tuple[Cell, ...]
"""Those of KEYS."""

KnownCells = dict[tuple[Any, ...], Cells]
"""By what of a module's images decides them: a project may have thousands of modules, with few sets of targets."""


def distinct(manifests: Iterable[Manifest]) -> Iterable[Manifest]:
    """Return modules, as if linked, of which no two have the same coverage by their images."""
    return {_deciding_images(manifest): manifest for manifest in map(once_linked, manifests)}.values()


def _deciding_images(manifest: Manifest) -> tuple[Any, ...]:
    images = ((image.target, image.ptx_version, image.driver, image.source) for image in manifest.images)
    return manifest.compression, *images


def module_cells(manifest: Manifest, known: KnownCells) -> Cells:
    key = _deciding_images(manifest)
    if key not in known:
        known[key] = tuple(_cell(manifest, gpu, driver) for gpu in GPUS for driver in DRIVERS)
    return known[key]


def deciding(manifest: Manifest) -> Manifest:
    """Return the part of a manifest that decides its coverage: without the kernels, of which there may be thousands."""
    images = tuple(image._replace(resources={}) for image in manifest.images)
    return manifest._replace(kernels=(), globals=(), host_code=(), images=images)


def once_linked(manifest: Manifest) -> Manifest:
    """Return a module that can only be linked as if it were linked: with its PTX as loadable images. Return any other
    module unchanged."""
    if len(manifest.relocatable) < len(manifest.images):
        return manifest
    return manifest._replace(images=tuple(i._replace(source=None) for i in manifest.images if i.kind == "ptx"))


def _cell(manifest: Manifest, gpu: Gpu, driver: Version) -> Cell:
    if not gpu.is_supported_by(driver):
        return "unknown"
    newest = max((release for release in DRIVERS if release[0] == driver[0]), default=None)
    resolution = resolve(manifest, gpu.capability, driver, newest)
    return "unproven" if resolution.doubt else resolution.how or "none"


class Requirement(NamedTuple):
    """The GPUs and drivers that a module must cover, and the least cell that counts as covered."""

    gpus: tuple[Version, ...]
    drivers: tuple[Version, ...]
    least: Cell


LEVELS: tuple[Cell, ...] = ("none", "unproven", "link", "jit", "native")
"""The cells of GPUs that a driver supports, worst first."""


def missing(coverage: Coverage, requirement: Requirement) -> list[Key]:
    """Return the required cells that are not covered, by GPU and driver. A GPU that a driver does not support is not
    required with that driver."""
    return uncovered(coverage.manifest, required_keys(requirement), requirement.least)


def not_required(requirement: Requirement) -> list[Key]:
    """Return the cells that a requirement names and that cannot be covered: the driver does not support the GPU."""
    required = set(required_keys(requirement))
    return [key for key in _named_keys(requirement) if key not in required]


def required_keys(requirement: Requirement) -> list[Key]:
    """Return the required cells, by GPU and driver."""
    return [(gpu, driver) for gpu, driver in _named_keys(requirement) if GPU_OF[gpu].is_supported_by(driver)]


def _named_keys(requirement: Requirement) -> list[Key]:
    return [(gpu, driver) for gpu in requirement.gpus for driver in requirement.drivers]


def uncovered(manifest: Manifest, keys: Iterable[Key], least: Cell) -> list[Key]:
    """Return which of these cells are worse than `least`."""
    cells = ((key, _cell(manifest, GPU_OF[key[0]], key[1])) for key in keys)
    return [key for key, cell in cells if LEVELS.index(cell) < LEVELS.index(least)]


def cells_text(keys: Sequence[Key]) -> str:
    """Return cells in words: "Turing (7.5), Ada (8.9) with drivers for CUDA 12.2 to 12.8"."""
    by_drivers: dict[tuple[Version, ...], list[Version]] = {}
    for gpu, group in groupby(sorted(keys), key=lambda key: key[0]):
        by_drivers.setdefault(tuple(driver for _, driver in group), []).append(gpu)
    parts = []
    for drivers, gpus in by_drivers.items():
        listed = ", ".join(f"{GPU_OF[gpu].name} ({dotted(gpu)})" for gpu in gpus)
        span = dotted(drivers[0]) if len(drivers) == 1 else f"{dotted(drivers[0])} to {dotted(drivers[-1])}"
        parts.append(f"{listed} with drivers for CUDA {span}")
    return "; ".join(parts)
