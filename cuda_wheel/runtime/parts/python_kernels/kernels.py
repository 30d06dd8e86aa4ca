"""Kernels that were compiled from Python functions: what those of all languages have in common."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...arguments import value_text
from ...errors import ArgumentError
from ...generated import Missing
from ...manifest import PythonParameter
from ...module import Module

__all__ = ["INTERFACE_TYPES", "MISSING", "PythonKernel", "blocks_of", "nothing_fits"]

MISSING = Missing()
"""Value of an argument or constant that a launch leaves out."""

INTERFACE_TYPES = {"b1": "bool", "f2": "float16", "f4": "float32", "f8": "float64"} | {
    f"{kind[0]}{size}": f"{kind}{8 * size}" for kind in ("int", "uint") for size in (1, 2, 4, 8)
}
"""Type in `__cuda_array_interface__`, without the byte order -> name of the element type: "f4" -> "float32"."""


def blocks_of(kernel: str, grid: Any) -> tuple[int, ...]:
    """Return the numbers of blocks of a grid, one to three; raises ArgumentError that names the kernel."""
    try:
        blocks = tuple(map(int, grid)) if hasattr(grid, "__len__") else (int(grid),)
    except (TypeError, ValueError):
        blocks = ()
    if not 1 <= len(blocks) <= 3 or min(blocks) < 0:
        raise ArgumentError(f"{kernel}: grid must be one to three numbers of 0 and more, not {value_text(grid)}")
    return blocks


def nothing_fits(kernel: str, language: str, asked: str, compiled: Sequence[str]) -> str:
    """Return the message for arguments that a kernel was not compiled for.

    `kernel`: the module's name and the kernel's. `compiled`: what it was compiled for, the nearest to `asked` first.
    """
    listed = "".join(f"\n  {each}" for each in compiled[:5])
    more = f"\n  and {len(compiled) - 5} more" if len(compiled) > 5 else ""
    return (
        f"{kernel} was not compiled for {asked}. It was compiled for, the nearest first:{listed}{more}\n"
        f"Add what is missing to arguments of its [[tool.cuda-wheel.{language}]], and build the wheel again."
    )


class PythonKernel:
    """A kernel in one language, with its variants: what was compiled of it."""

    def __init__(
        self,
        module: str,
        path: str,
        parameters: Sequence[PythonParameter],
        variants: Sequence[Mapping[str, Any]],
        load: Callable[[Mapping[str, Any]], Module],
    ) -> None:
        """`load` loads a variant."""
        self.name = path.rpartition(":")[2]
        self.parameters = tuple(parameters)
        """(name, kind, default) of each parameter of the Python function; see `signatures`."""
        self._module = module
        self._variants = tuple(variants)
        self._load = load
        self._names = {name: at for at, (name, _, _) in enumerate(parameters)}
        """Name of a parameter -> its number, from 0."""

    @property
    def variants(self) -> tuple[Mapping[str, Any], ...]:
        """What the kernel was compiled for, in the order of the settings: types, constants and options by name."""
        return self._variants

    def _given(
        self, args: Sequence[Any], named: Mapping[str, Any], is_option: Callable[[str], bool]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return the value of each parameter, MISSING where there is none, and the options by name.

        Raises ArgumentError for too many values, and for a name of neither a parameter nor an option.
        """
        count, names = len(self.parameters), ", ".join(self._names)
        if len(args) > count:
            raise ArgumentError(f"{self.name} takes {count} arguments, ({names}), but got {len(args)}")
        values = [*args, *([MISSING] * (count - len(args)))]
        options = {}
        for name, value in named.items():
            at = self._names.get(name)
            if at is None and not is_option(name):
                raise ArgumentError(f"{self.name} has no parameter {name!r}: it has {names}")
            if at is None:
                options[name] = value
            elif at < len(args):
                raise ArgumentError(f"{self.name} got two values for {name!r}")
            else:
                values[at] = value
        return values, options

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self._module}: ({', '.join(self._names)})>"
