"""Write an operator's schema, and define generated functions of its arguments."""

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from cuda_wheel.operators.declarations import InputArgument, OperatorArguments
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.generated import define

__all__ = ["define_function", "fits_schema", "schema", "setting_defaults"]


_TYPES = {"Pointer": "Tensor", "Accessor": "Tensor", "Integer": "SymInt", "Real": "float", "bool": "bool"}
"""Kind of a parameter -> type in PyTorch's schema. A SymInt is an integer that may be unknown while
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
    default = argument.default if fits_schema(argument.default) else None
    return f"{type_}{'?' if default is None else ''} {argument.name}={default}"


def fits_schema(default: object) -> bool:
    """Return whether a schema can have this default; in place of inf, nan and denormal numbers, it has None."""
    if not isinstance(default, float) or default == 0:
        return True
    return math.isfinite(default) and abs(default) >= sys.float_info.min


def setting_defaults(inputs: Iterable[InputArgument]) -> Iterator[str]:
    """Yield the lines that set the defaults which no schema can have: PyTorch passes None in their place."""
    for each in inputs:
        if not fits_schema(each.default):
            yield f"if {each.name} is None: {each.name} = _default_{each.name}"


def define_function(
    name: str, parameters: str, lines: Sequence[str], namespace: dict[str, Any], operator: str
) -> Callable[..., Any]:
    """Return a function of an operator with these parameters and lines, which use the names of the namespace."""
    body = "".join(f"    {line}\n" for line in lines)
    return define(name, f"def {name}({parameters}):\n{body}", namespace, operator)
