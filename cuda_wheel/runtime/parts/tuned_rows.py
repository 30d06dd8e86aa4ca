"""Read a table of tuned choices, and choose the row for a problem and a GPU.

The table is the file `MODULE.tuned.json` in the module's package, which `cuda-wheel tune` writes:

    {
    "format": 1,
    "module": "demo.kernels.scale",
    "choices": [
    {"name": "scale", "gpu": "NVIDIA H200", "compute_capability": [9, 0], "problem": {"n": 4096}, "variant": {},
     "kernel": "scale<4>", "parameters": {"block": 128}, "microseconds": 3.1, "first_microseconds": 4.2},
    ...
    ]
    }

`variant` has the macros of a variant of the module, `parameters` whatever the program launches the kernel with.
`microseconds` is the measured time of the choice, `first_microseconds` that of the first candidate; both include the
measurement itself, which took 3 microseconds on an H200.
"""

import json
import math
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from ..driver import check_result, cuda_driver
from ..errors import ArgumentError, ImageError
from ..files import files_in, package_folders
from ..manifest import TABLE_SUFFIX, MacroValue, Version
from .variants import read_macros

__all__ = [
    "FORMAT",
    "Problem",
    "Row",
    "checked_problem",
    "choose",
    "device_name",
    "parse_table",
    "plain_value",
    "problem_text",
    "table_of",
]


FORMAT = 1

Problem = dict[str, int | str]
"""The key by which a program looks up a tuned choice, such as {"n": 4096, "dtype": "float"}: name -> a size (an integer
from 0 on), or a string such as an element type."""


class Row(NamedTuple):
    """The tuned choice for one GPU and one problem."""

    name: str
    """Name of the tuned choice, which a program passes to `tuned`. One table may have several names, each with its own
    rows."""
    gpu: str
    """Name of the GPU that the row was measured on, as the driver spells it."""
    compute_capability: Version
    problem: Problem
    variant: dict[str, MacroValue]
    kernel: str
    parameters: dict[str, Any]
    microseconds: float
    first_microseconds: float


def parse_table(text: bytes, module: str, where: str) -> tuple[Row, ...]:
    """Return the rows of a module's table; raise ImageError, which names the table `where`, if it is not valid."""
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {document['format']!r}, and this cuda-wheel reads format {FORMAT}")
        if document["module"] != module:
            raise ValueError(f"it is the table of {document['module']!r}, not of {module!r}")
        rows = tuple(_read_row(number, row) for number, row in enumerate(document["choices"], 1))
        _check_rows(rows)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ArgumentError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else error
        raise ImageError(
            f"{where} is not a valid table of tuned choices: {what}. Make it again with cuda-wheel tune."
        ) from error
    return rows


def _read_row(number: int, row: dict[str, Any]) -> Row:
    try:
        if set(row) != set(Row._fields):
            raise ValueError(f"it has the keys {', '.join(row)}, but needs {', '.join(Row._fields)}")
        for key in ("name", "gpu", "kernel"):
            if not isinstance(row[key], str) or not row[key]:
                raise ValueError(f"{key} must be a string, not {row[key]!r}")
        major, minor = map(_natural_number, row["compute_capability"])
        variant = dict(read_macros(row["variant"]))
        times = {key: float(row[key]) for key in ("microseconds", "first_microseconds")}
        if not all(0 <= each < math.inf for each in times.values()):
            raise ValueError("its times must be numbers from 0 on")
        parameters = {key: plain_value(key, value) for key, value in row["parameters"].items()}
        problem = checked_problem(row["problem"])
        own = {"compute_capability": (major, minor), "problem": problem, "variant": variant, "parameters": parameters}
        return Row(**{**row, **own, **times})
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"choice {number}: {error}") from None


def _natural_number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not an integer from 0 on")
    return value


def _check_rows(rows: Sequence[Row]) -> None:
    """Raise ValueError if two rows have the same name, GPU and problem.

    Raise ValueError also if the problems of two rows of one name have different keys, or under one key a string and an
    integer.
    """
    found = set()
    kinds: dict[str, dict[str, str]] = {}
    for row in rows:
        key = (row.name, row.gpu, tuple(sorted(row.problem.items())))
        if key in found:
            raise ValueError(f"two choices {row.name!r} for {row.gpu} and {problem_text(row.problem)}")
        found.add(key)
        if kinds.setdefault(row.name, _kinds(row.problem)) != _kinds(row.problem):
            raise ValueError(f"the problems of {row.name!r} have different keys or kinds of values")


def plain_value(key: str, value: Any) -> Any:
    """Return a parameter's value with tuples for lists; raise ArgumentError for a type that a table cannot contain."""
    if isinstance(value, (list, tuple)):
        return tuple(plain_value(key, each) for each in value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ArgumentError(f"the parameter {key} must be a number, a string, or a tuple of these, not {value!r}")


def checked_problem(problem: Mapping[str, Any]) -> Problem:
    """Return a problem with Python's own integers and strings; raises ArgumentError for other values."""
    checked: Problem = {}
    for key, value in problem.items():
        if isinstance(value, str):
            checked[key] = str(value)
            continue
        try:
            size = checked[key] = operator.index(value)
        except TypeError:
            raise ArgumentError(f"the problem's {key} must be an integer or a string, not {value!r}") from None
        if not 0 <= size < 1 << 63:
            raise ArgumentError(f"the problem's {key} is a size, from 0 to 2**63 - 1, and not {value}")
    if not checked:
        raise ArgumentError("a problem needs at least one size or string, such as {'n': 4096}")
    return checked


def _kinds(problem: Problem) -> dict[str, str]:
    return {key: "string" if isinstance(value, str) else "integer" for key, value in problem.items()}


def problem_text(problem: Mapping[str, int | str]) -> str:
    """Return a problem for messages: "n=4096, dtype=float"."""
    return ", ".join(f"{key}={value}" for key, value in problem.items())


def choose(rows: Iterable[Row], where: str, name: str, problem: Problem, gpu: str, capability: Version) -> Row:
    """Return the row of the choice `name` for a problem and a GPU.

    Strings in the problem must be equal. Then the GPU decides: rows of the GPU named `gpu`; else of the GPU whose
    compute capability is nearest, first by major, then by minor version (of two, the lower; then the first by name).
    Then the sizes: the row whose sizes are nearest by ratio, that is, with the least sum of |log((a + 1) / (b + 1))|
    (of two, the smaller sizes).

    Raises ImageError if nothing of this name, or with these strings, was tuned; ArgumentError for other keys.
    """
    rows = list(rows)
    named = [row for row in rows if row.name == name]
    if not named:
        names = ", ".join(sorted({repr(row.name) for row in rows})) or "none"
        raise ImageError(f"{where} has no choice {name!r}; it has {names}")
    kinds = _kinds(named[0].problem)
    if _kinds(problem) != kinds:
        wanted = ", ".join(f"{key} ({kind})" for key, kind in kinds.items())
        raise ArgumentError(f"the problem of {name!r} has {wanted}, not {problem_text(problem)}")
    strings = {key: value for key, value in problem.items() if isinstance(value, str)}
    fitting = [row for row in named if strings.items() <= row.problem.items()]
    if not fitting:
        tuned = sorted({problem_text({key: row.problem[key] for key in strings}) for row in named})
        raise ImageError(
            f"{where} has no choice {name!r} for {problem_text(strings)}; it was tuned for {'; '.join(tuned)}"
        )

    def distance(row: Row) -> tuple[Any, ...]:
        major, minor = row.compute_capability
        near = (row.gpu != gpu, abs(major - capability[0]), abs(minor - capability[1]), row.compute_capability, row.gpu)
        sizes = {key: value for key, value in row.problem.items() if isinstance(value, int)}
        ratios = (abs(math.log((value + 1) / (int(problem[key]) + 1))) for key, value in sizes.items())
        # Rounded, because two rows at the same distance must stay equal on every platform.
        return (*near, round(sum(ratios), 9), [sizes[key] for key in sorted(sizes)])

    return min(fitting, key=distance)


@cache
def table_of(module: str) -> tuple[tuple[Row, ...], str]:
    """Return the rows of a module's table, and the path of the table; raises ImageError."""
    package, _, stem = module.rpartition(".")
    if not package:
        raise ImageError(f"{module!r} is not a module's dotted name, such as 'saxpy_demo.kernels.saxpy'")
    file = stem + TABLE_SUFFIX
    folders = package_folders(package)
    files = files_in(package, folders, file)
    if files is None:
        where = os.path.join((folders or [package])[0], file)
        raise ImageError(f"{module} has no table of tuned choices ({where}): make it with cuda-wheel tune")
    return parse_table(files.read(file), module, files.where), files.where


def device_name(device: int) -> str:
    """Return the name of GPU number `device`; raises DriverError."""
    driver = cuda_driver()
    handle = check_result(driver.cuDeviceGet(device), f"getting GPU {device}")
    name: bytes = check_result(driver.cuDeviceGetName(256, handle), "getting the GPU's name")
    return name.split(b"\0")[0].decode(errors="replace")
