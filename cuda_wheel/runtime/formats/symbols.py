"""The symbols that device code shares with other code, and the C++ names in them."""

import re
from typing import NamedTuple

__all__ = ["Symbols", "demangled"]


class Symbols(NamedTuple):
    """The symbols that one file of device code shares with the others of a link."""

    defined: frozenset[str]
    """Strong definitions: no other file may define these."""
    weak: frozenset[str]
    """Weak definitions: used unless another file has a strong one."""
    undefined: frozenset[str]
    """Symbols that another file must define."""


_LENGTH = re.compile(r"[1-9][0-9]{0,8}")


def demangled(symbol: str) -> str:
    """Return the C++ name of a mangled symbol without its parameters: "ns::scale" for "_ZN2ns5scaleEf".

    Return the symbol itself where it is not mangled, or has parts that are not read here, such as a template's
    arguments. Source: Itanium C++ ABI, "Mangling".
    """
    match = re.match(r"_ZN?", symbol)
    if match is None:
        return symbol
    nested, at, names = match[0] == "_ZN", match.end(), []
    while length := _LENGTH.match(symbol, at):
        at = length.end() + int(length[0])
        names.append(symbol[length.end() : at])
        if not nested:
            break
    template = symbol.startswith("I", at) or (nested and not symbol.startswith("E", at))
    return symbol if template or not names or at > len(symbol) else "::".join(names)
