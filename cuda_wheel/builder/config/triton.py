"""Parse `[[tool.cuda-wheel.triton]]`: which Triton kernels to compile, and for which arguments.

The values of variants are those that `runtime.parts.triton.signatures` describes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cuda_wheel.builder.config.python_kernels import Rows, arguments_kind, options_kind, variants_of_rows
from cuda_wheel.builder.config.values import Kind
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.runtime.manifest import MacroValue, Variant, full_name, same_macros
from cuda_wheel.runtime.parts.triton.signatures import KERNEL, OPTIONS, is_type

__all__ = ["ARGUMENTS", "OTHER_OPTIONS", "awaits_configurations", "completed", "triton_variants"]

_AUTOTUNE = "autotune"
"""Number of warps of a variant that awaits the configurations of `triton.autotune` in the source."""

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
    if value.startswith("tensordesc<"):
        return _descriptor(value, where)
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


_DESCRIPTOR = re.compile(r"tensordesc<\s*(\w+)\s*\[([\w\s,]+)\]\s*>", re.ASCII)


def _descriptor(value: str, where: str) -> str:
    """Return the type of a tensor descriptor as it stands in a variant, in which a size may be the name of a constant.
    Raises ConfigError."""
    match = _DESCRIPTOR.fullmatch(value)
    sizes = [each.strip() for each in match[2].split(",")] if match else []
    named = [re.sub(r"[A-Za-z_]\w*", "1", size) for size in sizes]
    if match is None or not is_type(f"tensordesc<{match[1]}[{', '.join(named)}]>"):
        raise ConfigError(
            f'{where}: {value!r} is not a type of Triton: a tensor descriptor is "tensordesc<fp16[128, 64]>", with an '
            "element type and one to five sizes of a block, each a number or the name of a constant."
        )
    return f"tensordesc<{match[1]}[{', '.join(sizes)}]>"


def _with_sizes(pairs: Mapping[str, MacroValue], where: str) -> dict[str, MacroValue]:
    """Return the values of a variant, with the values of constants in place of their names in tensor descriptors.
    Raises ConfigError for a name without a whole number."""

    def size(match: re.Match[str]) -> str:
        found = pairs.get(match[0])
        if type(found) is not int:
            raise ConfigError(f"{where} has a tensor descriptor with the size {match[0]}, which is not a whole number.")
        return str(found)

    def settled(value: MacroValue) -> MacroValue:
        if not isinstance(value, str) or not value.startswith("tensordesc<"):
            return value
        head, bracket, rest = value.partition("[")
        return head + bracket + re.sub(r"[A-Za-z_]\w*", size, rest)

    return {name: settled(value) for name, value in pairs.items()}


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
    autotune: bool = False,
) -> list[Variant]:
    """Return the variants that one `[[tool.cuda-wheel.triton]]` describes, in the order of its rows.

    With `autotune`, the configurations of the source have the numbers of warps, stages and blocks: there is a variant
    for each row, which `completed` replaces. Raises ConfigError if a combination of arguments and options stands there
    twice.
    """
    counts: dict[str, Sequence[MacroValue]] = {"num_warps": warps, "num_stages": stages, "num_ctas": ctas}
    if autotune:
        return variants_of_rows(KERNEL, kernel, rows, {"num_warps": [_AUTOTUNE]}, options, where, {})
    found: dict[object, Variant] = {}
    for each in variants_of_rows(KERNEL, kernel, rows, counts, options, where, {"num_ctas": 1}):
        pairs = _with_sizes(dict(each), where)
        variant = tuple(sorted(pairs.items()))
        if found.setdefault(same_macros(pairs), variant) is not variant:
            raise ConfigError(f"{where} has {full_name(kernel, variant)} twice: leave one out.")
    return list(found.values())


def awaits_configurations(variant: Variant) -> bool:
    """Return whether a variant is one that `completed` replaces."""
    return ("num_warps", _AUTOTUNE) in variant


def completed(variants: Iterable[Variant], configurations: Mapping[str, Sequence[Variant]]) -> tuple[Variant, ...]:
    """Return the variants with one for each configuration of the kernel, in place of each that awaits them.

    `configurations` are kernel -> the constants and options of each configuration. Raises ConfigError if the settings
    have a value that the configurations have too.
    """
    found: dict[object, Variant] = {}
    for variant in variants:
        if not awaits_configurations(variant):
            found.setdefault(same_macros(variant), variant)
            continue
        own = {name: value for name, value in variant if value != _AUTOTUNE or name != "num_warps"}
        kernel = str(own[KERNEL])
        for configuration in configurations[kernel]:
            both = [name for name, _ in configuration if name in own]
            if both:
                raise ConfigError(
                    f"[[tool.cuda-wheel.triton]] of {kernel} has {both[0]}, and so have the configurations of its "
                    "triton.autotune: leave it out, or leave out autotune = true."
                )
            pairs = _with_sizes({**own, **dict(configuration)}, f"[[tool.cuda-wheel.triton]] of {kernel}")
            found.setdefault(same_macros(pairs), tuple(sorted(pairs.items())))
    return tuple(found.values())
