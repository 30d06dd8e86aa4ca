"""The macros of a variant: their types, their text and how to compare them."""

from collections.abc import Mapping
from typing import Any

__all__ = ["RESERVED", "MacroValue", "Macros", "Variant", "full_name", "macro_text", "read_macros", "same_macros"]

MacroValue = str | int | float | bool
"""A macro's value as the project writes it. The compiler gets it as text, and a bool as 1 or 0."""

Variant = tuple[tuple[str, MacroValue], ...]
"""The macros of a variant: names and values, sorted by name."""

Macros = tuple[tuple[str, str], ...]
"""Macros as the compiler gets them, sorted by name. Equal macros mean the same variant."""

RESERVED = ("device", "jit", "link", "name")
"""The parameters of `load`, which no macro of a variant can be called."""


def macro_text(value: MacroValue) -> str:
    """Return a macro's value as the compiler gets it: "1" for True, "4" for 4 and for "4"."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def full_name(name: str, variant: Variant) -> str:
    """Return a module's name, and the macros of its variant: "demo.update[MATH_TYPE=double, NUM_MODES=4]"."""
    return f"{name}[{', '.join(f'{macro}={macro_text(value)}' for macro, value in variant)}]" if variant else name


def same_macros(macros: Mapping[str, Any] | Variant) -> Macros:
    """Return macros in the form in which equal ones are equal."""
    pairs = macros.items() if isinstance(macros, Mapping) else macros
    return tuple(sorted((name, macro_text(value)) for name, value in pairs))


def read_macros(macros: dict[str, Any]) -> Variant:
    """Return the variant in a JSON object; raises ValueError or AttributeError for another one."""
    for name, value in macros.items():
        is_value = isinstance(value, int | float) or (isinstance(value, str) and value and value.isprintable())
        if not (name.isidentifier() and name.isascii() and is_value):
            raise ValueError(f"{name!r} with the value {value!r} is not a macro")
    return tuple(sorted(macros.items()))
