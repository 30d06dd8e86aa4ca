"""Parse `[[tool.cuda-wheel.tile]]`: which cuTile kernels to compile, and for which arguments.

The values of variants are those that `runtime.parts.tile.signatures` describes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cuda_wheel.builder.config.python_kernels import Rows, arguments_kind, options_kind, variants_of_rows
from cuda_wheel.builder.config.values import Kind
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.runtime.manifest import MacroValue, Variant
from cuda_wheel.runtime.parts.tile.signatures import KERNEL, OPTIONS, TYPES, is_type

__all__ = ["TILE_ARGUMENTS", "TILE_OPTIONS", "tile_variants"]


def _argument(value: Any, where: str) -> MacroValue:
    """Return a type or a constant as it stands in a variant. Raises ConfigError."""
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if is_type(value):
        return str(value)
    raise ConfigError(
        f'{where} must be an array such as "float32[2]" (two dimensions), "float32[2]:1" (the last stride is 1), '
        '"float32[2]:16" (the address and the other strides are divisible by 16 bytes too) or "float32[2]:16n" (the '
        'lengths are divisible by 16 too); a number such as "int32"; or a constant: a number, true or false; not '
        f"{value!r}. The types are {', '.join(TYPES)}."
    )


TILE_ARGUMENTS: Kind[Rows] = arguments_kind(
    _argument,
    (KERNEL, *OPTIONS),
    "cuTile",
    'a type or a value for each parameter of the kernel, such as { x = "float32[1]:16", BLOCK = 1024 }',
)

TILE_OPTIONS: Kind[Variant] = options_kind(
    {name: f"its own key is {name.replace('_', '-')}" for name in ("num_ctas", "occupancy")},
    "cuTile",
    "{ opt_level = 2 }",
)


def tile_variants(
    kernel: str, rows: Rows, ctas: Sequence[int], occupancy: Sequence[int], options: Variant, where: str
) -> list[Variant]:
    """Return the variants that one `[[tool.cuda-wheel.tile]]` describes, in the order of its rows.

    Without `ctas` or `occupancy`, the kernel's decorator decides. Raises ConfigError if a combination of arguments and
    options stands there twice, and for an option that cuTile does not have.
    """
    unknown = next((name for name, _ in options if name not in OPTIONS), None)
    if unknown is not None:
        raise ConfigError(f"{where}.options: cuTile has no option {unknown}, only {', '.join(OPTIONS)}.")
    counts: dict[str, Sequence[MacroValue]] = {"num_ctas": ctas, "occupancy": occupancy}
    shared = {name: values for name, values in counts.items() if values}
    return variants_of_rows(KERNEL, kernel, rows, shared, options, where, {})
