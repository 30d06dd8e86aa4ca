"""`cuda-wheel init`: write what a project needs to build its kernels, and a first kernel if it has none."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from cuda_wheel.cli.arguments import argument_type, printable
from cuda_wheel.inspect.coverage_report import parse_requirement
from cuda_wheel.migrate.ci_files import DEFAULT_COVERAGE, HOSTS, add_ci_files
from cuda_wheel.migrate.init_project import ProjectChanges, init_project, load_line
from cuda_wheel.migrate.pyproject_edit import FileChange, diff, write_changes

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "project", type=Path, nargs="?", default=Path(), help="the folder of the project; default: here"
    )
    parser.add_argument("--package", default="", help="which of several packages is to have the kernels")
    parser.add_argument("--dry-run", action="store_true", help="write nothing; print the changes as a diff")
    parser.add_argument(
        "--ci",
        choices=HOSTS,
        help="also write the files for CI: build, check, rebuild, and publish with attestations for a tag",
    )
    parser.add_argument(
        "--require",
        type=argument_type(_coverage),
        metavar="WHAT",
        help="with --ci: which GPUs and drivers the wheel must cover, as for `cuda-wheel coverage`; default: "
        f'"{DEFAULT_COVERAGE}"',
    )


def _coverage(text: str) -> str:
    """Return an argument of `coverage --require` without spaces; raises ValueError if `text` is none."""
    parse_requirement(text)
    return "".join(text.split())


def run(options: argparse.Namespace) -> int:
    """Write the changes, or print them as a diff with `--dry-run`. Print which settings and files exist already."""
    if options.require is not None and not options.ci:
        options.refuse("--require needs --ci")
    root = options.project.resolve()
    done = init_project(root, options.package)
    if options.ci:
        add_ci_files(done, options.ci, DEFAULT_COVERAGE if options.require is None else options.require)
    report_changes(done, done.changes, options.dry_run, options.quiet)
    if options.quiet:
        return 0
    if not done.changes:
        print("cuda-wheel: nothing to write")
    elif not options.dry_run:
        print("build it: pip wheel --no-deps -w dist .")
        if line := load_line(done):
            print(printable(f"load it: {line}"))
    return 0


def report_changes(done: ProjectChanges, changes: list[FileChange], dry_run: bool, quiet: bool) -> None:
    """Write the changes, or print them as a diff if `dry_run`. Print the messages: what was chosen, what exists
    already, and what is left to do; if `quiet`, only the last."""
    root = done.project.root
    if dry_run:
        print(printable(diff(changes, root)), end="")
    else:
        write_changes(changes)
        for change in () if quiet else changes:
            print(printable(f"{'wrote' if change.before is None else 'extended'} {os.path.relpath(change.path, root)}"))
    for line in () if quiet else done.reasons:
        print(printable(line))
    for line in () if quiet else done.kept:
        print(printable(f"kept {line}"))
    for line in done.advice:
        print(printable(f"to do: {line}"))
