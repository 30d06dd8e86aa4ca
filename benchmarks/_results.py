"""The results of benchmarks, and the JSON file that stores them.

Each benchmark is a module with a function `measure`, which prints and returns a `Result` for each comparison
(`_interleave.compare` measures, prints and returns one). `cpu.py` and `gpu.py` call all benchmarks and write one JSON
file; `report.py` turns it into Markdown and plots, on any machine. The last parameter of `measure` is always `rounds`;
None means the benchmark's default:

    def measure(rounds: int | None = None) -> list[Result]:
        contenders = {"by hand": by_hand, "cuda-wheel": ours}        # each returns its time
        return [compare("Start", "a sentence of description.", contenders, rounds or 20, "ms")]

This module needs only Python, so that it runs on every machine that can measure.
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
    """A goal: the median of a contender is at most `times` the base's median plus `more`.

    `limit` names the cause if the goal is missed; the report shows it.
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
        """Return the measured value, such as "0.710 times" or "+71.0 ms", and whether it meets the goal."""
        median, base = result.median(self.contender), result.median(self.base)
        value = f"{median - base:+,.{result.digits}f} {result.unit}" if self.more else f"{median / base:.3f} times"
        return f"{value}, {'met' if self.met(result) else '**missed**'}"


@dataclass(frozen=True)
class Result:
    """One comparison: a table and a plot."""

    title: str
    about: str
    """The description, one or two sentences of Markdown."""
    unit: str
    values: Mapping[str, Sequence[float]]
    """For each contender, a number for each round; lower is better."""
    base: str = ""
    """The contender that the ratios refer to; "" for no ratios."""
    digits: int = 1
    goals: Sequence[Goal] = ()
    details: Sequence[Sequence[str]] = ()
    """A further table, which is not plotted; the first row is the header."""
    notes: Sequence[str] = field(default=())

    def median(self, contender: str) -> float:
        return statistics.median(self.values[contender])


@dataclass(frozen=True)
class Report:
    """The results of one machine."""

    title: str
    command: str
    machine: Mapping[str, str]
    versions: Mapping[str, str]
    results: Sequence[Result] = ()
    missing: Sequence[str] = ()
    """The sections that could not be measured, with the reasons."""

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
    """Measure every section, or those in `only`, and write the report after each one, so that a failed section loses no
    other results. Raises SystemExit for an unknown section."""
    unknown = sorted(set(only) - set(sections))
    if unknown:
        raise SystemExit(f"unknown section {', '.join(unknown)}; the sections are {', '.join(sections)}")
    results, missing = list(report.results), list(report.missing)
    for name, section in sections.items():
        if only and name not in only:
            continue
        print(f"\n== {name}", flush=True)
        try:
            for result in section():  # if it is a generator, results before an error are kept too
                results.append(result)
        except Exception as error:
            missing.append(f"{name}: {short(error)}")
        replace(report, results=results, missing=missing).write(output)


def short(error: Exception) -> str:
    """Print an error, and return it in one line without the names of this machine's folders."""
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
    """Return the table of a result; the first row is the header."""
    once = all(len(values) == 1 for values in result.values.values())
    spread = [] if once else ["lowest", "highest"]
    headings = ["contender", result.unit if once else f"median, {result.unit}", *spread]
    lines = [headings + ["ratio"] * bool(result.base) + ["goal"] * bool(result.goals)]
    for name, values in result.values.items():
        median = result.median(name)
        cells = [median] if once else [median, min(values), max(values)]
        line = [name, *(f"{value:,.{result.digits}f}" for value in cells)]
        if result.base:
            line.append(f"{median / result.median(result.base):.3f}")
        if result.goals:
            goals = [goal for goal in result.goals if goal.contender == name]
            line.append("; ".join(f"{goal.text(result)}: {goal.reached(result)}" for goal in goals))
        lines.append(line)
    return lines


def table(lines: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, with numbers aligned to the right."""
    headings, *body = lines
    rule = ["---" if not number or each in ("goal", "reached") else "---:" for number, each in enumerate(headings)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rule, *body))


def machine() -> dict[str, str]:
    """Return facts that determine this machine's speed, without facts that identify it."""
    from cuda_wheel.builder.workers.pool import available_cores

    cpu = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), cpu)
    cores = f"{available_cores()} of {os.cpu_count()}"
    return {"CPU": cpu, "cores that the process may use": cores, "system": f"{platform.system()} {platform.machine()}"}


def versions(*distributions: str) -> dict[str, str]:
    """Return the versions of Python and of those distributions that are installed."""
    found = {"Python": platform.python_version()}
    for name in distributions:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def output_of(*command: str) -> str:
    """Return a command's output without surrounding whitespace; raises CalledProcessError if it fails."""
    result = subprocess.run(command, capture_output=True, check=True)
    return result.stdout.decode().strip()
