"""What a benchmark returns, and the file that carries it from the machine where it was measured to where it is shown.

Each benchmark is a module with a function `measure` that returns `Result`s, one for each comparison, and prints them
as they come (`_interleave.compare` measures, prints and returns one). `cpu.py` and `gpu.py` call them all and write one
JSON file; `report.py` makes Markdown and plots of it, elsewhere if need be. What `measure` takes is its own affair, but
`rounds`, which is the last one and may be None for as many as the benchmark thinks right:

    def measure(rounds: int | None = None) -> list[Result]:
        contenders = {"by hand": by_hand, "cuda-wheel": ours}        # each returns its own time when it is called
        return [compare("Start", "what it is, in a sentence.", contenders, rounds or 20, "ms")]

This module needs nothing but Python: it runs wherever something can be measured.
"""

from __future__ import annotations

import json
import os
import platform
import re
import statistics
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["Goal", "Report", "Result", "collect", "machine", "output_of", "rows", "short", "table", "versions"]


@dataclass(frozen=True)
class Goal:
    """That the median of a contender is at most so many times another's, or at most so much more.

    `limit` says what stands in the way; it is shown where the goal is missed.
    """

    contender: str
    base: str
    times: float = 1.0
    more: float = 0.0
    """In the result's unit."""
    limit: str = ""

    def met(self, result: Result) -> bool:
        return result.median(self.contender) <= self.times * result.median(self.base) + self.more

    def text(self, result: Result) -> str:
        """Return such as "≤ 0.95 times nvcc" or "≤ hook off + 100 ms"."""
        times = f"{self.times:g} times " if self.times != 1 else ""
        more = f" + {self.more:g} {result.unit}" if self.more else ""
        return f"≤ {times}{self.base}{more}"

    def reached(self, result: Result) -> str:
        """Return what the goal is compared with, such as "0.710 times" or "+71.0 ms", and whether that meets it."""
        median, base = result.median(self.contender), result.median(self.base)
        much = f"{median - base:+,.{result.digits}f} {result.unit}" if self.more else f"{median / base:.3f} times"
        return f"{much}, {'met' if self.met(result) else '**missed**'}"


@dataclass(frozen=True)
class Result:
    """One comparison: a table and a plot."""

    title: str
    about: str
    """What is compared, in a sentence or two of Markdown."""
    unit: str
    values: Mapping[str, Sequence[float]]
    """What was measured of each contender, a number for each round; the less, the better."""
    base: str = ""
    """The contender that the others' ratios are to; without one there are no ratios."""
    digits: int = 1
    goals: Sequence[Goal] = ()
    details: Sequence[Sequence[str]] = ()
    """A table of more about it, which is not plotted: its headings first."""
    notes: Sequence[str] = field(default=())

    def median(self, contender: str) -> float:
        return statistics.median(self.values[contender])


@dataclass(frozen=True)
class Report:
    """What one machine measured."""

    title: str
    command: str
    machine: Mapping[str, str]
    versions: Mapping[str, str]
    results: Sequence[Result] = ()
    missing: Sequence[str] = ()
    """What could not be measured, and why."""

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Report:
        content = json.loads(path.read_text(encoding="utf-8"))
        results = [
            Result(**result | {"goals": [Goal(**goal) for goal in result["goals"]]}) for result in content["results"]
        ]
        return cls(**content | {"results": results})


def collect(
    report: Report, sections: Mapping[str, Callable[[], Iterable[Result]]], only: Sequence[str], output: Path
) -> None:
    """Measure every section, or `only` some, and write the report with what there is after each: what fails loses
    nothing else. Raises SystemExit for a section that there is not."""
    unknown = sorted(set(only) - set(sections))
    if unknown:
        raise SystemExit(f"no section {', '.join(unknown)}; there are {', '.join(sections)}")
    results, missing = list(report.results), list(report.missing)
    for name, section in sections.items():
        if only and name not in only:
            continue
        print(f"\n== {name}", flush=True)
        try:
            for result in section():  # if it yields them, those before an error are not lost either
                results.append(result)
        except Exception as error:
            missing.append(f"{name}: {short(error)}")
        replace(report, results=results, missing=missing).write(output)


def short(error: Exception) -> str:
    """Return what went wrong in one line, without the folders of this machine; print all of it."""
    traceback.print_exception(error)
    text = str(error)
    if isinstance(error, subprocess.CalledProcessError):
        text = b"".join(filter(None, (error.stdout, error.stderr))).decode(errors="replace")
        print(text, file=sys.stderr)
        text = next(reversed(text.strip().splitlines()), f"a process ended with {error.returncode}")
    else:
        text = ": ".join([type(error).__name__, *text.strip().splitlines()[:1]])
    return re.sub(r"(?<![\w.])/(?:[^\s/'\"]+/)+", "", text.strip())


def rows(result: Result) -> list[list[str]]:
    """Return the table of a result, its headings first."""
    once = all(len(values) == 1 for values in result.values.values())
    spread = [] if once else ["lowest", "highest"]
    headings = ["contender", result.unit if once else f"median, {result.unit}", *spread]
    goals = {goal.contender: goal for goal in result.goals}
    lines = [headings + ["ratio"] * bool(result.base) + ["goal"] * bool(goals)]
    for name, values in result.values.items():
        median = result.median(name)
        cells = [median] if once else [median, min(values), max(values)]
        line = [name, *(f"{value:,.{result.digits}f}" for value in cells)]
        if result.base:
            line.append(f"{median / result.median(result.base):.3f}")
        if goals:
            goal = goals.get(name)
            line.append(f"{goal.text(result)}: {goal.reached(result)}" if goal else "")
        lines.append(line)
    return lines


def table(lines: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown: numbers, which is all but the first column and goals, to the right."""
    headings, *body = lines
    rule = ["---" if not number or each in ("goal", "reached") else "---:" for number, each in enumerate(headings)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rule, *body))


def machine() -> dict[str, str]:
    """Return what tells how fast this machine is: nothing that tells which one it is."""
    from cuda_wheel.builder.workers.cores import available_cores

    cpu = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), cpu)
    cores = f"{available_cores()} of {os.cpu_count()}"
    return {"CPU": cpu, "cores that the process may use": cores, "system": f"{platform.system()} {platform.machine()}"}


def versions(*distributions: str) -> dict[str, str]:
    """Return the version of Python, and those of the distributions that are installed here."""
    found = {"Python": platform.python_version()}
    for name in distributions:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def output_of(*command: str) -> str:
    """Return what a command prints, without what surrounds it; raises CalledProcessError."""
    result = subprocess.run(command, capture_output=True, check=True)
    return result.stdout.decode().strip()
