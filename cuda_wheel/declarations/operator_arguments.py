"""Decide what each parameter of an operator's kernel is: an input, an output, or a value that the operator computes."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from keyword import iskeyword
from typing import Any, NamedTuple

from ..runtime.errors import ArgumentError
from .kernel_instances import KernelInstances

__all__ = ["Bound", "InputArgument", "OperatorArguments", "bound", "launch_settings", "operator_arguments"]


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
    if len(names) != len(kernels.kinds):
        types = ", ".join(parameter.cpp_or_ptx_type for parameter in kernels.parameters)
        raise ArgumentError(
            f"{operator}: {kernels.name} takes {len(kernels.kinds)} arguments, ({types}), but arguments names "
            f"{len(names)}: {', '.join(names)}"
        )
    for what, given in (("outputs", outputs), ("values", values), ("defaults", defaults), ("read_only", read_only)):
        for name in given:
            if name not in names:
                raise ArgumentError(f"{operator}: {what} names {name!r}, which is not one of {', '.join(names)}")
    inputs = []
    for index, (name, (type_, written)) in enumerate(zip(names, kernels.kinds, strict=True)):
        cpp = kernels.parameters[index].cpp_or_ptx_type
        if not name.isidentifier() or iskeyword(name) or names.count(name) > 1:
            raise ArgumentError(f"{operator}: {name!r} in arguments is no name of its own")
        if name.startswith("_"):  # the generated functions have such names
            raise ArgumentError(f"{operator}: {name!r} in arguments begins with an underscore")
        if name in outputs and not (type_ == "Pointer" and written):
            raise ArgumentError(f"{operator}: the output {name} is {cpp} in {kernels.name}, which does not write it")
        if name in outputs or name in values:
            continue
        if type_ not in ("Pointer", "Integer", "Real", "bool") or (
            not kernels.parameters[index].cpp and name not in read_only
        ):
            raise ArgumentError(
                f"{operator}: {name} is {cpp} in {kernels.name}, which does not tell what to pass: compute it in values"
            )
        if name in defaults and (defaults[name] is None) != (type_ == "Pointer"):
            raise ArgumentError(
                f"{operator}: the default of a pointer is None, that of a number is not: {name} is {cpp}"
            )
        is_written = written and name not in read_only
        inputs.append(InputArgument(name, type_, is_written, name in defaults, defaults.get(name)))
    if len([each for each in inputs if each.type == "Pointer" and not each.has_default]) < max(kernels.count, 1):
        raise ArgumentError(f"{operator}: kernel names the element types of more arrays than the operator always takes")
    inputs.sort(key=lambda each: each.has_default)  # as in Python, arguments with defaults come last
    known = {each.name for each in inputs}
    bound_values = {}
    for name, value in values.items():
        bound_values[name] = bound(f"{operator}: the value {name}", value, known)
        known = {*known, name}
    return OperatorArguments(
        names,
        tuple(inputs),
        {name: _output(operator, name, output, known) for name, output in outputs.items()},
        bound_values,
    )


def launch_settings(operator: str, roles: OperatorArguments, settings: Mapping[str, Any]) -> dict[str, Bound]:
    """Return what each launch is given besides the arguments, without what `Kernel.launch` does by itself.

    `settings` are named as by `Kernel.launch`. Raises ArgumentError for a function of what the operator does not have.
    """
    known = {*roles.names, *(each.name for each in roles.inputs)}
    return {
        name: bound(f"{operator}: {name}", value, known)
        for name, value in settings.items()
        if callable(value) or value not in (0, None) or name == "grid"
    }


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


def _output(operator: str, name: str, output: str | Callable[..., Any], known: set[str]) -> Bound:
    if not isinstance(output, str):
        made = bound(f"{operator}: the output {name}", output, known)
        if made.names is not None:
            return made
    elif output in known:
        return Bound(None, (output,))
    raise ArgumentError(
        f"{operator}: the output {name} must be the name of an input that it is like, or a function that makes it, "
        f"not {output!r}"
    )
