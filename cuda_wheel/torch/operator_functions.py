"""Generate the functions of an operator: the one that launches the kernel, and the one that only makes the outputs.

As in `runtime.launching.launcher`, straight-line source text is faster than a loop over the arguments at each call.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..declarations.kernel_instances import KernelInstances
from ..declarations.operator_arguments import Bound, OperatorArguments
from ..runtime.errors import ArgumentError

__all__ = ["OperatorFunctions"]


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
        """Return the function that makes the outputs, launches the kernel and returns the outputs."""
        names = self._arguments.names
        first = self._arguments.selecting[0].name
        key = f"device, {''.join(f'{name}.dtype, ' for name in self._selecting)}"
        written = [each.name for each in self._arguments.inputs if each.written]
        settings = {name: self._expression(f"setting_{name}", each) for name, each in self._launching.items()}
        lines = [
            *self._preparation(),
            f"device = {first}.get_device()",
            f"kernel = kernel_for(({key}))",
            f"if kernel is None: kernel = prepare({key})",
            "if several_gpus and device != current_device():",
            "    with cuda_device(device):",
            f"        return function({', '.join(each.name for each in self._arguments.inputs)})",
            *self._computations([*self._arguments.values], [*self._arguments.outputs]),
            f"grid_ = {settings.pop('grid')}",
            "if grid_ and (type(grid_) is int or 0 not in grid_):",
            *(f"    increment_version({name})" for name in written),
            f"    kernel.launch(grid_, {settings.pop('block')}, {_listed(names, settings)})",
            self._return(),
        ]
        kernels: dict[tuple[Any, ...], Any] = {}
        namespace: dict[str, Any] = {
            "kernel_for": kernels.get,
            "several_gpus": False,
            "current_device": self._torch.cuda.current_device,
            "cuda_device": self._torch.cuda.device,
            "increment_version": self._torch.autograd.graph.increment_version,
        }

        def prepare(device: int, *dtypes: Any) -> Any:
            self._check_dtypes(dtypes)
            kernel = kernels[(device, *dtypes)] = self._kernels.loaded(dtypes, device)
            namespace["several_gpus"] = self._torch.cuda.device_count() > 1
            return kernel

        namespace["prepare"] = prepare
        return self._compiled(lines, namespace)

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
            f"check_dtypes([{''.join(f'{name}.dtype, ' for name in self._selecting)}])",
            *self._computations([name for name in self._arguments.values if name in needed], [*outputs]),
            self._return(),
        ]
        return self._compiled(lines, {"check_dtypes": self._check_dtypes})

    def _compiled(self, lines: list[str], namespace: dict[str, Any]) -> Callable[..., Any]:
        """Return a function with the operator's inputs and these lines, which use the names in `namespace`."""
        namespace.update(empty_like=self._torch.empty_like, refuse_strides=self._refuse_strides)
        bounds = {"value": self._arguments.values, "output": self._arguments.outputs, "setting": self._launching}
        for prefix, named in bounds.items():
            namespace.update({f"{prefix}_{name}": each.value for name, each in named.items()})
        inputs = self._arguments.inputs
        # PyTorch leaves arguments out that have their default values.
        namespace.update({f"default_{each.name}": each.default for each in inputs if each.has_default})
        parameters = [f"{each.name}=default_{each.name}" if each.has_default else each.name for each in inputs]
        body = "".join(f"    {line}\n" for line in lines)
        exec(f"def function({', '.join(parameters)}):\n{body}", namespace)
        function: Callable[..., Any] = namespace["function"]
        return function

    def _preparation(self) -> Iterator[str]:
        """Yield the lines that make the tensors contiguous, or refuse those that are not."""
        if self._non_contiguous == "pass":
            return
        for each in self._arguments.tensors:
            there = f"{each.name} is not None and " if each.has_default else ""
            is_copied = self._non_contiguous == "copy" and not each.written  # a copy would take the result
            change = f"{each.name} = {each.name}.contiguous()" if is_copied else f"refuse_strides({each.name!r})"
            yield f"if {there}not {each.name}.is_contiguous(): {change}"

    def _computations(self, values: list[str], outputs: list[str]) -> Iterator[str]:
        """Yield the lines that compute values and make outputs."""
        for name in values:
            yield f"{name} = {self._expression(f'value_{name}', self._arguments.values[name])}"
        for name in outputs:
            output = self._arguments.outputs[name]
            like = "empty_like" if output.value is None else f"output_{name}"
            yield f"{name} = {like}({', '.join(output.names or ())})"

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


def _listed(names: Sequence[str], more: Mapping[str, str]) -> str:
    """Return the arguments of a call."""
    return ", ".join([*names, *(f"{name}={value}" for name, value in more.items())])


def _dtype_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")
