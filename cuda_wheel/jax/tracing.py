"""Trace a call of an operator: compute its outputs from shapes and numbers, and call the handler in the program.

A launch is an attribute of that call, a JSON text: it may be kept in an exported program and read by another process.
JAX knows shapes and numbers while it traces, so that the text has all but the addresses of the arrays.

`jax.shard_map` checks over which axes of the mesh values differ. JAX 0.6.1 to 0.9 call that type `vma`; later ones keep
it in a `ManualAxisType`. What a kernel computes differs wherever one of its inputs does.
"""

import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import count
from math import prod
from typing import Any, NamedTuple

from cuda_wheel.jax.call_frames import DATA_TYPES
from cuda_wheel.operators.declarations import (
    Bound,
    Declaration,
    KernelChoice,
    KernelIdentity,
    TritonInstances,
    has_blocks,
)
from cuda_wheel.runtime.arguments import dimensions, whole_number
from cuda_wheel.runtime.arrays import argument_type, is_machine_word
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.launching import converter_for
from cuda_wheel.runtime.manifest import KernelInfo, Macros, Parameter
from cuda_wheel.runtime.parts.buffers import host_bytes

__all__ = [
    "ArrayType",
    "Launch",
    "TracedOperator",
    "base_name",
    "json_argument",
    "unique_name",
    "varying_axes",
    "with_equal_axes",
]


class ArrayType(NamedTuple):
    """The element type and the shape of an array."""

    dtype: str
    """NumPy's name of the element type: "float32"."""
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


class Launch(NamedTuple):
    """One launch of an operator's kernel, as it is written into a compiled program: all but the addresses of arrays."""

    operator: str
    """Name of the operator in compiled programs: "demo::swish", or "demo::swish#2" for the second of that name."""
    dtypes: tuple[str, ...]
    """NumPy's names of the element types by which the kernel is chosen; empty if no element types choose it."""
    kernel: KernelIdentity
    """Identity of the kernel. An exported program runs only where the operator has a kernel of this identity."""
    parameters: str
    """C++ types of the kernel's parameters: "const float*, int". An exported program runs only if the installed
    operator's kernel has the same types.

    "" for a kernel that is compiled when it is loaded. The types of such a kernel are not compared.
    """
    inputs: Sequence[ArrayType]
    outputs: Sequence[ArrayType]
    aliases: Sequence[tuple[int, int]]
    """(0-based index of an input, 0-based index of an output) for each input that the kernel changes in place. The
    input and the output have the same memory."""
    arguments: Sequence[tuple[str, Any]]
    """The kernel's arguments, in order: ("input", 0-based index), ("output", 0-based index), ("value", number or
    vector), or ("bytes", hexadecimal digits)."""
    grid: tuple[int, int, int]
    block: tuple[int, int, int] | None
    """Numbers of threads; None for a Triton kernel, of which each image has its own number and settings."""
    settings: dict[str, Any]
    """Name of a setting of `Kernel.launch` besides grid and block, such as "shared_memory" -> its value."""
    name: str = ""
    """Name of the kernel, if a function of the operator chooses the kernel by its name; else ""."""
    macros: Macros = ()
    """(name, text) of each macro of the variant that has the kernel; empty if the operator names no variant."""

    @property
    def choice(self) -> KernelChoice:
        """Which of the operator's kernels is launched."""
        return KernelChoice(self.dtypes, self.name, self.macros)

    def text(self) -> str:
        """Return the launch as JSON text in ASCII, which `read` reads."""
        return json.dumps(self._asdict())

    @classmethod
    def read(cls, text: bytes) -> "Launch":
        """Return the launch that a text describes; raise ArgumentError for any other text."""
        try:
            fields = json.loads(text)
            launch = cls(**{name: _frozen(value) for name, value in fields.items() if name != "settings"},
                         settings={name: _frozen(value) for name, value in fields["settings"].items()})  # fmt: skip
            return launch._replace(
                inputs=[ArrayType(*each) for each in launch.inputs],
                outputs=[ArrayType(*each) for each in launch.outputs],
                kernel=KernelIdentity(*launch.kernel),
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ArgumentError(f"the program's text of a launch is not cuda-wheel's: {error!r}") from None


def varying_axes(jax: Any, array: Any) -> frozenset[str]:
    """Return the names of the mesh axes along which an array differs from device to device. Empty outside of
    `shard_map`, and in one with `check_vma=False`."""
    type_ = jax.typeof(array) if hasattr(jax, "typeof") else None
    found: Iterable[str] = getattr(getattr(type_, "mat", type_), "varying", None) or getattr(type_, "vma", None) or ()
    return frozenset(found)


def with_equal_axes(jax: Any, arrays: Sequence[Any], axes: frozenset[str] = frozenset()) -> list[Any]:
    """Return the arrays, all marked as differing along the same mesh axes: those of any of them, and `axes`.

    None stays None. JAX then sums the gradient of an array that was the same on all devices over these axes, as it does
    for its own functions.
    """
    axes = axes.union(*(varying_axes(jax, each) for each in arrays if each is not None))
    found = []
    for each in arrays:
        missing = tuple(sorted(axes - varying_axes(jax, each))) if axes and each is not None else ()
        if missing and hasattr(jax.lax, "pcast"):
            each = jax.lax.pcast(each, missing, to="varying")
        elif missing:
            each = jax.lax.pvary(each, missing)
        found.append(each)
    return found


def unique_name(name: str, taken: Container[str]) -> str:
    """Return the name for a new operator in compiled programs: `name`, or with the first free number if it is taken
    ("demo::swish#2")."""
    names = (name if number == 1 else f"{name}#{number}" for number in count(1))
    return next(each for each in names if each not in taken)


def base_name(unique: str) -> str:
    """Return the name that an operator was made with, from its name in compiled programs: "demo::swish" from
    "demo::swish#2"."""
    return unique.partition("#")[0]


def json_argument(value: Any) -> tuple[str, Any]:
    """Return a number, a vector as a sequence of numbers, or the bytes of a struct in the form of `Launch.arguments`:
    ("value", 3), ("bytes", "0000803f").

    Raises ArgumentError for anything else.
    """
    if hasattr(value, "dtype") and getattr(value, "shape", None) == ():
        if value.dtype.kind in "biufc":
            value = value.item()
        elif value.dtype.kind == "V" and hasattr(value, "__float__"):  # bfloat16 and 8-bit floats
            value = float(value)
    if isinstance(value, complex):
        value = (value.real, value.imag)
    if value is None or isinstance(value, (bool, int, float)):
        return "value", value
    if isinstance(value, (tuple, list)):
        return "value", [json_argument(each)[1] for each in value]
    if hasattr(value, "__index__") and not hasattr(value, "dtype"):
        return "value", int(value.__index__())
    return "bytes", host_bytes(value).tobytes().hex()


def _frozen(value: Any) -> Any:
    """Return a JSON value with its lists, and the lists in them, as tuples: [[1, 2], 3] -> ((1, 2), 3)."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


class TracedOperator:
    """Runs while JAX traces a call of an operator: computes shapes, values and the launch.

    `call_handler` adds the launch to the program: it takes a `Launch`, the input arrays, and the shape and element type
    of each result, and returns the results.
    """

    def __init__(self, jax: Any, declaration: Declaration, call_handler: Callable[..., Any]) -> None:
        self._jax = jax
        self._name, self._kernels, self._roles, self._launching = declaration
        self._call_handler = call_handler
        self._numbers = [each for each in self._roles.inputs if each.type != "Pointer"]
        self._written = [each.name for each in self._roles.tensors if each.written]
        if not self._roles.outputs and not self._written:
            raise ArgumentError(f"{self._name}: the kernel writes nothing that the operator could return")

    def numbers(self, static: tuple[Any, ...]) -> dict[str, Any]:
        """Return the operator's numbers, name -> value, from its static arguments, which have floats as hexadecimal
        text.

        JAX compares static arguments to find a compiled program, and as numbers 0.0 == -0.0.
        """
        return {
            each.name: float.fromhex(value) if each.type == "Real" else value
            for each, value in zip(self._numbers, static, strict=True)
        }

    def run(self, static: tuple[Any, ...], *arrays: Any) -> Any:
        """Return the operator's result, one array or a tuple of several. `static` are the static arguments for its
        numbers, `arrays` its array arguments in order."""
        known = self.numbers(static)
        for each, array in zip(self._roles.tensors, arrays, strict=True):
            if array is None and not each.has_default:
                raise ArgumentError(f"{self._name}: {each.name} is None, but this array has no default: pass one")
            known[each.name] = None if array is None else self._jax.numpy.asarray(array)
        dtypes = self._dtypes(known)
        for name, value in self._roles.values.items():
            known[name] = self._computed(f"the value {name}", value, known)
        inputs = {each.name: known[each.name] for each in self._roles.tensors if known[each.name] is not None}
        results, aliases = self._results(inputs, known)
        choice, names, hidden, scratch = self._choice(dtypes, known)
        info = self._kernels.chosen(choice)
        settings = {name: self._computed(name, each, known) for name, each in self._launching.items()}
        grid = settings.pop("grid")
        returned = len(results)
        if not has_blocks(self._name, grid):  # as for empty arrays
            zeros = self._jax.numpy.zeros
            found = [inputs.get(name, zeros(each.shape, each.dtype)) for name, each in results.items()]
        else:
            configuration = self._configuration(grid, settings.pop("block", None), settings)
            arguments = [self._argument(name, [*inputs], [*results], known[name], info, names) for name in names]
            if scratch:  # XLA allocates it as a result, which no one gets
                arguments.append(("output", returned))
                size = scratch * prod(configuration["grid"])
                results["_scratch"] = self._jax.ShapeDtypeStruct((size,), self._jax.numpy.uint8)
            arguments += [("value", None)] * (hidden - bool(scratch))
            launch = Launch(
                operator=self._name,
                dtypes=dtypes,
                kernel=self._kernels.identity(choice),
                parameters=info.parameter_list if info else "",
                inputs=[self._checked_type(name, each, info, names) for name, each in inputs.items()],
                outputs=[self._checked_type(name, each, info, names) for name, each in results.items()],
                aliases=aliases,
                arguments=arguments,
                name=choice.name,
                macros=choice.macros,
                **configuration,
            )
            found = self._call_handler(launch, [*inputs.values()], [*results.values()])[:returned]
        return found[0] if returned == 1 else tuple(found)

    def _results(self, inputs: dict[str, Any], known: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[int, int]]]:
        """Return two items: the call's results, as name of an array -> its shape and element type; and
        `Launch.aliases`.

        `inputs`: name of an input array -> array. `known`: name of an argument or computed value -> value. Each output
        is added to `known`. If an output's function returns an array instead of a shape, this array is added to
        `inputs`.
        """
        results: dict[str, Any] = {}
        aliases: list[tuple[int, int]] = []
        for name, output in self._roles.outputs.items():
            made = known[(output.names or ())[0]] if output.value is None else _called(output, known)
            if output.value is not None and isinstance(made, self._jax.Array):  # its content is changed in place
                aliases.append((len(inputs), len(results)))
                inputs[name] = made
            results[name] = known[name] = self._jax.ShapeDtypeStruct(self._type(name, made).shape, made.dtype)
        for name in self._written:
            if name in inputs:
                aliases.append(([*inputs].index(name), len(results)))
                results[name] = self._jax.ShapeDtypeStruct(inputs[name].shape, inputs[name].dtype)
        return results, aliases

    def _dtypes(self, known: Mapping[str, Any]) -> tuple[str, ...]:
        """Return NumPy's names of the element types by which the kernel is chosen.

        `known`: name of an argument -> array or number. Raises ArgumentError if the operator has no kernel for these
        types.
        """
        selecting = [each.name for each in self._roles.selecting[: self._kernels.count]]
        dtypes = tuple(self._type(name, known[name]).dtype for name in selecting)
        if dtypes not in self._kernels.accepted:
            accepted = " or ".join(", ".join(each) for each in self._kernels.accepted)
            raise ArgumentError(f"{self._name} takes {', '.join(selecting)} of {accepted}, not of {', '.join(dtypes)}")
        return dtypes

    def _choice(self, dtypes: tuple[str, ...], known: dict[str, Any]) -> tuple[KernelChoice, tuple[str, ...], int, int]:
        """Return the choice of the kernel to launch, the names of its arguments in order, the number of pointers that
        follow them, and the bytes of scratch memory that each block needs.

        `dtypes`: NumPy's names of the element types that choose the kernel. `known`: name of an argument or computed
        value -> value, for the operator's functions `kernel` and `variant`; of a Triton kernel, constants that the
        call leaves out are added. Raises ArgumentError if the result of a function depends on the content of an array.
        """
        kernels = self._kernels
        name = "" if kernels.chooser is None else self._computed("kernel", kernels.chooser, known)
        variant = kernels.variant_chooser
        macros = None if variant is None else self._computed("variant", variant, known)
        if isinstance(kernels, TritonInstances):
            triton, arrays = kernels.kernel, {*(each.name for each in self._roles.tensors), *self._roles.outputs}

            def kind_of(name: str, value: Any) -> str | None:
                is_array = name in arrays and value is not None
                return f"*{triton.element(value)}:16" if is_array else None  # the handler checks it

            launch = kernels.launch_for(known, macros, kind_of)
            known.update({name: value for name, value in launch.constants.items() if name not in known})
            return launch.choice, launch.names, launch.hidden, launch.scratch
        choice = kernels.choice(dtypes, name, macros)
        for text in (choice.name, *(value for _, value in choice.macros)):
            if "Traced<" in text or "Tracer(" in text:  # such as f"knn<{x.sum()}>"
                raise ArgumentError(f"{self._name}: {text} depends on the content of an array: use shapes and numbers")
        return choice, self._roles.names, 0, 0

    def _computed(self, what: str, value: Bound, known: Mapping[str, Any]) -> Any:
        """Return the constant in `value`, or what the function in `value` returns.

        `known`: name of a parameter of the function -> value. `what`: subject of the error message "grid depends on the
        content of an array". Raises ArgumentError if the result depends on the content of an array, or on a symbolic
        shape.
        """
        found = _called(value, known)
        several = found.values() if isinstance(found, Mapping) else found
        for each in several if isinstance(found, (tuple, list, Mapping)) else (found,):
            if isinstance(each, self._jax.core.Tracer):
                raise ArgumentError(
                    f"{self._name}: {what} depends on the content of an array, which is not known before the program "
                    "runs: use shapes and numbers only"
                )
            if type(each).__name__ == "_DimExpr":
                raise ArgumentError(f"{self._name}: {what} is {each}: a program with symbolic shapes cannot launch")
        return found

    def _configuration(self, grid: Any, block: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the checked settings of a launch as the fields `grid`, `block` and `settings` of a `Launch`.

        `settings`: name of a setting besides grid and block -> its value. Raises ArgumentError for a value that
        `Kernel.launch` does not take.
        """
        checks: dict[str, Callable[[Any], Any]] = {
            "cluster": lambda value: dimensions(value, "cluster"),
            "shared_memory": lambda value: whole_number(value, "shared_memory", 0),
            "cooperative": bool,
        }
        try:
            return {
                "grid": dimensions(grid, "grid"),
                "block": None if block is None else dimensions(block, "block"),
                "settings": {name: checks[name](value) for name, value in settings.items()},
            }
        except ArgumentError as error:
            raise ArgumentError(f"{self._name}: {error}") from None

    def _argument(
        self,
        name: str,
        inputs: list[str],
        results: list[str],
        value: Any,
        info: KernelInfo | None,
        names: Sequence[str],
    ) -> tuple[str, Any]:
        """Return the kernel's argument `name` as an item of `Launch.arguments`, such as ("output", 0).

        `inputs`, `results`: names of the arrays that the call takes and returns. A name in both counts as a result.
        `value`: the argument, used if `name` is in neither. `info`: manifest entry of the kernel; None if the kernel is
        compiled when it is loaded. `names`: names of the kernel's arguments. Raises ArgumentError for a value that the
        kernel does not take.
        """
        if name in results:
            return "output", results.index(name)
        if name in inputs:
            return "input", inputs.index(name)
        kind, _ = self._kernels.kinds[self._roles.names.index(name)]
        if kind == "Pointer" and not (value is None or isinstance(value, int)):
            raise ArgumentError(
                f"{self._name}: the value {name} is for a pointer, which takes None or an address, not "
                f"{value!r}: let an array be an argument of the operator"
            )
        try:
            return _struct_argument(info.parameters[names.index(name)], value) if info else json_argument(value)
        except (TypeError, ArgumentError) as error:
            raise ArgumentError(f"{self._name}: the value {name}: {error}") from None

    def _type(self, name: str, array: Any) -> ArrayType:
        """Return the element type and shape of `array`. `name`: name in error messages.

        Raises ArgumentError if `array` is not an array, if kernels cannot read its element type, or if its shape is
        symbolic.
        """
        try:
            found = ArrayType(array.dtype.name, tuple(array.shape))
        except AttributeError:
            raise ArgumentError(
                f"{self._name}: the output {name} must be made by a function that returns an array, whose content the "
                f"kernel finds there, or a jax.ShapeDtypeStruct, not {array!r}"
            ) from None
        if found.dtype not in DATA_TYPES:
            raise ArgumentError(f"{self._name}: {name} is an array of {found.dtype}, which kernels cannot read")
        if not all(type(each) is int for each in found.shape):
            raise ArgumentError(
                f"{self._name}: the shape of {name} is {found.shape}, which is symbolic: a launch needs numbers"
            )
        return found

    def _checked_type(self, name: str, array: Any, info: KernelInfo | None, names: Sequence[str]) -> ArrayType:
        """Return the element type and shape of `array`, the input or output `name`. Raise ArgumentError if the kernel's
        parameter does not take this element type.

        `info`: manifest entry of the kernel. It is None for a kernel that is compiled when it is loaded; the parameter
        is then unknown, and not checked here. `names`: names of the kernel's arguments; scratch memory has none.
        """
        found = self._type(name, array)
        if info is None or name not in names:
            return found
        parameter = info.parameters[names.index(name)]
        accepted = self._kernels.element_types(parameter)
        if accepted is not None and found.dtype not in accepted:
            raise ArgumentError(
                f"{self._name}: {name} is {parameter.cpp} in {info.name}, which takes an array of "
                f"{' or '.join(sorted(accepted))}, not of {found.dtype}"
            )
        return found


def _struct_argument(parameter: Parameter, value: Any) -> tuple[str, Any]:
    """Return `value`, the argument for a parameter of the kernel, as an item of `Launch.arguments`.

    A struct, a vector or a complex number gives ("bytes", hexadecimal digits). Raises TypeError or ArgumentError for a
    value that cannot be passed.
    """
    if argument_type(parameter) != "Struct" or is_machine_word(parameter):
        return json_argument(value)
    convert = converter_for(parameter, True).namespace("value")["convert_value"]
    return "bytes", convert(value, []).hex()


def _called(value: Bound, known: Mapping[str, Any]) -> Any:
    """Return the constant in `value`, or what the function in `value` returns. `known` maps the names of the function's
    parameters to values."""
    return value.value if value.names is None else value.value(*(known[name] for name in value.names))
