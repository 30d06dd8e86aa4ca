"""Find what was tuned for a problem on the GPU in use: `tuned`."""

import os
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from ..driver import current_device, device_and_driver, device_name, is_forked
from ..errors import ArgumentError, ImageError, UnknownKernelError
from ..files import ModuleFiles, lie_in_folders, package_folders
from ..loading import load
from .tuning_table import TABLE_SUFFIX, Problem, Row, checked_problem, choose, parse_table

if TYPE_CHECKING:
    from ..module import Kernel
    from ..variants.macro_values import MacroValue

__all__ = ["Choice", "forget", "table_of", "tuned"]


class Choice:
    """A kernel and how to launch it: what `tuned` returns, and what `cuda-wheel tune` tries.

    `choice["block"]` is one of its `parameters`. `variant` has the macros of the module's variant. `gpu` and `problem`
    are those that it was measured for, which are the nearest ones where there is no measurement for these.
    """

    def __init__(
        self,
        module: str,
        variant: "Mapping[str, MacroValue]",
        kernel: str | None,
        parameters: Mapping[str, Any],
        problem: Problem,
        gpu: str,
        device: int,
    ) -> None:
        self.module = module
        self.variant = dict(variant)
        self.parameters = dict(parameters)
        self.problem = problem
        self.gpu = gpu
        self._name = kernel
        self._device = device
        self._kernel: Kernel | None = None

    @property
    def kernel(self) -> "Kernel":
        """The kernel, loaded on first use; raises as `load` does."""
        found = self._kernel
        if found is None or not found.module.is_loaded or is_forked():
            macros: dict[str, Any] = self.variant
            module = load(self.module, device=self._device, **macros)
            if self._name is None and len(module) != 1:
                raise UnknownKernelError(f"{self.module} has several kernels: name one. It has {', '.join(module)}")
            found = self._kernel = module[self._name or next(iter(module))]
        return found

    @property
    def kernel_name(self) -> str:
        """The kernel's name, as the table has it."""
        return self._name or self.kernel.name

    def __getitem__(self, parameter: str) -> Any:
        try:
            return self.parameters[parameter]
        except KeyError:
            raise ArgumentError(f"{self!r} has no parameter {parameter!r}") from None

    def __repr__(self) -> str:
        return f"<Choice {self.module}: {self.label}>"

    @property
    def label(self) -> str:
        """The kernel, macros and parameters: "scale<4>, TILE=8, block=128"."""
        pairs = (f"{key}={value}" for key, value in (*self.variant.items(), *self.parameters.items()))
        return ", ".join([*([self._name] if self._name else []), *pairs]) or "the only kernel"


def tuned(module: str, name: str, problem: Mapping[str, int | str], *, device: int | None = None) -> Choice:
    """Return the kernel and launch configuration that `cuda-wheel tune` found for a problem: sizes and strings.

        choice = cuda_wheel.tuned("demo.kernels.scale", "scale", {"n": x.size})
        choice.kernel.launch(-(-x.size // choice["block"]), choice["block"], x, y, x.size)

    They come from the table in the module's package, `scale.tuned.json`, for GPU number `device`, else the current
    context's, else GPU 0. For a problem that was not measured, the nearest sizes by ratio decide; for a GPU that was
    not, the one of the nearest compute capability. Strings must be equal. `Choice.gpu` and `Choice.problem` tell which.
    Each table is read once per process.

    Raises ImageError if there is no table or nothing of this name in it, ArgumentError for a problem of other keys, and
    DriverError without a GPU.
    """
    number = (current_device() or 0) if device is None else device
    try:
        return _choice(module, name, tuple(problem.items()), number)
    except TypeError:
        checked_problem(problem)  # raises for a value that cannot be in a problem, such as an array
        raise


@lru_cache(maxsize=4096)  # programs ask before each launch
def _choice(module: str, name: str, items: tuple[tuple[str, Any], ...], device: int) -> Choice:
    rows, where = table_of(module)
    problem = checked_problem(dict(items))
    row = choose(rows, where, name, problem, device_name(device), device_and_driver(device)[0])
    return Choice(module, row.variant, row.kernel, row.parameters, row.problem, row.gpu, device)


@cache
def table_of(module: str) -> tuple[tuple[Row, ...], str]:
    """Return the rows of a module's table, and the place of the table; raises ImageError."""
    package, _, stem = module.rpartition(".")
    if not package:
        raise ImageError(f"{module!r} is not a module's dotted name, such as 'saxpy_demo.kernels.saxpy'")
    file = stem + TABLE_SUFFIX
    folders = package_folders(package)
    found = next((folder for folder in folders if os.path.isfile(os.path.join(folder, file))), None)
    where = os.path.join(found or (folders or [package])[0], file)
    files = ModuleFiles(where, found, package)
    if found is None:
        from ..importers import has_file  # only for a package that is not in a folder

        if lie_in_folders(folders) or not has_file(package, file, where):
            raise ImageError(f"{module} has no table of tuned choices ({where}): make it with cuda-wheel tune")
    return parse_table(files.read(file), module, where), where


def forget() -> None:
    """Forget all tables and choices, so that they are read again."""
    _choice.cache_clear()
    table_of.cache_clear()
