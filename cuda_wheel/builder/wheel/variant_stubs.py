"""Write the stub of the function that loads the variants of a module, with the values of the macros as `Literal`s."""

from __future__ import annotations

from collections.abc import Sequence

from cuda_wheel.runtime.variants.macro_values import MacroValue, Variant

__all__ = ["variant_loader_stub"]

MOST_OVERLOADS = 32
"""More combinations than so many signatures can say are described by all values of each macro."""

Values = tuple[MacroValue, ...]

Signature = tuple[tuple[str, Values], ...]
"""Macros with their values, any combination of which is a variant."""


def variant_loader_stub(name: str, variants: Sequence[Variant]) -> list[str]:
    """Return the lines that declare the function `name`, which takes the macros of a variant."""
    signatures = _signatures(variants)
    lines = ["@overload"] if len(signatures) > 1 else []
    return [line for signature in signatures for line in (*lines, _declaration(name, signature))]


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


def _declaration(name: str, signature: Signature) -> str:
    macros = "".join(f"{macro}: {_type(values)}, " for macro, values in signature)
    return f"def {name}(*, {macros}link: Any = ..., device: int | None = ..., jit: Any = ...) -> Module: ..."


def _type(values: Sequence[MacroValue]) -> str:
    """Return the type of a macro's values: a Literal, but for floats, which it cannot have."""
    literals = ", ".join(repr(value) for value in values if not isinstance(value, float))
    types = [f"Literal[{literals}]"] if literals else []
    return " | ".join(types + ["float"] * any(isinstance(value, float) for value in values))
