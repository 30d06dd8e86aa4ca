"""Generate the functions of an operator: schema, gradient, what launches the kernel, what only makes the outputs.

As in `runtime.generated`, straight-line source is faster than a loop over the arguments at each call. The names that
the source uses begin with an underscore; those of arguments do not.
"""

import inspect
import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

from cuda_wheel.operators.declarations import (
    Bound,
    Declaration,
    InputArgument,
    OperatorArguments,
    bound,
    gradient_names,
    has_blocks,
)
from cuda_wheel.runtime.driver import device_with_context
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.generated import define
from cuda_wheel.runtime.module import Kernel
from cuda_wheel.runtime.parts.bind import launch_by_address
from cuda_wheel.runtime.streams import CurrentStreams

__all__ = ["AUTOGRAD_KEY", "GPU_KEY", "TRANSFORM_KEY", "Gradients", "OperatorFunctions", "fits_schema", "schema"]


_TYPES = {"Pointer": "Tensor", "Accessor": "Tensor", "Integer": "SymInt", "Real": "float", "bool": "bool"}
"""Kind of a parameter -> type in PyTorch's schema. A SymInt is an integer that may be unknown while
PyTorch compiles; the kernel gets an int."""


def schema(name: str, arguments: OperatorArguments) -> str:
    """Return the schema of the operator `name`, without its namespace: "swish(Tensor x, float beta=1.0) -> Tensor"."""
    results = ", ".join(["Tensor"] * len(arguments.outputs))
    inputs = ", ".join(_argument(name, each) for each in arguments.inputs)
    short = name.rpartition("::")[2]
    return f"{short}({inputs}) -> {results if len(arguments.outputs) == 1 else f'({results})'}"


def _argument(operator: str, argument: InputArgument) -> str:
    """Return an argument in the schema: "Tensor(a!) x", "float beta=1.0"."""
    type_ = f"Tensor({argument.name}!)" if argument.written else _TYPES[argument.type]
    if not argument.has_default:
        return f"{type_} {argument.name}"
    if argument.type == "Integer" and not -(1 << 63) <= argument.default < 1 << 63:
        raise ArgumentError(
            f"{operator}: the default of {argument.name} is {argument.default}, but PyTorch's integers are signed and "
            "have 64 bits"
        )
    default = argument.default if fits_schema(argument.default) else None
    return f"{type_}{'?' if default is None else ''} {argument.name}={default}"


def fits_schema(default: object) -> bool:
    """Return whether a schema can have this default; in place of inf, nan and denormal numbers, it has None."""
    if not isinstance(default, float) or default == 0:
        return True
    return math.isfinite(default) and abs(default) >= sys.float_info.min


class Gradients:
    """The functions that `torch.library.register_autograd` takes.

    Only the tensors that `backward` names are kept from the forward pass; `operator` describes that function.
    """

    def __init__(self, operator: str, roles: OperatorArguments, backward: Callable[..., Any]) -> None:
        """Raises ArgumentError for an operator that PyTorch cannot differentiate, and for names it does not have."""
        wanted = _backward_parameters(operator, roles, backward)
        self._operator = operator
        self._tensors = [each.name for each in roles.tensors]
        self._inputs = [each.name for each in roles.inputs]
        self._outputs = ", ".join(roles.outputs)
        tensors = {*self._tensors, *roles.outputs}
        kept = [name for name in wanted if name in tensors]
        numbers = [name for name in wanted if name in self._inputs and name not in tensors]
        constant = [output for output in roles.outputs if f"grad_{output}" not in wanted]
        self._defaults = {f"_default_{each.name}": each.default for each in roles.inputs}
        self._keeping = [
            *_setting_defaults(roles.inputs),
            f"_ctx.save_for_backward({', '.join(kept)})",
            *([f"_ctx.mark_non_differentiable({', '.join(constant)})"] if constant else []),
            *([f"_ctx.numbers = {', '.join(numbers)},"] if numbers else []),
        ]
        """Lines of Python that keep in `ctx` what the gradient needs."""
        lines = [f"{', '.join(self._inputs)}, = _inputs", f"{self._outputs} = _output", *self._keeping]
        self.keep = _define("_keep", "_ctx, _inputs, _output", lines, {**self._defaults}, operator)
        """Keeps what the gradient needs, given ctx, the inputs, and one tensor or a tuple of tensors as the output."""
        lines = [
            *([f"{', '.join(kept)}, = _ctx.saved_tensors"] if kept else []),
            *([f"{', '.join(numbers)}, = _ctx.numbers"] if numbers else []),
            f"_results = _backward({', '.join(wanted)})",
            "if not _isinstance(_results, _several): _results = (_results,)",
            f"if _len(_results) != {len(self._tensors)}: _refuse(_len(_results))",
            f"return {', '.join(map(self._gradient, self._inputs))},",
        ]
        # No argument of an operator begins with an underscore, so that these names stay what they are.
        names: dict[str, Any] = {"_backward": backward, "_refuse": self._refuse, "_len": len}
        names |= {"_isinstance": isinstance, "_several": (tuple, list)}
        parameters = ", ".join(["_ctx", *gradient_names(operator, roles)])
        self.differentiate = _define("_differentiate", parameters, lines, names, operator)
        """Returns a gradient or None for each input, given ctx and the gradients of the outputs."""

    def _gradient(self, name: str) -> str:
        """Return the expression of an input's gradient: a result of `backward` for a tensor, None for a number."""
        return f"_results[{self._tensors.index(name)}]" if name in self._tensors else "None"

    def _refuse(self, count: int) -> None:
        """Raise ArgumentError: `backward` returned another number of gradients than there are tensors."""
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
        namespace = {"_launch": launch, **self._defaults}
        forward = _define("_forward", f"_ctx, {inputs}", lines, namespace, self._operator)
        members = {"forward": staticmethod(forward), "backward": staticmethod(self.differentiate)}
        name = self._operator.partition("::")[2]  # the tensors' grad_fn is "<swishBackward object at ...>"
        function = type(name, (torch.autograd.Function,), members)
        # Function.apply only adds what the transforms of torch.func need, which no plain tensor passes.
        apply: Callable[..., Any] = super(torch.autograd.Function, function).apply  # type: ignore[misc]
        return apply


def _backward_parameters(operator: str, roles: OperatorArguments, backward: Callable[..., Any]) -> Sequence[str]:
    """Return the names that `backward` takes: inputs, outputs, and gradients such as "grad_y".

    Raises ArgumentError for an operator that PyTorch cannot differentiate, and for names that it does not have.
    """
    written = [each.name for each in roles.inputs if each.written]
    if written or not roles.outputs:
        raise ArgumentError(
            f"{operator} cannot have a gradient, because it writes {' and '.join(written) or 'no output'}: PyTorch "
            "differentiates operators that only return new tensors"
        )
    gradients = gradient_names(operator, roles)
    # An operator, which `backward` may be, has no signature, but names its arguments in its schema.
    schema = getattr(backward, "_schema", None)
    given = backward if schema is None else _function_of([each.name for each in schema.arguments])
    known = {*(each.name for each in roles.inputs), *roles.outputs, *gradients}
    wanted = bound(f"{operator}: backward", given, known).names or ()
    if not set(gradients) & set(wanted):
        raise ArgumentError(f"{operator}: backward must be a function of {' or '.join(gradients)}")
    return wanted


def _setting_defaults(inputs: Iterable[InputArgument]) -> Iterator[str]:
    """Yield the lines that set the defaults which no schema can have: PyTorch passes None in their place."""
    for each in inputs:
        if not fits_schema(each.default):
            yield f"if {each.name} is None: {each.name} = _default_{each.name}"


def _define(
    name: str, parameters: str, lines: list[str], namespace: dict[str, Any], operator: str
) -> Callable[..., Any]:
    """Return a function of an operator with these parameters and lines, which use the names of the namespace."""
    body = "".join(f"    {line}\n" for line in lines)
    return define(name, f"def {name}({parameters}):\n{body}", namespace, operator)


def _function_of(names: list[str]) -> Callable[..., None]:
    """Return a function with the signature (names[0], names[1], ...)."""

    def function() -> None: ...

    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function


GPU_KEY, AUTOGRAD_KEY = "CUDA", "AutogradCUDA"
"""PyTorch's dispatch keys of the implementation for GPUs and of the gradient. Tests without a GPU replace them."""

TRANSFORM_KEY = "FuncTorchDynamicLayerFrontMode"
"""PyTorch's dispatch key of the implementation for calls inside transforms of torch.func."""


class OperatorFunctions:
    """Generates the functions of an operator."""

    def __init__(self, torch: Any, declaration: Declaration, non_contiguous: str) -> None:
        self._torch = torch
        self._operator, self._kernels, self._arguments, self._launching = declaration
        self._non_contiguous = non_contiguous
        self._selecting = [each.name for each in self._arguments.selecting][: self._kernels.count]
        # No argument of an operator begins with an underscore, so that these names stay what they are.
        self._namespace: dict[str, Any] = {
            "_type": type,
            "_int": int,
            "_tuple": tuple,
            "_isinstance": isinstance,
            "_Tensor": torch.Tensor,
            "_has_blocks": partial(has_blocks, self._operator),
            "_is_alias_of": torch._C._is_alias_of,
            "_empty_like": torch.empty_like,
            "_dense": torch.contiguous_format,
            "_forward_ad": torch.autograd.forward_ad,
            "_grad_enabled": torch.is_grad_enabled,
            "_refuse_strides": self._refuse_strides,
            "_refuse_output": self._refuse_output,
            "_refuse_gradient": self._refuse_gradient,
            "_refuse_tangents": self._refuse_tangents,
        }
        """Global names of the generated functions: name -> value."""

    def launching_function(self) -> Callable[..., Any]:
        """Return the function that makes the outputs, launches the kernel and returns the outputs.

        The first launch with tensors of some GPUs and element types gets the tensors, so that `Kernel.launch` checks
        them. Later ones with the same get their addresses, which takes less time.
        """
        launches: dict[tuple[Any, ...], Any] = {}
        namespace = self._namespace
        namespace |= {
            "_launches": launches,
            "_launch_for": launches.get,
            "_launch_of": self._launch_of,
            "_last": (None, None),
            "_several_gpus": False,
            # The first function is what the second calls after it has made sure that CUDA is initialised.
            "_current_device": getattr(self._torch._C, "_cuda_getDevice", self._torch.cuda.current_device),
            "_cuda_device": self._torch.cuda.device,
            "_device_with_context": device_with_context,
            "_thread": threading.local(),
            "_current_stream": CurrentStreams()[(self._torch.Tensor,)],
            "_increment_version": self._torch.autograd.graph.increment_version,
        }

        @cache
        def prepare(device: int, *dtypes: Any) -> Any:
            self._check_dtypes(dtypes)
            kernel = self._kernels.loaded(dtypes, device)
            namespace["_several_gpus"] = self._torch.cuda.device_count() > 1
            return kernel

        namespace["_prepare"] = prepare
        of_types = "".join(f", {name}.dtype" for name in self._selecting)
        prepared = [f"_kernel = _prepare(_device{of_types})", *self._on_its_gpu(), f"_key = {self._key()}"]
        launch = self._launch("_kernel.launch", self._arguments.names, "_launches[_key] = _launch_of(_kernel)")
        self._compiled([*self._preparation(), *prepared, *launch], namespace, "_checked")
        return self._compiled([*self._refusals(), *self._checked_before()], namespace, "_function")

    def _checked_before(self) -> list[str]:
        """Return the lines that launch the kernel with tensors of GPUs and element types that were checked before."""
        inputs = ", ".join(each.name for each in self._arguments.inputs)
        found = [
            *self._on_its_gpu(),
            f"_key = {self._key()}",
            "global _last",
            "_known, _launch = _last",
            "if _key != _known:",  # which is faster than a look-up
            "    _launch = _launch_for(_key)",
            f"    if _launch is None: return _checked({inputs})",
            "    _last = _key, _launch",
        ]
        launch = self._launch("_launch", map(self._address, self._arguments.names), "", self._by_address)
        return [*self._preparation(), *found, *launch]

    @property
    def _by_address(self) -> bool:
        """Whether later launches pass addresses only, and no more settings than grid and block."""
        outputs = self._arguments.outputs.values()
        return self._launching.keys() == {"grid", "block"} and all(each.value is None for each in outputs)

    def _launch_of(self, kernel: Kernel) -> Callable[..., None]:
        """Return the function that launches the kernel with tensors that were checked before."""
        return launch_by_address(kernel) if self._by_address else kernel.launch

    def _on_its_gpu(self) -> list[str]:
        """Return the lines that make the GPU of the first tensor current.

        In a thread of its own, such as one of autograd's, PyTorch calls a GPU current before it has a context there.
        """
        inputs = ", ".join(each.name for each in self._arguments.inputs)
        return [
            # -1: in host memory
            "if _several_gpus and _device >= 0 and (_device != _current_device() or not _thread.__dict__):",
            "    with _cuda_device(_device):",
            "        _thread.device = _device_with_context(_device)",
            f"        return _function({inputs})",
        ]

    def differentiable_function(self, differentiable: Callable[..., Any], general: Any) -> Callable[..., Any]:
        """Return the function that serves plain tensors on a GPU where PyTorch looks for a gradient.

        It does what the launching function does, or if a gradient is asked for, calls `differentiable`. PyTorch's own
        kernel `general` serves all others: tensors that only look like ones on a GPU (fake, functional, wrapped ones),
        and the modes that trace and transform. These differ in the dispatch keys that are left.
        """
        keys = self._torch._C.DispatchKey
        plain = self._torch._C.DispatchKeySet(getattr(keys, GPU_KEY)).add(getattr(keys, AUTOGRAD_KEY))
        inputs = ", ".join(each.name for each in self._arguments.inputs)
        lines = [
            f"if _bits(_keys) != {plain.raw_repr()}: return _general(_keys, {inputs})",
            *self._refusals(),
            f"if ({self._require_gradients()}) and _grad_enabled(): return _differentiable({inputs})",
            *self._checked_before(),
        ]
        self._namespace |= {
            "_bits": type(plain).raw_repr,
            "_differentiable": differentiable,
            "_general": general.call_boxed,
        }
        return self._compiled(lines, self._namespace, "_with_gradient", first="_keys, ")

    def shape_function(self) -> Callable[..., Any]:
        """Return the function that checks the inputs and makes the outputs, and launches nothing."""
        outputs = self._arguments.outputs
        needed: set[str] = set()
        waiting = [name for each in outputs.values() for name in each.names or ()]
        while waiting:
            name = waiting.pop()
            if name in self._arguments.values and name not in needed:
                needed.add(name)
                waiting += self._arguments.values[name].names or ()
        lines = [
            *self._refusals(),
            *self._preparation(),
            f"_check_dtypes([{''.join(f'{name}.dtype, ' for name in self._selecting)}])",
            *self._computations([name for name in self._arguments.values if name in needed], [*outputs]),
            self._return(),
        ]
        return self._compiled(lines, {**self._namespace, "_check_dtypes": self._check_dtypes})

    def transformed_function(self, is_differentiable: bool) -> Callable[..., Any]:
        """Return the function that serves calls inside transforms of `torch.func`.

        It refuses derivatives, which would be zero, and leaves all else to PyTorch's own kernel.
        """
        torch, functorch = self._torch, self._torch._C._functorch
        general = torch.library.get_kernel(self._operator, TRANSFORM_KEY).call_boxed

        def transformed(keys: Any, *args: Any, **more: Any) -> Any:
            transform = functorch.peek_interpreter_stack()
            tensors = [each for each in (*args, *more.values()) if isinstance(each, torch.Tensor)]
            inputs = [each for each in tensors if functorch.maybe_get_level(each) == transform.level()]
            if transform.key() == functorch.TransformType.Jvp and inputs:
                self._refuse_tangents()
            if transform.key() == functorch.TransformType.Grad and not is_differentiable and torch.is_grad_enabled():
                wanted = [each for each in inputs if each.requires_grad]
                if wanted:
                    self._refuse_gradient()
            return general(keys, *args, **more)

        return transformed

    def _compiled(
        self, lines: list[str], namespace: dict[str, Any], function: str = "_function", first: str = ""
    ) -> Callable[..., Any]:
        """Add a function with the operator's inputs, after `first`, and these lines to the namespace, whose names they
        use, and return it."""
        bounds = {"value": self._arguments.values, "output": self._arguments.outputs, "setting": self._launching}
        for prefix, named in bounds.items():
            namespace.update({f"_{prefix}_{name}": each.value for name, each in named.items()})
        inputs = self._arguments.inputs
        # PyTorch leaves arguments out that have their default values.
        namespace.update({f"_default_{each.name}": each.default for each in inputs if each.has_default})
        parameters = [f"{each.name}=_default_{each.name}" if each.has_default else each.name for each in inputs]
        return _define(function, f"{first}{', '.join(parameters)}", lines, namespace, self._operator)

    def _refusals(self) -> Iterator[str]:
        """Yield the lines that set defaults which no schema can have, and refuse derivatives that would be lost."""
        yield from _setting_defaults(self._arguments.inputs)
        tensors = self._arguments.tensors
        yield f"if _forward_ad._current_level >= 0: _refuse_tangents({', '.join(each.name for each in tensors)})"
        if any(each.written for each in tensors):
            yield f"if ({self._require_gradients()}) and _grad_enabled(): _refuse_gradient()"

    def _require_gradients(self) -> str:
        """Return the expression of whether any tensor requires a gradient."""
        return " or ".join(
            f"{each.name} is not None and {each.name}.requires_grad"
            if each.has_default
            else f"{each.name}.requires_grad"
            for each in self._arguments.tensors
        )

    def _preparation(self) -> Iterator[str]:
        """Yield the lines that make the tensors contiguous, or refuse those that are not, and read the GPU."""
        for each in self._arguments.tensors if self._non_contiguous != "pass" else ():
            there = f"{each.name} is not None and " if each.has_default else ""
            is_copied = self._non_contiguous == "copy" and not each.written  # a copy would take the result
            change = f"{each.name} = {each.name}.contiguous()" if is_copied else f"_refuse_strides({each.name!r})"
            yield f"if {there}not {each.name}.is_contiguous(): {change}"
        yield f"_device = {self._arguments.selecting[0].name}.get_device()"

    def _computations(self, values: list[str], outputs: list[str]) -> Iterator[str]:
        """Yield the lines that compute values and make outputs."""
        for name in values:
            yield f"{name} = {self._expression(f'_value_{name}', self._arguments.values[name])}"
        for name in outputs:
            output = self._arguments.outputs[name]
            if output.value is None:
                # Kernels write their outputs densely, whatever strides an input has that reaches them.
                layout = ", memory_format=_dense" if self._non_contiguous == "pass" else ""
                yield f"{name} = _empty_like({(output.names or ())[0]}{layout})"
            else:
                yield f"{name} = {self._expression(f'_output_{name}', output)}"
                yield self._output_check(name)

    def _launch(self, launch: str, arguments: Iterable[str], after: str, by_address: bool = False) -> Iterator[str]:
        """Yield the lines that compute values and outputs, launch the kernel by the function `launch` with these
        arguments unless the grid is empty, and return the outputs. The line `after` follows a launch."""
        settings = {name: self._expression(f"_setting_{name}", each) for name, each in self._launching.items()}
        grid, block = settings.pop("grid"), settings.pop("block")
        more = [f"{name}={value}" for name, value in settings.items()]
        yield from self._computations([*self._arguments.values], [*self._arguments.outputs])
        yield f"_grid = {grid}"
        usual = "_grid > 0 if _type(_grid) is _int else _type(_grid) is _tuple and 0 not in _grid"  # takes no call
        yield f"if ({usual}) or _has_blocks(_grid):"
        yield from (f"    _increment_version({each.name})" for each in self._arguments.inputs if each.written)
        stream = "_current_stream(_device)"
        given = [block, stream, *arguments] if by_address else [block, *arguments, f"stream={stream}", *more]
        yield f"    {launch}(_grid, {', '.join(given)})"
        yield f"    {after}"
        yield self._return()

    def _key(self) -> str:
        """Return the expression of a tuple with the GPU and the element type of each tensor."""
        key, known = "", self._arguments.selecting[0]
        for tensor in self._arguments.tensors:
            device = "_device" if tensor is known else f"{tensor.name}.get_device()"
            parts = f"{device}, {tensor.name}.dtype, "
            key += f"*(({parts}) if {tensor.name} is not None else (None,)), " if tensor.has_default else parts
        return f"({key})"

    def _address(self, name: str) -> str:
        """Return the expression of a kernel's argument, the address if it is an input or an output like one, and the
        kernel does not take its accessor."""
        tensors = {each.name: each.has_default for each in self._arguments.tensors}
        output = self._arguments.outputs.get(name)
        is_like_an_input = output is not None and output.value is None
        if name in self._arguments.accessors or (name not in tensors and not is_like_an_input):
            return name
        return f"0 if {name} is None else {name}.data_ptr()" if tensors.get(name) else f"{name}.data_ptr()"

    @staticmethod
    def _expression(name: str, each: Bound) -> str:
        """Return the expression of a constant or of a function's call; `name` is that in the namespace."""
        return name if each.names is None else f"{name}({', '.join(each.names)})"

    def _return(self) -> str:
        return f"return {', '.join(self._arguments.outputs)}" if self._arguments.outputs else "return None"

    def _check_dtypes(self, dtypes: Any) -> None:
        """Raise ArgumentError if no kernel serves tensors of these element types."""
        accepted = self._kernels.accepted
        if tuple(dtypes) in accepted:
            return
        alternatives = " or ".join(", ".join(map(_dtype_name, each)) for each in accepted)
        found = ", ".join(map(_dtype_name, dtypes))
        raise ArgumentError(f"{self._operator} takes {', '.join(self._selecting)} of {alternatives}, not of {found}")

    def _output_check(self, name: str) -> str:
        """Return the line that refuses what an output's function returned, if it is no new tensor."""
        outputs = [*self._arguments.outputs]
        optional = {each.name: each.has_default for each in self._arguments.tensors}
        others = [*optional, *outputs[: outputs.index(name)]]
        wrong = [f"not _isinstance({name}, _Tensor)"]
        if self._non_contiguous != "pass":
            wrong.append(f"not {name}.is_contiguous()")
        for other in others:
            there = f"{other} is not None and " if optional.get(other) else ""
            wrong.append(f"{there}_is_alias_of({name}, {other})")
        given = "".join(f"{other!r}: {other}, " for other in others)
        return f"if {' or '.join(wrong)}: _refuse_output({name!r}, {name}, {{{given}}})"

    def _refuse_output(self, name: str, made: Any, others: Mapping[str, Any]) -> None:
        """Raise ArgumentError: an output's function made no new, contiguous tensor. `others`: name -> older tensor."""
        if not isinstance(made, self._torch.Tensor):
            raise ArgumentError(
                f"{self._operator}: the function of the output {name} must return a tensor, not {made!r}"
            )
        for other, tensor in others.items():
            if tensor is not None and self._torch._C._is_alias_of(made, tensor):
                raise ArgumentError(
                    f"{self._operator}: the output {name} shares the memory of {other}, but PyTorch's operators return "
                    "new tensors: let its function make one, or leave it out of outputs, so that the operator writes it"
                )
        raise ArgumentError(
            f"{self._operator}: the function of the output {name} returned a tensor that is not contiguous: only with "
            'non_contiguous="pass" does a kernel know its strides'
        )

    def _refuse_gradient(self) -> None:
        """Raise ArgumentError: a tensor requires a gradient, which the operator does not have."""
        written = " and ".join(each.name for each in self._arguments.tensors if each.written)
        raise ArgumentError(
            f"{self._operator} {f'writes {written}, so it ' if written else ''}has no gradient, but a tensor requires "
            "one: call it inside torch.no_grad(), or pass x.detach() for a tensor x that requires a gradient"
        )

    def _refuse_tangents(self, *tensors: Any) -> None:
        """Raise ArgumentError if one of the tensors has a forward-mode derivative, or if none is given."""
        unpack = self._torch.autograd.forward_ad.unpack_dual
        # Before PyTorch 2.9, tensors of torch.func come here without their tangents.
        exact = hasattr(self._torch.library, "get_kernel")
        if tensors and exact and all(each is None or unpack(each).tangent is None for each in tensors):
            return
        raise ArgumentError(
            f"{self._operator} has no forward-mode derivative (torch.func.jvp, torch.autograd.forward_ad), which would "
            "be zero in silence"
        )

    def _refuse_strides(self, name: str) -> None:
        """Raise ArgumentError: a tensor is not contiguous."""
        written = any(each.name == name and each.written for each in self._arguments.inputs)
        why = ", because the operator writes it" if written and self._non_contiguous == "copy" else ""
        raise ArgumentError(f"{self._operator}: {name} must be contiguous{why}: pass {name}.contiguous()")


def _dtype_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")
