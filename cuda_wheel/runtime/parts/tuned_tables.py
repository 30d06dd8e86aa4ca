"""Choose a kernel and its launch configuration for a problem from a table in the package: `cuda_wheel.tuned`."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..driver import current_device, device_and_driver, is_forked
from ..errors import ArgumentError, UnknownKernelError
from ..loading import load
from ..manifest import MacroValue
from .tuned_rows import Problem, checked_problem, choose, device_name, table_of

if TYPE_CHECKING:
    from ..module import Kernel
__all__ = ["Choice", "forget", "tuned"]


class Choice:
    """A kernel and how to launch it: what `tuned` returns, and what `cuda-wheel tune` tries.

    `choice["block"]` is one of its `parameters`. `variant` has the macros of the module's variant. `gpu` and `problem`
    are those of the measurement, which may be only the nearest to those that were asked for.
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
        """The kernel's name in the table, or the name of the only kernel."""
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
    not, the GPU of the nearest compute capability. Strings must be equal. `Choice.gpu` and `Choice.problem` are those
    that were measured. Each table is read once per process.

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


def forget() -> None:
    """Forget all tables and choices, so that they are read again."""
    _choice.cache_clear()
    table_of.cache_clear()
