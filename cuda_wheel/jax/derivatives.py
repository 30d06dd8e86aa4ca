"""Make a traced operator differentiable in reverse mode, by a function of named arrays."""

from collections.abc import Callable
from typing import Any

from ..declarations.kernel_instances import KernelInstances
from ..declarations.operator_arguments import OperatorArguments, bound, gradient_names
from ..runtime.errors import ArgumentError
from .tracing import TracedOperator

__all__ = ["differentiable"]


def differentiable(
    jax: Any,
    operator: str,
    kernels: KernelInstances,
    roles: OperatorArguments,
    traced: TracedOperator,
    backward: Callable[..., Any],
) -> Callable[..., Any]:
    """Return `traced.run`, a function of the numbers and of each array, with a gradient.

    `cuda_wheel.jax` describes `backward`. Only the arrays that it names are kept until it runs. Raises ArgumentError
    for an operator that changes inputs, whose names would mean two arrays, and for an output whose gradient `backward`
    does not name.
    """
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
