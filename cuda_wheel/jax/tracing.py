"""Trace a call of an operator: compute its outputs from shapes and numbers, and call the handler in the program.

A launch is an attribute of that call, a JSON text: it may be kept in an exported program and read by another process.
JAX knows shapes and numbers while it traces, so that the text has all but the addresses of the arrays.

`jax.shard_map` checks over which axes of the mesh values differ. JAX 0.6.1 to 0.9 call that type `vma`; later ones keep
it in a `ManualAxisType`. What a kernel computes differs wherever one of its inputs does.
"""

import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from cuda_wheel.jax.call_frames import DATA_TYPES
from cuda_wheel.operators.declarations import Bound, Declaration, KernelChoice, KernelIdentity, has_blocks
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
    """The launch of one call of an operator."""

    operator: str
    """Name of the operator in programs."""
    dtypes: tuple[str, ...]
    """NumPy's names of the element types that choose the kernel; empty if there is one kernel."""
    kernel: KernelIdentity
    """Identity of the kernel, which an exported program must find where it runs."""
    parameters: str
    """C++ types of the kernel's parameters, which must be the same where an exported program runs; "" for a kernel that
    is compiled when it is loaded."""
    inputs: Sequence[ArrayType]
    outputs: Sequence[ArrayType]
    aliases: Sequence[tuple[int, int]]
    """0-based indices of an input and an output that share memory."""
    arguments: Sequence[tuple[str, Any]]
    """The kernel's arguments: ("input", 0-based index), ("output", 0-based index), ("value", number or vector), or
    ("bytes", hexadecimal digits)."""
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    settings: dict[str, Any]
    """Other arguments of `Kernel.launch`: name -> value."""
    name: str = ""
    """Name of the kernel that a function returned; "" without one."""
    macros: Macros = ()
    """Macros of the module's variant that holds the kernel; empty without one."""

    @property
    def choice(self) -> KernelChoice:
        """The kernel among those of the operator."""
        return KernelChoice(self.dtypes, self.name, self.macros)

    def text(self) -> str:
        """Return the launch as text, in ASCII."""
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
        except (ValueError, TypeError, KeyError) as error:
            raise ArgumentError(f"the program's text of a launch is not cuda-wheel's: {error!r}") from None


def varying_axes(jax: Any, array: Any) -> frozenset[str]:
    """Return the axes over which an array differs; none outside of `shard_map`, or where that does not check."""
    type_ = jax.typeof(array) if hasattr(jax, "typeof") else None
    found: Iterable[str] = getattr(getattr(type_, "mat", type_), "varying", None) or getattr(type_, "vma", None) or ()
    return frozenset(found)


def with_equal_axes(jax: Any, arrays: Sequence[Any], axes: frozenset[str] = frozenset()) -> list[Any]:
    """Return the arrays as ones that all differ over the same axes: those of any of them, and `axes`.

    None stays None. The gradient of an array that was the same on all devices is summed over them, as JAX does.
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
    """Return an operator's name in programs: its own, or with a number where that is taken."""
    names = (name if number == 1 else f"{name}#{number}" for number in count(1))
    return next(each for each in names if each not in taken)


def base_name(unique: str) -> str:
    """Return an operator's name without the number that makes it unique in a process."""
    return unique.partition("#")[0]


def json_argument(value: Any) -> tuple[str, Any]:
    """Return a number, a vector's numbers or a struct as `Launch.arguments` has it; raise ArgumentError for others."""
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
    """Return a JSON value with tuples in place of lists."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


class TracedOperator:
    """An operator as JAX traces it."""

    def __init__(self, jax: Any, declaration: Declaration, call_handler: Callable[..., Any]) -> None:
        self._jax = jax
        self._name, self._kernels, self._roles, self._launching = declaration
        self._call_handler = call_handler
        self._numbers = [each for each in self._roles.inputs if each.type != "Pointer"]
        self._written = [each.name for each in self._roles.tensors if each.written]
        if not self._roles.outputs and not self._written:
            raise ArgumentError(f"{self._name}: the kernel writes nothing that the operator could return")

    def numbers(self, static: tuple[Any, ...]) -> dict[str, Any]:
        """Return the operator's numbers by name. A float is a static argument as text, since JAX compares these, and
        0.0 == -0.0."""
        return {
            each.name: float.fromhex(value) if each.type == "Real" else value
            for each, value in zip(self._numbers, static, strict=True)
        }

    def run(self, static: tuple[Any, ...], *arrays: Any) -> Any:
        """Return what the operator returns for these numbers and arrays, which are of its inputs' order."""
        known = self.numbers(static)
        for each, array in zip(self._roles.tensors, arrays, strict=True):
            if array is None and not each.has_default:
                raise ArgumentError(f"{self._name}: {each.name} is None, but this array has no default: pass one")
            known[each.name] = None if array is None else self._jax.numpy.asarray(array)
        dtypes = self._dtypes(known)
        for name, value in self._roles.values.items():
            known[name] = self._computed(f"the value {name}", value, known)
        choice = self._choice(dtypes, known)
        info = self._kernels.chosen(choice)
        inputs = {each.name: known[each.name] for each in self._roles.tensors if known[each.name] is not None}
        results, aliases = self._results(inputs, known)
        settings = {name: self._computed(name, each, known) for name, each in self._launching.items()}
        grid = settings.pop("grid")
        if not has_blocks(self._name, grid):  # as for empty arrays
            zeros = self._jax.numpy.zeros
            found = [inputs.get(name, zeros(each.shape, each.dtype)) for name, each in results.items()]
        else:
            launch = Launch(
                operator=self._name,
                dtypes=dtypes,
                kernel=self._kernels.identity(choice),
                parameters=info.parameter_list if info else "",
                inputs=[self._checked_type(name, each, info) for name, each in inputs.items()],
                outputs=[self._checked_type(name, each, info) for name, each in results.items()],
                aliases=aliases,
                arguments=[
                    self._argument(name, [*inputs], [*results], known[name], info) for name in self._roles.names
                ],
                name=choice.name,
                macros=choice.macros,
                **self._configuration(grid, settings.pop("block"), settings),
            )
            found = self._call_handler(launch, [*inputs.values()], [*results.values()])
        return found[0] if len(found) == 1 else tuple(found)

    def _results(self, inputs: dict[str, Any], known: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[int, int]]]:
        """Return the type of each array that the call returns, by name, and the aliases that `Launch` has.

        The outputs are added to `known`. One whose function returns an array, to whose content the kernel adds, is
        added to `inputs` too.
        """
        results: dict[str, Any] = {}
        aliases: list[tuple[int, int]] = []
        for name, output in self._roles.outputs.items():
            made = known[(output.names or ())[0]] if output.value is None else _called(output, known)
            if output.value is not None and isinstance(made, self._jax.Array):
                aliases.append((len(inputs), len(results)))
                inputs[name] = made
            results[name] = known[name] = self._jax.ShapeDtypeStruct(self._type(name, made).shape, made.dtype)
        for name in self._written:
            if name in inputs:
                aliases.append(([*inputs].index(name), len(results)))
                results[name] = self._jax.ShapeDtypeStruct(inputs[name].shape, inputs[name].dtype)
        return results, aliases

    def _dtypes(self, known: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the element types that choose the kernel; raise ArgumentError if there is none for them."""
        selecting = [each.name for each in self._roles.selecting[: self._kernels.count]]
        dtypes = tuple(self._type(name, known[name]).dtype for name in selecting)
        if dtypes not in self._kernels.accepted:
            accepted = " or ".join(", ".join(each) for each in self._kernels.accepted)
            raise ArgumentError(f"{self._name} takes {', '.join(selecting)} of {accepted}, not of {', '.join(dtypes)}")
        return dtypes

    def _choice(self, dtypes: tuple[str, ...], known: Mapping[str, Any]) -> KernelChoice:
        """Return the choice of a kernel, by what the functions for it return; it depends on no array's content."""
        kernels = self._kernels
        name = "" if kernels.chooser is None else self._computed("kernel", kernels.chooser, known)
        variant = kernels.variant_chooser
        macros = None if variant is None else self._computed("variant", variant, known)
        choice = kernels.choice(dtypes, name, macros)
        for text in (choice.name, *(value for _, value in choice.macros)):
            if "Traced<" in text or "Tracer(" in text:  # such as f"knn<{x.sum()}>"
                raise ArgumentError(f"{self._name}: {text} depends on the content of an array: use shapes and numbers")
        return choice

    def _computed(self, what: str, value: Bound, known: Mapping[str, Any]) -> Any:
        """Return a value that a launch needs; it cannot depend on an array's content."""
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
        """Return the fields of `Launch` that say what runs; raise ArgumentError for what is no number of blocks, ..."""
        checks: dict[str, Callable[[Any], Any]] = {
            "cluster": lambda value: dimensions(value, "cluster"),
            "shared_memory": lambda value: whole_number(value, "shared_memory", 0),
            "cooperative": bool,
        }
        try:
            return {
                "grid": dimensions(grid, "grid"),
                "block": dimensions(block, "block"),
                "settings": {name: checks[name](value) for name, value in settings.items()},
            }
        except ArgumentError as error:
            raise ArgumentError(f"{self._name}: {error}") from None

    def _argument(
        self, name: str, inputs: list[str], results: list[str], value: Any, info: KernelInfo | None
    ) -> tuple[str, Any]:
        """Return a kernel's argument as `Launch` has it; `value` is what was given or computed for it."""
        if name in results:
            return "output", results.index(name)
        if name in inputs:
            return "input", inputs.index(name)
        place = self._roles.names.index(name)
        if self._kernels.kinds[place][0] == "Pointer" and not (value is None or isinstance(value, int)):
            raise ArgumentError(
                f"{self._name}: the value {name} is for a pointer, which takes None or an address, not "
                f"{value!r}: let an array be an argument of the operator"
            )
        try:
            return _struct_argument(info.parameters[place], value) if info else json_argument(value)
        except (TypeError, ArgumentError) as error:
            raise ArgumentError(f"{self._name}: the value {name}: {error}") from None

    def _type(self, name: str, array: Any) -> ArrayType:
        """Return the element type and shape of an array; raise ArgumentError for what kernels cannot read."""
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

    def _checked_type(self, name: str, array: Any, info: KernelInfo | None) -> ArrayType:
        """Return the type of an input or output that the kernel's parameter takes. Of a kernel that is compiled when it
        is loaded, the handler checks that."""
        found = self._type(name, array)
        if info is None:
            return found
        parameter = info.parameters[self._roles.names.index(name)]
        accepted = self._kernels.element_types(parameter)
        if accepted is not None and found.dtype not in accepted:
            raise ArgumentError(
                f"{self._name}: {name} is {parameter.cpp} in {info.name}, which takes an array of "
                f"{' or '.join(sorted(accepted))}, not of {found.dtype}"
            )
        return found


def _struct_argument(parameter: Parameter, value: Any) -> tuple[str, Any]:
    """Return an argument as `Launch` has it: that of a struct, a vector or a complex number as its bytes.

    Raises TypeError for what `Kernel.launch` would not take for these.
    """
    if argument_type(parameter) != "Struct" or is_machine_word(parameter):
        return json_argument(value)
    convert = converter_for(parameter, True).namespace("value")["convert_value"]
    return "bytes", convert(value, []).hex()


def _called(value: Bound, known: Mapping[str, Any]) -> Any:
    """Return a constant, or what a function returns for the values of its parameters."""
    return value.value if value.names is None else value.value(*(known[name] for name in value.names))
