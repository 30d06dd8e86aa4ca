"""Compute which GPUs and drivers a module has an image for. Pure: no driver is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

from cuda_wheel.builder.releases import GPUS, RELEASES, Gpu
from cuda_wheel.runtime.manifest import Manifest, Version, dotted
from cuda_wheel.runtime.rules import OLDEST_DRIVER, resolve, unsupported

__all__ = [
    "LEVELS",
    "Coverage",
    "Requirement",
    "advice",
    "cover",
    "deciding",
    "describe",
    "gaps",
    "missing",
    "once_linked",
]


Cell = Literal["native", "jit", "link", "none", "unknown"]
"""How a GPU under a driver gets the module: "link" is through nvJitLink, where that is installed; "unknown" stands
where the driver does not know the GPU."""


DRIVERS: tuple[Version, ...] = tuple(release.cuda for release in RELEASES if release.cuda >= OLDEST_DRIVER)
"""The CUDA versions of all drivers that can load anything here."""


COMMON: tuple[Version, ...] = ((12, 2), (12, 8), (13, 0))
"""The CUDA versions of the drivers that most machines have: branches 535, 570 and 580, which NVIDIA supports longest.
Source: NVIDIA Data Center Drivers, "Supported Drivers and CUDA Toolkit Versions"."""


Key = tuple[Version, Version]
"""A compute capability and a driver's CUDA version."""


KEYS: tuple[Key, ...] = tuple((gpu.capability, driver) for gpu in GPUS for driver in DRIVERS)


class Coverage(NamedTuple):
    """The cells of modules that share them all; `names` are the modules'."""

    names: tuple[str, ...]
    manifest: Manifest
    cells: Mapping[Key, Cell]


def cover(manifests: Iterable[Manifest]) -> list[Coverage]:
    """Return the coverage of modules, those with the same cells together."""
    known: _Known = {}
    found: dict[_Cells, tuple[Manifest, list[str]]] = {}
    for manifest in map(once_linked, manifests):
        found.setdefault(_cells(manifest, known), (manifest, []))[1].append(manifest.name)
    return [
        Coverage(tuple(names), manifest, dict(zip(KEYS, cells, strict=True)))
        for cells, (manifest, names) in found.items()
    ]


_Cells = tuple[Cell, ...]
"""Those of KEYS."""


_Known = dict[tuple[Any, ...], _Cells]
"""By what of a module's images decides them: a project may have thousands of modules, with few sets of targets."""


def _cells(manifest: Manifest, known: _Known) -> _Cells:
    images = tuple((image.target, image.ptx_version, image.driver, image.source) for image in manifest.images)
    if images not in known:
        known[images] = tuple(_cell(manifest, gpu, driver) for gpu in GPUS for driver in DRIVERS)
    return known[images]


def deciding(manifest: Manifest) -> Manifest:
    """Return what of a manifest decides its coverage: without the kernels, which may be thousands."""
    images = tuple(image._replace(resources={}) for image in manifest.images)
    return manifest._replace(kernels=(), globals=(), host_code=(), images=images)


def once_linked(manifest: Manifest) -> Manifest:
    """Return a module that has to be linked as if it were, by every driver that reads its PTX; others as they are."""
    if len(manifest.relocatable) < len(manifest.images):
        return manifest
    return manifest._replace(images=tuple(i._replace(source=None) for i in manifest.images if i.kind == "ptx"))


def _cell(manifest: Manifest, gpu: Gpu, driver: Version) -> Cell:
    if driver < gpu.first or (gpu.last is not None and driver > gpu.last):
        return "unknown"
    newest = max(release for release in DRIVERS if release[0] == driver[0])
    return resolve(manifest, gpu.capability, driver, newest).how or "none"


class Requirement(NamedTuple):
    """What must be covered: GPUs and drivers, and the least that counts."""

    gpus: tuple[Version, ...]
    drivers: tuple[Version, ...]
    least: Cell


LEVELS: tuple[Cell, ...] = ("none", "link", "jit", "native")


def missing(coverage: Coverage, requirement: Requirement) -> list[Key]:
    """Return the required cells that fall short, by GPU and driver. Where a driver does not know a GPU, none does."""
    cells = ((key, coverage.cells[key]) for key in _keys(requirement))
    least = LEVELS.index(requirement.least)
    return [key for key, cell in cells if cell != "unknown" and LEVELS.index(cell) < least]


def _keys(requirement: Requirement) -> list[Key]:
    return [(gpu, driver) for gpu in requirement.gpus for driver in requirement.drivers]


def advice(coverage: Coverage, keys: Sequence[Key]) -> list[str]:
    """Return what a project could do so that these cells were covered, a line each."""
    manifest = coverage.manifest
    lines = []
    without = sorted({gpu for gpu, _ in keys if all(unsupported(i.target, gpu) for i in manifest.images)})
    if without:
        real = ", ".join(f'"{major}{minor}-real"' for major, minor in without)
        lowest = f'"{without[0][0]}{without[0][1]}-virtual"'
        lines.append(f"architectures: add {real}, or {lowest} (PTX, which the driver compiles at first use)")
    newer = {driver for gpu, driver in keys if gpu not in without}
    if newer and manifest.cuda[0] > min(newer)[0]:
        lines.append(
            f"toolchain: machine code of CUDA {manifest.cuda[0]} needs a driver for CUDA {manifest.cuda[0]}.0; "
            f'build with "cuda-wheel[cu{min(newer)[0]}]"'
        )
    versions = {i.ptx_version for i in manifest.images if i.ptx_version and i.ptx_version == i.ptx_version_compiled}
    if any(version > (7, 8) for version in versions) and newer:
        lines.append('ptx-version: "auto" lowers PTX to what more drivers read, as far as it is proven equal')
    return lines


def gaps(manifests: Iterable[Manifest]) -> str | None:
    """Return one line on GPUs that are made today and get no image under a common driver, if there are any.

    Tegra is left out: who builds for that knows. So is what nvJitLink would cover, which few have installed.
    """
    current = tuple(gpu.capability for gpu in GPUS if gpu.last is None and not gpu.is_tegra)
    requirement = Requirement(current, COMMON, "jit")
    short = [(coverage, keys) for coverage in cover(manifests) if (keys := missing(coverage, requirement))]
    if not short:
        return None
    coverage, keys = max(short, key=lambda pair: len(pair[1]))
    what = coverage.names[0] if len(coverage.names) == 1 else f"{coverage.names[0]} and {len(coverage.names) - 1} more"
    return (
        f"{what}: no image for {describe(keys)}. {'; '.join(advice(coverage, keys))}. (cuda-wheel coverage shows all.)"
    )


def describe(keys: Sequence[Key]) -> str:
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
