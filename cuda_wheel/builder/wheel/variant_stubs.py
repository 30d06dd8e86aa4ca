"""Write the stub of the function that loads the variants of a module, with the values of the macros as `Literal`s."""

from __future__ import annotations

from collections.abc import Sequence

from cuda_wheel.runtime.variants.macro_values import MacroValue, Variant

__all__ = ["variant_loader_stub"]

MOST_OVERLOADS = 32
"""More combinations than so many signatures can say are described by all values of each macro."""

_ANY_VALUE = "str | int | float"

Values = tuple[MacroValue, ...]

Signature = tuple[tuple[str, Values], ...]
"""Macros with their values, any combination of which is a variant."""


def variant_loader_stub(name: str, variants: Sequence[Variant], any_values: bool) -> list[str]:
    """Return the lines that declare the function `name`, which takes the macros of a variant.

    With `any_values`, other values of the macros are compiled where a toolchain is installed.
    """
    declarations = [
        _declaration(name, [(macro, _type(values)) for macro, values in each]) for each in _signatures(variants)
    ]
    if any_values:
        names = dict.fromkeys(tuple(macro for macro, _ in variant) for variant in variants)
        declarations += [_declaration(name, [(macro, _ANY_VALUE) for macro in each]) for each in names]
    lines = ["@overload"] if len(declarations) > 1 else []
    return [line for declaration in declarations for line in (*lines, declaration)]


def _signatures(variants: Sequence[Variant]) -> list[Signature]:
    by_names: dict[tuple[str, ...], list[Values]] = {}
    for variant in variants:
        by_names.setdefault(tuple(macro for macro, _ in variant), []).append(tuple(value for _, value in variant))
    exact = [tuple(zip(names, product, strict=True)) for names, rows in by_names.items() for product in _products(rows)]
    if len(exact) <= MOST_OVERLOADS:
        return exact
    return [
        tuple(
            (macro, tuple(dict.fromkeys(values))) for macro, values in zip(names, zip(*rows, strict=True), strict=True)
        )
        for names, rows in by_names.items()
    ]


def _products(rows: Sequence[Values]) -> list[tuple[Values, ...]]:
    """Return lists of values whose products are the rows, all together: few where many rows have the same rests."""
    if not rows[0]:
        return [()]
    rests: dict[MacroValue, list[Values]] = {}
    for first, *rest in rows:
        rests.setdefault(first, []).append(tuple(rest))
    firsts: dict[tuple[tuple[Values, ...], ...], list[MacroValue]] = {}
    for first, own in rests.items():
        firsts.setdefault(tuple(_products(own)), []).append(first)
    return [(tuple(values), *product) for products, values in firsts.items() for product in products]


def _declaration(name: str, types: Sequence[tuple[str, str]]) -> str:
    macros = "".join(f"{macro}: {type_}, " for macro, type_ in types)
    return f"def {name}(*, {macros}link: Any = ..., device: int | None = ..., jit: Any = ...) -> Module: ..."


def _type(values: Sequence[MacroValue]) -> str:
    """Return the type of a macro's values: a Literal, but for floats, which it cannot have."""
    literals = ", ".join(repr(value) for value in values if not isinstance(value, float))
    types = [f"Literal[{literals}]"] if literals else []
    return " | ".join(types + ["float"] * any(isinstance(value, float) for value in values))
