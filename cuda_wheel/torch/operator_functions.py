"""Generate the functions of an operator: the one that launches the kernel, and the one that only makes the outputs.

As in `runtime.launching.launcher`, straight-line source text is faster than a loop over the arguments at each call. The
names that the text uses begin with an underscore; those of arguments do not.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from ..declarations.kernel_instances import KernelInstances
from ..declarations.operator_arguments import Bound, InputArgument, OperatorArguments
from ..runtime.errors import ArgumentError
from ..runtime.launching.current_streams import CurrentStreams

__all__ = ["AUTOGRAD_KEY", "GPU_KEY", "OperatorFunctions"]

GPU_KEY, AUTOGRAD_KEY = "CUDA", "AutogradCUDA"
"""PyTorch's names for the implementation for GPUs and for the gradient's. Tests without a GPU replace them."""


class OperatorFunctions:
    """Generates the functions of an operator."""

    def __init__(
        self,
        torch: Any,
        operator: str,
        kernels: KernelInstances,
        arguments: OperatorArguments,
        launching: Mapping[str, Bound],
        non_contiguous: str,
    ) -> None:
        self._torch = torch
        self._operator = operator
        self._kernels = kernels
        self._arguments = arguments
        self._launching = launching
        self._non_contiguous = non_contiguous
        self._selecting = [each.name for each in arguments.selecting][: kernels.count]

    def launching_function(self) -> Callable[..., Any]:
        """Return the function that makes the outputs, launches the kernel and returns the outputs.

        The first launch with tensors of some GPUs and element types gets the tensors, so that `Kernel.launch` checks
        them. Later ones with the same get their addresses, which takes less time.
        """
        kernels: dict[tuple[Any, ...], Any] = {}
        namespace: dict[str, Any] = {
            "_kernels": kernels,
            "_kernel_for": kernels.get,
            "_several_gpus": False,
            # The first function is what the second calls after it has made sure that CUDA is initialised.
            "_current_device": getattr(self._torch._C, "_cuda_getDevice", self._torch.cuda.current_device),
            "_cuda_device": self._torch.cuda.device,
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
        first = self._arguments.selecting[0].name
        begin = [*self._preparation(), f"_device = {first}.get_device()"]
        inputs = ", ".join(each.name for each in self._arguments.inputs)
        on_its_gpu = [
            "if _several_gpus and _device != _current_device() and _device >= 0:",  # -1: in host memory
            "    with _cuda_device(_device):",
            f"        return _function({inputs})",
        ]
        key = f"({''.join(map(self._key, self._arguments.tensors))})".replace(f"{first}.get_device()", "_device", 1)
        of_types = "".join(f", {name}.dtype" for name in self._selecting)
        prepared = [f"_kernel = _prepare(_device{of_types})", *on_its_gpu]
        by_address = map(self._address, self._arguments.names)
        namespace["_checked"] = self._compiled(
            [*begin, *prepared, *self._launch(self._arguments.names, f"_kernels[{key}] = _kernel")], namespace
        )
        found = [*on_its_gpu, f"_kernel = _kernel_for({key})", f"if _kernel is None: return _checked({inputs})"]
        return self._compiled([*begin, *found, *self._launch(by_address, "")], namespace)

    def differentiable_function(
        self, launch: Callable[..., Any], differentiable: Callable[..., Any], general: Any
    ) -> Callable[..., Any]:
        """Return the function that serves plain tensors on a GPU where PyTorch looks for a gradient.

        It calls `launch`, the launching function, or if a gradient is asked for, `differentiable`. PyTorch's own kernel
        `general` serves all others: tensors that only look like ones on a GPU (fake, functional, wrapped ones), and
        the modes that trace and transform. These differ in the dispatch keys that are left.
        """
        keys = self._torch._C.DispatchKey
        plain = self._torch._C.DispatchKeySet(getattr(keys, GPU_KEY)).add(getattr(keys, AUTOGRAD_KEY))
        inputs = ", ".join(each.name for each in self._arguments.inputs)
        wanted = " or ".join(
            f"{each.name} is not None and {each.name}.requires_grad"
            if each.has_default
            else f"{each.name}.requires_grad"
            for each in self._arguments.tensors
        )
        lines = [
            "if _is_plain(_keys):",
            f"    return _differentiable({inputs}) if _grad_enabled() and ({wanted}) else _launch({inputs})",
            f"return _general(_keys, {inputs})",
        ]
        namespace = {
            "_is_plain": plain.__eq__,
            "_grad_enabled": self._torch.is_grad_enabled,
            "_differentiable": differentiable,
            "_launch": launch,
            "_general": general.call_boxed,
        }
        return self._compiled(lines, namespace, first="_keys, ")

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
            *self._preparation(),
            f"_check_dtypes([{''.join(f'{name}.dtype, ' for name in self._selecting)}])",
            *self._computations([name for name in self._arguments.values if name in needed], [*outputs]),
            self._return(),
        ]
        return self._compiled(lines, {"_check_dtypes": self._check_dtypes})

    def _compiled(self, lines: list[str], namespace: dict[str, Any], first: str = "") -> Callable[..., Any]:
        """Return a function with the operator's inputs, after `first`, and these lines, which use the names in
        `namespace`."""
        namespace.update(_empty_like=self._torch.empty_like, _refuse_strides=self._refuse_strides)
        bounds = {"value": self._arguments.values, "output": self._arguments.outputs, "setting": self._launching}
        for prefix, named in bounds.items():
            namespace.update({f"_{prefix}_{name}": each.value for name, each in named.items()})
        inputs = self._arguments.inputs
        # PyTorch leaves arguments out that have their default values.
        namespace.update({f"_default_{each.name}": each.default for each in inputs if each.has_default})
        parameters = [f"{each.name}=_default_{each.name}" if each.has_default else each.name for each in inputs]
        body = "".join(f"    {line}\n" for line in lines)
        text = f"def _function({first}{', '.join(parameters)}):\n{body}"
        exec(compile(text, f"<{self._operator}>", "exec"), namespace)  # the name in tracebacks
        function: Callable[..., Any] = namespace["_function"]
        return function

    def _preparation(self) -> Iterator[str]:
        """Yield the lines that make the tensors contiguous, or refuse those that are not."""
        if self._non_contiguous == "pass":
            return
        for each in self._arguments.tensors:
            there = f"{each.name} is not None and " if each.has_default else ""
            is_copied = self._non_contiguous == "copy" and not each.written  # a copy would take the result
            change = f"{each.name} = {each.name}.contiguous()" if is_copied else f"_refuse_strides({each.name!r})"
            yield f"if {there}not {each.name}.is_contiguous(): {change}"

    def _computations(self, values: list[str], outputs: list[str]) -> Iterator[str]:
        """Yield the lines that compute values and make outputs."""
        for name in values:
            yield f"{name} = {self._expression(f'_value_{name}', self._arguments.values[name])}"
        for name in outputs:
            output = self._arguments.outputs[name]
            like = "_empty_like" if output.value is None else f"_output_{name}"
            yield f"{name} = {like}({', '.join(output.names or ())})"

    def _launch(self, arguments: Iterable[str], after: str) -> Iterator[str]:
        """Yield the lines that compute values and outputs, launch the kernel with these arguments unless the grid is
        empty, and return the outputs. The line `after` follows a launch."""
        settings = {name: self._expression(f"_setting_{name}", each) for name, each in self._launching.items()}
        grid, block = settings.pop("grid"), settings.pop("block")
        more = [f"{name}={value}" for name, value in settings.items()]
        yield from self._computations([*self._arguments.values], [*self._arguments.outputs])
        yield f"_grid = {grid}"
        yield "if _grid and (type(_grid) is int or 0 not in _grid):"
        yield from (f"    _increment_version({each.name})" for each in self._arguments.inputs if each.written)
        yield f"    _kernel.launch(_grid, {', '.join([block, *arguments, 'stream=_current_stream(_device)', *more])})"
        yield f"    {after}"
        yield self._return()

    @staticmethod
    def _key(tensor: InputArgument) -> str:
        """Return the parts of a key that tell a tensor's GPU and element type."""
        key = f"{tensor.name}.get_device(), {tensor.name}.dtype, "
        return f"*(({key}) if {tensor.name} is not None else (None,)), " if tensor.has_default else key

    def _address(self, name: str) -> str:
        """Return the expression of a kernel's argument, the address if it is an input or an output like one."""
        tensors = {each.name: each.has_default for each in self._arguments.tensors}
        output = self._arguments.outputs.get(name)
        is_like_an_input = output is not None and output.value is None
        if name not in tensors and not is_like_an_input:
            return name
        return f"{name} is not None and {name}.data_ptr() or None" if tensors.get(name) else f"{name}.data_ptr()"

    @staticmethod
    def _expression(name: str, each: Bound) -> str:
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

    def _refuse_strides(self, name: str) -> None:
        written = any(each.name == name and each.written for each in self._arguments.inputs)
        why = ", because the operator writes it" if written and self._non_contiguous == "copy" else ""
        raise ArgumentError(f"{self._operator}: {name} must be contiguous{why}: pass {name}.contiguous()")


def _dtype_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")
