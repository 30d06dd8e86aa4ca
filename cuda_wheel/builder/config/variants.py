"""Parse `variants` in a module's table: lists of values of macros, whose product less `exclude` counts, or `rows`."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from cuda_wheel.builder.config.cxx_text import check_macro_value
from cuda_wheel.builder.config.parsers import Kind
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.runtime.variants.macro_values import RESERVED, MacroValue, Variant, full_name, macro_text

__all__ = ["MOST_VARIANTS", "VARIANTS"]

MOST_VARIANTS = 10_000
"""The most variants that a module may have. Each takes a compile job for each architecture."""

_KEYS = ("exclude", "rows")
"""The keys of the table that are no macros."""

_VALUE: dict[str, Any] = {"type": ["string", "number", "boolean"]}

_MACROS: dict[str, Any] = {
    "type": "object",
    "propertyNames": {"pattern": r"^[A-Za-z_][A-Za-z0-9_]*$"},
    "additionalProperties": _VALUE,
    "minProperties": 1,
}

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {key: {"type": "array", "items": _MACROS, "minItems": 1} for key in _KEYS},
    "additionalProperties": {"type": "array", "items": _VALUE, "minItems": 1},
}


def _variants(value: Any, where: str) -> tuple[Variant, ...]:
    """Return the variants that a table describes, in its order. Raises ConfigError."""
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table of macros and lists of their values, not {value!r}.")
    lists = {name: _values(name, found, where) for name, found in value.items() if name not in _KEYS}
    if lists and "rows" in value:
        raise ConfigError(f"{where} has rows and lists of values ({', '.join(lists)}): leave one of them out.")
    if "rows" in value:
        if "exclude" in value:
            raise ConfigError(f"{where}.exclude is for lists of values: leave it out, and the rows that it excludes.")
        variants = _tables(value["rows"], f"{where}.rows")
        if not variants:
            raise ConfigError(f"{where}.rows is empty: give it tables of macros such as {{ NUM_MODES = 4 }}.")
    else:
        if not lists:
            raise ConfigError(f'{where} is empty: give macros lists of values, such as NUM_MODES = [2, 4], or "rows".')
        count = math.prod(map(len, lists.values()))
        if count > MOST_VARIANTS:
            raise ConfigError(f"{where} means {count} variants; the most that a module may have are {MOST_VARIANTS}.")
        variants = [tuple(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]
        variants = _without(variants, _tables(value.get("exclude", []), f"{where}.exclude"), lists, where)
    return tuple(_sorted_and_unique(variants, where))


def _values(name: str, values: Any, where: str) -> list[MacroValue]:
    _check_name(name, where)
    if not isinstance(values, list) or not values:
        raise ConfigError(f"{where}.{name} must be a list of values such as [2, 4], not {values!r}.")
    for each in values:
        _check_value(each, f"{where}.{name}")
    twice = next((each for each in values if [*map(macro_text, values)].count(macro_text(each)) > 1), None)
    if twice is not None:
        raise ConfigError(f"{where}.{name} has the value {macro_text(twice)} twice: leave one out.")
    return list(values)


def _tables(value: Any, where: str) -> list[Variant]:
    """Return the macros in a list of tables."""
    if not isinstance(value, list) or not all(isinstance(each, dict) and each for each in value):
        raise ConfigError(f"{where} must be a list of tables such as [{{ NUM_MODES = 4 }}], not {value!r}.")
    for name, each in (pair for table in value for pair in table.items()):
        _check_name(name, where)
        _check_value(each, f"{where}: {name}")
    return [tuple(table.items()) for table in value]


def _check_name(name: str, where: str) -> None:
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise ConfigError(f"{where}: {name!r} is not a macro name: use letters, digits and underscores.")
    if name in RESERVED:
        raise ConfigError(f"{where}: no macro of a variant can be called {name!r}, which is a parameter of load.")


def _check_value(value: Any, where: str) -> None:
    is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    if not is_number and not (isinstance(value, str) and value and value.isprintable()):
        raise ConfigError(f"{where} must be a printable string, a finite number, true or false, not {value!r}.")
    check_macro_value(str(value), where)


def _without(
    variants: Sequence[Variant], excluded: Sequence[Variant], lists: Mapping[str, object], where: str
) -> list[Variant]:
    """Return the variants that have not all macros of one of `excluded`."""
    kept = list(variants)
    for macros in excluded:
        unknown = next((name for name, _ in macros if name not in lists), None)
        if unknown is not None:
            raise ConfigError(f"{where}.exclude names {unknown}, which has no list of values.")
        wanted = {(name, macro_text(value)) for name, value in macros}
        left = [each for each in kept if not wanted.issubset((name, macro_text(value)) for name, value in each)]
        if len(left) == len(kept):
            raise ConfigError(f"{where}.exclude: no variant is left with {full_name('', macros)[1:-1]}; leave it out.")
        kept = left
    if not kept:
        raise ConfigError(f"{where}.exclude excludes every variant.")
    return kept


def _sorted_and_unique(variants: Sequence[Variant], where: str) -> list[Variant]:
    if len(variants) > MOST_VARIANTS:
        raise ConfigError(f"{where} has {len(variants)} variants; the most that a module may have are {MOST_VARIANTS}.")
    found: dict[tuple[tuple[str, str], ...], Variant] = {}
    for variant in (tuple(sorted(each)) for each in variants):
        key = tuple((name, macro_text(value)) for name, value in variant)
        if key in found:
            raise ConfigError(f"{where} has the variant {full_name('', variant)[1:-1]} twice: leave one out.")
        found[key] = variant
    return list(found.values())


VARIANTS: Kind[tuple[Variant, ...]] = Kind(_variants, _SCHEMA)
