"""Say which GPUs and drivers an image is there for, which not, and what would help. Pure: asks no driver."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

from cuda_wheel.manifest import OLDEST_DRIVER, Manifest, Target, Version, dotted, parse_version, resolve, unsupported
from cuda_wheel.releases import GPUS, RELEASES, Gpu

__all__ = [
    "Coverage",
    "Loss",
    "Requirement",
    "advice",
    "columns",
    "cover",
    "deciding",
    "describe",
    "gaps",
    "lost",
    "missing",
    "once_linked",
    "parse_requirement",
    "reaches_later",
    "to_json",
    "without",
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


# --- what is missing, and what would help ------------------------------------------------------------


class Requirement(NamedTuple):
    """What must be covered: GPUs and drivers, and the least that counts."""

    gpus: tuple[Version, ...]
    drivers: tuple[Version, ...]
    least: Cell


_LEVELS: tuple[Cell, ...] = ("none", "link", "jit", "native")
_GPUS = re.compile(r"(?P<not>!)?(?P<first>sm_\d+)(?:\.\.(?P<last>sm_\d+))?")
_DRIVERS = re.compile(r"driver\s*(?P<sign>>=|<=|==)\s*(?P<version>\d+\.\d+)")


def parse_requirement(text: str) -> Requirement:
    """Return what a text such as "sm_75..sm_121,!sm_87,driver>=12.2,native" requires.

    GPUs are those of `GPUS` within any of the ranges and in none with "!"; drivers those that all bounds allow. The
    least that counts is "jit" unless "native" or "link" is there. Without GPUs or bounds, all. Raises ValueError.
    """
    wanted: set[Version] = set()
    refused: set[Version] = set()
    drivers = list(DRIVERS)
    least: Cell = "jit"
    for term in filter(None, (part.strip() for part in text.split(","))):
        if match := _GPUS.fullmatch(term):
            first = Target.parse(match["first"]).capability
            last = Target.parse(match["last"]).capability if match["last"] else first
            matching = {gpu.capability for gpu in GPUS if first <= gpu.capability <= last}
            if not matching:
                raise ValueError(f"{term!r} is no GPU that is known: {', '.join(map(_sm, GPUS))}")
            (refused if match["not"] else wanted).update(matching)
        elif match := _DRIVERS.fullmatch(term):
            bound = parse_version(match["version"])
            signs = {">=": bound.__le__, "<=": bound.__ge__, "==": bound.__eq__}
            drivers = [driver for driver in drivers if signs[match["sign"]](driver)]
        elif term in ("native", "jit", "link"):
            least = term  # type: ignore[assignment]
        else:
            raise ValueError(
                f"{term!r} is neither GPUs (sm_75..sm_121, !sm_87), drivers (driver>=12.2), nor a least way"
            )
    if not drivers:
        raise ValueError(f"no driver is within {text!r}: {dotted(DRIVERS[0])} to {dotted(DRIVERS[-1])} are known")
    chosen = (wanted or {gpu.capability for gpu in GPUS}) - refused
    return Requirement(tuple(sorted(chosen)), tuple(drivers), least)


def _sm(gpu: Gpu) -> str:
    return f"sm_{gpu.capability[0]}{gpu.capability[1]}"


def missing(coverage: Coverage, requirement: Requirement) -> list[Key]:
    """Return the required cells that fall short, by GPU and driver. Where a driver does not know a GPU, none does."""
    cells = ((key, coverage.cells[key]) for key in _keys(requirement))
    least = _LEVELS.index(requirement.least)
    return [key for key, cell in cells if cell != "unknown" and _LEVELS.index(cell) < least]


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


# --- without a target -------------------------------------------------------------------------------


class Loss(NamedTuple):
    """Cells of modules that would be worse than they are: "jit" where there is machine code, "none", ..."""

    names: tuple[str, ...]
    before: Cell
    after: Cell
    keys: tuple[Key, ...]


def lost(manifests: Iterable[Manifest], target: Target) -> list[Loss]:
    """Return what modules would lose without their images for a target."""
    known: _Known = {}
    found: dict[tuple[_Cells, _Cells], list[str]] = {}
    for manifest in manifests:
        before, after = (_cells(once_linked(each), known) for each in (manifest, without(manifest, target)))
        found.setdefault((before, after), []).append(manifest.name)
    losses = []
    for (before, after), names in found.items():
        changed: dict[tuple[Cell, Cell], list[Key]] = {}
        for key, had, has in zip(KEYS, before, after, strict=True):
            if had != has:
                changed.setdefault((had, has), []).append(key)
        losses += [Loss(tuple(names), had, has, tuple(keys)) for (had, has), keys in sorted(changed.items())]
    return losses


def without(manifest: Manifest, target: Target) -> Manifest:
    """Return a module without its images for a target."""
    return manifest._replace(images=tuple(image for image in manifest.images if image.target != target))


def reaches_later(manifest: Manifest) -> bool:
    """Return whether a module has an image for GPUs that are still to come: PTX, by the rule for that."""
    return any(unsupported(image.target, _LATER) is None for image in once_linked(manifest).images)


_LATER: Version = (999, 0)
"""Of no family that there is."""


# --- as a table -------------------------------------------------------------------------------------


def columns(coverage: Coverage) -> list[tuple[Version, ...]]:
    """Return the drivers, neighbours with the same cells for every GPU together."""

    def cells(driver: Version) -> tuple[Cell, ...]:
        return tuple(coverage.cells[gpu.capability, driver] for gpu in GPUS)

    return [tuple(group) for _, group in groupby(DRIVERS, key=cells)]


def to_json(coverage: Coverage) -> dict[str, Any]:
    """Return the coverage as a JSON object; `cells` holds one for each GPU and driver."""
    return {
        "modules": list(coverage.names),
        "cells": [
            {"gpu": f"sm_{gpu[0]}{gpu[1]}", "driver": dotted(driver), "how": cell}
            for (gpu, driver), cell in coverage.cells.items()
        ],
    }
