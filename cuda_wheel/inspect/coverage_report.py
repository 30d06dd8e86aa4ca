"""Read coverage requirements, and prepare a coverage for display and for JSON. Pure: no driver is called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from cuda_wheel.builder.describe.coverage import DRIVERS, Cell, Coverage, Key, Requirement
from cuda_wheel.builder.releases import GPUS, RELEASES
from cuda_wheel.runtime.manifest import Target, Version, dotted, parse_version

__all__ = ["CELL_LABELS", "cells_to_json", "coverage_to_json", "driver_groups", "group_heading", "parse_requirement"]

CELL_LABELS: dict[Cell, tuple[str, str]] = {
    "native": ("native", "machine code"),
    "jit": ("JIT", "compiled by the driver at first use"),
    "link": ("nvJitLink", "compiled by nvJitLink, if it is installed"),
    "none": ("none", "does not load"),
    "unknown": ("", "the driver does not know the GPU"),
}
"""The label of a cell, and what it means."""

_GPU_RANGE = re.compile(r"(?P<not>!)?(?P<first>sm_\d+)(?:\.\.(?P<last>sm_\d+))?")

_DRIVER_BOUND = re.compile(r"driver\s*(?P<operator>>=|<=|==)\s*(?P<version>\d+\.\d+)")


def parse_requirement(text: str) -> Requirement:
    """Return the requirement that a string such as "sm_75..sm_121,!sm_87,driver>=12.2,native" states.

    It covers the GPUs of `GPUS` that are in any of the ranges and in none with "!", and the drivers that satisfy all
    bounds; without ranges or bounds, all of them. The least acceptable cell is "jit" unless "native" or "link" is
    given. Raises ValueError.
    """
    included: set[Version] = set()
    excluded: set[Version] = set()
    drivers = list(DRIVERS)
    least: Cell = "jit"
    for term in filter(None, (part.strip() for part in text.split(","))):
        if match := _GPU_RANGE.fullmatch(term):
            (excluded if match["not"] else included).update(_gpus_in(match))
        elif match := _DRIVER_BOUND.fullmatch(term):
            drivers = _drivers_within(match, drivers)
        elif term in ("native", "jit", "link"):
            least = term  # type: ignore[assignment]
        else:
            raise ValueError(
                f"{term!r} is not a range of GPUs (sm_75..sm_121, !sm_87), a bound on drivers (driver>=12.2), "
                '"native", "jit" or "link"'
            )
    if not drivers:
        raise ValueError(
            f"no driver satisfies {text!r}: the known ones are {dotted(DRIVERS[0])} to {dotted(DRIVERS[-1])}"
        )
    gpus = (included or {gpu.capability for gpu in GPUS}) - excluded
    return Requirement(tuple(sorted(gpus)), tuple(drivers), least)


def _gpus_in(match: re.Match[str]) -> set[Version]:
    """Return the compute capabilities of the known GPUs in a range."""
    first = Target.parse(match["first"]).capability
    last = Target.parse(match["last"]).capability if match["last"] else first
    gpus = {gpu.capability for gpu in GPUS if first <= gpu.capability <= last}
    if not gpus:
        raise ValueError(f"{match[0]!r} is not a known GPU: {', '.join(_sm(gpu.capability) for gpu in GPUS)}")
    return gpus


def _drivers_within(match: re.Match[str], drivers: Iterable[Version]) -> list[Version]:
    bound = parse_version(match["version"])
    satisfies = {">=": bound.__le__, "<=": bound.__ge__, "==": bound.__eq__}[match["operator"]]
    return [driver for driver in drivers if satisfies(driver)]


def driver_groups(coverage: Coverage) -> list[tuple[Version, ...]]:
    """Return the CUDA versions of the drivers; adjacent ones with the same cells for every GPU form a group."""

    def cells(driver: Version) -> tuple[Cell, ...]:
        return tuple(coverage.cells[gpu.capability, driver] for gpu in GPUS)

    return [tuple(group) for _, group in groupby(DRIVERS, key=cells)]


def group_heading(drivers: Sequence[Version]) -> tuple[str, str]:
    """Return the CUDA versions and the driver branches of a group: ("CUDA 12.0 to 12.4", "R525 to R550")."""
    branches = {release.cuda: release.branch for release in RELEASES}
    ends = list(dict.fromkeys((drivers[0], drivers[-1])))
    names = [f"R{branches[cuda]}" if branches[cuda] else "later" for cuda in ends]
    return "CUDA " + " to ".join(map(dotted, ends)), " to ".join(names)


def coverage_to_json(coverage: Coverage) -> dict[str, Any]:
    """Return the coverage as a JSON object; `cells` holds one for each GPU and driver."""
    cells = [
        cell | {"how": how} for cell, how in zip(cells_to_json(coverage.cells), coverage.cells.values(), strict=True)
    ]
    return {"modules": list(coverage.names), "cells": cells}


def cells_to_json(keys: Iterable[Key]) -> list[dict[str, str]]:
    """Return GPUs and drivers as a JSON array."""
    return [{"gpu": _sm(capability), "driver": dotted(driver)} for capability, driver in keys]


def _sm(capability: Version) -> str:
    return f"sm_{capability[0]}{capability[1]}"
