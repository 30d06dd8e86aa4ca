"""Decide what each parameter of an operator's kernel is: an input, an output, or a value that the operator computes.

`kernels.py` has the kernels that serve an operator.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from keyword import iskeyword
from math import prod
from operator import index
from typing import Any, NamedTuple

from cuda_wheel.operators.kernels import (
    ARRAYS,
    Bound,
    KernelChoice,
    KernelIdentity,
    KernelInstances,
    ParameterKind,
    bound,
    python_module,
)
from cuda_wheel.operators.triton_kernels import TritonInstances, TritonLaunch
from cuda_wheel.runtime.arguments import dimensions, is_sequence, whole_number
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.manifest import Parameter
from cuda_wheel.runtime.parts.triton.kernels import TritonModule

__all__ = [
    "ARRAYS",
    "Bound",
    "Declaration",
    "InputArgument",
    "KernelChoice",
    "KernelIdentity",
    "KernelInstances",
    "OperatorArguments",
    "ParameterKind",
    "TritonInstances",
    "TritonLaunch",
    "bound",
    "declared",
    "gradient_names",
    "has_blocks",
    "launch_settings",
    "names_of",
    "operator_arguments",
    "why_no_name",
]


class InputArgument(NamedTuple):
    """An argument of an operator, as callers pass it."""

    name: str
    type: str
    """Kind of the argument: "Pointer" or "Accessor" (packed accessor of PyTorch) for an array, or "Integer", "Real" or
    "bool". An operator that is a Python function may also have "Pointers", a list of arrays, and "Other", a value that
    no kernel takes."""
    written: bool
    """True if the argument is an array that the kernel changes."""
    has_default: bool
    default: Any
    is_optional: bool = False
    """True if the argument is an array for which None may be passed."""

    @property
    def is_array(self) -> bool:
        """Whether the argument is an array or a list of arrays."""
        return self.type in (*ARRAYS, "Pointers")


class OperatorArguments(NamedTuple):
    """The arguments of a kernel, and the role of each in the operator: input, output or value."""

    names: tuple[str, ...]
    """Names of all the kernel's arguments, in the order of its parameters."""
    accessors: tuple[str, ...]
    """Names of the kernel's arguments that are packed accessors of PyTorch tensors, passed by value."""
    inputs: tuple[InputArgument, ...]
    """Arguments of the operator, in the order of its signature: those with defaults come last."""
    outputs: Mapping[str, Bound]
    """Name of an output -> function that makes it, or `Bound(None, ("x",))` for an output with the shape and element
    type of the input x."""
    values: Mapping[str, Bound]
    """Name of a computed value -> its constant or function. The values are computed in this order."""

    @property
    def tensors(self) -> list[InputArgument]:
        """The inputs that are arrays."""
        return [each for each in self.inputs if each.type in ARRAYS]

    @property
    def selecting(self) -> list[InputArgument]:
        """The input arrays without a default. The element types of the first ones choose the kernel; the first one
        chooses the GPU."""
        return [each for each in self.tensors if not each.has_default]


class Declaration(NamedTuple):
    """An operator as it is declared, checked against its kernels."""

    name: str
    """Name of the operator in messages: "demo::swish"."""
    kernels: KernelInstances | TritonInstances
    arguments: OperatorArguments
    launching: Mapping[str, Bound]
    """Name of a setting of `Kernel.launch`, such as "grid" -> its constant or function. A Triton kernel has only a
    grid."""


def declared(
    name: str,
    kernel: Any,
    module: str | None,
    arguments: str | Sequence[str] | None,
    outputs: Mapping[str, Any],
    values: Mapping[str, Any],
    defaults: Mapping[str, Any],
    read_only: Iterable[str],
    launching: Mapping[str, Any],
    kernels: Any = None,
    variant: Any = None,
    more_arguments: Mapping[str, type] = {},
) -> Declaration:
    """Return the checked declaration of an operator.

    The parameters are those of `cuda_wheel.torch.operator` and `cuda_wheel.jax.operator`; `launching` has the settings
    of `Kernel.launch` by name. If `kernel` or `variant` is a function, its parameters are names of inputs and values.
    Raises ArgumentError for a declaration that does not fit the kernels, and ImageError if the module or a kernel is
    missing.
    """
    if not isinstance(name, str):
        raise ArgumentError(f"{name!r} is not an operator's name, such as 'demo::swish'")
    _check_mappings(name, outputs=outputs, values=values, defaults=defaults, more_arguments=more_arguments)
    instances: KernelInstances | TritonInstances
    python = python_module(module) if isinstance(module, str) else None
    if python is not None and not isinstance(python, TritonModule):
        raise ArgumentError(
            f"{name}: {module} has kernels in Python that are not Triton's, of which no operator can be declared: "
            "launch them in the Python function of an operator"
        )
    if python is None:
        missing = {"arguments": arguments, "grid": launching["grid"], "block": launching["block"]}
        if lacking := [what for what, value in missing.items() if value is None]:
            raise ArgumentError(f"{name}: an operator with kernel needs {' and '.join(lacking)}")
        instances = KernelInstances(name, kernel, module, kernels, variant)
    else:
        _check_triton(name, kernels, launching)
        instances = TritonInstances(name, kernel, python, {*outputs, *values, *defaults}, variant)
        arguments, defaults = _triton_names(instances, arguments), {**instances.defaults, **defaults}
        launching = {"grid": launching["grid"]}
    roles = operator_arguments(
        name, instances, arguments or (), outputs, values, defaults, read_only, more_arguments=more_arguments
    )
    known = {*(each.name for each in roles.inputs), *roles.values}
    for what, chooser in (("kernel", instances.chooser), ("variant", instances.variant_chooser)):
        if chooser is not None:
            bound(f"{name}: {what}", chooser.value, known)
    further = instances.grid_names() if isinstance(instances, TritonInstances) else ()
    return Declaration(name, instances, roles, launch_settings(name, roles, launching, further))


def _check_triton(operator: str, kernels: Any, launching: Mapping[str, Any]) -> None:
    """Raise ArgumentError for a setting that a Triton kernel's operator does not have, or for a missing grid."""
    given = [name for name, value in {**launching, "kernels": kernels}.items() if name != "grid" and value]
    if given:
        raise ArgumentError(
            f"{operator}: {' and '.join(given)} cannot be set for a Triton kernel, which was compiled with them: leave "
            "them out"
        )
    if launching["grid"] is None:
        raise ArgumentError(f"{operator}: an operator with kernel needs grid")


def _triton_names(instances: TritonInstances, arguments: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of a Triton kernel's parameters that the operator passes; raise ArgumentError if `arguments` has
    other names than the kernel's."""
    operator, names = instances.operator, tuple(name for name, _, _ in instances.kernel.parameters)
    if arguments is not None and names_of(operator, "arguments", arguments) != names:
        raise ArgumentError(
            f"{operator}: the parameters of {instances.name} have names, {', '.join(names)}: leave out arguments"
        )
    return instances.names


def operator_arguments(
    operator: str,
    kernels: KernelInstances | TritonInstances,
    arguments: str | Sequence[str],
    outputs: Mapping[str, Any],
    values: Mapping[str, Any],
    defaults: Mapping[str, Any],
    read_only: Iterable[str],
    more_arguments: Mapping[str, type] = {},
) -> OperatorArguments:
    """Return the roles of a kernel's parameters; raise ArgumentError for a declaration that does not fit the kernel.

    `more_arguments` maps the names of numbers that the operator takes and the kernel does not to int, float or bool.
    """
    names = names_of(operator, "arguments", arguments)
    read_only = names_of(operator, "read_only", read_only)
    _check_mappings(operator, outputs=outputs, values=values, defaults=defaults, more_arguments=more_arguments)
    more = _more_arguments(operator, more_arguments, defaults)
    given = {"outputs": [*outputs], "values": [*values], "defaults": [*defaults], "read_only": [*read_only]}
    _check_names(operator, kernels, names, given, [each.name for each in more])
    inputs = [*_inputs(operator, kernels, names, {*outputs}, {*values}, defaults, read_only), *more]
    inputs.sort(key=lambda each: each.has_default)  # as in Python, arguments with defaults come last
    arrays = [each.name for each in inputs if each.type in ARRAYS and not each.has_default]
    if len(arrays) < max(kernels.count, 1):
        raise ArgumentError(f"{operator}: kernel names the element types of more arrays than the operator always takes")
    types = {name: type_ for name, (type_, _) in zip(names, kernels.kinds, strict=True)}
    bound_values = _bound_values(operator, outputs, values, inputs, types)
    known = {*(each.name for each in inputs), *bound_values}
    bound_outputs = {name: _output(operator, name, output, known, arrays) for name, output in outputs.items()}
    accessors = tuple(name for name, (type_, _) in zip(names, kernels.kinds, strict=True) if type_ == "Accessor")
    return OperatorArguments(names, accessors, tuple(inputs), bound_outputs, bound_values)


def _check_mappings(operator: str, **mappings: Any) -> None:
    for what, mapping in mappings.items():
        if not isinstance(mapping, Mapping):
            raise ArgumentError(f"{operator}: {what} must be a mapping from names, not {mapping!r}")


def _inputs(
    operator: str,
    kernels: KernelInstances | TritonInstances,
    names: Sequence[str],
    outputs: set[str],
    values: set[str],
    defaults: Mapping[str, Any],
    read_only: Sequence[str],
) -> Iterator[InputArgument]:
    """Yield each parameter of the kernel that is an argument of the operator, in the kernel's order. Outputs and
    computed values are left out.

    `names`: names of the kernel's parameters. `defaults`: name of an argument -> default. `read_only`: names of arrays
    that the kernel does not change. Raises ArgumentError for an output that the kernel does not write, for an argument
    that is neither an array nor a number, and for a wrong default.
    """
    for parameter, name, (type_, written) in zip(kernels.parameters, names, kernels.kinds, strict=True):
        cpp = parameter.cpp_or_ptx_type
        if name in outputs and (type_ not in ARRAYS or not written):
            raise ArgumentError(f"{operator}: the output {name} is {cpp} in {kernels.name}, which does not write it")
        if name in outputs or name in values:
            continue
        _check_input(operator, kernels.name, parameter, name, type_, name in read_only)
        default = _default(operator, cpp, name, type_, defaults[name]) if name in defaults else None
        is_written, is_optional = written and name not in read_only, type_ == "Pointer" and name in defaults
        yield InputArgument(name, type_, is_written, name in defaults, default, is_optional)


def names_of(operator: str, what: str, given: Any) -> tuple[str, ...]:
    """Return names given as one string ("x, y" or "x y") or as several strings; raise ArgumentError for anything else.

    `what` is the setting with the names, in messages.
    """
    if isinstance(given, str):
        return tuple(given.replace(",", " ").split())
    names = tuple(given) if isinstance(given, Iterable) and not isinstance(given, bytes) else (given,)
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError(f"{operator}: {what} takes names, such as 'x, y' or ['x', 'y'], not {name!r}")
    return names


_NUMBERS = {int: "Integer", float: "Real", bool: "bool"}
"""Python type of a number in `more_arguments` -> its `InputArgument.type`."""


def _more_arguments(operator: str, more: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[InputArgument]:
    """Return the arguments of the operator that the kernel does not take.

    `more`: name -> int, float or bool. `defaults`: name -> default. Raises ArgumentError for any other type, and for a
    default that does not fit its type.
    """
    found = []
    for name, kind in more.items():
        type_ = _NUMBERS.get(kind) if isinstance(kind, type) else None
        if type_ is None:
            raise ArgumentError(
                f"{operator}: more_arguments maps names to int, float or bool, not {name!r} to {kind!r}"
            )
        default = _default(operator, kind.__name__, name, type_, defaults[name]) if name in defaults else None
        found.append(InputArgument(name, type_, False, name in defaults, default))
    return found


def _bound_values(
    operator: str,
    outputs: Mapping[str, Any],
    values: Mapping[str, Any],
    inputs: Iterable[InputArgument],
    types: Mapping[str, str],
) -> dict[str, Bound]:
    """Return name -> constant or function, for each computed value, in the order of `values`.

    `types`: name of a kernel's parameter -> type, such as "Pointer". A function's parameters must be names of inputs or
    of earlier items of `values`. Raises ArgumentError for any other parameter, for a constant of a wrong type, and for
    a name that is also in `outputs`.
    """
    known = {each.name for each in inputs}
    found = {}
    for name, value in values.items():
        if name in outputs:
            raise ArgumentError(f"{operator}: {name} is in outputs and in values")
        found[name] = bound(f"{operator}: the value {name}", value, known)
        if not callable(value) and types[name] in _NUMBERS.values():  # for a pointer, None is a null pointer
            _number(f"{operator}: the value {name}", types[name], value)
        known.add(name)
    return found


def _check_input(operator: str, kernel: str, parameter: Parameter, name: str, type_: str, is_read_only: bool) -> None:
    """Raise ArgumentError if the kernel's parameter `name` cannot be an argument of the operator.

    `kernel`: name of the kernel, for the error message. `type_`: the parameter's type; it must be an array or a number,
    such as "Pointer" or "Integer". `is_read_only`: the user lists the parameter in `read_only`. It must be True if the
    manifest has no C++ type of the parameter.
    """
    # Without a C++ type, the manifest does not tell whether the kernel writes to the parameter.
    if type_ not in (*ARRAYS, "Integer", "Real", "bool") or (not parameter.cpp and not is_read_only):
        raise ArgumentError(
            f"{operator}: {name} is {parameter.cpp_or_ptx_type} in {kernel}, which does not tell what to pass: compute "
            "it in values"
        )


def _check_names(
    operator: str,
    kernels: KernelInstances | TritonInstances,
    names: tuple[str, ...],
    given: Mapping[str, Sequence[str]],
    more: Sequence[str],
) -> None:
    """Raise ArgumentError for a wrong name in a declaration: unknown, invalid or repeated.

    `names`: one name for each parameter of the kernel. `more`: names in `more_arguments`. `given`: name of a setting ->
    names in its value. These must be in `names`; for the setting "defaults", they may be in `more` too.
    """
    if len(names) != len(kernels.kinds):
        types = ", ".join(parameter.cpp_or_ptx_type for parameter in kernels.parameters)
        raise ArgumentError(
            f"{operator}: {kernels.name} takes {len(kernels.kinds)} arguments, ({types}), but arguments names "
            f"{len(names)}: {', '.join(names)}"
        )
    for what, mentioned in given.items():
        for name in mentioned:
            known = (*names, *more) if what == "defaults" else names
            if name not in known:
                raise ArgumentError(f"{operator}: {what} names {name!r}, which is not one of {', '.join(known)}")
    outputs, values, defaults = given["outputs"], given["values"], given["defaults"]
    for place, name in enumerate((*names, *more)):
        where = "arguments" if place < len(names) else "more_arguments"
        if wrong := why_no_name(name, (*names, *more)):
            raise ArgumentError(f"{operator}: {name!r} in {where} {wrong}")
        if name in defaults and (name in outputs or name in values):
            raise ArgumentError(f"{operator}: defaults names {name!r}, which is no argument of the operator")


def why_no_name(name: Any, names: Sequence[Any]) -> str:
    """Return why `name` cannot be the name of one argument or output among `names`, which include it: the end of a
    sentence such as "is a keyword of Python". Return "" if it can."""
    if isinstance(name, str) and iskeyword(name):
        return "is a keyword of Python"
    if not isinstance(name, str) or not name.isidentifier() or names.count(name) > 1:
        return "is no name of its own"
    # The generated functions have names that begin so.
    return "begins with an underscore" if name.startswith("_") else ""


def _default(operator: str, cpp: str, name: str, type_: str, value: Any) -> Any:
    """Return the default of the argument `name` after a check: None for a pointer, a Python number for a number.

    `cpp`: the argument's C++ type, for error messages. Raises ArgumentError for a default that does not fit `type_`,
    such as "Integer".
    """
    if type_ == "Accessor":
        raise ArgumentError(f"{operator}: {name} is an accessor, which has no default: it cannot be None")
    if (value is None) != (type_ == "Pointer"):
        raise ArgumentError(f"{operator}: the default of a pointer is None, that of a number is not: {name} is {cpp}")
    return None if type_ == "Pointer" else _number(f"{operator}: the default of {name}", type_, value)


def _number(what: str, type_: str, value: Any) -> Any:
    """Return `value` as a Python float, int or bool, for the `type_` "Real", "Integer" or "bool".

    Raises ArgumentError for a value that does not fit the type. `what` begins the error message, as in "demo::swish:
    the default of n must be an integer, not 'x'".
    """
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
        raise ArgumentError(f"{what} must be {kind}, not {value!r}") from None
    return bool(number) if type_ == "bool" else number


def launch_settings(
    operator: str, roles: OperatorArguments, settings: Mapping[str, Any], further: Iterable[str] = ()
) -> dict[str, Bound]:
    """Return the settings of each launch, name -> constant or function, without those that equal `Kernel.launch`'s
    defaults.

    `settings` are named as by `Kernel.launch`. A function may also name what is in `further`. Raises ArgumentError for
    a function with a parameter that names nothing of the operator, and for a constant that `Kernel.launch` does not
    take.
    """
    known = {*roles.names, *(each.name for each in roles.inputs), *further}
    return {
        name: bound(f"{operator}: {name}", value if callable(value) else _constant(operator, name, value), known)
        for name, value in settings.items()
        if callable(value) or name in ("grid", "block") or not (value is None or (isinstance(value, int) and not value))
    }


THREADS = 1024
"""Maximum number of threads in a block. Source: CUDA C++ Programming Guide, "Technical Specifications per Compute
Capability"."""


def _constant(operator: str, name: str, value: Any) -> Any:
    """Return the constant `value` of the launch setting `name`, as `Kernel.launch` takes it. Raise ArgumentError for a
    value that `Kernel.launch` does not take."""
    if name in ("grid", "block", "cluster"):
        sizes = dimensions(value, f"{operator}: {name}")
        if name == "block" and (prod(sizes) > THREADS or sizes[2] > 64):
            raise ArgumentError(
                f"{operator}: a block of {value!r} is too large: no GPU has blocks of more than {THREADS} threads, or "
                "of more than 64 in the third direction"
            )
        return sizes if is_sequence(value) else sizes[0]
    if name == "shared_memory":
        return whole_number(value, f"{operator}: {name}", 0)
    return _number(f"{operator}: {name}", "bool", value)


def has_blocks(operator: str, grid: Any) -> bool:
    """Return whether there is anything to launch: False if a size of the grid is 0, as for empty arrays.

    Raises ArgumentError for what is no grid, such as the None of a function without `return`, and True or False.
    """
    sizes = list(grid) if is_sequence(grid) else [grid]
    if any(isinstance(each, bool) for each in sizes):
        raise ArgumentError(f"{operator}: grid takes integers, not {grid!r}")
    numbers = [whole_number(each, f"{operator}: grid", 0) for each in sizes]
    dimensions([each or 1 for each in numbers], f"{operator}: grid")
    return 0 not in numbers


def gradient_names(operator: str, inputs: Iterable[InputArgument], outputs: Iterable[str]) -> list[str]:
    """Return the names of the outputs' gradients, such as "grad_y"; raise ArgumentError for an input that has one of
    these names."""
    names = [f"grad_{output}" for output in outputs]
    for each in inputs:
        if each.name in names:
            raise ArgumentError(
                f"{operator}: {each.name} is an argument, and to backward the gradient of {each.name[5:]}: rename one"
            )
    return names


def _output(
    operator: str, name: str, output: str | Callable[..., Any], known: set[str], arrays: Sequence[str]
) -> Bound:
    """Return the function that makes the output `name`, or `Bound(None, ("x",))` for an output with the shape and
    element type of the input array x.

    `output`: a function with parameters in `known`, or a name in `arrays`. `arrays`: names of the input arrays without
    a default. Raises ArgumentError for any other `output`.
    """
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
