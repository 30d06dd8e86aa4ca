"""Print JSON, and text that cannot control the terminal."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["print_json", "printable"]


def print_json(document: Any) -> None:
    """Print a JSON document to standard output."""
    print(json.dumps(document, indent=2))


def printable(text: str) -> str:
    """Return a string with escape sequences in place of control characters, which names of files may contain."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else ascii(sign)[1:-1] for sign in text)
