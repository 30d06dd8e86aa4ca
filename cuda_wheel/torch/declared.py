"""Generate the functions of an operator that is declared as one launch of a kernel."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from cuda_wheel.operators.declarations import Bound, Declaration, KernelChoice, KernelInstances, has_blocks
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.module import Kernel
from cuda_wheel.runtime.parts.bind import launch_by_address
from cuda_wheel.torch.functions import OperatorFunctions

__all__ = ["Declared", "DeclaredFunctions"]


class Declared(OperatorFunctions):
    """Generates the lines that each operator has which is declared as one launch: they compute its values, make its
    outputs and return them."""

    def __init__(self, torch: Any, declaration: Declaration, non_contiguous: str) -> None:
        self._arguments, self._launching = declaration.arguments, declaration.launching
        super().__init__(torch, declaration.name, self._arguments.inputs, non_contiguous)
        self._namespace |= {
            "_isinstance": isinstance,
            "_Tensor": torch.Tensor,
            "_is_alias_of": torch._C._is_alias_of,
            "_empty_like": torch.empty_like,
            "_dense": torch.contiguous_format,
            "_refuse_output": self._refuse_output,
            "_has_symbols": _has_symbols,
        }
        bounds = {"value": self._arguments.values, "output": self._arguments.outputs, "setting": self._launching}
        for prefix, named in bounds.items():
            self._namespace |= {f"_{prefix}_{name}": each.value for name, each in named.items()}

    def _needed_values(self) -> set[str]:
        """Return the names of the computed values that the outputs are made from, directly or through other values."""
        needed: set[str] = set()
        waiting = [name for each in self._arguments.outputs.values() for name in each.names or ()]
        while waiting:
            name = waiting.pop()
            if name in self._arguments.values and name not in needed:
                needed.add(name)
                waiting += self._arguments.values[name].names or ()
        return needed

    def _computations(self, values: list[str], outputs: list[str]) -> Iterator[str]:
        """Yield the source lines that compute the values named in `values`, in this order, and then make the outputs
        named in `outputs`."""
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

    def _versions(self) -> Iterator[str]:
        """Yield the source lines that tell autograd which inputs the kernel writes."""
        for each in self._arguments.inputs:
            if each.written:
                there = f"if {each.name} is not None: " if each.is_optional else ""
                yield f"{there}_increment_version({each.name})"

    @staticmethod
    def _expression(name: str, each: Bound) -> str:
        """Return the Python expression for a value, output or setting of a declaration: "_value_n" for a constant, or
        "_value_n(x, y)" for a function of x and y.

        `name`: global name in the generated code, "_value_n". `each`: the constant or function.
        """
        return name if each.names is None else f"{name}({', '.join(each.names)})"

    def _return(self) -> str:
        return f"return {', '.join(self._arguments.outputs)}" if self._arguments.outputs else "return None"

    def _output_check(self, name: str) -> str:
        """Return the source line that checks the output `name`, which a function of the declaration made.

        The line raises ArgumentError if the output is not a tensor, is not contiguous, or shares memory with an
        argument or an earlier output. If `non_contiguous` is "pass", the output need not be contiguous.
        """
        outputs = [*self._arguments.outputs]
        optional = {each.name: each.is_optional for each in self._arguments.tensors}
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
        """Raise ArgumentError for the output `name`, which a function of the declaration made. The error message says
        what is wrong: `made` is not a tensor, is not contiguous, or shares memory with another tensor.

        `others`: name of an argument or earlier output -> its tensor; None for a missing one.
        """
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


class DeclaredFunctions(Declared):
    """Generates the functions of an operator that is declared as one launch of a kernel."""

    def __init__(self, torch: Any, declaration: Declaration, non_contiguous: str) -> None:
        super().__init__(torch, declaration, non_contiguous)
        assert isinstance(declaration.kernels, KernelInstances)
        self._kernels = declaration.kernels
        self._selecting = [each.name for each in self._arguments.selecting][: self._kernels.count]
        self._checks: dict[str, Any] = {}
        self._choosers = {"kernel": self._kernels.chooser, "variant": self._kernels.variant_chooser}
        """"kernel" or "variant" -> function of the declaration that returns the kernel or the variant for each call;
        None if the declaration has no such function."""
        self._namespace |= {
            "_type": type,
            "_int": int,
            "_tuple": tuple,
            "_has_blocks": partial(has_blocks, self._operator),
            "_check_tensors": self._check_tensors,
            "_macros_of": self._kernels.checked_macros,
        }
        self._namespace |= {f"_choice_{name}": each.value for name, each in self._choosers.items() if each is not None}

    def _first_call(self) -> Iterator[str]:
        """Yield the source lines of the first launch with each `_key` (GPUs and element types of the tensors).

        The lines check the tensors and launch by `Kernel.launch`. They store a function for later launches with the
        same `_key`, if possible a faster one.
        """
        launches: dict[tuple[Any, ...], Any] = {}
        self._namespace |= {
            "_launches": launches,
            "_launch_for": launches.get,
            "_launch_of": self._launch_of,
            "_last": (None, None),
        }

        @cache
        def prepare(device: int, dtypes: tuple[Any, ...], name: Any, macros: Any) -> Any:
            kernel = self._kernels.loaded_choice(self._choice(dtypes, name, dict(macros)), device)
            self._note_gpus()
            return kernel

        self._namespace |= {"_prepare": prepare}
        dtypes = "".join(f"{name}.dtype, " for name in self._selecting)
        yield from self._choosing()
        yield f"_kernel = _prepare(_device, ({dtypes}), _chosen_kernel, _chosen_variant)"
        yield from (*self._on_its_gpu(), f"_key = {self._key()}")
        yield from self._launch("_kernel.launch", self._arguments.names, "_launches[_key] = _launch_of(_kernel)")

    def _choosing(self) -> Iterator[str]:
        """Yield the source lines that assign the results of the functions in `_choosers` to `_chosen_kernel` and
        `_chosen_variant`. If a function is None, they assign "" as the kernel, or () as the variant."""
        if self._chooses:
            yield from self._computations([*self._arguments.values], [])
        for name, each in self._choosers.items():
            chosen = f"_chosen_{name}"
            if each is None:
                yield f"{chosen} = {'()' if name == 'variant' else repr('')}"
            elif name == "variant":
                yield f"{chosen} = _macros_of({self._expression(f'_choice_{name}', each)})"
            else:
                yield f"{chosen} = {self._expression(f'_choice_{name}', each)}"

    @property
    def _chooses(self) -> bool:
        """Whether a function of the declaration chooses the kernel or the variant in each call."""
        return any(self._choosers.values())

    def _choice(self, dtypes: tuple[Any, ...], name: Any, macros: Any) -> KernelChoice:
        """Return which kernel a call runs. Raise ArgumentError if there is no such kernel.

        `dtypes`: element types of the tensors that select the kernel.
        `name`: kernel that a function of the declaration chose: its name, or (template's name, template arguments...).
        "" without such a function.
        `macros`: variant that a function of the declaration chose: name of a macro -> value. Empty without such a
        function.
        """
        if self._kernels.chooser is None:
            self._check_dtypes(dtypes)
        elif isinstance(name, tuple):
            from cuda_wheel.torch.module_kernels import instance_name  # only for functions that choose kernels

            name = instance_name(name)
        return self._kernels.choice(dtypes, name, macros if self._kernels.variant_chooser else None)

    def _before_key(self) -> Iterator[str]:
        if self._chooses:
            yield from self._choosing()

    def _later_call(self) -> Iterator[str]:
        """Yield the source lines of a call, first or later. If an earlier call had the same `_key`, the lines launch
        without checks. Otherwise they call `_checked`, the function with the lines of `_first_call`."""
        yield "global _last"
        yield "_known, _launch = _last"
        yield "if _key is not _known and _key != _known:"  # which is faster than a look-up
        yield "    _launch = _launch_for(_key)"
        yield f"    if _launch is None: return _checked({self._passed})"
        yield "    _last = _key, _launch"
        yield from self._launch("_launch", map(self._address, self._arguments.names), "", self._by_address)

    def _shapes(self) -> Iterator[str]:
        outputs, needed = self._arguments.outputs, self._needed_values()
        yield from self._computations([name for name in self._arguments.values if name in needed], [*outputs])
        dtypes = "".join(f"{name}.dtype, " for name in self._selecting)
        arrays = [*(each.name for each in self._tensors), *outputs]
        if self._chooses:
            choosing = {name for each in self._choosers.values() if each for name in each.names or ()}
            seen = [name for name in (each.name for each in self._inputs) if name in choosing | needed]
            yield f"if not _has_symbols(({''.join(f'{name}, ' for name in seen)})):"
            yield from (f"    {line}" for line in self._choosing())
            yield f"    _check_tensors(({dtypes}), _chosen_kernel, _chosen_variant, {self._named(arrays)})"
        else:
            yield f"_check_tensors(({dtypes}), '', (), {self._named(arrays)})"
        yield self._return()

    @staticmethod
    def _named(arrays: Iterable[str]) -> str:
        return f"{{{', '.join(f'{name!r}: {name}' for name in arrays)}}}"

    def _check_tensors(self, dtypes: Any, name: Any, macros: Any, arrays: Mapping[str, Any]) -> None:
        """Raise ArgumentError if no kernel takes these tensors, or if they are on different devices.

        A kernel that is compiled only when it is launched is not checked.
        `dtypes`, `name`, `macros`: element types, chosen kernel and chosen variant, as for `_choice`.
        `arrays`: name of an input or output -> fake tensor (without data); None for a missing optional tensor.
        """
        info = self._kernels.chosen(self._choice(tuple(dtypes), name, dict(macros)))
        if info is None:  # it is compiled when it is launched
            return
        if info.symbol not in self._checks:
            from cuda_wheel.torch.launch_checks import KernelCheck  # only for fake tensors

            self._checks[info.symbol] = KernelCheck(info, self._kernels.long_size)
        first = arrays[self._arguments.selecting[0].name]
        for array_name, array in arrays.items():
            if array is not None:
                place = self._arguments.names.index(array_name)
                self._checks[info.symbol].array(self._operator, place, array, first.device)

    @property
    def _by_address(self) -> bool:
        """Whether launches after the first one use `launch_by_address`, which takes addresses instead of tensors. This
        is so if the launch has no settings but grid and block, and each output is made like an input."""
        outputs = self._arguments.outputs.values()
        return self._launching.keys() == {"grid", "block"} and all(each.value is None for each in outputs)

    def _launch_of(self, kernel: Kernel) -> Callable[..., None]:
        """Return the function for launches after the first one: `launch_by_address(kernel)` if `_by_address`, else
        `kernel.launch`."""
        return launch_by_address(kernel) if self._by_address else kernel.launch

    def _launch(self, launch: str, arguments: Iterable[str], after: str, by_address: bool = False) -> Iterator[str]:
        """Yield the source lines that compute values and outputs, launch the kernel, and return the outputs. With an
        empty grid, they do not launch.

        `launch`: Python expression for the function that launches, such as "_kernel.launch".
        `arguments`: Python expressions of the kernel's arguments.
        `after`: source line to run after the launch, or "".
        `by_address`: whether the function takes (grid, block, stream, *arguments). If not, it takes the arguments of
        `Kernel.launch`.
        """
        settings = {name: self._expression(f"_setting_{name}", each) for name, each in self._launching.items()}
        grid, block = settings.pop("grid"), settings.pop("block")
        more = [f"{name}={value}" for name, value in settings.items()]
        values = [] if self._chooses else [*self._arguments.values]
        yield from self._computations(values, [*self._arguments.outputs])
        yield f"_grid = {grid}"
        usual = "_grid > 0 if _type(_grid) is _int else _type(_grid) is _tuple and 0 not in _grid"  # takes no call
        yield f"if ({usual}) or _has_blocks(_grid):"
        yield from (f"    {line}" for line in self._versions())
        stream = "_current_stream(_device)"
        given = [block, stream, *arguments] if by_address else [block, *arguments, f"stream={stream}", *more]
        yield f"    {launch}(_grid, {', '.join(given)})"
        yield f"    {after}"
        yield self._return()

    def _key(self) -> str:
        """Return the Python expression of a call's key: a tuple with the GPU and element type of each tensor. The
        chosen kernel and variant are in it too, if functions choose them."""
        key, known = "", self._arguments.selecting[0]
        for tensor in self._arguments.tensors:
            device = "_device" if tensor is known else f"{tensor.name}.get_device()"
            parts = f"{device}, {tensor.name}.dtype, "
            key += f"*(({parts}) if {tensor.name} is not None else (None,)), " if tensor.is_optional else parts
        key += "_chosen_kernel, _chosen_variant, " if self._chooses else ""
        return f"({key})"

    def _tensors_decide_key(self) -> bool:
        return super()._tensors_decide_key() and not self._chooses

    def _address(self, name: str) -> str:
        """Return the Python expression for the kernel's argument `name` in launches after the first one.

        For an input tensor, and for an output made like an input, it is the address: "x.data_ptr()", or 0 if an
        optional tensor is missing. For all others, such as numbers and accessors, it is `name` itself.
        """
        tensors = {each.name: each.is_optional for each in self._arguments.tensors}
        output = self._arguments.outputs.get(name)
        is_like_an_input = output is not None and output.value is None
        if name in self._arguments.accessors or (name not in tensors and not is_like_an_input):
            return name
        return f"0 if {name} is None else {name}.data_ptr()" if tensors.get(name) else f"{name}.data_ptr()"

    def _check_dtypes(self, dtypes: Any) -> None:
        """Raise ArgumentError if the operator has no kernel for tensors of these element types. `dtypes` are those of
        the tensors that select the kernel."""
        accepted = self._kernels.accepted
        if tuple(dtypes) in accepted:
            return
        alternatives = " or ".join(", ".join(map(_dtype_name, each)) for each in accepted)
        found = ", ".join(map(_dtype_name, dtypes))
        raise ArgumentError(f"{self._operator} takes {', '.join(self._selecting)} of {alternatives}, not of {found}")


def _has_symbols(values: Iterable[Any]) -> bool:
    """Return whether one of the values is a number that PyTorch does not know while it compiles (a SymInt, for
    example), or is a tensor with a size that is such a number."""
    from cuda_wheel.torch.launch_checks import is_symbol  # only for fake tensors

    return any(is_symbol(each) or any(map(is_symbol, getattr(each, "shape", ()))) for each in values)


def _dtype_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")
