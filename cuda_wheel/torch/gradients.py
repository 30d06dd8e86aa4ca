"""The gradient of an operator, from a function of named tensors."""

import inspect
from collections.abc import Callable
from typing import Any

from ..declarations.operator_arguments import OperatorArguments, bound
from ..runtime.errors import ArgumentError

__all__ = ["Gradients"]


class Gradients:
    """The functions that `torch.library.register_autograd` takes.

    Only the tensors that `backward` names are kept from the forward pass; `operator` describes that function.
    """

    def __init__(self, operator: str, roles: OperatorArguments, backward: Callable[..., Any]) -> None:
        """Raises ArgumentError for an operator that PyTorch cannot differentiate, and for names it does not have."""
        written = [each.name for each in roles.inputs if each.written]
        if written or not roles.outputs:
            raise ArgumentError(
                f"{operator} cannot have a gradient, because it writes {' and '.join(written) or 'no output'}: PyTorch "
                "differentiates operators that only return new tensors"
            )
        self._operator = operator
        self._backward = backward
        self._tensors = [each.name for each in roles.tensors]
        self._inputs = [each.name for each in roles.inputs]
        values = [*self._inputs, *roles.outputs]
        gradients = [f"grad_{output}" for output in roles.outputs]
        # The operator that `backward` may be tells its arguments by its schema only.
        schema = getattr(backward, "_schema", None)
        given = backward if schema is None else _function_of([each.name for each in schema.arguments])
        wanted = bound(f"{operator}: backward", given, {*values, *gradients}).names or ()
        is_tensor = {*self._tensors, *roles.outputs}
        kept = [name for name in wanted if name in is_tensor]
        numbers = [name for name in wanted if name in self._inputs and name not in is_tensor]
        known = [*kept, *numbers, *gradients]
        self._wanted = [known.index(name) for name in wanted]
        constant = [output for output in roles.outputs if f"grad_{output}" not in wanted]
        if len(constant) == len(gradients):
            raise ArgumentError(f"{operator}: backward must be a function of {' or '.join(gradients)}")
        self.keep = _keeping(self._inputs, list(roles.outputs), kept, numbers, constant)
        """Keeps what the gradient needs, given ctx, the inputs, and one tensor or a tuple of tensors as the output."""

    def differentiate(self, ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        """Return a gradient or None for each input, given the gradients of the outputs."""
        known = (*ctx.saved_tensors, *ctx.numbers, *gradients)
        result = self._backward(*[known[index] for index in self._wanted])
        results = result if isinstance(result, (tuple, list)) else (result,)
        if len(results) != len(self._tensors):
            raise ArgumentError(
                f"{self._operator}: backward returned {len(results)} gradients for {len(self._tensors)} tensors: "
                f"{', '.join(self._tensors)}"
            )
        by_name = dict(zip(self._tensors, results, strict=True))
        return tuple(map(by_name.get, self._inputs))

    def differentiable(self, torch: Any, launch: Callable[..., Any]) -> Callable[..., Any]:
        """Return `launch` as a function of plain tensors, whose gradients are known to autograd.

        It does what `register_autograd` does for them, without passing PyTorch's dispatcher a second time.
        """

        def forward(ctx: Any, *inputs: Any) -> Any:
            output = launch(*inputs)
            self.keep(ctx, inputs, output)
            return output

        def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:  # compiled autograd takes no bound method
            return self.differentiate(ctx, *gradients)

        members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        name = self._operator.partition("::")[2]  # the tensors' grad_fn is "<swishBackward object at ...>"
        function = type(name, (torch.autograd.Function,), members)
        # Function.apply only adds what the transforms of torch.func need, which no plain tensor passes.
        apply: Callable[..., Any] = super(torch.autograd.Function, function).apply  # type: ignore[misc]
        return apply


def _keeping(
    inputs: list[str], outputs: list[str], kept: list[str], numbers: list[str], constant: list[str]
) -> Callable[..., None]:
    """Return the function that keeps these tensors and numbers, and tells that the outputs in `constant` have no
    gradient. Straight-line source text is faster than loops."""
    lines = [
        f"{', '.join(inputs)}, = _inputs",
        f"{', '.join(outputs)} = _output",
        f"_ctx.save_for_backward({', '.join(kept)})",
        *([f"_ctx.mark_non_differentiable({', '.join(constant)})"] if constant else []),
        f"_ctx.numbers = ({''.join(f'{name}, ' for name in numbers)})",
    ]
    namespace: dict[str, Any] = {}
    exec("def _keep(_ctx, _inputs, _output):\n" + "".join(f"    {line}\n" for line in lines), namespace)
    keep: Callable[..., None] = namespace["_keep"]
    return keep


def _function_of(names: list[str]) -> Callable[..., None]:
    """Return a function with the signature (names[0], names[1], ...)."""

    def function() -> None: ...

    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function
