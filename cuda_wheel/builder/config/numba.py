"""Parse `[[tool.cuda-wheel.numba]]`: which Numba kernels to compile, and for which types of arguments.

The values of variants are those that `runtime.parts.numba.signatures` describes.
"""

from __future__ import annotations

import re
from typing import Any

from cuda_wheel.builder.config.python_kernels import Rows, arguments_kind, variants_of_rows
from cuda_wheel.builder.config.values import Kind
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.runtime.manifest import MacroValue, Variant
from cuda_wheel.runtime.parts.numba.signatures import KERNEL, OPTIONS, SCALARS, read_type

__all__ = ["NUMBA_ARGUMENTS", "REGISTERS", "numba_variants"]

_OTHER_NAMES = {
    "b1": "boolean", "bool": "boolean", "bool_": "boolean", "byte": "uint8", "char": "int8", "uchar": "uint8",
    "short": "int16", "ushort": "uint16", "f2": "float16", "f4": "float32", "f8": "float64", "float": "float32",
    "double": "float64", "c8": "complex64", "c16": "complex128", "intp": "int64", "uintp": "uint64",
    **{f"{kind[0]}{size}": f"{kind}{8 * size}" for kind in ("int", "uint") for size in (1, 2, 4, 8)},
}  # fmt: skip
"""Another name that Numba has for a scalar, of those that mean the same on every platform -> its name in variants.
Source: Numba, "Types and signatures", "Numbers"."""


def _argument(value: Any, where: str) -> MacroValue:
    """Return a type as it stands in a variant; see `runtime.parts.numba.signatures`. Raises ConfigError."""
    if isinstance(value, str):
        name, bracket, dimensions = value.replace("numba.", "").replace("types.", "").partition("[")
        type_ = read_type(_OTHER_NAMES.get(name.strip(), name.strip()) + bracket + dimensions.strip())
        if type_ is not None:
            return str(type_)
    is_tuple = isinstance(value, str) and re.match(r"(Uni)?Tuple\b|\(", value)
    raise ConfigError(
        f'{where} must be a type of Numba, such as "int64", "float32[:]" (any strides), "float32[::1]" or '
        f'"float32[:, ::1]" (C order), "float32[::1, :]" (Fortran order), not {value!r}. The scalars are '
        f"{', '.join(SCALARS)}."
        + (" A kernel that takes a tuple cannot be compiled: pass its elements one by one." if is_tuple else "")
    )


NUMBA_ARGUMENTS: Kind[Rows] = arguments_kind(
    _argument,
    (KERNEL, *OPTIONS),
    "Numba",
    'a type for each parameter of the kernel, such as { x = "float32[::1]", n = "int64" }',
)


def _registers(value: Any, where: str) -> int:
    if type(value) is not int or not 16 <= value <= 255:
        raise ConfigError(f"{where} must be a number from 16 to 255, not {value!r}.")
    return value


REGISTERS: Kind[int] = Kind(_registers, {"type": "integer", "minimum": 16, "maximum": 255})


def numba_variants(
    kernel: str, rows: Rows, fastmath: bool | None, opt: bool | None, registers: int, where: str
) -> list[Variant]:
    """Return the variants that one `[[tool.cuda-wheel.numba]]` describes, in the order of its rows.

    An option that is None, or 0 registers, is the one of the kernel's decorator, and stands in no variant. Raises
    ConfigError if a combination of arguments stands there twice.
    """
    given: dict[str, MacroValue | None] = {"fastmath": fastmath, "max_registers": registers or None, "opt": opt}
    options = tuple((name, value) for name, value in given.items() if value is not None)
    return variants_of_rows(KERNEL, kernel, rows, {}, options, where, {})
