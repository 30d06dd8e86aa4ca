"""How a variant of a module writes the arguments that one Triton kernel was compiled for.

A variant has a value for each parameter of the kernel, and the options of Triton's compiler:

    {"triton": "demo.ops:add", "x": "*fp32:16", "n": "i32", "BLOCK": 1024, "num_warps": 4, "num_stages": 3}

- "triton" is the Python module and the function.
- A parameter that a launch takes has a type as Triton writes it: "*fp32" a pointer, "*kfp32" one that the kernel only
  reads through, "i32", "fp32". ":16" means that the address or number is divisible by 16, ":1" that the number is 1:
  Triton calls this specialization.
- A parameter that was a constant of the compilation has its value: a number or a bool; "None"; "tl.float16" for a type
  of `triton.language`; a string in quotation marks, as Python prints it: "'relu'".

Of the Python function, the manifest has the parameters; see `parts.python_kernels.signatures`. `tl.constexpr` makes a
"constant", `triton.autotune` a "tuned" one, and `triton.heuristics` a "computed" one, which only Triton can compute.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...manifest import MacroValue

__all__ = ["KERNEL", "OPTIONS", "TYPES", "Type", "is_type", "read_type", "value_of", "written"]

KERNEL = "triton"
"""Key of the kernel in a variant."""

OPTIONS = ("num_warps", "num_stages", "num_ctas")
"""Keys of a variant that are options of Triton which a launch may choose by."""

TYPES: Mapping[str, tuple[str, str]] = {
    "i1": ("bool", "bool"),
    "i8": ("signed char", "int8"),
    "i16": ("short", "int16"),
    "i32": ("int", "int32"),
    "i64": ("long long", "int64"),
    "u1": ("bool", "bool"),
    "u8": ("unsigned char", "uint8"),
    "u16": ("unsigned short", "uint16"),
    "u32": ("unsigned int", "uint32"),
    "u64": ("unsigned long long", "uint64"),
    "fp16": ("__half", "float16"),
    "bf16": ("__nv_bfloat16", "bfloat16"),
    "fp32": ("float", "float32"),
    "fp64": ("double", "float64"),
    "fp8e4nv": ("__nv_fp8_e4m3", "float8_e4m3fn"),
    "fp8e5": ("__nv_fp8_e5m2", "float8_e5m2"),
}
"""Triton's name of an element type -> (C++ type, name of the type in PyTorch, JAX and NumPy)."""

_TYPE = re.compile(rf"(\*k?)?({'|'.join(TYPES)})(?::(16|1))?")


class Type(NamedTuple):
    """The type of an argument of a launch, and what the kernel was told about its value."""

    pointer: str
    """"*" for a pointer, "*k" for one that the kernel only reads through, "" for a number."""
    element: str
    """Triton's name of the element type, or of the number's type: "fp32"."""
    hint: str
    """"16" if the address or number is divisible by 16, "1" if the number is 1, "" if nothing is known."""


def read_type(text: Any) -> Type | None:
    """Return the type that a text means; None for anything else."""
    match = _TYPE.fullmatch(text) if isinstance(text, str) else None
    if match is None or (match[3] == "1" and (match[1] or match[2][0] not in "iu")):
        return None
    if match[3] == "16" and not match[1] and match[2][0] not in "iu":
        return None
    return Type(match[1] or "", match[2], match[3] or "")


def is_type(text: Any) -> bool:
    """Return whether a value of a variant is a type, and not a constant."""
    return read_type(text) is not None


def written(value: Any) -> MacroValue | None:
    """Return a constant as a variant has it: `"relu"` -> "'relu'", `tl.float16` -> "tl.float16"; None for one that none
    can have."""
    if isinstance(value, bool | int | float):
        return value
    if value is None:
        return "None"
    if isinstance(value, str):
        return repr(value)
    if type(value).__name__ == "dtype" and type(value).__module__.startswith("triton."):
        name = str(value.name)  # "fp16" of `tl.float16`, "int32" of `tl.int32`
        return f"tl.{name.replace('bf', 'bfloat') if name.startswith('bf') else name.replace('fp', 'float')}"
    return None


def value_of(value: Any) -> Any:
    """Return the constant that a variant's value means: "None" -> None, "'relu'" -> "relu". A type of `triton.language`
    stays its name."""
    if value == "None":
        return None
    if isinstance(value, str) and value[:1] in "'\"":
        from ast import literal_eval  # rare

        return literal_eval(value)
    return value
