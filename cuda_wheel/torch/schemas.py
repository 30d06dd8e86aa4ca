"""The schema of an operator, in PyTorch's language."""

from ..declarations.operator_arguments import InputArgument, OperatorArguments

__all__ = ["schema"]

_TYPES = {"Pointer": "Tensor", "Integer": "SymInt", "Real": "float", "bool": "bool"}
"""The schema's type, by the type that stubs give the parameter. A SymInt is an integer that may be unknown while
PyTorch compiles; the kernel gets an int."""


def schema(name: str, arguments: OperatorArguments) -> str:
    """Return the schema of the operator `name`: "swish(Tensor x, float beta=1.0) -> Tensor"."""
    results = ", ".join(["Tensor"] * len(arguments.outputs))
    inputs = ", ".join(map(_argument, arguments.inputs))
    return f"{name}({inputs}) -> {results if len(arguments.outputs) == 1 else f'({results})'}"


def _argument(argument: InputArgument) -> str:
    """Return an argument in the schema: "Tensor(a!) x", "float beta=1.0"."""
    type_ = f"Tensor({argument.name}!)" if argument.written else _TYPES[argument.type]
    optional = "?" if argument.has_default and argument.default is None else ""
    return f"{type_}{optional} {argument.name}{f'={argument.default}' if argument.has_default else ''}"
