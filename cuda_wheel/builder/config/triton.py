"""Parse `[[tool.cuda-wheel.triton]]`: which Triton kernels to compile, and for which arguments.

The values of variants are those that `runtime.parts.triton.signatures` describes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from cuda_wheel.builder.config.python_kernels import Rows, arguments_kind, options_kind, variants_of_rows
from cuda_wheel.builder.config.values import Kind
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.runtime.manifest import MacroValue, Variant
from cuda_wheel.runtime.parts.triton.signatures import KERNEL, OPTIONS, is_type

__all__ = ["ARGUMENTS", "OTHER_OPTIONS", "triton_variants"]

_DTYPE = re.compile(r"(?:tl|triton\.language)\.([a-z]\w*)", re.ASCII)


def _argument(value: Any, where: str) -> MacroValue:
    """Return a type or a constant as it stands in a variant; see `runtime.parts.triton.signatures`. Raises
    ConfigError."""
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ConfigError(
            f'{where} must be a type such as "*fp32:16", "i32" or "fp32", or a constant: a number, true, false, a '
            f'string, "None" or "tl.float16"; not {value!r}.'
        )
    if is_type(value) or value == "None":
        return value
    if match := _DTYPE.fullmatch(value):
        return f"tl.{match[1]}"
    if value.startswith("*") or re.fullmatch(r"(?:i|u|fp|bf)\d+\w*(?::\w+)?", value, re.ASCII):
        raise ConfigError(
            f"{where}: {value!r} is not a type of Triton: write *TYPE for a pointer, TYPE for a number; a pointer or "
            'an integer may end with ":16" (divisible by 16), an integer with ":1" (equal to 1).'
        )
    if value[0] in "'\"":
        if len(value) < 2 or value[-1] != value[0]:
            raise ConfigError(f"{where}: {value} has no second quotation mark.")
        value = value[1:-1]
    return repr(value)


ARGUMENTS: Kind[Rows] = arguments_kind(
    _argument,
    (KERNEL, *OPTIONS),
    "Triton",
    'a type or a value for each parameter of the kernel, such as { x = "*fp32:16", n = "i32", BLOCK = 1024 }',
)

_REFUSED = {
    "ir_override": "it replaces the kernel by the code of a file",
    "extern_libs": "it names files of this machine",
    "debug": "it makes the kernel check and print, which needs Triton's own launcher",
}
"""Option of Triton -> why a build does not pass it on."""

OTHER_OPTIONS: Kind[Variant] = options_kind(
    _REFUSED | {name: f"its own key is {name.replace('_', '-')}" for name in OPTIONS}, "Triton", "{ maxnreg = 128 }"
)


def triton_variants(
    kernel: str,
    rows: Rows,
    warps: Sequence[int],
    stages: Sequence[int],
    ctas: Sequence[int],
    options: Variant,
    where: str,
) -> list[Variant]:
    """Return the variants that one `[[tool.cuda-wheel.triton]]` describes, in the order of its rows.

    Raises ConfigError if a combination of arguments and options stands there twice.
    """
    counts: dict[str, Sequence[MacroValue]] = {"num_warps": warps, "num_stages": stages, "num_ctas": ctas}
    return variants_of_rows(KERNEL, kernel, rows, counts, options, where, {"num_ctas": 1})
