"""`cuda-wheel ide`: write the file by which clangd, and so an editor, reads a project's CUDA sources."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from cuda_wheel.builder.config.pyproject import read_config
from cuda_wheel.builder.report.quantities import count_text
from cuda_wheel.builder.sources.layout import wheel_layout
from cuda_wheel.builder.sources.modules import select
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.cli.arguments import argument_type
from cuda_wheel.migrate.editor_files import FIRST_CLANGD, database_change, editor_commands, settings_change
from cuda_wheel.migrate.pyproject_edit import write_changes

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("project", type=Path, nargs="?", default=Path(), help="the folder of pyproject.toml")
    parser.add_argument(
        "--architecture",
        type=argument_type(_architecture),
        metavar="ARCH",
        help='the architecture to read device code for, such as "90a"; by default one of each module\'s',
    )
    parser.add_argument(
        "--compile-commands", action="store_true", help="write compile_commands.json in place of .clangd"
    )


def _architecture(text: str) -> str:
    match = re.fullmatch(r"(?:sm_)?(\d{2,3}[af]?)", text)
    if match is None:
        raise ValueError(f"{text!r} is not an architecture such as 90a")
    return match[1]


def run(options: argparse.Namespace) -> int:
    """Write the file, and say which version of clangd reads it."""
    root = options.project.resolve()
    layout = wheel_layout(root)
    config = read_config(root, os.environ, layout.modules)
    modules = select(config, root, layout.files, lambda text: print(text, file=sys.stderr))
    commands = editor_commands(root, config, modules, find_toolchain(), options.architecture)
    if not commands:
        print("cuda-wheel: no module has a source in CUDA C++", file=sys.stderr)
        return 1
    change = (database_change if options.compile_commands else settings_change)(root, commands)
    write_changes([change])
    print(f"{os.path.relpath(change.path)}: {count_text(len(commands), 'file')}, for clangd {FIRST_CLANGD} or later")
    return 0
