"""The gradient of an operator, from a function of named tensors.

As in `operator_functions`, straight-line source text is faster than loops.
"""

import inspect
from collections.abc import Callable
from typing import Any

from ..declarations.operator_arguments import OperatorArguments, bound, gradient_names
from ..runtime.errors import ArgumentError
from .schemas import is_writable

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
        self._tensors = [each.name for each in roles.tensors]
        self._inputs = [each.name for each in roles.inputs]
        values = [*self._inputs, *roles.outputs]
        gradients = gradient_names(operator, roles)
        # The operator that `backward` may be tells its arguments by its schema only.
        schema = getattr(backward, "_schema", None)
        given = backward if schema is None else _function_of([each.name for each in schema.arguments])
        wanted = bound(f"{operator}: backward", given, {*values, *gradients}).names or ()
        is_tensor = {*self._tensors, *roles.outputs}
        kept = [name for name in wanted if name in is_tensor]
        numbers = [name for name in wanted if name in self._inputs and name not in is_tensor]
        constant = [output for output in roles.outputs if f"grad_{output}" not in wanted]
        if len(constant) == len(gradients):
            raise ArgumentError(f"{operator}: backward must be a function of {' or '.join(gradients)}")
        self._outputs = ", ".join(roles.outputs)
        unwritable = [each for each in roles.inputs if not is_writable(each.default)]
        self._defaults = {f"_default_{each.name}": each.default for each in unwritable}
        self._keeping = [
            *(f"if {each.name} is None: {each.name} = _default_{each.name}" for each in unwritable),
            f"_ctx.save_for_backward({', '.join(kept)})",
            *([f"_ctx.mark_non_differentiable({', '.join(constant)})"] if constant else []),
            *([f"_ctx.numbers = {', '.join(numbers)},"] if numbers else []),
        ]
        lines = [f"{', '.join(self._inputs)}, = _inputs", f"{self._outputs} = _output", *self._keeping]
        self.keep = _function("_ctx, _inputs, _output", lines, {**self._defaults})
        """Keeps what the gradient needs, given ctx, the inputs, and one tensor or a tuple of tensors as the output."""
        results = [
            f"_results[{self._tensors.index(name)}]" if name in self._tensors else "None" for name in self._inputs
        ]
        lines = [
            *([f"{', '.join(kept)}, = _ctx.saved_tensors"] if kept else []),
            *([f"{', '.join(numbers)}, = _ctx.numbers"] if numbers else []),
            f"_results = _backward({', '.join(wanted)})",
            "if not _isinstance(_results, _several): _results = (_results,)",
            f"if _len(_results) != {len(self._tensors)}: _refuse(_len(_results))",
            f"return {', '.join(results)},",
        ]
        # No argument of an operator begins with an underscore, so that these names stay what they are.
        names: dict[str, Any] = {"_backward": backward, "_refuse": self._refuse, "_len": len}
        names |= {"_isinstance": isinstance, "_several": (tuple, list)}
        self.differentiate = _function(f"_ctx, {', '.join(gradients)}", lines, names)
        """Returns a gradient or None for each input, given ctx and the gradients of the outputs."""

    def _refuse(self, count: int) -> None:
        raise ArgumentError(
            f"{self._operator}: backward returned {count} gradients for {len(self._tensors)} tensors: "
            f"{', '.join(self._tensors)}"
        )

    def differentiable(self, torch: Any, launch: Callable[..., Any]) -> Callable[..., Any]:
        """Return `launch` as a function of plain tensors, whose gradients are known to autograd.

        It does what `register_autograd` does for them, without passing PyTorch's dispatcher a second time.
        """
        inputs = ", ".join(self._inputs)
        lines = [f"{self._outputs} = _output = _launch({inputs})", *self._keeping, "return _output"]
        forward = _function(f"_ctx, {inputs}", lines, {"_launch": launch, **self._defaults})
        members = {"forward": staticmethod(forward), "backward": staticmethod(self.differentiate)}
        name = self._operator.partition("::")[2]  # the tensors' grad_fn is "<swishBackward object at ...>"
        function = type(name, (torch.autograd.Function,), members)
        # Function.apply only adds what the transforms of torch.func need, which no plain tensor passes.
        apply: Callable[..., Any] = super(torch.autograd.Function, function).apply  # type: ignore[misc]
        return apply


def _function(parameters: str, lines: list[str], names: dict[str, Any]) -> Callable[..., Any]:
    """Return a function with these parameters and lines, which use these names."""
    exec(f"def _function({parameters}):\n" + "".join(f"    {line}\n" for line in lines), names)
    function: Callable[..., Any] = names["_function"]
    return function


def _function_of(names: list[str]) -> Callable[..., None]:
    """Return a function with the signature (names[0], names[1], ...)."""

    def function() -> None: ...

    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function
