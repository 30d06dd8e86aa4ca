"""Arguments that several commands have; print JSON, and text that cannot control the terminal."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["add_json_option", "add_path_argument", "argument_type", "print_json", "printable"]


T = TypeVar("T")


def add_path_argument(parser: argparse.ArgumentParser) -> None:
    """Add the argument `paths`: where to find modules."""
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="path",
        help="a wheel, a folder, a .fatbin or an installed package; several, such as a base and companions, are one",
    )


def add_json_option(parser: argparse.ArgumentParser, description: str = "print JSON") -> None:
    """Add the option `--json`."""
    parser.add_argument("--json", action="store_true", help=description)


def argument_type(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Return `parse`, wrapped for `add_argument(type=...)`: the usage error then shows the message of its
    ValueError."""

    def parse_argument(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse_argument


def print_json(document: Any) -> None:
    """Print a JSON document to standard output."""
    print(json.dumps(document, indent=2))


def printable(text: str) -> str:
    """Return a string with escape sequences in place of control characters, which names of files may contain."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else ascii(sign)[1:-1] for sign in text)
