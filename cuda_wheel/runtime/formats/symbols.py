"""Read the C++ name in a mangled symbol."""

import re

__all__ = [
    "demangled",
]


_LENGTH = re.compile(r"[1-9][0-9]{0,8}")


def demangled(symbol: str) -> str:
    """Return the C++ name of a symbol without its parameters: "scale" of "_Z5scalef", "ns::scale" of "_ZN2ns5scaleEf";
    the symbol itself where it is another's, such as a template's. Source: Itanium C++ ABI, "Mangling"."""
    match = re.match(r"_ZN?", symbol)
    if match is None:
        return symbol
    nested, at, parts = match[0] == "_ZN", match.end(), []
    while number := _LENGTH.match(symbol, at):
        at = number.end() + int(number[0])
        parts.append(symbol[number.end() : at])
        if not nested:
            break
    template = symbol.startswith("I", at) or (nested and not symbol.startswith("E", at))
    return symbol if template or not parts or at > len(symbol) else "::".join(parts)
