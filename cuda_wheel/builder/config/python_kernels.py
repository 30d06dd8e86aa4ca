"""What tables of kernels in Python have in common, such as `[[tool.cuda-wheel.triton]]`: the kernel, rows of arguments.

Each combination of arguments and options is a variant of its module; see `runtime.parts.python_kernels`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from cuda_wheel.builder.config.values import Kind
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.runtime.manifest import MacroValue, Variant, full_name, same_macros

__all__ = ["COUNTS", "KERNEL_PATH", "Rows", "arguments_kind", "options_kind", "variants_of_rows"]

Rows = tuple[tuple[tuple[str, tuple[MacroValue, ...]], ...], ...]
"""Rows of arguments. A row has (parameter, its values) for each parameter; the product of the values is meant."""


def _kernel(value: Any, where: str) -> str:
    names = value.split(":") if isinstance(value, str) else []
    if len(names) != 2 or not names[1].isidentifier() or not all(part.isidentifier() for part in names[0].split(".")):
        raise ConfigError(f'{where} must be a kernel such as "demo.ops:add" (MODULE:FUNCTION), not {value!r}.')
    return str(value)


KERNEL_PATH: Kind[str] = Kind(_kernel, {"type": "string", "pattern": r"^[^:\s]+:[^:\s]+$"})


def arguments_kind(
    argument: Callable[[Any, str], MacroValue], reserved: Collection[str], title: str, content: str
) -> Kind[Rows]:
    """Return the kind of `arguments`: a table with values for each parameter, or a list of such tables.

    `argument` checks a value of a parameter, which stands at a place, and returns it as a variant has it. `reserved`
    are keys of variants that are no parameters, but options of the language `title`. `content` says for an error what a
    table has.
    """

    def rows(value: Any, where: str) -> Rows:
        tables = value if isinstance(value, list) else [value]
        if not tables or not all(isinstance(each, dict) and each for each in tables):
            raise ConfigError(f"{where} must be a table with {content}, or a list of such tables, not {value!r}.")
        return tuple(
            tuple((name, values(each, f"{where}.{name}", name)) for name, each in table.items()) for table in tables
        )

    def values(value: Any, where: str, name: str) -> tuple[MacroValue, ...]:
        if not name.isidentifier():
            raise ConfigError(f"{where}: {name!r} is not the name of a parameter.")
        if name in reserved:
            raise ConfigError(
                f"{where}: {name} is an option of {title}, and no parameter of a kernel can have its name."
            )
        each_value = value if isinstance(value, list) else [value]
        if not each_value:
            raise ConfigError(f"{where} is empty: give it a type or a value.")
        found = tuple(argument(each, where) for each in each_value)
        twice = next((each for index, each in enumerate(found) if _is_among(each, found[:index])), None)
        if twice is not None:
            raise ConfigError(f"{where} has the value {twice!r} twice: leave one out.")
        return found

    table = {"type": "object", "minProperties": 1}
    return Kind(rows, {"anyOf": [table, {"type": "array", "minItems": 1, "items": table}]})


def _is_among(value: MacroValue, others: Iterable[MacroValue]) -> bool:
    return any(same_macros({"": value}) == same_macros({"": each}) for each in others)


def _counts(value: Any, where: str) -> tuple[int, ...]:
    values = value if isinstance(value, list) else [value]
    if not values or not all(type(each) is int and each > 0 for each in values) or len({*values}) < len(values):
        raise ConfigError(f"{where} must be a number above 0, or a list of different ones, not {value!r}.")
    return tuple(values)


COUNTS: Kind[tuple[int, ...]] = Kind(
    _counts,
    {
        "anyOf": [
            {"type": "integer", "minimum": 1},
            {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 1}},
        ]
    },
)


def options_kind(refused: Mapping[str, str], title: str, example: str) -> Kind[Variant]:
    """Return the kind of a table of options for a language's compiler. `refused` says for options why a build does not
    pass them on; `title` is the language, `example` a table for an error."""

    def options(value: Any, where: str) -> Variant:
        if not isinstance(value, dict):
            raise ConfigError(f"{where} must be a table of options of {title}'s compiler, such as {example}.")
        for name, each in value.items():
            reason = refused.get(name)
            if not name.isidentifier() or reason:
                raise ConfigError(f"{where} cannot have {name}{f': {reason}' if reason else ''}.")
            is_number = isinstance(each, int) or (isinstance(each, float) and math.isfinite(each))
            if not is_number and not (isinstance(each, str) and each and each.isprintable()):
                raise ConfigError(f"{where}.{name} must be a printable string, a number, true or false, not {each!r}.")
        return tuple(sorted(value.items()))

    return Kind(options, {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}})


def variants_of_rows(
    language: str,
    kernel: str,
    rows: Rows,
    shared: Mapping[str, Sequence[MacroValue]],
    options: Variant,
    where: str,
    defaults: Mapping[str, MacroValue],
) -> list[Variant]:
    """Return the variants of one table, in the order of its rows: the product of each row's values, and of those in
    `shared`, by option.

    Variants do not have an option with its value in `defaults`. Raises ConfigError if a combination stands there twice.
    """
    found: dict[object, Variant] = {}
    for row in rows:
        for pairs in _combinations({**dict(row), **shared}):
            macros = {language: kernel, **pairs, **dict(options)}
            kept = {name: value for name, value in macros.items() if name not in defaults or value != defaults[name]}
            variant = tuple(sorted(kept.items()))
            if found.setdefault(same_macros(kept), variant) is not variant:
                raise ConfigError(f"{where} has {full_name(kernel, variant)} twice: leave one out.")
    return list(found.values())


def _combinations(lists: Mapping[str, Sequence[MacroValue]]) -> Iterator[dict[str, MacroValue]]:
    for values in itertools.product(*lists.values()):
        yield dict(zip(lists, values, strict=True))
