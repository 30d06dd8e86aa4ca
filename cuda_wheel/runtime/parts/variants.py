"""Check the macros of variants, and list the variants that exist if a program asks for another one."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import Any

from ..errors import UnknownVariantError
from ..manifest import Variant, macro_text

__all__ = ["RESERVED", "read_macros", "unknown_variant"]

RESERVED = ("device", "jit", "link", "name")
"""Names of the parameters of `load`. A macro of a variant cannot have one of these names."""


def read_macros(macros: Mapping[str, Any]) -> Variant:
    """Return a JSON object's macros as a variant; raise ValueError or AttributeError if they are not valid."""
    for name, value in macros.items():
        is_value = isinstance(value, int | float) or (isinstance(value, str) and value and value.isprintable())
        if not (name.isidentifier() and name.isascii() and is_value):
            raise ValueError(f"{name!r} with the value {value!r} is not a macro")
    return tuple(sorted(macros.items()))


_SHOWN = 5
"""Maximum number of variants, and of values of a macro, that a message lists."""

_LONGEST = 60
"""Maximum number of characters of a value in a message. A longer value is cut."""


def unknown_variant(module: str, macros: Mapping[str, Any], variants: Sequence[Variant]) -> UnknownVariantError:
    """Return the error for macros that no variant of a module has; it lists the nearest of `variants`."""
    error = UnknownVariantError(_message(module, macros, variants))
    error.variants = tuple(variants)
    return error


def _message(module: str, macros: Mapping[str, Any], variants: Sequence[Variant]) -> str:
    asked = ", ".join(f"{name}={_value(value)}" for name, value in macros.items())
    if not variants:
        options = get_close_matches(next(iter(macros)), RESERVED, n=1)
        hint = f"; did you mean {options[0]}?" if options else ""
        return f"{module} has no variants, but {asked} asks for one{hint}"
    nearest = sorted(variants, key=lambda variant: _distance(macros, variant))[:_SHOWN]
    listed = "".join(f"\n  {', '.join(f'{name}={_value(value)}' for name, value in each)}" for each in nearest)
    more = f"\n  and {len(variants) - len(nearest)} more" if len(variants) > len(nearest) else ""
    values: dict[str, dict[str, None]] = {}
    for name, value in (pair for variant in variants for pair in variant):
        values.setdefault(name, {})[_value(value)] = None
    tables = "; ".join(f"{name} of {_some(list(found))}" for name, found in values.items())
    what = f"has no variant {asked}" if macros else "has variants, and none is named"
    order = ", the nearest first" if macros else ""
    return f"{module} {what}. Its variants{order}:{listed}{more}\nTheir macros: {tables}"


def _value(value: object) -> str:
    text = macro_text(value) if isinstance(value, str | int | float) else repr(value)
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def _some(values: Sequence[str]) -> str:
    return ", ".join(values[:_SHOWN]) + (f", ... ({len(values)} values)" if len(values) > _SHOWN else "")


def _distance(macros: Mapping[str, Any], variant: Variant) -> tuple[float, float]:
    """Return how far a variant is from the requested `macros`: (number of macros that differ, sum of `_difference`).

    A macro that only one of the two has counts as different, but adds nothing to the sum.
    {"n": 8}, (("n", 24),) -> (1, 0.5).
    """
    own, differing, far = dict(variant), 0, 0.0
    for name in {*own, *macros}:
        if name not in own or name not in macros:
            differing += 1
        elif _value(own[name]) != _value(macros[name]):
            differing += 1
            far += _difference(_value(own[name]), _value(macros[name]))
    return differing, far


def _difference(first: str, second: str) -> float:
    """Return how much two values of a macro differ, from 0 (equal) to 1: ("8", "24") -> 0.5.

    For two numbers, this is |a - b| / (|a| + |b|). For other values, it is 1 - `SequenceMatcher.ratio` (module
    difflib).
    """
    try:
        one, other = float(first), float(second)
    except ValueError:
        return 1 - SequenceMatcher(None, first, second).ratio()
    return abs(one - other) / (abs(one) + abs(other)) if one != other else 0.0
