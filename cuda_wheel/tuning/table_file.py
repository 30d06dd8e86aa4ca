"""Write a module's table of tuned choices: one line for each, in an order that measuring does not change."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ..runtime.choosing.tuning_table import FORMAT, Row

__all__ = ["merged", "table_text"]


def merged(old: Iterable[Row], new: Iterable[Row]) -> list[Row]:
    """Return the new rows, and the old ones of other GPUs and other names, in the order of the file."""
    new = list(new)
    measured = {(row.name, row.gpu) for row in new}
    return sorted([*new, *(row for row in old if (row.name, row.gpu) not in measured)], key=_order)


def table_text(module: str, rows: Iterable[Row]) -> str:
    """Return the content of the table of a module."""
    lines = ",\n".join(json.dumps(row._asdict()) for row in sorted(rows, key=_order))
    head = f'"format": {FORMAT},\n"module": {json.dumps(module)},\n"choices": [\n'
    return f"{{\n{head}{lines}\n]\n}}\n"


def _order(row: Row) -> tuple[Any, ...]:
    return row.name, row.compute_capability, row.gpu, [(key, row.problem[key]) for key in sorted(row.problem)]
