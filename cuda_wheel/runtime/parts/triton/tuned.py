"""Choose the constants and options that a launch of a Triton kernel leaves out, by the table of tuned choices.

A row of the table counts for launches if its `name` is the kernel's. The names in its `problem` are parameters of the
kernel: the value of an integer, the element type of an array ("float32"), or the text of any other constant.
`parameters` has the constants that `triton.autotune` chooses, and options, as a launch would name them; None for an
option that the variant does not have.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...arguments import plain_number
from ...driver import current_device, device_and_driver
from ...errors import ArgumentError, ImageError, need
from ...files import files_in, package_folders
from ...manifest import TABLE_SUFFIX, PythonParameter, macro_text
from .signatures import KERNEL, TYPES, constant_text, read_type, value_of

if TYPE_CHECKING:
    from ..tuned_rows import Row

__all__ = ["TunedChoices", "agrees", "check_row", "configurations", "has_table"]

_Compiled = Mapping[str, Any]

_KEPT = 4096
"""Maximum number of problems whose choice is kept."""


def has_table(module: str) -> bool:
    """Return whether a module has a table of tuned choices."""
    package, _, stem = module.rpartition(".")
    return files_in(package, package_folders(package), stem + TABLE_SUFFIX) is not None


def agrees(compiled: _Compiled, parameters: Mapping[str, Any]) -> bool:
    """Return whether a kernel was compiled with these constants and options, named as in a launch."""
    for name, value in parameters.items():
        built = compiled.get(name, 1 if name == "num_ctas" else None)
        if built is None or value is None:
            if (built, value) != (None, None) and built != "None":
                return False
        elif macro_text(built) not in (constant_text(value), value):
            return False
    return True


def configurations(parameters: Sequence[PythonParameter], variants: Sequence[_Compiled]) -> list[dict[str, Any]]:
    """Return the different sets of constants that `triton.autotune` chooses and of options among a kernel's variants,
    in their order, as a launch names them."""
    kinds = {name: kind for name, kind, _ in parameters}
    names = [name for name, kind in kinds.items() if kind == "tuned"]
    names += dict.fromkeys(name for each in variants for name in each if name != KERNEL and name not in kinds)
    found: dict[str, dict[str, Any]] = {}
    for each in variants:
        values = [each.get(name, 1 if name == "num_ctas" else None) for name in names]
        found.setdefault(repr(values), {name: value_of(value) for name, value in zip(names, values, strict=True)})
    return [*found.values()]


def check_row(row: "Row", parameters: Sequence[PythonParameter], variants: Sequence[_Compiled]) -> None:
    """Raise ImageError if a row of the table does not fit the kernel that it is for."""
    kinds = {name: kind for name, kind, _ in parameters}
    unknown = [key for key in row.problem if key not in kinds]
    if unknown:
        raise ImageError(
            f"the problem has {unknown[0]!r}, and the kernel has no parameter of this name: it has {', '.join(kinds)}"
        )
    tuned = [key for key in row.problem if kinds[key] == "tuned"]
    if tuned:
        raise ImageError(f"the problem has {tuned[0]!r}, which triton.autotune chooses")
    passed = [name for name in row.parameters if kinds.get(name, "tuned") != "tuned"]
    if passed:
        raise ImageError(f"a launch passes {passed[0]}: only constants that triton.autotune chooses can be tuned")
    if not any(agrees(each, row.parameters) for each in variants):
        given = ", ".join(f"{name}={value}" for name, value in row.parameters.items())
        raise ImageError(f"the kernel was not compiled with {given}")


class TunedChoices:
    """The rows of a table that count for one kernel. For a machine with several GPUs, the current one decides when a
    problem first occurs."""

    def __init__(
        self,
        rows: "Sequence[Row]",
        where: str,
        parameters: Sequence[PythonParameter],
        variants: Sequence[_Compiled],
        device: int | None,
    ) -> None:
        """`where` is the path of the table, `parameters` and `variants` are the kernel's, `device` is the number of a
        GPU."""
        self._rows = rows
        self._where = where
        self._device = device
        self._wrong: ImageError | None = None
        """Why the table does not fit the kernel: of use until it is tuned again, which launches the kernel too."""
        self._places: tuple[tuple[str, int], ...] = ()
        self._found: dict[tuple[Any, ...], tuple[tuple[str, Any], ...]] = {}
        for row in rows:
            try:
                check_row(row, parameters, variants)
            except ImageError as error:
                problem = ", ".join(f"{key}={value}" for key, value in row.problem.items())
                self._wrong = ImageError(
                    f"{where}, choice {row.name!r} for {row.gpu} and {problem}: {error}. Tune it again with cuda-wheel "
                    "tune, or remove the choice."
                )
                return
        names = [name for name, _, _ in parameters]
        self._places = tuple((key, names.index(key)) for key in rows[0].problem)

    @property
    def keys(self) -> frozenset[str]:
        """The names of the parameters by which the rows choose."""
        return frozenset(name for name, _ in self._places)

    def choice(self, values: Sequence[Any], kinds: Sequence[str]) -> tuple[tuple[str, Any], ...]:
        """Return the constants and options for a launch; () if no row is for such types and constants.

        `values` are those of the parameters, `kinds` as `TritonKernel` sees them. Raises ImageError if the table does
        not fit the kernel, DriverError without a GPU.
        """
        if self._wrong is not None:
            raise self._wrong
        problem = {key: _problem_value(values[at], kinds[at]) for key, at in self._places}
        key = tuple(problem.values())
        found = self._found.get(key)
        if found is None:
            if len(self._found) >= _KEPT:
                self._found.clear()
            found = self._found[key] = self._choose(problem)
        return found

    def _choose(self, problem: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
        need("tuned-tables")
        from ..tuned_rows import choose, device_name  # few modules have a table

        device = (current_device() or 0) if self._device is None else self._device
        gpu = device_name(device), device_and_driver(device)[0]
        try:
            row = choose(self._rows, self._where, self._rows[0].name, problem, *gpu)
        except (ArgumentError, ImageError):  # another type, None or string than was tuned
            return ()
        return tuple(row.parameters.items())


def _problem_value(value: Any, kind: str) -> int | str:
    """Return the value of a parameter, of which a launch is of this kind, as a problem has it."""
    type_ = read_type(kind)
    if type_ is not None and type_.pointer:
        return TYPES[type_.element][1]
    if isinstance(value, str):
        return value
    number = plain_number(value)
    if hasattr(type(number), "__index__") and 0 <= int(number) < 1 << 63:
        return int(number)
    return constant_text(value)
