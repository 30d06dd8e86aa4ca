"""Turn kernel symbols into the C++ names that people wrote."""

from __future__ import annotations

import re

__all__ = ["cpp_name"]

_SOURCE_NAME = re.compile(r"(\d+)")


def cpp_name(symbol: str) -> str:
    """Return the qualified name of a function symbol: "saxpy" for "_Z5saxpyfPKfPfi", "ns::scale" for "_ZN2ns5scaleEPf".

    A symbol that is not mangled is its own name, and so is one whose name needs more than its plain parts, such as a
    template's. Source: Itanium C++ ABI, "Mangling", `<name>` and `<source-name>`.
    """
    if not symbol.startswith("_Z"):
        return symbol
    nested = symbol.startswith("_ZN")
    position = 3 if nested else 2
    parts = []
    while match := _SOURCE_NAME.match(symbol, position):
        end = match.end() + int(match[1])
        if end > len(symbol):
            return symbol
        parts.append(symbol[match.end() : end])
        position = end
        if not nested:
            break
    if not parts or (nested and symbol[position : position + 1] != "E") or symbol[position : position + 1] == "I":
        return symbol
    # The compiler's name for an unnamed namespace carries a hash of the file; nobody wrote it.
    written = [part for part in parts if not part.startswith("_GLOBAL__N_")]
    return "::".join(written) or symbol
