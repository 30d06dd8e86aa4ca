"""Generate the functions of an operator that is declared as one launch of a Triton kernel."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from cuda_wheel.operators.declarations import Bound, Declaration, TritonInstances
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.torch.declared import Declared

__all__ = ["TritonFunctions"]


class TritonFunctions(Declared):
    """Generates the functions of an operator that is declared as one launch of a Triton kernel.

    A launch of a Triton kernel finds by its arguments what was compiled for them, in the first call and in later ones.
    """

    def __init__(self, torch: Any, declaration: Declaration, non_contiguous: str) -> None:
        super().__init__(torch, declaration, non_contiguous)
        assert isinstance(declaration.kernels, TritonInstances)
        self._triton = declaration.kernels
        self._options = self._triton.variant_chooser or Bound(self._triton.options, None)
        self._left_out = frozenset(self._triton.grid_names()) - {*self._arguments.names}
        """Names of constants and options that a launch chooses, which a grid may use."""
        self._namespace |= {
            "_choice_variant": self._options.value,
            "_checked_options": self._triton.checked_options,
            "_check_launch": self._check_launch,
            "_note_gpus": self._note_gpus,
            "_launch_on": cache(lambda device: self._triton.loaded(device).launch),
            "_was_called": False,
        }

    def _first_call(self) -> Iterator[str]:
        yield "_note_gpus()"
        yield from self._on_its_gpu()
        yield from self._call()

    def _key(self) -> str:
        return "_device"

    def _tensors_decide_key(self) -> bool:
        return False

    def _later_call(self) -> Iterator[str]:
        yield "global _was_called"
        yield f"if not _was_called: _was_called = True; return _checked({self._passed})"
        yield from self._call()

    def _call(self) -> Iterator[str]:
        """Yield the source lines that compute values and outputs, launch the kernel, and return the outputs."""
        yield from self._computations([*self._arguments.values], [*self._arguments.outputs])
        yield from self._versions()
        yield f"_launch_on(_device)({self._grid()}, {self._given()}, stream=_current_stream(_device))"
        yield self._return()

    def _grid(self) -> str:
        """Return the Python expression of the grid: a function for one that names what the launch chooses."""
        grid = self._launching["grid"]
        names = [f"_chosen[{name!r}]" if name in self._left_out else name for name in grid.names or ()]
        call = "_setting_grid" if grid.names is None else f"_setting_grid({', '.join(names)})"
        return f"lambda _chosen: {call}" if self._left_out.intersection(grid.names or ()) else call

    def _given(self) -> str:
        """Return the source text of the arguments and options of a launch: by name from the first on that it leaves
        out."""
        names, all_names = self._arguments.names, [name for name, _, _ in self._triton.kernel.parameters]
        first = next(
            (at for at, (name, other) in enumerate(zip(names, all_names, strict=False)) if name != other), len(names)
        )
        given = [*names[:first], *(f"{name}={name}" for name in names[first:])]
        if self._options.names is not None:
            given.append(f"**_checked_options({self._expression('_choice_variant', self._options)})")
        elif self._options.value:
            given.append("**_choice_variant")
        return ", ".join(given)

    def _shapes(self) -> Iterator[str]:
        outputs, needed = self._arguments.outputs, self._needed_values()
        yield from self._computations([name for name in self._arguments.values if name in needed], [*outputs])
        # With sizes that PyTorch does not know, the functions of values may do what only numbers can.
        seen = "".join(f"{each.name}, " for each in self._inputs)
        yield f"if not _has_symbols(({seen})):"
        rest = [name for name in self._arguments.values if name not in needed]
        yield from (f"    {line}" for line in self._computations(rest, []))
        yield f"    _check_launch({self._given()})"
        yield self._return()

    def _check_launch(self, *args: Any, **named: Any) -> None:
        """Raise ArgumentError if nothing was compiled for these arguments, constants and options, or if tensors are on
        different devices."""
        try:
            self._triton.kernel.check(args, named, lambda value: False)
        except ArgumentError as error:
            raise ArgumentError(f"{self._operator}: {error}") from None
        devices = dict.fromkeys(
            each.device for each in (*args, *named.values()) if isinstance(each, self._torch.Tensor)
        )
        if len(devices) > 1:
            raise ArgumentError(f"{self._operator}: tensors are on {' and '.join(map(str, devices))}")
