"""Compute which GPUs and drivers a module has an image for. Pure: no driver is asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

from cuda_wheel.builder.releases import GPUS, RELEASES, Gpu
from cuda_wheel.runtime.manifest import Manifest, Version, dotted
from cuda_wheel.runtime.rules import OLDEST_DRIVER, resolve, unsupported

__all__ = [
    "DRIVERS",
    "KEYS",
    "LEVELS",
    "Cell",
    "Cells",
    "Coverage",
    "Key",
    "KnownCells",
    "Requirement",
    "advice",
    "cells_text",
    "cover",
    "deciding",
    "gaps",
    "missing",
    "module_cells",
    "once_linked",
]

Cell = Literal["native", "jit", "link", "none", "unknown"]
"""How a module loads on a GPU with a driver: "native" from machine code, "jit" from PTX by the driver, "link" from PTX
by nvJitLink if that is installed, "none" not at all; "unknown" if the driver does not support the GPU."""

DRIVERS: tuple[Version, ...] = tuple(release.cuda for release in RELEASES if release.cuda >= OLDEST_DRIVER)
"""The CUDA versions of all drivers that can load a module."""

COMMON: tuple[Version, ...] = ((12, 2), (12, 8), (13, 0))
"""The CUDA versions of the most common drivers: branches 535, 570 and 580, which NVIDIA supports longest.
Source: NVIDIA Data Center Drivers, "Supported Drivers and CUDA Toolkit Versions"."""

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
    found: dict[Cells, tuple[Manifest, list[str]]] = {}
    for manifest in map(once_linked, manifests):
        found.setdefault(module_cells(manifest, known), (manifest, []))[1].append(manifest.name)
    return [
        Coverage(tuple(names), manifest, dict(zip(KEYS, cells, strict=True)))
        for cells, (manifest, names) in found.items()
    ]


Cells = tuple[Cell, ...]
"""Those of KEYS."""

KnownCells = dict[tuple[Any, ...], Cells]
"""By what of a module's images decides them: a project may have thousands of modules, with few sets of targets."""


def module_cells(manifest: Manifest, known: KnownCells) -> Cells:
    images = tuple((image.target, image.ptx_version, image.driver, image.source) for image in manifest.images)
    if images not in known:
        known[images] = tuple(_cell(manifest, gpu, driver) for gpu in GPUS for driver in DRIVERS)
    return known[images]


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
    if driver < gpu.first or (gpu.last is not None and driver > gpu.last):
        return "unknown"
    newest = max(release for release in DRIVERS if release[0] == driver[0])
    return resolve(manifest, gpu.capability, driver, newest).how or "none"


class Requirement(NamedTuple):
    """The GPUs and drivers that a module must cover, and the least cell that counts as covered."""

    gpus: tuple[Version, ...]
    drivers: tuple[Version, ...]
    least: Cell


LEVELS: tuple[Cell, ...] = ("none", "link", "jit", "native")


def missing(coverage: Coverage, requirement: Requirement) -> list[Key]:
    """Return the required cells that are not covered, by GPU and driver. A GPU that a driver does not support is not
    required with that driver."""
    cells = ((key, coverage.cells[key]) for key in _keys(requirement))
    least = LEVELS.index(requirement.least)
    return [key for key, cell in cells if cell != "unknown" and LEVELS.index(cell) < least]


def _keys(requirement: Requirement) -> list[Key]:
    return [(gpu, driver) for gpu in requirement.gpus for driver in requirement.drivers]


def advice(coverage: Coverage, keys: Sequence[Key]) -> list[str]:
    """Return what a project can change to cover these cells, one line each."""
    images = coverage.manifest.images
    uncovered = sorted({gpu for gpu, _ in keys if all(unsupported(image.target, gpu) for image in images)})
    drivers = {driver for gpu, driver in keys if gpu not in uncovered}
    return [*_architecture_advice(uncovered), *_driver_advice(coverage.manifest, drivers)]


def _architecture_advice(gpus: Sequence[Version]) -> Iterator[str]:
    """Yield the architectures to add for GPUs that no image supports, whatever the driver."""
    if gpus:
        real = ", ".join(f'"{major}{minor}-real"' for major, minor in gpus)
        lowest = f'"{gpus[0][0]}{gpus[0][1]}-virtual"'
        yield f"architectures: add {real}, or {lowest} (PTX, which the driver compiles at first use)"


def _driver_advice(manifest: Manifest, drivers: Collection[Version]) -> Iterator[str]:
    """Yield what helps with drivers that are too old for the images."""
    if not drivers:
        return
    oldest = min(drivers)[0]
    if manifest.cuda[0] > oldest:
        yield (
            f"toolchain: machine code of CUDA {manifest.cuda[0]} needs a driver for CUDA {manifest.cuda[0]}.0; "
            f'build with "cuda-wheel[cu{oldest}]"'
        )
    not_lowered = {i.ptx_version for i in manifest.images if i.ptx_version and i.ptx_version == i.ptx_version_compiled}
    if any(version > (7, 8) for version in not_lowered):
        yield 'ptx-version: "auto" lowers PTX to a version that more drivers accept, if it is proven equivalent'


def gaps(manifests: Iterable[Manifest]) -> str | None:
    """Return a line on current GPUs that have no loadable image with a common driver; None if there are none.

    Tegra GPUs are ignored: projects for them name them. PTX that only nvJitLink accepts does not count: few users have
    nvJitLink.
    """
    current = tuple(gpu.capability for gpu in GPUS if gpu.last is None and not gpu.is_tegra)
    requirement = Requirement(current, COMMON, "jit")
    short = [(coverage, keys) for coverage in cover(manifests) if (keys := missing(coverage, requirement))]
    if not short:
        return None
    coverage, keys = max(short, key=lambda pair: len(pair[1]))
    what = coverage.names[0] if len(coverage.names) == 1 else f"{coverage.names[0]} and {len(coverage.names) - 1} more"
    helps = "; ".join(advice(coverage, keys))
    return f"{what}: no image for {cells_text(keys)}. {helps}. (cuda-wheel coverage shows all.)"


def cells_text(keys: Sequence[Key]) -> str:
    """Return cells in words: "Turing (7.5), Ada (8.9) with drivers for CUDA 12.2 to 12.8"."""
    by_drivers: dict[tuple[Version, ...], list[Version]] = {}
    for gpu, group in groupby(sorted(keys), key=lambda key: key[0]):
        by_drivers.setdefault(tuple(driver for _, driver in group), []).append(gpu)
    names = {gpu.capability: gpu.name for gpu in GPUS}
    parts = []
    for drivers, gpus in by_drivers.items():
        listed = ", ".join(f"{names[gpu]} ({dotted(gpu)})" for gpu in gpus)
        span = dotted(drivers[0]) if len(drivers) == 1 else f"{dotted(drivers[0])} to {dotted(drivers[-1])}"
        parts.append(f"{listed} with drivers for CUDA {span}")
    return "; ".join(parts)
