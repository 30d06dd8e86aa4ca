"""Compose the message for macros that are those of no variant of a module; imported only for an error."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import Any

from ..errors import UnknownVariantError
from ..manifest import RESERVED, Variant, macro_text

__all__ = ["unknown_variant", "unknown_variant_message"]


def unknown_variant(module: str, macros: Mapping[str, Any], variants: Iterable[Variant]) -> UnknownVariantError:
    """Return the error for macros that are those of no variant of a module, which has `variants`."""
    return UnknownVariantError(unknown_variant_message(module, macros, list(variants)))


_SHOWN = 5
"""How many variants, and how many values of a macro, a message names."""

_LONGEST = 60
"""How many characters of a value a message shows."""


def unknown_variant_message(module: str, macros: Mapping[str, Any], variants: Sequence[Variant]) -> str:
    """Return the message for macros that are those of no variant of a module, with the nearest ones first."""
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
    """Return how far a variant is from macros: how many differ, and by how much the values do."""
    own, differing, far = dict(variant), 0, 0.0
    for name in {*own, *macros}:
        if name not in own or name not in macros:
            differing += 1
        elif _value(own[name]) != _value(macros[name]):
            differing += 1
            far += _difference(_value(own[name]), _value(macros[name]))
    return differing, far


def _difference(first: str, second: str) -> float:
    """Return how much two values differ, from 0 to 1."""
    try:
        one, other = float(first), float(second)
    except ValueError:
        return 1 - SequenceMatcher(None, first, second).ratio()
    return abs(one - other) / (abs(one) + abs(other)) if one != other else 0.0
