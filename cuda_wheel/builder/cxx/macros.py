"""Read the macros that a text defines.

`sources.header_macros` follows the macros that name headers; it works on characters, because spaces count there.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from cuda_wheel.builder.cxx.tokens import Directive, Token, scan

__all__ = ["Macro", "macro_of"]


class Macro(NamedTuple):
    """A `#define`. `parameters` are None for an object-like macro."""

    name: str
    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]


_DEFINE = re.compile(r"define[ \t]+([\w$]+)(\([^)]*\))?(.*)", re.DOTALL)


def macro_of(directive: Directive) -> Macro | None:
    """Return the macro that a directive defines; None if it defines none."""
    if directive.word != "define":
        return None
    match = _DEFINE.match("define " + directive.rest)
    if match is None:
        return None
    parameters = None if match[2] is None else tuple(part.strip() for part in match[2][1:-1].split(",") if part.strip())
    return Macro(match[1], parameters, tuple(scan(match[3].strip().lstrip("#").encode(errors="surrogateescape"))[0]))
