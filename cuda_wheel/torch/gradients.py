"""The gradient of an operator, from a function of named tensors."""

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
        self._inputs = {each.name: index for index, each in enumerate(roles.inputs)}
        self._outputs = {output: index for index, output in enumerate(roles.outputs)}
        self._gradients = {f"grad_{output}": index for output, index in self._outputs.items()}
        known = {*self._inputs, *self._outputs, *self._gradients}
        self._wanted = bound(f"{operator}: backward", backward, known).names or ()
        self._tensors = [each.name for each in roles.tensors]
        self._kept = [each for each in self._wanted if each in self._tensors or each in self._outputs]
        self._numbers = [each for each in self._wanted if each in self._inputs and each not in self._tensors]

    def keep(self, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep what the gradient needs. `output` is one tensor or a tuple of tensors."""
        outputs = output if isinstance(output, tuple) else (output,)
        found = {name: inputs[index] for name, index in self._inputs.items()}
        found |= {name: outputs[index] for name, index in self._outputs.items()}
        ctx.save_for_backward(*(found[name] for name in self._kept))
        ctx.numbers = [found[name] for name in self._numbers]

    def differentiate(self, ctx: Any, *given: Any) -> tuple[Any, ...]:
        """Return a gradient or None for each input, given the gradients of the outputs."""
        known = {
            **dict(zip(self._kept, ctx.saved_tensors, strict=True)),
            **dict(zip(self._numbers, ctx.numbers, strict=True)),
            **{name: given[index] for name, index in self._gradients.items()},
        }
        result = self._backward(*(known[name] for name in self._wanted))
        results = result if isinstance(result, (tuple, list)) else (result,)
        if len(results) != len(self._tensors):
            raise ArgumentError(
                f"{self._operator}: backward returned {len(results)} gradients for {len(self._tensors)} tensors: "
                f"{', '.join(self._tensors)}"
            )
        by_name = dict(zip(self._tensors, results, strict=True))
        return tuple(by_name.get(name) for name in self._inputs)
