"""The schema of an operator, in PyTorch's language."""

import math
import sys

from ..declarations.operator_arguments import InputArgument, OperatorArguments
from ..runtime.errors import ArgumentError

__all__ = ["is_writable", "schema"]

_TYPES = {"Pointer": "Tensor", "Integer": "SymInt", "Real": "float", "bool": "bool"}
"""The schema's type, by the type that stubs give the parameter. A SymInt is an integer that may be unknown while
PyTorch compiles; the kernel gets an int."""


def schema(name: str, arguments: OperatorArguments) -> str:
    """Return the schema of the operator `name`, without its namespace: "swish(Tensor x, float beta=1.0) -> Tensor"."""
    results = ", ".join(["Tensor"] * len(arguments.outputs))
    inputs = ", ".join(_argument(name, each) for each in arguments.inputs)
    short = name.rpartition("::")[2]
    return f"{short}({inputs}) -> {results if len(arguments.outputs) == 1 else f'({results})'}"


def _argument(operator: str, argument: InputArgument) -> str:
    """Return an argument in the schema: "Tensor(a!) x", "float beta=1.0"."""
    type_ = f"Tensor({argument.name}!)" if argument.written else _TYPES[argument.type]
    if not argument.has_default:
        return f"{type_} {argument.name}"
    if argument.type == "Integer" and not -(1 << 63) <= argument.default < 1 << 63:
        raise ArgumentError(
            f"{operator}: the default of {argument.name} is {argument.default}, but PyTorch's integers are signed and "
            "have 64 bits"
        )
    default = argument.default if is_writable(argument.default) else None
    return f"{type_}{'?' if default is None else ''} {argument.name}={default}"


def is_writable(default: object) -> bool:
    """Return whether a schema can have this default; in place of inf, nan and denormal numbers, it has None."""
    if not isinstance(default, float) or default == 0:
        return True
    return math.isfinite(default) and abs(default) >= sys.float_info.min
