"""Read coverage requirements, and prepare a coverage for display and for JSON. Pure: no driver is called.

Draw a coverage as SVG and HTML: GPUs in rows, drivers in columns.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Collection, Iterable, Sequence
from html import escape
from itertools import groupby
from typing import Any

from cuda_wheel.builder.manifest_writer.coverage import (
    DRIVERS,
    GPU_OF,
    AbsentKernels,
    Cell,
    Compiled,
    Compiler,
    Coverage,
    Key,
    Requirement,
    advice,
    cells_text,
    missing,
)
from cuda_wheel.builder.releases import AS_OF, GPUS, RELEASES, driver_hint, gpu_hint
from cuda_wheel.runtime.manifest import Manifest, Target, Version, dotted, parse_version
from cuda_wheel.runtime.rules import OLDEST_DRIVER

__all__ = [
    "CELL_LABELS",
    "absent_line",
    "absent_to_json",
    "cells_to_json",
    "compiled_line",
    "compiled_to_json",
    "coverage_to_html",
    "coverage_to_json",
    "coverage_to_svg",
    "driver_groups",
    "gap_lines",
    "group_heading",
    "heading",
    "parse_requirement",
    "several_names",
    "specialize_lines",
]


CELL_LABELS: dict[Cell, tuple[str, str]] = {
    "native": ("native", "machine code"),
    "jit": ("JIT", "compiled by the driver at first use"),
    "link": ("nvJitLink", "compiled by nvJitLink, if it is installed"),
    "unproven": ("not known", "not known to load; `cuda-wheel explain` says why"),
    "none": ("none", "does not load"),
    "unknown": ("", "the driver does not know the GPU"),
}
"""Cell (how a GPU with a driver gets an image) -> (label of the cell in tables, meaning of the label)."""

_GPU_RANGE = re.compile(r"(?P<not>!)?(?P<first>sm_\d+)(?:\.\.(?P<last>sm_\d+))?")

_DRIVER_BOUND = re.compile(r"driver\s*(?P<operator>>=|<=|==)\s*(?P<version>\d+\.\d+)")


def parse_requirement(text: str) -> Requirement:
    """Return the requirement that a string such as "sm_75..sm_121,!sm_87,driver>=12.2,native" states.

    It covers the GPUs of `GPUS` that are in any of the ranges and in none with "!", and the drivers that satisfy all
    bounds. Without ranges it covers every GPU that one of the drivers supports. Without a lower bound, drivers begin
    with the oldest that loads modules. "native", "jit" or "link" is the least acceptable way to load; the default is
    "jit".

    Raises ValueError for terms that contradict each other, for GPUs and drivers that are not in the tables, and for a
    GPU that none of the drivers supports.
    """
    included: set[Version] = set()
    excluded: set[Version] = set()
    bounds: list[tuple[str, Version]] = []
    levels: set[Cell] = set()
    for term in filter(None, (part.strip() for part in text.split(","))):
        if match := _GPU_RANGE.fullmatch(term):
            (excluded if match["not"] else included).update(_gpus_in(match))
        elif match := _DRIVER_BOUND.fullmatch(term):
            bounds.append((match["operator"], _known_driver(match)))
        elif term in ("native", "jit", "link"):
            levels.add(term)  # type: ignore[arg-type]
        else:
            raise ValueError(
                f"{term!r} is not a range of GPUs (sm_75..sm_121, !sm_87), a bound on drivers (driver>=12.2), "
                f'"native", "jit" or "link"{gpu_hint(term) or driver_hint(term)}'
            )
    if len(levels) > 1:
        raise ValueError(f"{text!r} asks for several of {', '.join(sorted(levels))}; ask for one")
    drivers = _drivers_within(bounds, text)
    return Requirement(_gpus(included, excluded, drivers, text), drivers, levels.pop() if levels else "jit")


def _gpus_in(match: re.Match[str]) -> set[Version]:
    """Return the compute capabilities of all known GPUs in a range, ends included. `match`: match of `_GPU_RANGE`, such
    as "sm_75..sm_121", or "sm_75" for one GPU.

    Raises ValueError if an end is not a known GPU, or if the first end is newer than the last.
    """
    ends = [Target.parse(end).capability for end in (match["first"], match["last"] or match["first"])]
    for end in ends:
        if end not in GPU_OF:
            raise ValueError(f"{_sm(end)!r} is not a known GPU: {', '.join(map(_sm, GPU_OF))}")
    gpus = {gpu for gpu in GPU_OF if ends[0] <= gpu <= ends[1]}
    if not gpus:
        raise ValueError(f"{match[0]!r} is empty: its first GPU is newer than its last")
    return gpus


def _gpus(
    included: Collection[Version], excluded: Collection[Version], drivers: Sequence[Version], text: str
) -> tuple[Version, ...]:
    """Return the GPUs of a requirement, sorted: those in `included`, without those in `excluded`.

    An empty `included` stands for all GPUs that any of the `drivers` supports. Raises ValueError if no GPU is left, or
    if a GPU that is left is supported by none of the `drivers`. `text`: the whole requirement, for the error message.
    """
    supported = {gpu for gpu in GPU_OF if any(GPU_OF[gpu].is_supported_by(driver) for driver in drivers)}
    unanswerable = sorted(set(included) - set(excluded) - supported)
    if unanswerable:
        raise ValueError(
            f"no driver that {text!r} names supports {', '.join(map(_sm, unanswerable))}: "
            f"{'; '.join(f'{_sm(gpu)} needs one for {GPU_OF[gpu].drivers}' for gpu in unanswerable)}"
        )
    gpus = (set(included) or supported) - set(excluded)
    if not gpus:
        raise ValueError(f"{text!r} excludes every GPU that it names")
    return tuple(sorted(gpus))


def _known_driver(match: re.Match[str]) -> Version:
    version = parse_version(match["version"])
    if version not in (known := [release.cuda for release in RELEASES]):
        raise ValueError(
            f"{match[0]!r} names no known driver: they are for CUDA {', '.join(dotted(each) for each in known)}"
        )
    return version


def _drivers_within(bounds: Iterable[tuple[str, Version]], text: str) -> tuple[Version, ...]:
    """Return the CUDA versions of the known drivers that satisfy all `bounds`: (operator, version), such as (">=", (12,
    2)).

    Drivers older than OLDEST_DRIVER cannot load modules. They are included only if a bound has the operator ">=" or
    "==". Raises ValueError if no driver satisfies the bounds. `text`: the whole requirement, for the error message.
    """
    has_lower_bound = any(operator != "<=" for operator, _ in bounds)
    drivers = [release.cuda for release in RELEASES if has_lower_bound or release.cuda >= OLDEST_DRIVER]
    for operator, bound in bounds:
        satisfies = {">=": bound.__le__, "<=": bound.__ge__, "==": bound.__eq__}[operator]
        drivers = [driver for driver in drivers if satisfies(driver)]
    if not drivers:
        raise ValueError(
            f"no driver satisfies {text!r}: those that load modules are for CUDA {dotted(DRIVERS[0])} to "
            f"{dotted(DRIVERS[-1])}"
        )
    return tuple(drivers)


def driver_groups(coverage: Coverage) -> list[tuple[Version, ...]]:
    """Return the CUDA versions of all drivers in ascending order, in groups: adjacent drivers are in one group if each
    GPU has the same cell with all of them."""

    def cells(driver: Version) -> tuple[Cell, ...]:
        return tuple(coverage.cells[gpu.capability, driver] for gpu in GPUS)

    return [tuple(group) for _, group in groupby(DRIVERS, key=cells)]


def group_heading(drivers: Sequence[Version]) -> tuple[str, str]:
    """Return the CUDA versions and the driver branches of a group: ("CUDA 12.0 to 12.4", "R525 to R550")."""
    branches = {release.cuda: release.branch for release in RELEASES}
    ends = list(dict.fromkeys((drivers[0], drivers[-1])))
    names = [f"R{branches[cuda]}" if branches[cuda] else "later" for cuda in ends]
    return "CUDA " + " to ".join(map(dotted, ends)), " to ".join(names)


_SHOWN_NAMES = 4
"""Number of module names to list in the heading of a coverage, if many modules (more than `_SHOWN_NAMES` + 1) share
this coverage. If fewer modules share it, all of their names are listed."""


def heading(*paths: str) -> str:
    """Return the line above the coverage of wheels, folders, fatbins or packages: the name of the first, and the date
    of the tables of GPUs and drivers. The text does not depend on today's date."""
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{os.path.basename(os.path.normpath(paths[0]))}{more}: GPUs and drivers as of {AS_OF}"


def several_names(names: Sequence[str]) -> str:
    """Return names of modules as text: all of them, or the first ones and the number of the others, "a, b, c, d and 3
    more"."""
    more = len(names) - _SHOWN_NAMES
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:_SHOWN_NAMES])} and {more} more"


def gap_lines(coverage: Coverage, requirement: Requirement) -> list[str]:
    """Return a line with the GPUs and drivers on which the modules load worse than required, and lines with what the
    project can change. The list is empty if the requirement is met."""
    cells = missing(coverage, requirement)
    if not cells:
        return []
    what = "no machine code that loads without a compiler" if requirement.least == "native" else "no image"
    return [f"{several_names(coverage.names)}: {what} for {cells_text(cells)}", *advice(coverage, requirement)]


def coverage_to_json(coverage: Coverage) -> dict[str, Any]:
    """Return the coverage as a JSON object; "cells" has one for each GPU and driver: {"gpu": "sm_80", "driver": "12.4",
    "how": "native"}."""
    cells = [
        cell | {"how": how} for cell, how in zip(cells_to_json(coverage.cells), coverage.cells.values(), strict=True)
    ]
    return {"modules": list(coverage.names), "cells": cells}


def absent_to_json(absent: Iterable[AbsentKernels]) -> list[dict[str, Any]]:
    """Return the kernels that modules lack, as a JSON array: "module", "kernels", and "cells" where it loads so."""
    return [
        {"module": each.module, "kernels": list(each.kernels), "cells": cells_to_json(each.keys)} for each in absent
    ]


def absent_line(absent: AbsentKernels) -> str:
    """Return a line that names the kernels that a module lacks, and where."""
    shown = ", ".join(absent.kernels[:4]) + (f" and {len(absent.kernels) - 4} more" if len(absent.kernels) > 4 else "")
    return (
        f"{absent.module} loads without the kernel{'s' * (len(absent.kernels) > 1)} {shown}: {cells_text(absent.keys)}"
    )


_COMPILERS: dict[Compiler, str] = {
    "driver": "the driver compiles",
    "driver, perhaps": "the fatbin is compressed, and the driver may compile PTX in place of",
    "nvjitlink": "nvJitLink compiles, if it is installed,",
    "linker": "load(link=[...]) links",
}
"""What compiles on the user's machine -> beginning of the line about it."""


def compiled_line(compiled: Compiled) -> str:
    """Return a line about what is compiled on the user's machine, and where."""
    names = several_names(compiled.modules)
    return f"{_COMPILERS[compiled.by]} {compiled.what} of {names}: {cells_text(compiled.keys)}"


def compiled_to_json(compiled: Iterable[Compiled]) -> list[dict[str, Any]]:
    """Return what is compiled on the user's machine, as a JSON array: "modules", "what" (an image, or sources), "by"
    and "cells"."""
    return [
        {"modules": list(each.modules), "what": each.what, "by": each.by, "cells": cells_to_json(each.keys)}
        for each in compiled
    ]


def specialize_lines(manifests: Iterable[Manifest]) -> list[str]:
    """Return a line that names the modules with `specialize = true`, in a list; [] without any."""
    names = list(dict.fromkeys(each.name for each in manifests if each.specialize is not None))
    if not names:
        return []
    what = "variants and template instances that the wheel lacks are compiled where a program asks for one"
    return [f"{several_names(names)}: {what} (specialize = true)"]


def cells_to_json(keys: Iterable[Key]) -> list[dict[str, str]]:
    """Return pairs of GPU and driver as a JSON array: [{"gpu": "sm_80", "driver": "12.4"}]."""
    return [{"gpu": _sm(capability), "driver": dotted(driver)} for capability, driver in keys]


def _sm(capability: Version) -> str:
    return f"sm_{capability[0]}{capability[1]}"


FILLS: dict[Cell, str] = {
    "native": "#8fd19e",
    "jit": "#ffdf80",
    "link": "#9ecbff",
    "unproven": "#ffc9a3",
    "none": "#ff9a94",
    "unknown": "#f3f4f6",
}
"""Cell (how a GPU with a driver gets an image) -> colour of the cell's box in the SVG picture."""

ROW, HEADING, NAMES, COLUMN, MARGIN = 22, 46, 250, 138, 16
"""Sizes in the SVG picture, in pixels: height of a row, height of the column headings, width of the column with GPU
names, width of a driver column, and width of the margins."""

CHARACTER = 7
"""Assumed width of a character in the SVG picture, in pixels. It is more than the average of most fonts, so that
wrapped lines fit."""


def coverage_to_svg(coverages: Sequence[Coverage], heading: str, requirement: Requirement) -> str:
    """Return an SVG picture: a table for each coverage, a legend, what the modules lack of a requirement, and what the
    project can change.

    The same arguments always give the same text.
    """
    width = NAMES + 2 * MARGIN + COLUMN * max(len(driver_groups(coverage)) for coverage in coverages)
    elements: list[str] = [_text(MARGIN, MARGIN + 14, heading, 'font-weight="600" font-size="15"')]
    y = MARGIN + ROW + 6
    for coverage in coverages:
        y = _add_grid(elements, coverage, y)
    for cell, (label, meaning) in CELL_LABELS.items():
        elements.append(_box(MARGIN, y, FILLS[cell], label, meaning))
        elements.append(_text(MARGIN + COLUMN + 6, y + 15, meaning))
        y += ROW
    for coverage in coverages:
        for number, line in enumerate(gap_lines(coverage, requirement)):
            y += ROW // 2 if number == 0 else 0
            for part in textwrap.wrap(line, (width - 3 * MARGIN) // CHARACTER, break_on_hyphens=False):
                elements.append(_text(2 * MARGIN if number else MARGIN, y + 15, part))
                y += ROW
    height = y + MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="system-ui, sans-serif" font-size="13" fill="#1f2328">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *elements, "</svg>"]) + "\n"


def coverage_to_html(coverages: Sequence[Coverage], heading: str, requirement: Requirement) -> str:
    """Return an HTML page with the picture that `coverage_to_svg` draws."""
    svg = coverage_to_svg(coverages, heading, requirement)
    return f'<!doctype html>\n<meta charset="utf-8">\n<title>coverage of {escape(heading)}</title>\n{svg}'


def _add_grid(elements: list[str], coverage: Coverage, y: int) -> int:
    """Append to `elements` the SVG elements that draw a coverage: a line with the module names, and a table of GPUs and
    drivers. `y`: upper edge of the drawing, in pixels. Return the upper edge for whatever is drawn below."""
    elements.append(_text(MARGIN, y + 14, several_names(coverage.names), 'font-weight="600"'))
    y += ROW
    groups = driver_groups(coverage)
    left = NAMES + MARGIN
    for column, group in enumerate(groups):
        for line, text in enumerate(group_heading(group)):
            elements.append(
                _text(left + column * COLUMN + COLUMN // 2, y + 16 + 17 * line, text, 'text-anchor="middle"')
            )
    y += HEADING
    for gpu in GPUS:
        elements.append(_text(MARGIN, y + 15, f"{gpu.name} {dotted(gpu.capability)}"))
        elements.append(_text(left - 8, y + 15, gpu.examples, 'text-anchor="end" fill="#656d76"'))
        for column, group in enumerate(groups):
            cell = coverage.cells[gpu.capability, group[0]]
            label, meaning = CELL_LABELS[cell]
            tooltip = f"{gpu.name} {gpu.examples}, {', '.join(group_heading(group))}: {meaning}"
            elements.append(_box(left + column * COLUMN, y, FILLS[cell], label, tooltip))
        y += ROW
    return y + MARGIN


def _box(x: int, y: int, fill: str, label: str, tooltip: str) -> str:
    width = COLUMN - 2
    text = _text(x + width // 2, y + 15, label, 'text-anchor="middle"') if label else ""
    shape = f'<rect x="{x}" y="{y}" width="{width}" height="{ROW - 2}" rx="3" fill="{fill}"/>'
    return f"<g><title>{escape(tooltip)}</title>{shape}{text}</g>"


def _text(x: int, y: int, text: str, attributes: str = "") -> str:
    return f'<text x="{x}" y="{y}" {attributes}>{escape(text)}</text>'.replace(" >", ">")
