"""`cuda-wheel coverage`: show which GPUs and drivers get an image, and which do not."""

from __future__ import annotations

import argparse
import math
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from cuda_wheel.builder.manifest_writer.coverage import (
    Cell,
    Coverage,
    Requirement,
    absent_kernels,
    cells_text,
    compiled,
    cover,
    missing,
    not_required,
    required_keys,
)
from cuda_wheel.builder.releases import GPUS
from cuda_wheel.cli.arguments import add_json_option, add_path_argument, argument_type, print_json, printable
from cuda_wheel.cli.tables import Column, Line, StyledText, Table, print_report
from cuda_wheel.inspect.companions import united
from cuda_wheel.inspect.coverage_report import (
    CELL_LABELS,
    absent_line,
    absent_to_json,
    cells_to_json,
    compiled_line,
    compiled_to_json,
    coverage_to_html,
    coverage_to_json,
    coverage_to_svg,
    driver_groups,
    gap_lines,
    group_heading,
    heading,
    parse_requirement,
    several_names,
    specialize_lines,
)
from cuda_wheel.inspect.modules import find_modules
from cuda_wheel.runtime.manifest import Version, dotted

__all__ = ["add_arguments", "run"]

WIDTH = 80
"""Maximum width of the output, in characters; a terminal may have fewer."""

NAMES, EXAMPLES, DRIVERS = 16, 11, 8
"""Width of the GPU column without the GPUs' examples, of the examples, and of each driver column, in characters."""


def _width() -> int:
    return min(WIDTH, shutil.get_terminal_size().columns)


NARROW_LABELS: dict[Cell, str] = {"link": "link", "unproven": "?"}
"""Cell (how a GPU with a driver gets an image) -> short label for a terminal. A cell that is not here has its label in
CELL_LABELS."""

COLOURS: dict[Cell, str] = {"native": "green", "jit": "yellow", "link": "cyan", "unproven": "magenta", "none": "red"}
"""Cell (how a GPU with a driver gets an image) -> background colour of its label, by rich's name."""


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
        help='fail if an image is missing: "sm_75..sm_121,!sm_87,driver>=12.2"; with "native", if anything is compiled',
    )


def run(options: argparse.Namespace) -> int:
    """Show the coverage. Return 1 if an image that `--require` asks for is missing, else 0."""
    manifests = united(find_modules(*options.paths))
    coverages, absent = cover(manifests), absent_kernels(manifests)
    requirement = options.require or parse_requirement("")
    for path, picture in ((options.svg, coverage_to_svg), (options.html, coverage_to_html)):
        if path is not None:
            path.write_text(picture(coverages, heading(*options.paths), requirement), encoding="utf-8")
    missing_cells = [missing(coverage, requirement) for coverage in coverages]
    if options.json:
        lists = zip(coverages, missing_cells, strict=True)
        documents = [coverage_to_json(coverage) | {"missing": cells_to_json(cells)} for coverage, cells in lists]
        for document in documents:
            names = set(document["modules"])
            own = [each for each in manifests if {each.name, each.full_name} & names]
            lacking = (each for each in absent if {each.module, each.module.partition("[")[0]} & names)
            document["absent_kernels"] = absent_to_json(lacking)
            document["compiled"] = compiled_to_json(compiled(own, required_keys(requirement)))
            document["specialize"] = any(each.specialize for each in own)
        print_json(documents)
    else:
        print_report([heading(*options.paths), "", *_coverage_report(coverages)])
        on_load = compiled(manifests, required_keys(requirement))
        for line in (*map(absent_line, absent), *map(compiled_line, on_load), *specialize_lines(manifests)):
            _print_wrapped(line)
        _print_gaps(coverages, requirement)
        if options.require and (pairs := not_required(requirement)):
            _print_wrapped(f"not required, because the drivers do not support the GPUs: {cells_text(pairs)}")
    return int(options.require is not None and any(missing_cells))


def _print_gaps(coverages: Iterable[Coverage], requirement: Requirement) -> None:
    """Print the required GPUs and drivers on which modules do not load as `requirement` states, and how to change this.
    Print nothing for modules that meet the requirement. A coverage is about modules that load alike."""
    for coverage in coverages:
        for number, line in enumerate(gap_lines(coverage, requirement)):
            _print_wrapped(line, "  " if number else "")


def _print_wrapped(line: str, indent: str = "") -> None:
    wrapped = textwrap.fill(
        printable(line),
        _width(),
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    print(wrapped)


def _coverage_report(coverages: Sequence[Coverage]) -> list[Table | Line]:
    """Return the tables of all coverages, then a legend, then an empty line.

    A coverage is about one or more modules that load alike. It says how they load on each GPU with each driver. The
    legend explains each label in the tables.
    """
    found = {cell for coverage in coverages for cell in coverage.cells.values()}
    meanings = [
        (*(_label(cell) or (StyledText("blank"),)), StyledText(f" {meaning}"))
        for cell, (_, meaning) in CELL_LABELS.items()
        if cell in found
    ]
    tables = (table for coverage in coverages for table in _coverage_tables(coverage))
    return [*tables, *meanings, ""]


def _coverage_tables(coverage: Coverage) -> Iterator[Table]:
    """Yield the tables of one coverage. Each table has a row for every GPU. The columns, one for each group of drivers,
    are spread over several tables, so that no table is wider than `_width`. Where few fit, GPUs have no examples."""
    groups, width = driver_groups(coverage), _width()
    title = textwrap.fill(several_names(coverage.names), width, break_long_words=False, break_on_hyphens=False)
    has_examples = width >= NAMES + EXAMPLES + 4 * DRIVERS
    most = max((width - NAMES - EXAMPLES * has_examples) // DRIVERS, 1)
    size = math.ceil(len(groups) / math.ceil(len(groups) / most))
    for start in range(0, len(groups), size):
        shown = groups[start : start + size]
        rows: list[tuple[Line, ...]] = [
            (
                (
                    StyledText(f"{gpu.name} {dotted(gpu.capability)}"),
                    StyledText(f" {gpu.examples}" if has_examples else "", "dim"),
                ),
                *(_label(coverage.cells[gpu.capability, group[0]]) for group in shown),
            )
            for gpu in GPUS
        ]
        columns = [
            Column("driver for CUDA\n\ndriver branch\n "),
            *(Column(_narrow_heading(group), "center") for group in shown),
        ]
        yield Table("with later drivers:" if start else title, columns, rows, compact=True)


def _narrow_heading(group: Sequence[Version]) -> str:
    """Return a column heading of four lines for a group of drivers: "12.0", "-12.4", "R525", "-R550".

    These are the first and last CUDA version, then the first and last driver branch. If first and last are the same,
    the line of the last is empty.
    """
    ranges = (text.removeprefix("CUDA ").split(" to ") for text in group_heading(group))
    return "\n".join(f"{first}\n{f'-{last[0]}' if last else ''}" for first, *last in ranges)


def _label(cell: Cell) -> tuple[StyledText, ...]:
    label = NARROW_LABELS.get(cell, CELL_LABELS[cell][0])
    return (StyledText(label, f"black on {COLOURS[cell]}"),) if label else ()
