"""The extensions of `packages.toml` and of `apart.toml`, and where their translations are kept.

FOLDER/ported/NAME/project is a project with an extension's unedited sources, and FOLDER/ported/NAME/translated.json
what `translate.py` says of it. The sources are read there by all, so that FOLDER/ported is all that a machine needs
which builds and compares; FOLDER/corpus is where `translate.py` takes them from.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from corpus import Package, packages

__all__ = ["LISTED", "SECOND", "chosen", "cxx_options", "project_of", "python_name", "record_of", "with_choice"]

LISTED = packages(Path(__file__).parent / "packages.toml")
SECOND = packages(Path(__file__).parent / "apart.toml")
"""Those that were kept apart after the first ones had been measured."""


def python_name(package: Package) -> str:
    """Return an extension's name as a part of names in Python: that of its module and of its cases."""
    return package.name.replace("-", "_")


def project_of(package: Package, folder: Path) -> Path:
    return folder / "ported" / python_name(package) / "project"


def record_of(package: Package, folder: Path) -> Path:
    """Return the path of the JSON file that says what is translated."""
    return folder / "ported" / python_name(package) / "translated.json"


def cxx_options(package: Package) -> list[str]:
    """Return the options for the extension's C++ sources: its own, the standard that PyTorch's headers need, and the
    NDEBUG with which Python's builds compile."""
    own = [re.sub(r"std=c\+\+(11|14)$", "std=c++17", option) for option in package.cxx_options]
    return [*own, *([] if any("std=" in option for option in own) else ["-std=c++17"]), "-DNDEBUG"]


def with_choice(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the options that choose extensions of the list."""
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these extensions")
    parser.add_argument("--apart", action="store_true", help="also those that were kept apart")
    parser.add_argument("--second", action="store_true", help="those of apart.toml and no others")
    return parser


def chosen(options: argparse.Namespace) -> Sequence[Package]:
    """Return the extensions that the command line names, of both lists. If it names none: those of `packages.toml` that
    are not kept apart, or what it asks for instead.

    Raises SystemExit for a name that is in no list.
    """
    if not options.only:
        return SECOND if options.second else [package for package in LISTED if options.apart or not package.apart]
    every = [*LISTED, *SECOND]
    names = {name: package for package in every for name in (package.name, python_name(package))}
    if unknown := [name for name in options.only if name not in names]:
        raise SystemExit(f"not in the list: {', '.join(unknown)}")
    return [package for package in every if package in [names[name] for name in options.only]]
