"""List and check the tuned choices that lie beside a module."""

from __future__ import annotations

from collections import Counter

from cuda_wheel.builder.report.quantities import count_text
from cuda_wheel.builder.wheel.tuned_tables import check_rows
from cuda_wheel.inspect.found_modules import FoundModule
from cuda_wheel.runtime.choosing.tuning_table import TABLE_SUFFIX, Row, parse_table
from cuda_wheel.runtime.errors import CudaWheelError

__all__ = ["tuned_differences", "tuned_lines"]


def tuned_lines(found: FoundModule) -> list[str]:
    """Return a line for each function and GPU that a module is tuned for: "tuned: scale on NVIDIA H200 (2 problems)".

    Raises ImageError if the table is not valid.
    """
    counts = Counter((row.name, row.gpu) for row in _rows(found))
    return [f"tuned: {name} on {gpu} ({count_text(count, 'problem')})" for (name, gpu), count in counts.items()]


def tuned_differences(found: FoundModule) -> list[str]:
    """Return what is wrong with the table of a module; an empty list if nothing is, or if it has none."""
    try:
        check_rows(found.name, _rows(found), found.manifests)
    except CudaWheelError as error:
        return [str(error).partition("\n")[0]]
    return []


def _rows(found: FoundModule) -> tuple[Row, ...]:
    file = found.name.rpartition(".")[2] + TABLE_SUFFIX
    try:
        content = found.read(file)
    except OSError:
        return ()
    return parse_table(content, found.name, file)
