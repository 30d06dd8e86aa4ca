"""`cuda-wheel build`: compile a project's images, without building a wheel."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cuda_wheel.builder.config.pyproject import read_config
from cuda_wheel.builder.project import build_files
from cuda_wheel.builder.report.quantities import count_text, seconds_text
from cuda_wheel.builder.report.reporter import ProgressReporter
from cuda_wheel.builder.scratch import scratch
from cuda_wheel.builder.sources.layout import wheel_layout
from cuda_wheel.builder.wheel.outputs import move
from cuda_wheel.cli.arguments import add_json_option, print_json

if TYPE_CHECKING:
    from cuda_wheel.builder.full_build import Preview, Task

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("project", type=Path, help="the folder of pyproject.toml")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="the folder to write the images to")
    action.add_argument(
        "--dry-run", action="store_true", help="compile nothing; show the jobs and how long they would take"
    )
    add_json_option(parser, "with --dry-run: print JSON")
    parser.add_argument("--timings", type=Path, metavar="FILE", help="write the times of the build as a Chrome trace")


def run(options: argparse.Namespace) -> int:
    """Build the images, or show what a build would do."""
    if options.json and not options.dry_run:
        options.refuse("--json needs --dry-run")
    if options.timings and options.dry_run:
        options.refuse("--timings needs --output: a dry run compiles nothing")
    root = options.project.resolve()
    layout = wheel_layout(root)
    config = read_config(root, os.environ, layout.modules)
    if layout.note:
        print(f"cuda-wheel: warning: {layout.note}", file=sys.stderr)
    if options.dry_run:
        from cuda_wheel.builder.full_build import preview_files  # a build with nothing to do needs none of it

        preview = preview_files(root, config, layout.files)
        if options.json:
            _print_preview_json(preview)
        else:
            _print_preview(preview)
        return 0
    with scratch() as folder:
        show = _ignore if options.quiet else print
        warn = partial(print, file=sys.stderr)
        with ProgressReporter(show, warn, options.timings, options.verbose, bar=not options.quiet) as reporter:
            outputs = build_files(root, config, layout.files, reporter, folder)
        move(outputs, folder, options.output)
    return 0


def _ignore(text: str) -> None:
    """Print nothing, for `--quiet`."""


def _print_preview_json(preview: Preview) -> None:
    modules = [{"name": module.name, "tasks": [vars(task) for task in module.tasks]} for module in preview.modules]
    print_json({"toolchain": preview.toolchain, "cores": preview.cores, "seconds": preview.seconds, "modules": modules})


def _print_preview(preview: Preview) -> None:
    for module in preview.modules:
        print(module.name)
        for task in module.tasks:
            print(f"  {_task_line(task)}")
    cached = sum(task.cached is True for task in preview.tasks)
    counts = f"{count_text(len(preview.tasks), 'job')}: {cached} from the cache, {len(preview.tasks) - cached} to do"
    estimated = any(not (task.cached or task.known) for task in preview.tasks)
    print(
        f"cuda-wheel: {counts}, about {seconds_text(preview.seconds)} on {count_text(preview.cores, 'core')}"
        f"{' (estimated)' if estimated else ''}, {preview.toolchain}"
    )


def _task_line(task: Task) -> str:
    what = f"{'link' if task.what == 'link' else ', '.join(task.sources)} for {task.target}"
    form = "" if task.form == "whole" else f" ({task.form})"
    seconds = f"{'' if task.known else 'perhaps '}{seconds_text(task.seconds)}"
    # Whether a link is in the cache is not known before all its inputs are compiled.
    how = {True: "from the cache", False: seconds, None: f"{seconds}, or from the cache"}[task.cached]
    return f"{what}{form}: {how}"
