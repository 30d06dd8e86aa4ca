"""Time contenders in turn, round after round, so that a machine's drift hits all alike; report medians and ratios."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping

from rich.console import Console
from rich.table import Table

__all__ = ["compare"]


def compare(
    title: str,
    contenders: Mapping[str, Callable[[], float]],
    rounds: int,
    unit: str = "ms",
    warm_up: int = 1,
    digits: int = 1,
) -> dict[str, list[float]]:
    """Call every contender once a round, after `warm_up` rounds that do not count, and print a table.

    A contender returns its own time in `unit`, which is printed with so many `digits` behind the point. The first one
    is the base of the ratios, each the ratio of medians.
    Returns every time of every contender.
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for round_ in range(warm_up + rounds):
        for name, contender in contenders.items():
            elapsed = contender()
            if round_ >= warm_up:
                times[name].append(elapsed)
    base = statistics.median(next(iter(times.values())))
    table = Table(title=f"{title}: {rounds} rounds, {unit}", title_justify="left")
    for heading in ("contender", "median", "lowest", "highest", "ratio"):
        table.add_column(heading, justify="left" if heading == "contender" else "right")
    for name, values in times.items():
        median = statistics.median(values)
        table.add_row(
            name, *(f"{value:.{digits}f}" for value in (median, min(values), max(values))), f"{median / base:.3f}"
        )
    Console(width=100).print(table)
    return times
