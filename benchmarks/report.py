"""Show what was measured: `python benchmarks/report.py FILE.json ...` writes FILE.md, and its plots into FILE.

Needs matplotlib, and neither a GPU nor what was measured. The same file gives the same bytes, with one matplotlib.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from _results import Report, Result, rows, table

__all__ = ["markdown", "plot", "show"]


def markdown(report: Report, plots: Mapping[str, str]) -> str:
    """Return the document of a report. `plots` has a path for each result's title."""
    parts = [
        f"# {report.title}",
        f"Made by `{report.command}`, not by hand. Each table is of one interleaved run; ratios are of medians. "
        "Compare within a table only: machines are shared and noisy.",
        "\n".join(f"- {name}: {value}" for name, value in report.machine.items()),
        f"Versions: {', '.join(f'{name} {value}' for name, value in report.versions.items())}.",
    ]
    goals = [
        [f"[{result.title}](#{_slug(result.title)}): {goal.contender}", goal.text(result), goal.reached(result)]
        for result in report.results
        for goal in result.goals
    ]
    if goals:
        parts += ["## Goals", table([["contender", "goal", "reached"], *goals])]
    if report.missing:
        parts += ["## Not measured", "\n".join(f"- {line}" for line in report.missing)]
    for result in report.results:
        parts += [f"## {result.title}", result.about, f"![{result.title}]({plots[result.title]})", table(rows(result))]
        missed = [goal for goal in result.goals if goal.limit and not goal.met(result)]
        parts += [f"What stands in the way of {goal.contender}: {goal.limit}" for goal in missed]
        parts += result.notes
        if result.details:
            parts.append(table(result.details))
    return "\n\n".join(parts) + "\n"


def plot(result: Result, path: Path) -> None:
    """Write a result's medians, as bars with the lowest and the highest on them, as an SVG file."""
    import matplotlib
    from matplotlib.figure import Figure

    # Neither a random salt nor a date, so that the same result gives the same file.
    matplotlib.rcParams.update({"svg.hashsalt": "cuda-wheel", "svg.fonttype": "none", "font.family": "sans-serif"})
    names = list(result.values)
    medians = [result.median(name) for name in names]
    below = [median - min(result.values[name]) for name, median in zip(names, medians, strict=True)]
    above = [max(result.values[name]) - median for name, median in zip(names, medians, strict=True)]
    figure = Figure(figsize=(9, 0.9 + 0.42 * len(names)), layout="constrained")
    axes = figure.subplots()
    axes.barh(names, medians, height=0.62, color=["#9aa0a6" if name == result.base else "#4c8dbf" for name in names])
    axes.errorbar(medians, names, xerr=[below, above], fmt="none", ecolor="#333333", capsize=3)
    for goal in result.goals:
        position = names.index(goal.contender)
        limit = goal.times * result.median(goal.base) + goal.more
        axes.plot([limit, limit], [position - 0.42, position + 0.42], color="#c00000", linewidth=2)
    axes.set_xlabel(f"{result.unit}, median, lowest and highest" + "; red: the goal" * bool(result.goals))
    axes.set_xlim(left=0)
    axes.invert_yaxis()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, metadata={"Date": None, "Creator": None})


def show(file: Path) -> None:
    """Write the document and the plots of a report, and delete plots that it no longer has."""
    report = Report.read(file)
    plots = {result.title: f"{file.stem}/{_slug(result.title)}.svg" for result in report.results}
    folder = file.with_suffix("")
    folder.mkdir(exist_ok=True)
    for stale in set(folder.glob("*.svg")) - {file.parent / name for name in plots.values()}:
        stale.unlink()
    for result in report.results:
        plot(result, file.parent / plots[result.title])
    file.with_suffix(".md").write_text(markdown(report, plots), encoding="utf-8")


def _slug(title: str) -> str:
    """Return a title as it is in links to it and in file names."""
    return re.sub(r"[^a-z0-9_ -]", "", title.lower()).replace(" ", "-")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        show(Path(argument))
