"""Make a JAX function of a kernel: `operator`, with its gradient in reverse mode.

`jax.shard_map` checks over which axes of the mesh values differ. JAX 0.6.1 to 0.9 call that type `vma`; later ones keep
it in a `ManualAxisType`. What a kernel computes differs wherever one of its inputs does.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import index
from typing import Any

from cuda_wheel.jax.handler import TARGET, imported_jax, register
from cuda_wheel.jax.tracing import Launch, TracedOperator
from cuda_wheel.operators.declarations import (
    Declaration,
    InputArgument,
    KernelInstances,
    OperatorArguments,
    bound,
    declared,
    gradient_names,
)
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.module import Kernel

__all__ = ["differentiable", "operator", "varying_axes", "with_equal_axes"]


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


def differentiable(
    jax: Any, declaration: Declaration, traced: TracedOperator, backward: Callable[..., Any]
) -> Callable[..., Any]:
    """Return `traced.run`, a function of the numbers and of each array, with a gradient.

    `cuda_wheel.jax` describes `backward`. Only the arrays that it names are kept until it runs. Raises ArgumentError
    for an operator that changes inputs, whose names would mean two arrays, and for an output whose gradient `backward`
    does not name.
    """
    operator, kernels, roles, _ = declaration
    arrays = [each.name for each in roles.tensors]
    written = [each.name for each in roles.tensors if each.written]
    if written:
        raise ArgumentError(
            f"{operator} cannot have a gradient, because it changes {' and '.join(written)}: wrap it in a function "
            "with jax.custom_vjp"
        )
    inputs = [each.name for each in roles.inputs]
    gradients = gradient_names(operator, roles)
    wanted = bound(f"{operator}: backward", backward, {*inputs, *roles.outputs, *gradients}).names or ()

    needed = [f"grad_{name}" for name in roles.outputs if not _has_integers(kernels, roles.names.index(name))]
    missing = [name for name in needed or gradients if name not in wanted]
    if missing:
        raise ArgumentError(
            f"{operator}: backward must be a function of {' and '.join(missing)} too, which would count as zero: JAX "
            "knows no output without a gradient but those of integers"
        )

    def named_outputs(names: Any, result: Any) -> dict[str, Any]:
        return dict(zip(names, result if len(roles.outputs) > 1 else (result,), strict=True))

    def forward(numbers: tuple[Any, ...], *given: Any) -> tuple[Any, dict[str, Any]]:
        result = traced.run(numbers, *given)
        known = {**dict(zip(arrays, given, strict=True)), **named_outputs(roles.outputs, result)}
        return result, {name: known[name] for name in wanted if name in known}

    def differentiate(numbers: tuple[Any, ...], kept: dict[str, Any], cotangent: Any) -> tuple[Any, ...]:
        known = {**kept, **traced.numbers(numbers), **named_outputs(gradients, cotangent)}
        found = backward(*(known[name] for name in wanted))
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) != len(arrays):
            raise ArgumentError(
                f"{operator}: backward returned {len(found)} gradients for {len(arrays)} arrays: {', '.join(arrays)}"
            )
        return tuple(found)

    function = jax.custom_vjp(traced.run, nondiff_argnums=(0,))
    function.defvjp(forward, differentiate)
    return function  # type: ignore[no-any-return]


def _has_integers(kernels: KernelInstances, place: int) -> bool:
    """Return whether the kernels' parameter in this place points to integers, whose gradients are nothing."""
    types = [kernels.element_types(info.parameters[place]) for info in kernels.infos.values()]
    return all(found and all(name.startswith(("int", "uint", "bool")) for name in found) for found in types)


def operator(
    name: str,
    *,
    kernel: Any,
    arguments: str | Sequence[str],
    grid: Any,
    block: Any,
    module: str | None = None,
    outputs: Mapping[str, Any] = {},
    values: Mapping[str, Any] = {},
    defaults: Mapping[str, Any] = {},
    backward: Callable[..., Any] | None = None,
    read_only: Iterable[str] = (),
    shared_memory: Any = 0,
    cluster: Any = None,
    cooperative: bool = False,
) -> Callable[..., Any]:
    """Return a function of JAX arrays that launches a kernel.

    `name` is in error messages and in compiled programs. `kernel` is a kernel or its name in `module`, or maps the
    element type of the first array to one, or the element types of the first few arrays (a tuple). `arguments` names
    the kernel's parameters in their order; `outputs`, `values` and `defaults` say what they are. `grid`, `block`,
    `shared_memory`, `cluster` and `cooperative` are what `Kernel.launch` takes, or functions. The documentation of
    `cuda_wheel.jax` has an example and describes all of them.

    Raises ArgumentError for a declaration that does not fit the kernel, ImageError if the module or a kernel is
    missing, and ImportError if JAX is not installed or older than 0.5.0. A call raises ArgumentError for arrays and
    numbers that the kernel does not take; what fails when the program runs is an error of JAX.
    """
    jax = imported_jax()
    kernel = _by_type_names(jax, name, kernel)
    launching: dict[str, Any] = {"grid": grid, "block": block, "shared_memory": shared_memory, "cluster": cluster}
    launching["cooperative"] = cooperative
    declaration = declared(name, kernel, module, arguments, outputs, values, defaults, read_only, launching)
    accessors = [each for each in declaration.arguments.accessors if each not in values]
    if accessors:
        raise ArgumentError(
            f"{name}: {accessors[0]} is an accessor of a PyTorch tensor, which a JAX operator does not make: let the "
            "kernel take a pointer, and the sizes as values"
        )
    program_name = ""

    def call_handler(launch: Launch, inputs: list[Any], results: list[Any]) -> Sequence[Any]:
        text = launch._replace(operator=program_name).text()
        axes = frozenset[str]().union(*(varying_axes(jax, each) for each in inputs))
        if axes:  # only an array tells its axes to all versions of JAX; XLA removes it, since nothing reads it
            inputs = with_equal_axes(jax, inputs)
            results = with_equal_axes(jax, [jax.numpy.zeros(each.shape, each.dtype) for each in results], axes)
        call = jax.ffi.ffi_call(
            TARGET, results, vmap_method="sequential", input_output_aliases=dict(launch.aliases) or None
        )
        found: Sequence[Any] = call(*inputs, launch=text)
        if any(varying_axes(jax, each) != axes for each in found):
            raise ArgumentError(
                f"{name}: JAX {jax.__version__} cannot tell shard_map that the results differ over the axes "
                f"{', '.join(sorted(axes))}: use a later version, or check_vma=False"
            )
        return found

    traced = TracedOperator(jax, declaration, call_handler)
    run = traced.run if backward is None else differentiable(jax, declaration, traced, backward)
    # The numbers are static: each of their values makes a program. Inlined, an operator adds no level to a program.
    jitted = jax.jit(lambda static, *arrays: run(static, *with_equal_axes(jax, arrays)), static_argnums=0, inline=True)
    program_name = register(jax, name, declaration.kernels)
    return _function(jax, name, declaration.arguments, jitted)


def _by_type_names(jax: Any, operator: str, kernel: Any) -> Any:
    """Return the kernels by the names of element types, such as "float32"."""
    if not isinstance(kernel, Mapping) or isinstance(kernel, Kernel):
        return kernel
    try:
        return {
            tuple(jax.numpy.dtype(each).name for each in (key if isinstance(key, tuple) else (key,))): value
            for key, value in kernel.items()
        }
    except TypeError as error:
        raise ArgumentError(f"{operator}: kernel must map element types of JAX to kernels: {error}") from None


def _function(jax: Any, operator: str, roles: OperatorArguments, jitted: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that users call; `jitted` takes the numbers, and then the arrays."""
    inputs = roles.inputs
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature(
        [
            inspect.Parameter(each.name, kind, default=each.default if each.has_default else inspect.Parameter.empty)
            for each in inputs
        ]
    )
    numbers = [(place, each) for place, each in enumerate(inputs) if each.type != "Pointer"]
    arrays = [place for place, each in enumerate(inputs) if each.type == "Pointer"]

    defaults = tuple(each.default for each in inputs)
    required = len([each for each in inputs if not each.has_default])

    def call(*args: Any, **more: Any) -> Any:
        if not more and required <= len(args) <= len(inputs):
            args += defaults[len(args) :]  # what binding does, which takes longer than all else here
        else:
            given = signature.bind(*args, **more)
            given.apply_defaults()
            args = given.args
        static = tuple([_static(jax, operator, each, args[place]) for place, each in numbers])
        return jitted(static, *[args[place] for place in arrays])

    call.__name__ = call.__qualname__ = operator
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _static(jax: Any, operator: str, argument: InputArgument, value: Any) -> Any:
    """Return a number as a static argument of JAX: a float as hexadecimal text, else a bool or an int."""
    try:
        if argument.type == "Real":
            return float(value).hex()
        return bool(value) if argument.type == "bool" else int(index(value))
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(value, jax.core.Tracer):
            raise ArgumentError(
                f"{operator}: {argument.name} is a number that the kernel takes by value, so it is a part of the "
                "program and cannot be traced: pass a Python number, which jax.jit takes by static_argnames"
            ) from None
        raise ArgumentError(f"{operator}: {argument.name}: {error}") from None
