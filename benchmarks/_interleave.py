"""Time contenders in turn in every round, so that changes of the machine's speed affect all of them equally."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from _results import Goal, Result, rows, short, table

__all__ = ["compare", "show"]


def compare(
    title: str,
    about: str,
    contenders: Mapping[str, Callable[[], float]],
    rounds: int,
    unit: str = "ms",
    warm_up: int = 1,
    digits: int = 1,
    goals: Sequence[Goal] = (),
    notes: Sequence[str] = (),
) -> Result:
    """Call every contender once in each round, after `warm_up` rounds that do not count; print the result and return
    it.

    A contender returns its time in `unit`, which is shown with `digits` decimals. The first contender is the base of
    the ratios. If another contender fails in the first round, for example because it is not installed, it is omitted
    and a note gives the reason. Other failures raise.
    """
    values: dict[str, list[float]] = {name: [] for name in contenders}
    base, notes = next(iter(values)), list(notes)
    for round_ in range(warm_up + rounds):
        for name in list(values):
            try:
                elapsed = contenders[name]()
            except Exception as error:
                if round_ or name == base:
                    raise
                notes.append(f"Omitted: {name}. {short(error)}")
                del values[name]
                continue
            if round_ >= warm_up:
                values[name].append(elapsed)
    goals = [goal for goal in goals if {goal.contender, goal.base} <= values.keys()]
    result = Result(title, about, unit, values, base, digits, goals, notes=notes)
    show(result)
    return result


def show(result: Result) -> None:
    """Print the measured values of a result."""
    print(f"\n{result.title}\n{table(rows(result))}", *result.notes, sep="\n", flush=True)
