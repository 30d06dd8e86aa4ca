"""Generate the functions by which PyTorch differentiates an operator, in reverse and in forward mode.

The names that the sources use begin with an underscore; those of an operator's arguments do not.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from cuda_wheel.operators.declarations import InputArgument, bound, gradient_names
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.torch.functions import define_function, setting_defaults

__all__ = ["Gradients"]


class Gradients:
    """The functions that PyTorch's autograd calls for an operator that returns new tensors.

    Only the tensors that `backward` names are kept from the forward pass, and those that `jvp` names where a
    forward-mode derivative is asked for; `cuda_wheel.torch` describes both functions.
    """

    def __init__(
        self,
        operator: str,
        inputs: Sequence[InputArgument],
        outputs: Sequence[str],
        backward: Callable[..., Any] | None,
        jvp: Callable[..., Any] | None = None,
    ) -> None:
        """Raise ArgumentError for an operator that PyTorch cannot differentiate, and for a parameter of `backward` or
        `jvp` that names nothing of the operator."""
        _check_differentiable(operator, inputs, outputs, [each for each in (backward, jvp) if each])
        self._operator = operator
        self._arguments = inputs
        self._tensors = [each.name for each in inputs if each.is_array]
        self._inputs = [each.name for each in inputs]
        self._outputs = outputs
        self.has_jvp = jvp is not None
        wanted = _backward_parameters(operator, inputs, outputs, backward) if backward else [f"grad_{outputs[0]}"]
        """Names of the parameters of `backward`. Without `backward`, only the first output's gradient: ["grad_y"]."""
        tangents = _jvp_parameters(operator, inputs, outputs, jvp) if jvp else []
        """Names of the parameters of `jvp`, such as "x" and "tangent_x"; [] without `jvp`."""
        arrays = {*self._tensors, *outputs}
        kept = [name for name in wanted if name in arrays]
        kept_forward = [name for name in tangents if name in arrays]
        numbers = [name for name in dict.fromkeys([*wanted, *tangents]) if name in self._inputs and name not in arrays]
        constant = [output for output in outputs if backward and f"grad_{output}" not in wanted]
        self._defaults = {f"_default_{each.name}": each.default for each in inputs}
        self._keeping = self._lines_that_keep(kept, numbers, constant)
        unpacked = f"{', '.join(outputs)}{',' * (len(outputs) > 1)} = _output"
        lines = [f"{', '.join(self._inputs)}, = _inputs", unpacked, *self._keeping]
        self.keep = define_function("_keep", "_ctx, _inputs, _output", lines, {**self._defaults}, operator)
        """Function (ctx, inputs, output) that stores what the gradient needs in ctx, the context object of autograd.
        `output` is a tensor, or a tuple of several."""
        if jvp:
            # Where forward mode computes the tangent of an output, its gradient counts as zero and is not refused.
            for_both = self._lines_that_keep(kept, numbers, [])
            lines = [*lines[:2], *for_both, f"_ctx.save_for_forward({', '.join(kept_forward)})"]
        self._keep_for_both = define_function("_keep", "_ctx, _inputs, _output", lines, {**self._defaults}, operator)
        of_numbers = [f"{', '.join(numbers)}, = _ctx.numbers"] if numbers else []
        self.differentiate = (
            self._reverse_derivative(backward, wanted, kept, of_numbers) if backward else _refuse_backward(operator)
        )
        """Function (ctx, gradient of each output) that returns one gradient for each input; None for an input that is
        not a tensor. Without `backward`, it raises ArgumentError."""
        self._jvp = self._forward_derivative(jvp, tangents, kept_forward, of_numbers) if jvp else None

    def _lines_that_keep(self, kept: Sequence[str], numbers: Sequence[str], constant: Sequence[str]) -> list[str]:
        """Return the source lines that store in `_ctx` what the gradient needs.

        `kept`, `numbers`: names of the tensors and of the numbers to store.
        `constant`: names of the outputs to mark as outputs without a gradient.
        """
        return [
            *setting_defaults(self._arguments),
            f"_ctx.save_for_backward({', '.join(kept)})",
            *([f"_ctx.mark_non_differentiable({', '.join(constant)})"] if constant else []),
            *([f"_ctx.numbers = {', '.join(numbers)},"] if numbers else []),
        ]

    def _reverse_derivative(
        self, backward: Callable[..., Any], wanted: Sequence[str], kept: Sequence[str], of_numbers: Sequence[str]
    ) -> Callable[..., Any]:
        """Return a function (ctx, gradient of each output) that returns one gradient for each input, computed by
        `backward`. The gradient of a number is None.

        `wanted`: names of the parameters of `backward`.
        `kept`: names of the tensors that are stored in ctx.
        `of_numbers`: the source line that reads the stored numbers from ctx; [] if there are none.
        """
        lines = [
            *([f"{', '.join(kept)}, = _ctx.saved_tensors"] if kept else []),
            *of_numbers,
            f"_results = _backward({', '.join(wanted)})",
            "if not _isinstance(_results, _several): _results = (_results,)",
            f"if _len(_results) != {len(self._tensors)}: _refuse(_len(_results))",
            f"return {', '.join(map(self._gradient, self._inputs))},",
        ]
        # No argument of an operator begins with an underscore, so that these names stay what they are.
        names: dict[str, Any] = {"_backward": backward, "_refuse": self._refuse_gradients, "_len": len}
        names |= {"_isinstance": isinstance, "_several": (tuple, list)}
        parameters = ", ".join(["_ctx", *(f"grad_{output}" for output in self._outputs)])
        return define_function("_differentiate", parameters, lines, names, self._operator)

    def _forward_derivative(
        self, jvp: Callable[..., Any], wanted: Sequence[str], kept: Sequence[str], of_numbers: Sequence[str]
    ) -> Callable[..., Any]:
        """Return a function (ctx, tangent of each input) that returns the tangents of the outputs, computed by `jvp`.
        Tangents are forward-mode derivatives. The tangent of a number is None.

        `wanted`: names of the parameters of `jvp`.
        `kept`: names of the tensors that are stored in ctx.
        `of_numbers`: the source line that reads the stored numbers from ctx; [] if there are none.
        """
        known = ", ".join(kept)
        lines = [
            *([f"{known}, = _ctx.saved_tensors"] if kept else []),
            *of_numbers,
            f"_results = _jvp({', '.join(wanted)})",
            "if not _isinstance(_results, _several): _results = (_results,)",
            f"if _len(_results) != {len(self._outputs)}: _refuse(_len(_results))",
            "for _result in _results: _check(_result)",
            f"return {'_results[0]' if len(self._outputs) == 1 else '_tuple(_results)'}",
        ]
        names = {"_jvp": jvp, "_refuse": self._refuse_tangents, "_len": len, "_tuple": tuple, "_isinstance": isinstance}
        names |= {"_several": (tuple, list), "_check": self._check_tangent}
        # PyTorch passes zeros for a tensor without a tangent.
        parameters = ", ".join(["_ctx", *(f"tangent_{name}" for name in self._inputs)])
        return define_function("_forward_derivative", parameters, lines, names, self._operator)

    def _gradient(self, name: str) -> str:
        """Return the Python expression of the gradient of the input `name`: a result of `backward` for a tensor, None
        for a number."""
        return f"_results[{self._tensors.index(name)}]" if name in self._tensors else "None"

    def _refuse_gradients(self, count: int) -> None:
        """Raise ArgumentError: `backward` returned `count` gradients, but the operator has another number of input
        tensors."""
        raise ArgumentError(
            f"{self._operator}: backward returned {count} gradients for {len(self._tensors)} tensors: "
            f"{', '.join(self._tensors)}"
        )

    def _refuse_tangents(self, count: int) -> None:
        """Raise ArgumentError: `jvp` returned `count` tangents (forward-mode derivatives), but the operator has another
        number of outputs."""
        raise ArgumentError(
            f"{self._operator}: jvp returned {count} tangents for {len(self._outputs)} outputs: "
            f"{', '.join(self._outputs)}"
        )

    def _check_tangent(self, tangent: Any) -> None:
        """Raise ArgumentError if `tangent`, a result of `jvp`, is not a tensor."""
        if not hasattr(tangent, "requires_grad"):
            raise ArgumentError(f"{self._operator}: jvp must return a tensor for each output, not {tangent!r}")

    def differentiable(self, torch: Any, launch: Callable[..., Any]) -> Callable[..., Any] | None:
        """Return a function that launches with plain tensors by `launch` and records the gradient for autograd.

        It does what `register_autograd` does for them, without passing PyTorch's dispatcher a second time. Returns None
        for an operator that takes lists of tensors, in which autograd's functions do not look for tensors.
        """
        if any(each.type == "Pointers" for each in self._arguments):
            return None
        inputs = ", ".join(self._inputs)
        lines = [
            f"{', '.join(self._outputs)}{',' * (len(self._outputs) > 1)} = _output = _launch({inputs})",
            *self._keeping,
            "return _output",
        ]
        namespace = {"_launch": launch, **self._defaults}
        forward = define_function("_forward", f"_ctx, {inputs}", lines, namespace, self._operator)
        members = {"forward": staticmethod(forward), "backward": staticmethod(self.differentiate)}
        function = type(self._name, (torch.autograd.Function,), members)
        # PyTorch's own method, which is not documented, finds out in each call that it is to call `backward`.
        backward_class = getattr(function, "_backward_cls", None)
        if backward_class is not None:
            backward_class.apply = self.differentiate
        # Function.apply only adds what the transforms of torch.func need, which no plain tensor passes.
        apply: Callable[..., Any] = super(torch.autograd.Function, function).apply  # type: ignore[misc]
        return apply

    def transformable(
        self, torch: Any, forward: Callable[..., Any], batched: Callable[..., Any]
    ) -> Callable[..., Any] | None:
        """Return a function that calls `forward` with the operator's inputs, and that `torch.func` and forward-mode
        autograd differentiate.

        `batched` is its rule for `torch.vmap`. Returns None for an operator that takes lists of tensors.
        """
        if any(each.type == "Pointers" for each in self._arguments):
            return None
        members = {
            "forward": staticmethod(forward),
            "setup_context": staticmethod(self._keep_for_both),
            "backward": staticmethod(self.differentiate),
            "vmap": staticmethod(batched),
        }
        if self._jvp is not None:
            members["jvp"] = staticmethod(self._jvp)
        function = type(self._name, (torch.autograd.Function,), members)
        apply: Callable[..., Any] = function.apply  # type: ignore[attr-defined]
        return apply

    @property
    def _name(self) -> str:
        """Name that the `grad_fn` of tensors shows: "swish" in "<swishBackward object at ...>"."""
        return self._operator.partition("::")[2]


def _refuse_backward(operator: str) -> Callable[..., Any]:
    """Return the function that stands for the gradient of an operator without `backward`. PyTorch calls it when a
    gradient is asked for; it raises ArgumentError."""

    def refuse(ctx: Any, *gradients: Any) -> Any:
        raise ArgumentError(
            f"{operator} has no gradient, but one is asked for, which would count as zero: declare it with backward, "
            "or pass x.detach() for a tensor x whose gradient does not matter"
        )

    return refuse


def _check_differentiable(
    operator: str, inputs: Sequence[InputArgument], outputs: Sequence[str], rules: Sequence[Callable[..., Any]]
) -> None:
    """Raise ArgumentError for an operator that PyTorch cannot differentiate: it writes inputs or returns nothing.

    `rules`: the functions `backward` and `jvp`, if the operator has them. An operator with such a function must not
    take a list of tensors.
    """
    lists = [each.name for each in inputs if each.type == "Pointers"]
    if lists and rules:
        raise ArgumentError(
            f"{operator} cannot have a derivative of its own, because it takes a list of tensors, {lists[0]}: "
            "PyTorch's autograd functions take tensors only. Let a torch.autograd.Function call it"
        )
    written = [each.name for each in inputs if each.written]
    if written or not outputs:
        raise ArgumentError(
            f"{operator} cannot have a gradient, because it writes {' and '.join(written) or 'no output'}: PyTorch "
            "differentiates operators that only return new tensors"
        )


def _backward_parameters(
    operator: str, inputs: Sequence[InputArgument], outputs: Sequence[str], backward: Callable[..., Any]
) -> Sequence[str]:
    """Return the names that `backward` takes: inputs, outputs, and gradients such as "grad_y".

    Raises ArgumentError for a name that the operator does not have, and if `backward` takes no gradient.
    """
    gradients = gradient_names(operator, inputs, outputs)
    # An operator, which `backward` may be, has no signature, but names its arguments in its schema.
    schema = getattr(backward, "_schema", None)
    given = backward if schema is None else _function_of([each.name for each in schema.arguments])
    known = {*(each.name for each in inputs), *outputs, *gradients}
    wanted = bound(f"{operator}: backward", given, known).names or ()
    if not set(gradients) & set(wanted):
        raise ArgumentError(f"{operator}: backward must be a function of {' or '.join(gradients)}")
    return wanted


def _jvp_parameters(
    operator: str, inputs: Sequence[InputArgument], outputs: Sequence[str], jvp: Callable[..., Any]
) -> Sequence[str]:
    """Return the names that `jvp` takes: inputs, outputs, and the tangent of each input tensor, such as "tangent_x".

    Raise ArgumentError for a name that the operator does not have, and if one of the tangents is missing.
    """
    arrays = [each for each in inputs if each.is_array]
    tangents = [f"tangent_{each.name}" for each in arrays]
    known = {*(each.name for each in inputs), *outputs, *tangents}
    wanted = bound(f"{operator}: jvp", jvp, known).names or ()
    missing = [name for name in tangents if name not in wanted]
    if missing:
        raise ArgumentError(
            f"{operator}: jvp must be a function of {' and '.join(missing)} too, which would count as zero"
        )
    return wanted


def _function_of(names: list[str]) -> Callable[..., None]:
    """Return a function that does nothing. `inspect.signature` shows `names` as its positional parameters."""

    def function() -> None: ...

    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function
