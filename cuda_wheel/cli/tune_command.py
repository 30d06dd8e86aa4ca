"""`cuda-wheel tune`: measure candidates on this machine's GPU, and write the table of the best ones."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path

from cuda_wheel.builder.sources.source_tree import find_source
from cuda_wheel.builder.wheel.outputs import write
from cuda_wheel.cli.tables import Column, Line, Table, print_report
from cuda_wheel.runtime.errors import CudaWheelError
from cuda_wheel.runtime.files import package_folders
from cuda_wheel.runtime.manifest import TABLE_SUFFIX
from cuda_wheel.runtime.parts.tuned_rows import Row, parse_table, problem_text
from cuda_wheel.tuning.tunable import Tunable
from cuda_wheel.tuning.tuner import GpuTimer, Measured, merged_rows, table_text, tune

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "functions",
        metavar="MODULE:FUNCTION",
        help="a function that cuda_wheel.tuning.tunable declares, or MODULE for all of a module",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="the table to write, instead of the one in the source tree"
    )


def run(options: argparse.Namespace) -> int:
    """Tune each function, show what was measured, and write the tables."""
    tunables = _tunables(options.functions)
    if options.output and len({tunable.module for tunable in tunables}) > 1:
        options.refuse("--output is for the table of one module: name one function")
    places = {tunable.module: options.output or _table_path(tunable.module) for tunable in tunables}
    for module, path in places.items():
        _old_rows(module, path)  # a table that cannot be read is reported before measuring takes its time
    with closing(GpuTimer()) as timer:
        for tunable in tunables:
            rows = []
            for measured in tune(tunable, timer):
                print_report([_table(tunable, measured, timer.gpu)])
                rows.append(measured.row)
            _write(tunable.module, places[tunable.module], rows)
    return 0


def _tunables(named: str) -> list[Tunable]:
    """Return the tunable functions that a command-line argument names: "MODULE:FUNCTION" names one function, "MODULE"
    all functions of a module. Raises CudaWheelError if the module cannot be imported or has no such function."""
    module, _, function = named.partition(":")
    sys.path.insert(0, os.getcwd())  # as for python -m
    try:
        found = vars(import_module(module))
    except ImportError as error:
        raise CudaWheelError(f"{module} cannot be imported: {error}") from error
    tunables = {name: value for name, value in found.items() if isinstance(value, Tunable)}
    if not function and tunables:
        return list(tunables.values())
    if function not in tunables:
        what = f"{module} has no tunable function{f' {function!r}' if function else ''}"
        raise CudaWheelError(
            f"{what}: declare one with @cuda_wheel.tuning.tunable(...). It has {', '.join(tunables) or 'none'}."
        )
    return [tunables[function]]


def _table_path(module: str) -> Path:
    """Return the path of a module's tuned table in the source tree, whether or not this file exists. `module` is the
    dotted name. Raises CudaWheelError if the module's source is not in a source tree."""
    package, _, stem = module.rpartition(".")
    folders = package_folders(package)
    if find_source(module, folders) is None:
        raise CudaWheelError(
            f"{module} is not in a source tree (found in {', '.join(folders)}), so its table would not get into a "
            "wheel: install the project in editable mode, or name the file with --output."
        )
    paths = [Path(os.path.realpath(folder), stem + TABLE_SUFFIX) for folder in folders]
    return next((path for path in paths if path.is_file()), paths[0])


def _old_rows(module: str, path: Path) -> tuple[Row, ...]:
    """Return the rows of the tuned table at `path`; an empty tuple if there is no such file. Raises CudaWheelError if
    the table is not valid."""
    return parse_table(path.read_bytes(), module, str(path)) if path.is_file() else ()


def _write(module: str, path: Path, rows: list[Row]) -> None:
    every = merged_rows(_old_rows(module, path), rows)
    write({path.name: table_text(module, every).encode()}, path.parent)
    kept = f", {len(every) - len(rows)} kept" if len(every) > len(rows) else ""
    print(f"cuda-wheel: wrote {os.path.relpath(path)} ({len(rows)} measured{kept})")


def _table(tunable: Tunable, measured: Measured, gpu: str) -> Table:
    columns = (Column("Candidate"), Column("Time (µs)", "right"), Column("Times the first", "right"), Column(""))
    return Table(
        f"{tunable.name} on {gpu}: {problem_text(measured.problem)}",
        columns,
        list(_lines(measured)),
        _caption(measured),
    )


def _caption(measured: Measured) -> str | None:
    left_out = sum(trial.reason is not None for trial in measured.trials)
    return f"{left_out} of {len(measured.trials)} candidates left out" if left_out else None


def _lines(measured: Measured) -> Iterator[tuple[Line, ...]]:
    """Yield a table row for each candidate (a choice that was tried for one problem): (label, time in µs, relative
    time, note).

    The relative time is the time divided by that of the first candidate in `measured.trials`. The fastest candidate
    comes first. Candidates that were not timed come last; their note says why.
    """
    first = measured.trials[0].seconds
    for trial in sorted(measured.trials, key=lambda each: (each.reason is not None, each.seconds)):
        if trial.reason is not None:
            yield trial.choice.label, "", "", f"left out: {trial.reason.partition(chr(10))[0]}"
            continue
        mark = "chosen" if trial is measured.best else ""
        yield trial.choice.label, f"{trial.seconds * 1e6:.2f}", f"{trial.seconds / first:.2f}", mark
