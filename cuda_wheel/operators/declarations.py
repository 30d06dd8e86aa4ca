"""Decide what each parameter of an operator's kernel is: an input, an output, or a value that the operator computes.

The kernels that serve an operator, by the element types of its arrays; their signatures need no GPU.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from keyword import iskeyword
from operator import index
from typing import Any, NamedTuple

from cuda_wheel.runtime.arguments import dimensions, is_sequence, whole_number
from cuda_wheel.runtime.arrays import argument_type, element_types, long_size, pointee
from cuda_wheel.runtime.errors import ArgumentError, CudaWheelError, UnknownKernelError
from cuda_wheel.runtime.files import files_and_manifest
from cuda_wheel.runtime.loading import load
from cuda_wheel.runtime.manifest import KernelInfo, Manifest, Parameter
from cuda_wheel.runtime.module import ByName, Kernel, Module
from cuda_wheel.runtime.parts.by_value import accessor_of
from cuda_wheel.runtime.parts.source_hook import source_hook

__all__ = [
    "ARRAYS",
    "Bound",
    "Declaration",
    "InputArgument",
    "KernelIdentity",
    "KernelInstances",
    "OperatorArguments",
    "ParameterKind",
    "bound",
    "declared",
    "gradient_names",
    "has_blocks",
    "launch_settings",
    "operator_arguments",
]


DIGEST = 32
"""Number of hexadecimal digits of `KernelIdentity.digest`."""

ParameterKind = tuple[str, bool]
"""Type that stubs give a kernel's parameter, such as "Pointer" or "Integer", or "Accessor"; and whether the kernel may
write through it."""


ARRAYS = ("Pointer", "Accessor")
"""The types of `ParameterKind` whose arguments are arrays: a pointer to one, or an accessor of one by value."""


class KernelIdentity(NamedTuple):
    """Identity of a kernel across processes."""

    module: str
    """Name of the module, with its variant."""
    symbol: str
    """Lowered name of the kernel."""
    digest: str
    """First digits of the SHA-256 of the fatbin; of the loaded image for a module that was linked here or is of no
    wheel."""


class KernelInstances:
    """The kernels of an operator, by the element types of its arrays.

    `kernel` is what `operator` takes: one, or a mapping from element types.
    """

    def __init__(self, operator: str, kernel: Any, module: str | None) -> None:
        """Raises ArgumentError for what is no kernel, or if the kernels' parameters differ in kind; ImageError if the
        module or a kernel of it is missing."""
        self._operator = operator
        self._module = module
        given = kernel if isinstance(kernel, Mapping) and not isinstance(kernel, Kernel) else {(): kernel}
        self._given = {key if isinstance(key, tuple) else (key,): value for key, value in given.items()}
        counts = {len(dtypes) for dtypes in self._given}
        if len(counts) != 1:
            raise ArgumentError(f"{operator}: kernel must map element types, or tuples of as many each, to kernels")
        self.count = counts.pop()
        """Number of arrays whose element types choose the kernel; 0 if there is one kernel."""
        described = self._described()
        infos = [info for info, _ in described]
        self.infos = dict(zip(self._given, infos, strict=True))
        """Element types -> the kernel's entry in the manifest."""
        self.identities = {key: identity for key, (_, identity) in zip(self._given, described, strict=True)}
        self.kinds = [_kind(parameter) for parameter in infos[0].parameters]
        """Kinds of the parameters, which all kernels have in common."""
        self.parameters = infos[0].parameters
        self.name = infos[0].name
        for info in infos[1:]:
            if [_kind(parameter) for parameter in info.parameters] != self.kinds:
                raise ArgumentError(
                    f"{operator}: the kernels take different kinds of arguments: {infos[0].name} takes "
                    f"({infos[0].parameter_list}), and {info.name} takes ({info.parameter_list})"
                )

    @property
    def accepted(self) -> list[tuple[Any, ...]]:
        """The element types that have a kernel."""
        return list(self._given)

    def element_types(self, parameter: Parameter) -> set[str] | None:
        """Return the element types, by NumPy's names, of the arrays that a pointer may point to; None for all."""
        pointer = _pointer(parameter)
        return element_types(pointee(pointer)[0], self.long_size) if pointer else None

    def loaded(self, dtypes: tuple[Any, ...], device: int) -> Kernel:
        """Return the kernel for arrays of these element types on the GPU of this number."""
        found = self._given[dtypes]
        if isinstance(found, Kernel):
            return found
        assert self._module is not None, "the constructor checked it"
        if device < 0:
            raise ArgumentError(f"{self._operator}: the first tensor is in host memory, but others are on a GPU")
        return load(self._module, device=device)[found]

    def _manifest(self, module: str) -> Manifest:
        """Return a module's manifest, from a wheel or compiled now. It may be for other GPUs than this machine's."""
        try:
            return files_and_manifest(module, None, needs_gpu=False)[1]
        except CudaWheelError as error:
            hook = source_hook()
            if hook is None or not isinstance(error, hook.ToolchainError):
                raise
            raise type(error)(
                f"{self._operator}: {module} lies in a source tree and has no images, so it must be compiled to know "
                f"the parameters of its kernels: {error}"
            ) from error

    def _described(self) -> list[tuple[KernelInfo, KernelIdentity]]:
        """Return each kernel's entry in the manifest, and its identity."""
        named: Mapping[str, KernelInfo] = {}
        manifests = [each.module.manifest for each in self._given.values() if isinstance(each, Kernel)]
        if self._module is not None:
            manifest = self._manifest(self._module)
            named = ByName(self._module, "kernel", manifest.kernels, lambda info: info, UnknownKernelError)
            manifests.append(manifest)
        self.long_size = long_size(manifests[0]) if manifests else None
        """Size of a `long` in the kernels' code, in bytes; None if it is not known."""
        found = []
        for kernel in self._given.values():
            if isinstance(kernel, str) and self._module is None:
                raise ArgumentError(
                    f"{self._operator}: {kernel!r} is the name of a kernel: name its module too, by module='...'"
                )
            if not isinstance(kernel, (str, Kernel)):
                raise ArgumentError(f"{self._operator}: kernel takes kernels of cuda-wheel, not {kernel!r}")
            if isinstance(kernel, str):
                info, owner, digest = named[kernel], manifest.full_name, manifest.fatbin_sha256
            else:
                info, owner, digest = kernel.info, kernel.module.manifest.full_name, _digest(kernel.module)
            found.append((info, KernelIdentity(owner, info.symbol, digest[:DIGEST])))
        return found


def _digest(module: Module) -> str:
    """Return the SHA-256 of a loaded module's fatbin; of its image if it was linked here or is of no wheel."""
    is_of_wheel = module.link is None and module.manifest.fatbin_sha256
    return module.manifest.fatbin_sha256 if is_of_wheel else module.image.sha256


def _kind(parameter: Parameter) -> ParameterKind:
    """Return the kind of a kernel's parameter."""
    pointer = _pointer(parameter)
    type_ = "Accessor" if accessor_of(parameter) else argument_type(parameter)
    return type_, type_ in ARRAYS and not (pointer and pointee(pointer)[1])


def _pointer(parameter: Parameter) -> str:
    """Return the C++ type of a pointer, or that of the pointer in an accessor; "" if it is not known."""
    accessor = accessor_of(parameter)
    return accessor.pointer if accessor else parameter.cpp


class Bound(NamedTuple):
    """A constant, or a function whose parameters are names of an operator's arguments."""

    value: Any
    """The constant or the function."""
    names: tuple[str, ...] | None
    """Names of the function's parameters; None for a constant."""


class InputArgument(NamedTuple):
    """An argument of the operator."""

    name: str
    type: str
    """Kind of the parameter: "Pointer" or "Accessor" for an array, "Integer", "Real" or "bool"."""
    written: bool
    """Whether the kernel writes the array."""
    has_default: bool
    default: Any


class OperatorArguments(NamedTuple):
    """The arguments of a kernel, and the role of each in the operator: input, output or value."""

    names: tuple[str, ...]
    """Names of all arguments, in the order of the kernel's parameters."""
    accessors: tuple[str, ...]
    """Names of the arguments that are accessors."""
    inputs: tuple[InputArgument, ...]
    """Arguments of the operator, in its order: those with defaults come last."""
    outputs: Mapping[str, Bound]
    """Output -> what makes it: a function, or the None with the name of the input that it is like."""
    values: Mapping[str, Bound]
    """Value -> what computes it, in the order of computation."""

    @property
    def tensors(self) -> list[InputArgument]:
        """The arguments that are arrays."""
        return [each for each in self.inputs if each.type in ARRAYS]

    @property
    def selecting(self) -> list[InputArgument]:
        """The arrays without a default. The first ones choose the kernel, and the very first the GPU."""
        return [each for each in self.tensors if not each.has_default]


class Declaration(NamedTuple):
    """An operator as it is declared, checked against its kernels."""

    name: str
    """Name of the operator in messages: "demo::swish"."""
    kernels: KernelInstances
    arguments: OperatorArguments
    launching: Mapping[str, Bound]
    """Argument of `Kernel.launch`, such as "grid" -> constant or function."""


def declared(
    name: str,
    kernel: Any,
    module: str | None,
    arguments: str | Sequence[str],
    outputs: Mapping[str, Any],
    values: Mapping[str, Any],
    defaults: Mapping[str, Any],
    read_only: Iterable[str],
    launching: Mapping[str, Any],
) -> Declaration:
    """Return the declaration of an operator from what `operator` of a framework takes.

    Raises ArgumentError for one that does not fit the kernels, and ImageError if the module or a kernel is missing.
    """
    kernels = KernelInstances(name, kernel, module)
    roles = operator_arguments(name, kernels, arguments, outputs, values, defaults, read_only)
    return Declaration(name, kernels, roles, launch_settings(name, roles, launching))


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
        if name in outputs:
            if type_ not in ARRAYS or not written:
                cpp = parameter.cpp_or_ptx_type
                raise ArgumentError(
                    f"{operator}: the output {name} is {cpp} in {kernels.name}, which does not write it"
                )
        elif name not in values:
            _check_input(operator, kernels.name, parameter, name, type_, name in read_only)
            default = _default(operator, parameter, name, type_, defaults[name]) if name in defaults else None
            inputs.append(InputArgument(name, type_, written and name not in read_only, name in defaults, default))
    inputs.sort(key=lambda each: each.has_default)  # as in Python, arguments with defaults come last
    arrays = [each.name for each in inputs if each.type in ARRAYS and not each.has_default]
    if len(arrays) < max(kernels.count, 1):
        raise ArgumentError(f"{operator}: kernel names the element types of more arrays than the operator always takes")
    bound_values = _bound_values(operator, outputs, values, inputs)
    known = {*(each.name for each in inputs), *bound_values}
    bound_outputs = {name: _output(operator, name, output, known, arrays) for name, output in outputs.items()}
    accessors = tuple(name for name, (type_, _) in zip(names, kernels.kinds, strict=True) if type_ == "Accessor")
    return OperatorArguments(names, accessors, tuple(inputs), bound_outputs, bound_values)


def _bound_values(
    operator: str, outputs: Mapping[str, Any], values: Mapping[str, Any], inputs: Iterable[InputArgument]
) -> dict[str, Bound]:
    """Return what computes each value: a constant, or a function of inputs and of the values before it."""
    known = {each.name for each in inputs}
    found = {}
    for name, value in values.items():
        if name in outputs:
            raise ArgumentError(f"{operator}: {name} is in outputs and in values")
        found[name] = bound(f"{operator}: the value {name}", value, known)
        known.add(name)
    return found


def _check_input(operator: str, kernel: str, parameter: Parameter, name: str, type_: str, is_read_only: bool) -> None:
    """Raise ArgumentError if the type of a kernel's parameter does not say what an operator's argument of it is."""
    if type_ not in (*ARRAYS, "Integer", "Real", "bool") or (not parameter.cpp and not is_read_only):
        raise ArgumentError(
            f"{operator}: {name} is {parameter.cpp_or_ptx_type} in {kernel}, which does not tell what to pass: compute "
            "it in values"
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


def _default(operator: str, parameter: Parameter, name: str, type_: str, value: Any) -> Any:
    """Return the default of an argument: None or a number of Python. Raises ArgumentError for one of another type."""
    if type_ == "Accessor":
        raise ArgumentError(f"{operator}: {name} is an accessor, which has no default: it cannot be None")
    if (value is None) != (type_ == "Pointer"):
        raise ArgumentError(
            f"{operator}: the default of a pointer is None, that of a number is not: {name} is "
            f"{parameter.cpp_or_ptx_type}"
        )
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


def _output(
    operator: str, name: str, output: str | Callable[..., Any], known: set[str], arrays: Sequence[str]
) -> Bound:
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
