"""`cuda-wheel stubs`: write the stubs of packages that attach their kernels into the source tree.

Each gets a `py.typed`. Editable installs need this command. Loading a module does not write a stub: a stub describes
all modules of a package, while a load compiles one module, and files should appear in the source tree only on request.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path

from cuda_wheel.builder.config.pyproject import read_config
from cuda_wheel.builder.project import build_files
from cuda_wheel.builder.report.reporter import ProgressReporter
from cuda_wheel.builder.scratch import scratch
from cuda_wheel.builder.sources.layout import WheelFile, wheel_layout
from cuda_wheel.builder.wheel.outputs import TYPED, write
from cuda_wheel.builder.wheel.stubs import MADE_BY

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("project", type=Path, help="the folder of pyproject.toml")


def run(options: argparse.Namespace) -> int:
    """Build the project as for a wheel, and write its stubs beside the packages' `__init__.py`."""
    root = options.project.resolve()
    layout = wheel_layout(root)
    config = read_config(root, os.environ, layout.modules)
    files = [file for file in layout.files if not _is_made(file)]
    sources = {file.destination: file.source for file in files}
    with scratch() as folder:
        show = (lambda text: None) if options.quiet else print
        warn = partial(print, file=sys.stderr)
        with ProgressReporter(show, warn, steps=options.verbose, bar=not options.quiet) as reporter:
            outputs = build_files(root, config, files, reporter, folder)
        stubs = [path for path in outputs if path.endswith("/__init__.pyi")]
        for path in stubs:
            package = sources[path.removesuffix("i")].parent
            beside = (path, path.replace("__init__.pyi", TYPED))
            written = {each.rpartition("/")[2]: (folder / each).read_bytes() for each in beside if each in outputs}
            write(written, package)
            for name in written:
                print(os.path.relpath(package / name))
    if not stubs:
        print("cuda-wheel: no package attaches its kernels and lacks a stub of its own", file=sys.stderr)
    return 0


def _is_made(file: WheelFile) -> bool:
    """Return whether a file is a stub that an earlier `cuda-wheel stubs` wrote."""
    if not file.destination.endswith("/__init__.pyi") or not file.source.is_file():
        return False
    return file.source.read_text(encoding="utf-8", errors="replace").startswith(MADE_BY)
