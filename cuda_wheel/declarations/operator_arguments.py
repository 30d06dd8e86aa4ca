"""Decide what each parameter of an operator's kernel is: an input, an output, or a value that the operator computes."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from keyword import iskeyword
from operator import index
from typing import Any, NamedTuple

from ..runtime.errors import ArgumentError
from ..runtime.launching.configurations import dimensions, is_sequence, whole_number
from .kernel_instances import KernelInstances

__all__ = [
    "Bound",
    "InputArgument",
    "OperatorArguments",
    "bound",
    "gradient_names",
    "has_blocks",
    "launch_settings",
    "operator_arguments",
]


class Bound(NamedTuple):
    """A constant, or a function with the names of the operator's arguments that it takes."""

    value: Any
    names: tuple[str, ...] | None
    """None: a constant."""


class InputArgument(NamedTuple):
    """An argument of the operator."""

    name: str
    type: str
    """The type that stubs give the parameter: "Pointer" for an array, "Integer", "Real" or "bool"."""
    written: bool
    has_default: bool
    default: Any


class OperatorArguments(NamedTuple):
    """The arguments of a kernel in its order, and what they are to the operator."""

    names: tuple[str, ...]
    inputs: tuple[InputArgument, ...]
    outputs: Mapping[str, Bound]
    values: Mapping[str, Bound]

    @property
    def tensors(self) -> list[InputArgument]:
        """The arguments that are arrays."""
        return [each for each in self.inputs if each.type == "Pointer"]

    @property
    def selecting(self) -> list[InputArgument]:
        """The arrays that are always there. The first of them decide which kernel runs, and on which GPU."""
        return [each for each in self.tensors if not each.has_default]


def operator_arguments(
    operator: str,
    kernels: KernelInstances,
    arguments: str | Sequence[str],
    outputs: Mapping[str, Any],
    values: Mapping[str, Any],
    defaults: Mapping[str, Any],
    read_only: Iterable[str],
) -> OperatorArguments:
    """Return the roles of a kernel's parameters; raise ArgumentError for a declaration that does not fit the kernel."""
    names = tuple(arguments.replace(",", " ").split() if isinstance(arguments, str) else arguments)
    read_only = tuple(read_only)
    given = {"outputs": [*outputs], "values": [*values], "defaults": [*defaults], "read_only": [*read_only]}
    _check_names(operator, kernels, names, given)
    inputs = []
    for parameter, name, (type_, written) in zip(kernels.parameters, names, kernels.kinds, strict=True):
        cpp = parameter.cpp_or_ptx_type
        if name in outputs and not (type_ == "Pointer" and written):
            raise ArgumentError(f"{operator}: the output {name} is {cpp} in {kernels.name}, which does not write it")
        if name in outputs or name in values:
            continue
        if type_ not in ("Pointer", "Integer", "Real", "bool") or (not parameter.cpp and name not in read_only):
            raise ArgumentError(
                f"{operator}: {name} is {cpp} in {kernels.name}, which does not tell what to pass: compute it in values"
            )
        if name in defaults and (defaults[name] is None) != (type_ == "Pointer"):
            raise ArgumentError(
                f"{operator}: the default of a pointer is None, that of a number is not: {name} is {cpp}"
            )
        is_written = written and name not in read_only
        default = _default(operator, name, type_, defaults[name]) if name in defaults else None
        inputs.append(InputArgument(name, type_, is_written, name in defaults, default))
    if len([each for each in inputs if each.type == "Pointer" and not each.has_default]) < max(kernels.count, 1):
        raise ArgumentError(f"{operator}: kernel names the element types of more arrays than the operator always takes")
    inputs.sort(key=lambda each: each.has_default)  # as in Python, arguments with defaults come last
    known = {each.name for each in inputs}
    bound_values = {}
    for name, value in values.items():
        if name in outputs:
            raise ArgumentError(f"{operator}: {name} is in outputs and in values")
        bound_values[name] = bound(f"{operator}: the value {name}", value, known)
        known = {*known, name}
    arrays = {each.name for each in inputs if each.type == "Pointer" and not each.has_default}
    return OperatorArguments(
        names,
        tuple(inputs),
        {name: _output(operator, name, output, known, arrays) for name, output in outputs.items()},
        bound_values,
    )


def _check_names(
    operator: str, kernels: KernelInstances, names: tuple[str, ...], given: Mapping[str, Sequence[str]]
) -> None:
    """Raise ArgumentError for names that cannot be those of the kernel's parameters, and for others in the settings."""
    if len(names) != len(kernels.kinds):
        types = ", ".join(parameter.cpp_or_ptx_type for parameter in kernels.parameters)
        raise ArgumentError(
            f"{operator}: {kernels.name} takes {len(kernels.kinds)} arguments, ({types}), but arguments names "
            f"{len(names)}: {', '.join(names)}"
        )
    for what, mentioned in given.items():
        for name in mentioned:
            if name not in names:
                raise ArgumentError(f"{operator}: {what} names {name!r}, which is not one of {', '.join(names)}")
    outputs, values, defaults = given["outputs"], given["values"], given["defaults"]
    for name in names:
        if not name.isidentifier() or iskeyword(name) or names.count(name) > 1:
            why = "is a keyword of Python" if iskeyword(name) else "is no name of its own"
            raise ArgumentError(f"{operator}: {name!r} in arguments {why}")
        if name.startswith("_"):  # the generated functions have such names
            raise ArgumentError(f"{operator}: {name!r} in arguments begins with an underscore")
        if name in defaults and (name in outputs or name in values):
            raise ArgumentError(f"{operator}: defaults names {name!r}, which is no argument of the operator")


def _default(operator: str, name: str, type_: str, value: Any) -> Any:
    """Return the default of an argument: None or a number of Python. Raises ArgumentError for one of another type."""
    if type_ == "Pointer":
        return None
    try:
        if type_ == "Real":
            if isinstance(value, (str, bytes)):
                raise TypeError
            return float(value)
        number = index(value)
        if type_ == "bool" and number not in (0, 1):
            raise TypeError
    except (TypeError, ValueError, OverflowError):
        kind = {"Real": "a number", "Integer": "an integer", "bool": "true or false"}[type_]
        raise ArgumentError(f"{operator}: the default of {name} must be {kind}, not {value!r}") from None
    return bool(number) if type_ == "bool" else number


def launch_settings(operator: str, roles: OperatorArguments, settings: Mapping[str, Any]) -> dict[str, Bound]:
    """Return what each launch is given besides the arguments, without what `Kernel.launch` does by itself.

    `settings` are named as by `Kernel.launch`. Raises ArgumentError for a function of what the operator does not have,
    and for a constant that no launch takes.
    """
    known = {*roles.names, *(each.name for each in roles.inputs)}
    return {
        name: bound(f"{operator}: {name}", value if callable(value) else _constant(operator, name, value), known)
        for name, value in settings.items()
        if callable(value) or name in ("grid", "block") or value not in (0, None)
    }


def _constant(operator: str, name: str, value: Any) -> Any:
    """Return a setting of launches that is no function; raise ArgumentError for what is none."""
    if name in ("grid", "block", "cluster"):
        sizes = dimensions(value, f"{operator}: {name}")
        return sizes if is_sequence(value) else sizes[0]
    return whole_number(value, f"{operator}: {name}", 0) if name == "shared_memory" else bool(value)


def has_blocks(operator: str, grid: Any) -> bool:
    """Return whether there is anything to launch: no size of the grid is 0, as it may be for empty arrays.

    Raises ArgumentError for what is no grid, such as the None of a function without `return`, and True or False.
    """
    sizes = list(grid) if is_sequence(grid) else [grid]
    if any(isinstance(each, bool) for each in sizes):
        raise ArgumentError(f"{operator}: grid takes integers, not {grid!r}")
    numbers = [whole_number(each, f"{operator}: grid", 0) for each in sizes]
    dimensions([each or 1 for each in numbers], f"{operator}: grid")
    return 0 not in numbers


def gradient_names(operator: str, roles: OperatorArguments) -> list[str]:
    """Return the names of the outputs' gradients; raise ArgumentError for an input that has such a name."""
    names = [f"grad_{output}" for output in roles.outputs]
    for each in roles.inputs:
        if each.name in names:
            raise ArgumentError(
                f"{operator}: {each.name} is an argument, and to backward the gradient of {each.name[5:]}: rename one"
            )
    return names


def bound(what: str, value: Any, known: Iterable[str]) -> Bound:
    """Return a function with the names of its parameters, which say what it takes, or any other value as a constant.

    Raises ArgumentError for a parameter that is not in `known`.
    """
    if not callable(value):
        return Bound(value, None)
    try:
        names = tuple(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        names = ("?",)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ArgumentError(
            f"{what} is a function of {', '.join(names)}: its parameters must be names among {', '.join(sorted(known))}"
        )
    return Bound(value, names)


def _output(operator: str, name: str, output: str | Callable[..., Any], known: set[str], arrays: set[str]) -> Bound:
    """Return how an output is made: like one of the arrays, or by a function of known names."""
    if not isinstance(output, str):
        made = bound(f"{operator}: the output {name}", output, known)
        if made.names is not None:
            return made
    elif output in arrays:
        return Bound(None, (output,))
    raise ArgumentError(
        f"{operator}: the output {name} must be the name of an input that it is like, or a function that makes it, "
        f"not {output!r}"
        + (", which is no array that is always passed" if isinstance(output, str) and output in known else "")
    )
