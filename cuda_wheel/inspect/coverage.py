"""Check what a wheel must cover, and say what would help. Pure: no driver is asked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

from cuda_wheel.builder.describe.coverage import (
    DRIVERS,
    KEYS,
    Cell,
    Coverage,
    Key,
    Requirement,
    _Cells,
    _cells,
    _Known,
    once_linked,
)
from cuda_wheel.builder.releases import GPUS, Gpu
from cuda_wheel.runtime.manifest import Manifest, Target, Version, dotted, parse_version
from cuda_wheel.runtime.rules import unsupported

__all__ = [
    "Loss",
    "columns",
    "lost",
    "parse_requirement",
    "reaches_later",
    "to_json",
    "without",
]


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
