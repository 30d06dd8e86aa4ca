"""`cuda-wheel coverage`: show which GPUs and drivers get an image, and which do not."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from cuda_wheel.builder.describe.advice import advice
from cuda_wheel.builder.describe.coverage import Cell, Coverage, cells_text, cover, missing, not_required
from cuda_wheel.builder.releases import GPUS
from cuda_wheel.cli.command_arguments import add_json_option, add_path_argument, argument_type
from cuda_wheel.cli.output import print_json
from cuda_wheel.cli.printing.tables import Column, Line, StyledText, Table, print_report
from cuda_wheel.inspect.coverage_picture import coverage_to_html, coverage_to_svg
from cuda_wheel.inspect.coverage_report import (
    CELL_LABELS,
    cells_to_json,
    coverage_to_json,
    driver_groups,
    group_heading,
    parse_requirement,
)
from cuda_wheel.inspect.found_modules import find_modules
from cuda_wheel.runtime.manifest import dotted

__all__ = ["add_arguments", "run"]

COLOURS: dict[Cell, str] = {"native": "green", "jit": "yellow", "link": "cyan", "unproven": "magenta", "none": "red"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_path_argument(parser)
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write the table as an SVG picture")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the table as an HTML page")
    add_json_option(parser)
    parser.add_argument(
        "--require",
        type=argument_type(parse_requirement),
        metavar="WHAT",
        help='fail if an image is missing: "sm_75..sm_121,!sm_87,driver>=12.2"; with "native", JIT does not count',
    )


def run(options: argparse.Namespace) -> int:
    """Show the coverage; with a requirement, the exit status is 1 if something required is missing."""
    coverages = cover(manifest for found in find_modules(options.path) for manifest in found.manifests)
    requirement = options.require or parse_requirement("")
    missing_cells = [(coverage, missing(coverage, requirement)) for coverage in coverages]
    for path, picture in ((options.svg, coverage_to_svg), (options.html, coverage_to_html)):
        if path is not None:
            path.write_text(picture(coverages), encoding="utf-8")
    if options.json:
        print_json(
            [coverage_to_json(coverage) | {"missing": cells_to_json(cells)} for coverage, cells in missing_cells]
        )
    else:
        print_report(_coverage_report(coverages))
        for coverage, cells in missing_cells:
            if cells:
                print(f"{', '.join(coverage.names)}: no image for {cells_text(cells)}")
                print("".join(f"  {line}\n" for line in advice(coverage, requirement)), end="")
        if options.require and (pairs := not_required(requirement)):
            print(f"not required, because the drivers do not support the GPUs: {cells_text(pairs)}")
    return int(options.require is not None and any(cells for _, cells in missing_cells))


def _coverage_report(coverages: Sequence[Coverage]) -> list[Table | Line]:
    """Return a table for each coverage, and the meanings of the cells."""
    meanings = [(*_label(cell), StyledText(f" {meaning}")) for cell, (label, meaning) in CELL_LABELS.items() if label]
    return [*map(_coverage_table, coverages), *meanings]


def _coverage_table(coverage: Coverage) -> Table:
    groups = driver_groups(coverage)
    headings = ("\n".join(group_heading(group)).replace("CUDA ", "CUDA\n") for group in groups)
    rows: list[tuple[Line, ...]] = [
        (
            (StyledText(gpu.name), StyledText(f" {gpu.examples}", "dim")),
            dotted(gpu.capability),
            *(_label(coverage.cells[gpu.capability, group[0]]) for group in groups),
        )
        for gpu in GPUS
    ]
    columns = [Column("GPU"), Column("", "right"), *(Column(heading, "center") for heading in headings)]
    return Table("\n".join(coverage.names), columns, rows)


def _label(cell: Cell) -> tuple[StyledText, ...]:
    label, _ = CELL_LABELS[cell]
    return (StyledText(f" {label} ", f"black on {COLOURS[cell]}"),) if label else ()
